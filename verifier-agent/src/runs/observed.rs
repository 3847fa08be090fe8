//! Who hears of a run's test runners, and what was heard in the words of `evidence`.

use std::path::Path;

use holdpoint_evidence::runners::{Observed, ObservedRun};
use holdpoint_sandbox::{
    Command, Network, Sandbox,
    observer::{ObserverListener, ObserverReport},
};

use super::{Program, exit_code};
use crate::{error::VerifyError, guard, place::Places};

/// What hears of a program's test runners, where that is asked for and they can say it: over a socket.
pub(super) async fn listener(
    sandbox: &Sandbox,
    program: &Program<'_>,
    network: Network,
    dir: &Path,
) -> Result<Option<ObserverListener>, VerifyError> {
    let command = program.command;
    let named = !guard::programs(command).is_empty()
        || guard::cargo::may_test(command)
        || guard::go::may_test(command)
        || guard::node::names_tests(command);
    if !program.observed || !named || !sandbox.unix_sockets(network).await? {
        return Ok(None);
    }
    let listener = ObserverListener::open(dir, sandbox).map_err(VerifyError::io("listen in", dir))?;
    Ok(Some(listener.at_once(guard::cargo::at_once(command).max(guard::go::at_once(command)))))
}

/// Opens the way to what hears of a command's test runners on a tree, and has those of cargo, go and node start through it. What that
/// takes is written into the folder `dir`.
pub(super) fn start_through(
    listener: &ObserverListener,
    text: &str,
    command: &mut Command,
    (dir, tree): (&Path, &Path),
) -> Result<(), VerifyError> {
    listener.grant(command);
    if guard::cargo::may_test(text) {
        guard::cargo::start_through(&listener.starts_with(), tree, &mut command.env);
    }
    if guard::go::may_test(text) {
        let read = guard::go::start_through(&listener.starts_with(), &dir.join("go"), &mut command.env)?;
        command.profile.read.extend(read);
    }
    if guard::node::names_tests(text) {
        // Another folder than that of the module that all processes of node load.
        let read = guard::node::start_through(&listener.starts_with(), &dir.join("node-test"), &mut command.env)?;
        command.profile.read.push(read);
    }
    Ok(())
}

/// What was heard of a check, for the rules of `evidence`.
pub(super) fn all(command: &str, told: &[ObserverReport], places: &Places) -> Observed {
    Observed::new(command, told.iter().map(|told| one(told, places)).collect())
}

fn one(told: &ObserverReport, places: &Places) -> ObservedRun {
    let mut run = ObservedRun::of(&told.name, told.ended.and_then(exit_code));
    told.said.iter().for_each(|message| run.hear(&places.named(message.clone())));
    run
}
