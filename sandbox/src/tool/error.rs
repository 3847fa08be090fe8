//! Why a trusted tool gave no usable result, and how its call is shown to people.

use std::ffi::OsString;
use std::time::Duration;

use super::Limit;

/// Arguments shown in a message; a long list helps nobody.
const ARGS_SHOWN: usize = 8;
/// Characters shown of one argument.
const ARG_CHARS_SHOWN: usize = 80;
/// Lines of standard error shown: tools say the cause at the end.
const STDERR_LINES_SHOWN: usize = 12;

/// Why a trusted tool gave no usable result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The program is not installed, or not in `PATH`.
    #[error("{program} is not installed, or not in PATH")]
    NotFound {
        /// The program as asked for.
        program: String,
    },
    /// The program is there but could not be started (rights, or a missing directory).
    #[error("start {program}")]
    Start {
        /// The program as asked for.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It ran past its deadline and was killed with its process group. Of a confined tool that is
    /// [`OverLimit`](Self::OverLimit).
    #[error("{program} took longer than {after:?} and was ended")]
    TimedOut {
        /// The program as asked for.
        program: String,
        /// The deadline it had.
        after: Duration,
    },
    /// It wrote more to standard output than allowed and was killed.
    #[error("{program} wrote more than {limit} bytes and was ended")]
    OutputLimit {
        /// The program as asked for.
        program: String,
        /// The cap, in bytes.
        limit: usize,
    },
    /// It could not be confined, so it was not run, or not on.
    #[error("confine {program}: {reason}")]
    Confine {
        /// The program as asked for.
        program: String,
        /// What did not work.
        reason: String,
    },
    /// It went over a limit of its confinement and was ended.
    #[error("{program} needed more than {limit} and was ended")]
    OverLimit {
        /// The program as asked for.
        program: String,
        /// The limit.
        limit: Limit,
    },
    /// It ended by itself, but not with exit code 0.
    #[error("{program} {args} ended with {}: {stderr}", ended(.code))]
    Failed {
        /// The program as asked for.
        program: String,
        /// Its arguments, shortened.
        args: String,
        /// Exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// Talking to it through its pipes, or waiting for it, failed.
    #[error("talk to {program}")]
    Io {
        /// The program as asked for.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

fn ended(code: &Option<i32>) -> String {
    code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"))
}

/// The arguments in one short line.
pub(super) fn summary(args: &[OsString]) -> String {
    let mut shown: Vec<String> = args.iter().take(ARGS_SHOWN).map(|arg| shorten(&arg.to_string_lossy())).collect();
    if args.len() > ARGS_SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

fn shorten(arg: &str) -> String {
    if arg.chars().count() <= ARG_CHARS_SHOWN {
        return arg.to_owned();
    }
    arg.chars().take(ARG_CHARS_SHOWN).chain(['…']).collect()
}

/// The last lines of what a tool said, as text.
pub(super) fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(STDERR_LINES_SHOWN);
    lines.get(from..).unwrap_or_default().join("\n")
}
