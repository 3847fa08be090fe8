//! The other side of the sandbox: the same executable, started again with a hidden first argument.
//!
//! ```text
//! harness ── socket ── outer stage (makes namespaces, ends the tree) ── socket ── inner stage (confines itself)
//!                                                                                    └── the program
//! ```
//!
//! The outer stage stays unconfined and out of the program's reach. The inner stage is process 1 of the process
//! namespace where there is one. It must be confined before it starts the program, because there is no place between
//! fork and exec for code of ours.

mod group;
mod inner;
pub(crate) mod landlock;
mod limits;
mod loopback;
mod outer;
mod root;
pub(crate) mod seccomp;
mod tree;
mod users;
mod watch;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::wire::Step;

/// The hidden first argument that makes an executable the shim.
pub const ARG: &str = "__sandbox";
const OUTER: &str = "outer";
const INNER: &str = "inner";
/// This executable as the kernel knows it: right even when the file was replaced since.
const SELF: &str = "/proc/self/exe";

/// Exit code of a shim that could not even read what it shall do.
const EXIT_UNUSABLE: i32 = 125;

/// Becomes the shim if this process was started as one; returns otherwise.
///
/// Every executable that is used as a shim calls this first in `main`, before any thread and any runtime.
pub fn maybe_run() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|arg| arg != ARG) {
        return;
    }
    let stage = args.next().unwrap_or_default();
    let result = match stage.to_str() {
        Some(OUTER) => outer::run(),
        Some(INNER) => inner::run(),
        _ => Err(Failure::new(Step::Control, "not a stage of the sandbox")),
    };
    std::process::exit(if result.is_ok() { 0 } else { EXIT_UNUSABLE });
}

/// The arguments that start the first stage.
pub(crate) fn args() -> [&'static str; 2] {
    [ARG, OUTER]
}

/// A step that did not work.
#[derive(Debug, thiserror::Error)]
#[error("{step:?}: {reason}")]
pub(crate) struct Failure {
    step: Step,
    reason: String,
}

impl Failure {
    fn new(step: Step, reason: impl Into<String>) -> Self {
        Self { step, reason: reason.into() }
    }

    /// For `map_err`: names the step and what was tried in it.
    fn at<E: std::fmt::Display>(step: Step, what: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self { step, reason: format!("{what}: {error}") }
    }
}

/// The socket that our parent gave as standard input.
fn control() -> Result<UnixStream, Failure> {
    let stdin = std::io::stdin();
    let owned = stdin.as_fd().try_clone_to_owned().map_err(Failure::at(Step::Control, "standard input"))?;
    Ok(UnixStream::from(owned))
}
