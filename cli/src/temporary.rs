//! Temporary folders of commands.

use holdpoint_sandbox::TemporaryFolder;

use crate::{failure::Failure, state::try_room};

/// A folder for what a command needs as long as it runs.
pub(crate) fn folder() -> Result<TemporaryFolder, Failure> {
    TemporaryFolder::new().map_err(|error| unusable(&error))
}

/// Refuses a place for temporary folders that cannot be used, or whose disk is full.
pub(crate) fn usable() -> Result<(), Failure> {
    try_room(folder()?.path()).map_err(|error| unusable(&error))
}

fn unusable(error: &std::io::Error) -> Failure {
    let message = format!("cannot make a temporary folder in {}: {error}", std::env::temp_dir().display());
    Failure::environment("temporary_folder", message, "make room there, or name another place with TMPDIR")
}
