//! The program `holdpoint-ask`, inside the sandbox: asks over the line, waits for the reply, exits with what became of it.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::FileTypeExt, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use holdpoint_core::shown;
use holdpoint_protocol::artifact::Clarified;

use super::{
    PROGRAM, REPLY_SUFFIX, SOCKET_VARIABLE,
    arguments::{self, Typed, USAGE},
    message::{Became, Reply, Request, Wanted, checked},
};
use crate::{backend::question::BadQuestion, fresh, process::exit};

/// The question became the turn's result ("temporary failure" in `sysexits.h`).
pub const EXIT_RESULT: u8 = 75;
/// What an asker learns then.
pub const RESULT: &str = "this is the turn's result now, and a person answers it. End your program: the answer opens another turn \
                          that goes on from your files as they are";
/// The longest reply that is read, in bytes: an answer with its constraints at their bounds, written with escapes.
const REPLY_BYTES_MAX: u64 = 1 << 20;

/// Why nothing was asked.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    /// It breaks a bound.
    #[error("this cannot be asked: {0}")]
    Bad(#[from] BadQuestion),
    /// The line does not lead to anybody.
    #[error("nobody listens at {}: {source}", line.display())]
    Line {
        /// The line.
        line: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Becomes `holdpoint-ask` if this executable was started under that name; returns otherwise.
///
/// Every executable that runs agents calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    if Path::new(&called).file_name().is_none_or(|name| name.as_bytes() != PROGRAM.as_bytes()) {
        return;
    }
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    std::process::exit(i32::from(run(arguments, std::env::var_os(SOCKET_VARIABLE).map(PathBuf::from))));
}

fn run(arguments: impl Iterator<Item = String>, socket: Option<PathBuf>) -> u8 {
    let (code, said) = match arguments::read(arguments) {
        Ok(Typed::Usage) => {
            // Nobody is left to tell when standard output is gone; the same below.
            let _ = io::stdout().write_all(USAGE.as_bytes());
            return 0;
        }
        Ok(Typed::Ask(wanted)) => typed(wanted, socket),
        Err(bad) => (exit::USAGE, format!("{bad}; see {PROGRAM} --help")),
    };
    let _ = writeln!(io::stderr(), "{PROGRAM}: {}", shown::lines(&said));
    code
}

fn typed(wanted: Wanted, socket: Option<PathBuf>) -> (u8, String) {
    let unset = || format!("{SOCKET_VARIABLE} is not set: this works in an agent's turn only");
    let asked = match socket {
        Some(socket) => ask(wanted, &socket),
        // What cannot be asked anywhere is said first.
        None => match checked(wanted) {
            Err(bad) => Err(Unasked::Bad(bad)),
            Ok(_) => return (exit::ENVIRONMENT, unset()),
        },
    };
    match asked {
        Ok(Became::Answer(answer)) => {
            // Nobody is left to tell when standard output is gone.
            let _ = io::stdout().write_all(printed(&answer).as_bytes());
            (0, remarks(&answer))
        }
        Ok(Became::Result) => (EXIT_RESULT, RESULT.to_owned()),
        Ok(Became::Refused(why)) => (exit::USAGE, why),
        Err(bad @ Unasked::Bad(_)) => (exit::USAGE, bad.to_string()),
        Err(error @ Unasked::Line { .. }) => (exit::ENVIRONMENT, error.to_string()),
    }
}

/// Asks over the line of a turn and waits for the reply, in this thread.
///
/// # Errors
/// It breaks a bound, or nobody listens.
pub fn ask(wanted: Wanted, line: &Path) -> Result<Became, Unasked> {
    checked(wanted.clone())?;
    let request = Request { id: fresh::suffix(), wanted };
    exchange(line, request).map_err(|source| Unasked::Line { line: line.to_owned(), source })
}

/// An answer as it is printed: the option, the words, or both.
fn printed(answer: &Clarified) -> String {
    [&answer.option, &answer.text].into_iter().flatten().map(|text| format!("{}\n", text.trim_end())).collect()
}

/// What was said with an answer.
fn remarks(answer: &Clarified) -> String {
    let mut said = format!("answered by {}", answer.by);
    if let Some(rationale) = &answer.rationale {
        said.push_str(&format!("\nrationale: {}", rationale.trim_end()));
    }
    for constraint in &answer.constraints {
        said.push_str(&format!("\nconstraint: {}", constraint.trim_end()));
    }
    said
}

/// Sends a request and waits for its reply, over whatever the line is.
fn exchange(path: &Path, request: Request) -> io::Result<Became> {
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    if path.metadata()?.file_type().is_fifo() {
        // One at a time, or the requests of two would mix. The lock goes with the file.
        let mut requests = OpenOptions::new().write(true).open(path)?;
        requests.lock()?;
        let mut replies = path.as_os_str().to_owned();
        replies.push(REPLY_SUFFIX);
        let replies = File::open(replies)?;
        requests.write_all(&line)?;
        return reply_to(&request.id, replies);
    }
    let mut stream = connect(path)?;
    stream.write_all(&line)?;
    reply_to(&request.id, stream)
}

/// Connects by way of the folder: a socket's own path may be longer than the system takes.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidFilename));
    };
    let dir = File::open(dir)?;
    UnixStream::connect(Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name))
}

/// The reply with this id. Others belong to askers that did not wait for theirs.
fn reply_to(id: &str, replies: impl Read) -> io::Result<Became> {
    let mut replies = BufReader::new(replies.take(REPLY_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        if replies.read_until(b'\n', &mut line)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let reply: Reply = serde_json::from_slice(&line)?;
        if reply.id == id || reply.id.is_empty() {
            return Ok(reply.became);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_printed_alone_and_what_was_said_with_it_beside() {
        let answer = Clarified {
            question: "Which?".to_owned(),
            option: Some("left".to_owned()),
            text: Some("but \u{1b}[31mslowly\n\n".to_owned()),
            rationale: Some("it is short".to_owned()),
            constraints: vec!["no detour".to_owned()],
            by: "human-ann".to_owned(),
        };
        assert_eq!(printed(&answer), "left\nbut \u{1b}[31mslowly\n");
        assert_eq!(remarks(&answer), "answered by human-ann\nrationale: it is short\nconstraint: no detour");
    }
}
