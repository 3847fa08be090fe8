//! The folder of one turn: everything a verification writes is in it, and it goes when the turn is over.

use std::{
    fs,
    path::{Path, PathBuf},
};

use holdpoint_runtime::put_away::put_away;
use holdpoint_sandbox::tree::{remove_leftovers, remove_tree, spread};

use crate::error::VerifyError;

/// Turn folders, below the state folder.
const TURNS: &str = "turns";

/// A folder that is removed when dropped.
#[derive(Debug)]
pub(crate) struct TurnFolder {
    path: PathBuf,
}

impl TurnFolder {
    /// Makes the folder of a turn, empty.
    pub(crate) fn create(state_dir: &Path, name: &str) -> Result<Self, VerifyError> {
        let path = state_dir.join(TURNS).join(name);
        put_away(&path).map_err(VerifyError::io("remove", &path))?;
        make_dir(&path)?;
        let path = path.canonicalize().map_err(VerifyError::io("resolve", &path))?;
        Ok(Self { path })
    }

    /// Where it is: absolute and without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TurnFolder {
    fn drop(&mut self) {
        if let Err(error) = put_away(&self.path) {
            // The next start removes it.
            tracing::warn!(folder = %self.path.display(), %error, "cannot remove a turn's folder");
        }
    }
}

/// Makes the place for turns, and removes what a crashed process left there. A folder that cannot be removed costs disk
/// space and nothing else.
pub(crate) fn clear_stale(state_dir: &Path) -> Result<(), VerifyError> {
    let turns = state_dir.join(TURNS);
    for removed in [remove_tree(&turns), remove_leftovers(state_dir)] {
        if let Err(error) = removed {
            tracing::warn!(folder = %state_dir.display(), %error, "cannot remove what an earlier process left");
        }
    }
    make_dir(&turns)?;
    spread(&turns);
    Ok(())
}

/// Makes a folder and those above it.
pub(crate) fn make_dir(path: &Path) -> Result<(), VerifyError> {
    fs::create_dir_all(path).map_err(VerifyError::io("create", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn folder_goes_with_its_turn_even_if_parts_of_it_are_closed() {
        let state = tempfile::tempdir().unwrap();
        let folder = TurnFolder::create(state.path(), "turn").unwrap();
        let closed = folder.path().join("closed");
        make_dir(&closed.join("inner")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn left_overs_of_a_crash_are_cleared() {
        let state = tempfile::tempdir().unwrap();
        make_dir(&state.path().join("turns/old/tree")).unwrap();
        make_dir(&state.path().join(".removing-1-0/0/tree")).unwrap();
        clear_stale(state.path()).unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(state.path().join("turns")).unwrap().count(), 0);
    }
}
