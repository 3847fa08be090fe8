//! Who hears of a run's test runners, and what was heard in the core's words.

use std::path::Path;

use holdpoint_core::runners::{Observed, ObservedRun};
use holdpoint_sandbox::{
    Network, Sandbox,
    observer::{Listener, Told},
};

use super::{Program, exit_code};
use crate::{error::BenchError, guard};

/// What hears of a program's test runners, where that is asked for and they can say it: over a socket.
pub(super) async fn listener(
    sandbox: &Sandbox,
    program: &Program<'_>,
    network: Network,
    dir: &Path,
) -> Result<Option<Listener>, BenchError> {
    let wanted = program.observed && !guard::programs(program.command).is_empty();
    if !wanted || !sandbox.unix_sockets(network).await? {
        return Ok(None);
    }
    Listener::open(dir, sandbox).map(Some).map_err(BenchError::io("listen in", dir))
}

/// What was heard of a check, for the core's rules.
pub(super) fn all(command: &str, told: &[Told]) -> Observed {
    Observed::new(command, told.iter().map(one).collect())
}

fn one(told: &Told) -> ObservedRun {
    let mut run = ObservedRun::of(&told.name, told.ended.and_then(exit_code));
    told.said.iter().for_each(|message| run.hear(message));
    run
}
