//! The program `holdpoint-ask`, inside the sandbox: asks over the line, waits for the reply, exits with what became of it. Of the
//! turn's files it prints what is asked for.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::AsRawFd,
        unix::{fs::FileTypeExt, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use holdpoint_protocol::artifact::Clarified;
use holdpoint_runtime::{fresh, process::exit};
use holdpoint_text::shown;
use serde_json::{Value, json};

use super::{
    PROGRAM, REPLY_SUFFIX, SOCKET_VARIABLE,
    arguments::{self, Typed, USAGE},
    message::{Became, Reply, Request, RequestKind, checked},
    parts::{Files, Listed, NoPart, TURN_VARIABLE, TurnPart},
};
use crate::{backend::question::BadQuestion, context::pull::Pulled, personality};

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
    let Some(arguments) = personality::started_as(PROGRAM) else { return };
    std::process::exit(i32::from(run(arguments, std::env::var_os(SOCKET_VARIABLE).map(PathBuf::from))));
}

fn run(arguments: impl Iterator<Item = String>, socket: Option<PathBuf>) -> u8 {
    let Told { code, out, beside } = match arguments::read(arguments) {
        Ok(Typed::Usage) => Told { code: 0, out: USAGE.to_owned(), beside: Beside::Nothing },
        Ok(Typed::Ask(wanted)) => asked(wanted, socket),
        Ok(Typed::Task) => of_files(|files| Ok(lines(&files.task()?))),
        Ok(Typed::Context(part)) => of_files(|files| context(files, part.as_deref())),
        Err(bad) => Told::words(exit::USAGE, format!("{bad}; see {PROGRAM} --help")),
    };
    // Nobody is left to tell when standard output is gone; the same below.
    let _ = io::stdout().write_all(out.as_bytes());
    let _ = match beside {
        Beside::Nothing => Ok(()),
        Beside::Words(words) => writeln!(io::stderr(), "{PROGRAM}: {}", shown::lines(&words)),
        Beside::Json(value) => writeln!(io::stderr(), "{}", shown::json(&value.to_string())),
    };
    code
}

/// What the program prints, and its exit code.
struct Told {
    code: u8,
    out: String,
    beside: Beside,
}

/// What goes to standard error.
enum Beside {
    Nothing,
    Words(String),
    /// One line for programs.
    Json(Value),
}

impl Told {
    fn words(code: u8, words: impl Into<String>) -> Self {
        Self { code, out: String::new(), beside: Beside::Words(words.into()) }
    }
}

fn asked(wanted: RequestKind, socket: Option<PathBuf>) -> Told {
    let Some(socket) = socket else {
        // A request that cannot be asked anywhere is reported first.
        return match checked(wanted) {
            Err(bad) => Told::words(exit::USAGE, Unasked::Bad(bad).to_string()),
            Ok(_) => Told::words(
                exit::ENVIRONMENT,
                format!("{SOCKET_VARIABLE} is not set: this works in an agent's turn only"),
            ),
        };
    };
    match ask(wanted, &socket) {
        Ok(Became::Answer(answer)) => Told { code: 0, out: printed(&answer), beside: Beside::Words(remarks(&answer)) },
        Ok(Became::Result) => Told::words(EXIT_RESULT, RESULT),
        Ok(Became::Refused(why)) => Told::words(exit::USAGE, why),
        Ok(Became::Completed(recorded)) => {
            let out = lines(&json!({"outcome": recorded.outcome}));
            Told { code: 0, out, beside: recorded.warning.map_or(Beside::Nothing, Beside::Json) }
        }
        Ok(Became::Valid(recorded)) => {
            let out = lines(&json!({"valid": true, "outcome": recorded.outcome}));
            Told { code: 0, out, beside: recorded.warning.map_or(Beside::Nothing, Beside::Json) }
        }
        Ok(Became::Wrong(error)) => Told { code: exit::USAGE, out: String::new(), beside: Beside::Json(error) },
        Ok(Became::Planned) => Told { code: 0, out: lines(&json!({"recorded": "plan"})), beside: Beside::Nothing },
        Ok(Became::Pulled(Pulled { text, cut })) => {
            let more = "this is the beginning: there is more";
            Told { code: 0, out: text, beside: if cut { Beside::Words(more.to_owned()) } else { Beside::Nothing } }
        }
        Ok(Became::Status(standing)) => Told { code: 0, out: lines(&json!(standing)), beside: Beside::Nothing },
        Err(bad @ Unasked::Bad(_)) => Told::words(exit::USAGE, bad.to_string()),
        Err(error @ Unasked::Line { .. }) => Told::words(exit::ENVIRONMENT, error.to_string()),
    }
}

/// What the files of the turn say.
fn of_files(read: impl FnOnce(&Files) -> Result<String, NoPart>) -> Told {
    let Some(files) = Files::of_environment() else {
        let words = format!("{TURN_VARIABLE} is not set: your input says what is wanted");
        return Told::words(exit::ENVIRONMENT, words);
    };
    match read(&files) {
        Ok(out) => Told { code: 0, out, beside: Beside::Nothing },
        Err(error @ NoPart::Unreadable { .. }) => Told::words(exit::ENVIRONMENT, error.to_string()),
        Err(error) => Told::words(exit::USAGE, error.to_string()),
    }
}

fn context(files: &Files, part: Option<&str>) -> Result<String, NoPart> {
    let Some(part) = part else {
        let listed = files.list()?;
        return Ok(listed.iter().map(|Listed { part, bytes }| format!("{part} {bytes}\n")).collect());
    };
    let TurnPart { text, bytes, cut, .. } = files.part(part)?;
    let text = text.trim_end();
    Ok(match cut {
        None => format!("{text}\n"),
        Some(file) => format!("{text}\n[cut: {bytes} bytes in all, in {}]\n", file.display()),
    })
}

/// JSON for people and programs.
fn lines(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{}\n", shown::json(&text))
}

/// Asks over the line of a turn and waits for the reply, in this thread.
///
/// # Errors
/// It breaks a bound, or nobody listens.
pub fn ask(wanted: RequestKind, line: &Path) -> Result<Became, Unasked> {
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
