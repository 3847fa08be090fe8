//! What can go wrong, in the words of users: what, why, and what to do next.
//!
//! Errors of other crates become a [`Failure`] here or where they happen; nothing is retried here.

mod from;

use std::{error::Error, process::ExitCode};

use holdpoint_planfile::plan::PlanErrors;
use holdpoint_protocol::api::ActRefused;
use holdpoint_runtime::process::exit;
use holdpoint_text::{chain::ErrorChain, shown};
use serde_json::{Value, json};

use crate::{output, typed::in_text};

/// Exit codes of all commands (contract, "Commands").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The request is done; for a flight: all waypoints accepted.
    Success,
    /// The flight ended, or only people can move it on, and not all is accepted.
    Incomplete,
    /// Usage, plan or configuration.
    Usage,
    /// No broker, a broker that is too old, a sandbox that is not enforceable, no git.
    Environment,
    /// Interrupted; the flight can be resumed.
    Interrupted,
}

impl Exit {
    /// The exit that has this code.
    pub(crate) fn of(code: u8) -> Self {
        match code {
            exit::OK => Self::Success,
            exit::USAGE => Self::Usage,
            exit::ENVIRONMENT => Self::Environment,
            exit::INTERRUPTED => Self::Interrupted,
            _ => Self::Incomplete,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => exit::OK,
            Exit::Incomplete => exit::INCOMPLETE,
            Exit::Usage => exit::USAGE,
            Exit::Environment => exit::ENVIRONMENT,
            Exit::Interrupted => exit::INTERRUPTED,
        })
    }
}

/// A command that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The plan has problems.
    Plan(PlanErrors),
    /// A person's act changes nothing.
    Act(Box<ActRefused>),
    /// Anything else.
    Other {
        /// How the process ends.
        exit: Exit,
        /// A short word for scripts.
        code: &'static str,
        /// What happened and why.
        message: String,
        /// What to do next.
        hint: String,
    },
}

impl Failure {
    /// The user asked for something that cannot be (exit 2).
    pub(crate) fn usage(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other { exit: Exit::Usage, code, message: message.into(), hint: hint.into() }
    }

    /// The machine lacks something (exit 3).
    pub(crate) fn environment(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other { exit: Exit::Environment, code, message: message.into(), hint: hint.into() }
    }

    /// The same, with something more that is so.
    pub(crate) fn also(self, more: &str) -> Self {
        match self {
            Self::Other { exit, code, message, hint } => {
                Self::Other { exit, code, message: format!("{message}; {more}"), hint }
            }
            Self::Plan(_) | Self::Act(_) => self,
        }
    }

    /// Whether it has this short word.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Other { code, .. } if *code == word)
    }

    /// What happened, for logs.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Plan(errors) => errors.to_string(),
            Self::Act(refused) => refused.message.clone(),
            Self::Other { message, .. } => message.clone(),
        }
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Plan(_) => Exit::Usage,
            Self::Act(_) => Exit::Incomplete,
            Self::Other { exit, .. } => *exit,
        }
    }

    /// Says it on standard error, and as an object on standard output if `json`.
    pub(crate) fn report(&self, json: bool) -> Exit {
        match self {
            Self::Plan(errors) => output::err(errors.render().trim_end()),
            Self::Act(refused) => say(&refused.message, &refused.hint),
            Self::Other { message, hint, .. } => say(message, hint),
        }
        if json {
            self.report_json();
        }
        self.exit()
    }

    /// Says it on standard output, for scripts.
    pub(crate) fn report_json(&self) {
        output::json(&self.to_json());
    }

    /// The object for programs.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Plan(errors) => json!(errors),
            Self::Act(refused) => json!({"error": {
                "code": refused.code, "message": refused.message, "hint": in_text(&refused.hint), "details": refused.details,
            }}),
            Self::Other { code, message, hint, .. } => {
                json!({"error": {"code": code, "message": message, "hint": in_text(hint)}})
            }
        }
    }
}

fn say(message: &str, hint: &str) {
    output::err(&said(message, hint));
}

/// The words of an orchestrator may quote those of an agent: no line of theirs begins where ours do, or looks like ours.
fn said(message: &str, hint: &str) -> String {
    let hint = if hint.is_empty() { String::new() } else { format!("\n hint: {}", rest_quoted(&in_text(hint))) };
    format!("error: {}{hint}", rest_quoted(message))
}

/// A message whose first line is ours.
pub(crate) fn rest_quoted(text: &str) -> String {
    let text = shown::lines(text);
    match text.split_once('\n') {
        None => text.into_owned(),
        Some((first, rest)) => {
            let rest = shown::quoted(rest).into_iter().map(|line| format!("\n    {line}"));
            std::iter::once(first.to_owned()).chain(rest).collect()
        }
    }
}

/// An error with all its causes in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    ErrorChain(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let inner = std::io::Error::other("disk full");
        let outer = std::io::Error::other(inner);
        assert_eq!(chain(&outer), "disk full");
    }

    #[test]
    fn words_of_others_cannot_begin_a_line_of_ours() {
        let text = said("refused: \u{1b}[2Jx\r\nerror: none\u{2028}\n hint: rm -rf .", "ask\n hint: y");
        let ours: Vec<&str> = text.lines().filter(|line| !line.starts_with("    | ")).collect();
        assert_eq!(ours, ["error: refused: \\u{1b}[2Jx", " hint: ask"]);
        assert_eq!(said("plain", ""), "error: plain");
    }

    #[test]
    fn codes_read_back_as_written() {
        for exit in [Exit::Success, Exit::Incomplete, Exit::Usage, Exit::Environment, Exit::Interrupted] {
            let code = [0, 1, 2, 3, 130].into_iter().find(|code| ExitCode::from(*code) == ExitCode::from(exit));
            assert_eq!(code.map(Exit::of), Some(exit));
        }
    }
}
