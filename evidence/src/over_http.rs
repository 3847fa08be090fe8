//! Tests over HTTP (GATE-32): their requests, the command that is their criterion's check, and what a response says.
//!
//! The command runs our client in the sandbox. It starts the service, asks once, and ends as any check does: with 0 where all
//! is as expected, with 1 where it is not, and with 126 or 127 where the service's program cannot be run.

mod compared;
mod evidence;
mod filled;

use std::time::Duration;

use holdpoint_protocol::plan::HttpTest;

pub use compared::{HttpAnswer, differences};
pub use evidence::{HttpExchange, evidence};
pub use filled::{HttpSecrets, HttpVariables, filled, names_in, variables};

/// What the client is called. Its one argument is the test in JSON.
pub const PROGRAM: &str = "holdpoint-http";
/// The variable with the port on which the service has to listen.
pub const PORT_VARIABLE: &str = "PORT";
/// How long one request may take, from the connection to the response's last byte.
pub const REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// How long the command may take that makes up variables.
pub const VARIABLES_WITHIN: Duration = Duration::from_secs(30);
/// Bytes of a response's body.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of a response's head.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes that the command may print that makes up variables.
pub const VARIABLES_BYTES_MAX: usize = 64 << 10;
/// Bytes of the service's output that are kept, of its end.
pub const LOG_BYTES_MAX: usize = 64 << 10;

/// Methods that a test may ask with.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// A request as it is written: `METHOD /path[ BODY]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpRequestLine<'a> {
    /// The method.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The body.
    pub body: Option<&'a str>,
}

impl<'a> HttpRequestLine<'a> {
    /// Reads it. `None`: it is something else, such as words for people.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        let (method, rest) = text.trim_end().split_once(' ')?;
        let (path, body) = rest.split_once(' ').map_or((rest, None), |(path, body)| (path, Some(body)));
        let plain = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        (METHODS.contains(&method) && plain).then_some(Self { method, path, body })
    }
}

/// The shell command that is the check of a test.
#[must_use]
pub fn command(test: &HttpTest) -> String {
    let json = serde_json::to_string(test).expect("plain data with text keys");
    format!("{PROGRAM} {}", word(&json))
}

/// The test whose command this is.
#[must_use]
pub fn of_command(command: &str) -> Option<HttpTest> {
    let quoted = command.strip_prefix(PROGRAM)?.strip_prefix(" '")?.strip_suffix('\'')?;
    serde_json::from_str(&quoted.replace("'\\''", "'")).ok()
}

/// Whether a command is that of a test over HTTP: then it runs no tests of its own that could be counted.
#[must_use]
pub fn is_asked_by(command: &str) -> bool {
    command.strip_prefix(PROGRAM).is_some_and(|rest| rest.starts_with(' '))
}

/// A text as one word of the shell.
#[must_use]
pub fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The ports on which something listens, as `/proc/net/tcp` and its like have it.
#[must_use]
pub fn listening(table: &str) -> std::collections::BTreeSet<u16> {
    let port = |line: &str| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        let state = words.nth(1)?;
        let (_, port) = local.rsplit_once(':')?;
        (state == "0A").then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        plan::{HttpExpected, HttpGiven},
        time::Millis,
    };

    use super::*;

    #[test]
    fn a_request_is_a_method_and_a_path_and_perhaps_a_body() {
        let read = |text| HttpRequestLine::read(text).map(|line| (line.method, line.path, line.body));
        for (text, expected) in [
            ("GET /me", ("GET", "/me", None)),
            ("GET /me?a=b%20c&d ", ("GET", "/me?a=b%20c&d", None)),
            ("POST /api/protected", ("POST", "/api/protected", None)),
            (r#"POST /api {"a": "b c"}"#, ("POST", "/api", Some(r#"{"a": "b c"}"#))),
            ("PUT /a  two", ("PUT", "/a", Some(" two"))),
            ("DELETE /a\n", ("DELETE", "/a", None)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in
            ["", "GET", "GET me", "get /me", "a user asks for /me", "GET http://x/me", "GET /ä", "GET /a#b", "TRACE /"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_command_says_the_whole_test() {
        let test = HttpTest {
            run: "python3 -m api --port \"$PORT\" --name 'it''s'".to_owned(),
            ready: Some("GET /health".to_owned()),
            within: Millis(20_000),
            given: "it's \\ given".to_owned(),
            with: HttpGiven {
                env_from: Some("./mint.sh".to_owned()),
                headers: [("A".to_owned(), "${B}".to_owned())].into(),
            },
            when: "POST /a {\"b\": 'c'}".to_owned(),
            then: HttpExpected { status: Some(200), body_contains: vec!["d".to_owned()], ..HttpExpected::default() },
        };
        let command = command(&test);
        assert!(is_asked_by(&command) && !is_asked_by("holdpoint-https 'x'") && !is_asked_by("make test"));
        assert_eq!(of_command(&command), Some(test));
        assert_eq!(of_command("holdpoint-http 'no test'"), None);
    }

    #[test]
    fn ports_are_those_that_something_listens_on() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1F91 0100007F:9C40 01 00000000:00000000\n   \
                     2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0\n";
        assert_eq!(listening(table), [80, 8080].into());
        assert!(listening("").is_empty());
    }
}
