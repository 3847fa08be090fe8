//! Ends a broker that nobody uses any more. A command ends it by itself, unless it was killed, its terminal was closed or it
//! panicked; the kernel gives its locks back all the same, and the keeper sees that.
//!
//! It is a process of its own for each broker, so that it outlives every command. It has no runtime and no thread but its first.

use std::{
    ffi::OsString,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use holdpoint_runtime::process::DRAIN_DEADLINE;
use holdpoint_sandbox::service::{Lifetime, Service, ServiceError, ServiceSpec};

use super::{
    child::own_program,
    started::{LOOK_EVERY, STOP_TIMEOUT, StartedBroker},
};
use crate::{
    failure::Failure,
    state::{Lock, Slot, StateDir},
};

/// The hidden first argument that makes this executable a keeper; the state folder follows.
const ARG: &str = "__keep-broker";
/// How long the processes of a command that is gone may take to give their turns back, before the broker is ended under them.
const DRAIN_PATIENCE: Duration = DRAIN_DEADLINE;

/// Becomes a keeper if this process was started as one; returns otherwise.
pub fn maybe_run() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|arg| arg != ARG) {
        return;
    }
    let state = args.next().and_then(|folder| StateDir::at(PathBuf::from(folder)));
    let kept = state.map_or(Ok(()), |state| keep(&state));
    std::process::exit(i32::from(kept.is_err()));
}

/// Starts the keeper of the broker that was started just now.
pub(super) fn start(state: &StateDir) -> Result<(), ServiceError> {
    let args: Vec<OsString> = vec![ARG.into(), state.dir().into()];
    let log = state.path("broker/keeper.log");
    let spec =
        ServiceSpec { program: own_program(), args, env: Vec::new(), dir: None, log, lifetime: Lifetime::Detached };
    Service::spawn(&spec).map(drop)
}

/// Waits until nobody uses the broker, and ends it; or until it is gone, or was started again and has another keeper.
fn keep(state: &StateDir) -> Result<(), Failure> {
    let Some(kept) = StartedBroker::load(state) else { return Ok(()) };
    let mut unused: Option<Instant> = None;
    while kept.process.alive() && StartedBroker::load(state).is_none_or(|known| known.process == kept.process) {
        thread::sleep(LOOK_EVERY);
        // Without its folder nobody can use it.
        let there = state.dir().is_dir();
        let locks = if there { nobody(state)? } else { None };
        if there && locks.is_none() {
            unused = None;
            continue;
        }
        let since = *unused.get_or_insert_with(Instant::now);
        if !Slot::any_used(state) || since.elapsed() > DRAIN_PATIENCE {
            return end(&kept, state);
        }
    }
    Ok(())
}

/// Locks that nobody can have who uses the broker, starts it or ends it; `None`: somebody does.
fn nobody(state: &StateDir) -> Result<Option<(Lock, Lock)>, Failure> {
    let Some(start) = Lock::try_exclusive(&state.path("start.lock"))? else { return Ok(None) };
    Ok(Lock::try_exclusive(&state.path("users.lock"))?.map(|users| (start, users)))
}

/// In order, as what was deleted may not be on the disk yet; the hard way where that takes too long.
fn end(kept: &StartedBroker, state: &StateDir) -> Result<(), Failure> {
    let cannot_end = |source| crate::state::unusable("end the broker of", state.dir(), &source);
    kept.process.terminate().map_err(cannot_end)?;
    let deadline = Instant::now() + STOP_TIMEOUT;
    while kept.process.alive() && Instant::now() < deadline {
        thread::sleep(LOOK_EVERY);
    }
    kept.process.kill().map(drop).map_err(cannot_end)
}
