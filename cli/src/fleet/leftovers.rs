//! Configuration and credentials of processes whose command was killed: they are removed by the next command.

use std::{fs, path::Path};

use holdpoint_sandbox::ProcessId;

use crate::{
    failure::Failure,
    state::{StateDir, write_private},
};

/// Says in a run's folder which process it belongs to.
const OWNER: &str = "owner.json";

/// Notes that a folder belongs to this process.
pub(super) fn own(folder: &Path) -> Result<(), Failure> {
    let file = folder.join(OWNER);
    match ProcessId::current() {
        Some(process) if !file.exists() => write_private(&file, &serde_json::to_vec(&process).expect("two numbers")),
        _ => Ok(()),
    }
}

/// Removes the folders of commands that are gone. One without an owner is just being made, and is left alone.
pub(super) fn sweep(state: &StateDir) {
    let Ok(runs) = fs::read_dir(state.path("processes")) else { return };
    for run in runs.flatten().map(|run| run.path()) {
        let owner = fs::read(run.join(OWNER)).ok().and_then(|bytes| serde_json::from_slice::<ProcessId>(&bytes).ok());
        if owner.is_some_and(|owner| !owner.alive())
            && let Err(error) = fs::remove_dir_all(&run)
        {
            tracing::debug!(%error, run = %run.display(), "somebody else removes it too");
        }
    }
}
