//! Running a tree of actors as a process: signals, the starter's end, draining, exit codes.
//!
//! The first signal, or the end of the process that started this one, drains the tree; a second signal ends it at once.

#[cfg(test)]
mod tests;

use std::{io, time::Duration};

use holdpoint_sandbox::service;
use tokio::{
    runtime::{self, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
};

use crate::{
    supervise::{Meltdown, Tree},
    telemetry::{ErrorChain, fields},
};

/// How long a process may take to end in order. Below the 30 s that container platforms wait before they kill.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(20);

/// When this variable is `1`, standard input is a pipe that the starter holds: its end means that the starter is gone.
pub const CONTROL_PIPE: &str = "HOLDPOINT_CONTROL_PIPE";

/// Exit codes of every command and process (contract, "Commands").
pub mod exit {
    /// All is well.
    pub const OK: u8 = 0;
    /// It ended without having reached what was wanted.
    pub const INCOMPLETE: u8 = 1;
    /// Usage, plan or configuration.
    pub const USAGE: u8 = 2;
    /// The environment: no broker, a broker that is too old, a sandbox that is not enforceable, no git.
    pub const ENVIRONMENT: u8 = 3;
    /// Interrupted.
    pub const INTERRUPTED: u8 = 130;
}

/// Why a process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// SIGTERM.
    Terminate,
    /// SIGINT, Ctrl-C.
    Interrupt,
    /// The process that started it is gone.
    StarterGone,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// Its tree had nothing left to do.
    ByItself,
    /// It was asked to, and did in order.
    Drained(StopCause),
    /// It was asked to a second time, and did at once.
    Cut(StopCause),
}

impl ProcessEnd {
    /// The exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::ByItself | Self::Drained(_) => exit::OK,
            Self::Cut(_) => exit::INTERRUPTED,
        }
    }
}

/// Why a process failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system does not let it listen for signals.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// A part of it failed again and again.
    #[error("a part of the process cannot be kept running")]
    Meltdown(#[source] Meltdown),
}

/// The runtime of a process of ours. It has a thread for each core: with half as many an orchestrator takes a little less CPU,
/// but what it sends comes in smaller bunches, which costs the broker more.
///
/// # Errors
/// The system gives no thread.
pub fn runtime() -> io::Result<Runtime> {
    runtime::Builder::new_multi_thread().enable_all().build()
}

/// Runs `tree` until it ends or this process is asked to end.
///
/// # Errors
/// [`ProcessError`].
pub async fn run_process(name: &str, tree: Tree, drain_deadline: Duration) -> Result<ProcessEnd, ProcessError> {
    let mut signals = Signals::listen()?;
    let (ask, asked) = mpsc::unbounded_channel();
    let mut listeners = JoinSet::new();
    if std::env::var_os(CONTROL_PIPE).is_some_and(|value| value == "1") {
        let ask = ask.clone();
        listeners.spawn(async move {
            service::starter_gone().await;
            let _ = ask.send(StopCause::StarterGone);
        });
    }
    listeners.spawn(async move { while ask.send(signals.next().await).is_ok() {} });
    let ended = run_until(tree, asked, drain_deadline).await;
    match &ended {
        Ok(ended) => tracing::info!(process = name, ?ended, "ended"),
        Err(error) => tracing::error!(process = name, { fields::ERROR } = %ErrorChain(error), "failed"),
    }
    ended
}

/// As [`run_process`], but it is asked to end through `asked`: the first time it drains, the second time it ends at once.
///
/// # Errors
/// [`ProcessError::Meltdown`].
pub async fn run_until(
    mut tree: Tree,
    mut asked: mpsc::UnboundedReceiver<StopCause>,
    drain_deadline: Duration,
) -> Result<ProcessEnd, ProcessError> {
    let cause = tokio::select! {
        ended = tree.ended() => return ended.map(|()| ProcessEnd::ByItself).map_err(ProcessError::Meltdown),
        Some(cause) = asked.recv() => cause,
    };
    tracing::info!(?cause, deadline_s = drain_deadline.as_secs(), "draining");
    tree.drain(drain_deadline);
    tokio::select! {
        ended = tree.ended() => ended.map(|()| ProcessEnd::Drained(cause)).map_err(ProcessError::Meltdown),
        Some(cause) = asked.recv() => Ok(ProcessEnd::Cut(cause)),
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, ProcessError> {
        let listen = |kind| signal(kind).map_err(ProcessError::Signals);
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> StopCause {
        tokio::select! {
            _ = self.terminate.recv() => StopCause::Terminate,
            _ = self.interrupt.recv() => StopCause::Interrupt,
        }
    }
}
