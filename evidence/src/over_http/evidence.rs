//! The evidence of a test over HTTP. A report shows its last lines, so that everything that decides is there once more, in short.

use std::fmt::Write as _;

use holdpoint_text::shown;

use super::{HttpAnswer, HttpSecrets};

/// Bytes of a body that are shown.
const BODY_SHOWN_BYTES: usize = 16 << 10;
/// Characters of a line in short, of a difference and of a body. All of it fits into the 2 KiB that a report shows.
const LINE_CHARS: usize = 100;
const RED_CHARS: usize = 200;
const BODY_CHARS: usize = 300;
/// Lines of the log, and differences, that are shown in short.
const LOG_LINES: usize = 5;
const RED_LINES: usize = 4;

/// What went over the wire, as far as it came.
#[derive(Debug, Clone, Copy)]
pub struct HttpExchange<'a> {
    /// What the test is given, in words.
    pub given: &'a str,
    /// Method and path.
    pub request: &'a str,
    /// Headers of the request, as they were sent.
    pub headers: &'a [(String, String)],
    /// Body of the request, as it was sent.
    pub body: &'a str,
    /// The response.
    pub answer: Option<&'a HttpAnswer>,
    /// What the command printed that gives variables.
    pub printed: &'a str,
    /// The end of what the service printed.
    pub log: &'a str,
    /// Bytes that it printed before.
    pub log_before: u64,
    /// Why the test is not green; empty: it is.
    pub red: &'a [String],
}

/// The evidence, without secrets.
#[must_use]
pub fn evidence(exchange: HttpExchange<'_>, secrets: &HttpSecrets) -> String {
    let HttpExchange { given, request, headers, body, answer, printed, log, log_before, red } = exchange;
    let mut text = format!("given: {}\n", shown::line(given));
    if !printed.is_empty() {
        text.push_str("`env_from` printed:\n");
        push_log(&mut text, &secrets.masked(printed));
    }
    text.push_str("request:\n");
    push_message(&mut text, ">", &secrets.masked(request), (headers, body.as_bytes()), secrets);
    if let Some(answer) = answer {
        text.push_str("response:\n");
        push_message(&mut text, "<", &answer.status.to_string(), (&answer.headers, &answer.body), secrets);
    }
    let log = secrets.masked(log);
    let before =
        if log_before > 0 { format!(" (its end; {log_before} bytes before are left out)") } else { String::new() };
    let _ = writeln!(text, "log of the service{before}:");
    push_log(&mut text, &log);
    if red.is_empty() {
        text.push_str("green: the response is as expected\n");
        return text;
    }
    push_short(&mut text, exchange, &log, secrets);
    text
}

fn push_log(text: &mut String, log: &str) {
    for line in log.lines() {
        let _ = writeln!(text, "  | {}", shown::line(line));
    }
}

/// A request or response, each line behind a mark, so that no reader takes it for the verdict or for a test runner's report.
fn push_message(
    text: &mut String,
    mark: &str,
    first: &str,
    (headers, body): (&[(String, String)], &[u8]),
    secrets: &HttpSecrets,
) {
    let _ = writeln!(text, "  {mark} {}", shown::line(first));
    for (name, value) in headers {
        let _ = writeln!(text, "  {mark} {}: {}", shown::line(name), shown::line(&secrets.header(name, value)));
    }
    if body.is_empty() {
        return;
    }
    let _ = writeln!(text, "  {mark}");
    // Masked before it is cut: a secret must not be cut in two.
    let whole = secrets.masked(&String::from_utf8_lossy(body));
    let end = (0..=BODY_SHOWN_BYTES.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or_default();
    for line in whole.get(..end).unwrap_or_default().lines() {
        let _ = writeln!(text, "  {mark} {}", shown::line(line));
    }
    if end < whole.len() {
        let _ = writeln!(text, "  {mark} [{} more bytes]", whole.len() - end);
    }
}

/// What decides, in few lines.
fn push_short(text: &mut String, exchange: HttpExchange<'_>, log: &str, secrets: &HttpSecrets) {
    let HttpExchange { given, request, answer, red, .. } = exchange;
    let _ = writeln!(
        text,
        "--- in short\ngiven {}: {}",
        short(given, LINE_CHARS),
        short(&secrets.masked(request), LINE_CHARS)
    );
    if let Some(answer) = answer {
        let body = secrets.masked(&String::from_utf8_lossy(&answer.body));
        let (status, bytes) = (answer.status, answer.body.len());
        let _ = writeln!(text, "response: status {status}, a body of {bytes} bytes: {}", short(&body, BODY_CHARS));
    }
    let lines: Vec<&str> = log.lines().collect();
    if lines.is_empty() {
        text.push_str("the service printed nothing\n");
    }
    for line in lines.iter().skip(lines.len().saturating_sub(LOG_LINES)) {
        let _ = writeln!(text, "log: {}", short(line, LINE_CHARS));
    }
    for line in red.iter().take(RED_LINES) {
        let _ = writeln!(text, "red: {}", short(&secrets.masked(line), RED_CHARS));
    }
    if red.len() > RED_LINES {
        let _ = writeln!(text, "red: and {} more differences", red.len() - RED_LINES);
    }
}

/// The start of a text, on one line.
fn short(text: &str, chars: usize) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", shown::line(text.get(..end).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::plan::HttpGiven;

    use super::*;
    use crate::over_http::HttpVariables;

    fn secrets() -> HttpSecrets {
        HttpSecrets::of(&HttpGiven::default(), &HttpVariables::from([("T".to_owned(), "hunter22".to_owned())]))
    }

    fn shown_of(answer: &HttpAnswer, log: &str, red: &[String]) -> String {
        let headers =
            [("authorization".to_owned(), "Bearer hunter22".to_owned()), ("x".to_owned(), "hunter22".to_owned())];
        let exchange = HttpExchange {
            given: "a token",
            request: "POST /me",
            headers: &headers,
            body: "{\"t\": \"hunter22\"}",
            answer: Some(answer),
            printed: "T=hunter22\n",
            log,
            log_before: 9,
            red,
        };
        evidence(exchange, &secrets())
    }

    fn answer(body: &str) -> HttpAnswer {
        HttpAnswer { status: 500, headers: vec![("a".to_owned(), "b\x1b[2J".to_owned())], body: body.into() }
    }

    #[test]
    fn evidence_has_request_response_and_log_and_no_secret() {
        let text = shown_of(
            &answer("oops hunter22\ntwo"),
            "start\nhunter22 came\n",
            &["expected status 200, got 500".to_owned()],
        );
        for part in [
            "given: a token\n`env_from` printed:\n  | T=***\n",
            "  > POST /me\n  > authorization: ***\n  > x: ***\n  >\n  > {\"t\": \"***\"}\n",
            "  < 500\n  < a: b\\u{1b}[2J\n  <\n  < oops ***\n  < two\n",
            "(its end; 9 bytes before are left out):\n  | start\n  | *** came\n",
            "response: status 500, a body of 17 bytes: oops ***\\ntwo\n",
            "log: *** came\n",
        ] {
            assert!(text.contains(part), "{part:?}:\n{text}");
        }
        assert!(text.ends_with("red: expected status 200, got 500\n") && !text.contains("hunter22"), "{text}");
    }

    #[test]
    fn a_report_shows_all_that_decides_however_much_there_is() {
        let log: String = (0..9_000).map(|n| format!("line {n} {}\n", "x".repeat(500))).collect();
        let red: Vec<String> = (0..50).map(|n| format!("difference {n} {}", "y".repeat(500))).collect();
        let text = shown_of(&answer(&"z".repeat(500_000)), &log, &red);
        let (_, short) = text.split_once("--- in short\n").unwrap();
        assert!(short.lines().count() <= 19 && short.len() <= 2 << 10, "{short}");
        assert!(
            short.contains("response: status 500")
                && short.contains("log: line 8999")
                && short.contains("red: difference 0")
        );
        assert!(short.ends_with("red: and 46 more differences\n"));
        assert!(text.contains("more bytes]\n") && text.len() < log.len() + 100_000);
    }

    #[test]
    fn a_green_test_says_so() {
        assert!(shown_of(&answer(""), "", &[]).ends_with("green: the response is as expected\n"));
    }
}
