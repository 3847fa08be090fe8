//! The note in a clone of a turn that says which turn it is of, so that commands can be typed inside of it.

use std::path::{Path, PathBuf};

use holdpoint_protocol::ids::{AgentName, FlightId, WaypointId};
use serde::{Deserialize, Serialize};

use crate::{bounded, failure::Failure, state::write_private};

/// Where it is, below the clone: no work can have it.
const FILE: &str = ".git/holdpoint.json";
/// The most bytes of it.
const BYTES_MAX: usize = 64 << 10;

/// What a clone was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeskNote {
    /// The repository that the flight is of.
    pub(crate) repo: PathBuf,
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
    /// Who has the turn.
    pub(crate) person: AgentName,
}

impl DeskNote {
    /// That of a clone; `None`: `holdpoint take` did not make it.
    pub(crate) fn of(clone: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded::read(&clone.join(FILE), BYTES_MAX).ok()?).ok()
    }

    /// That of the clone that a folder is in, with the clone's root.
    pub(crate) fn around(dir: &Path) -> Option<(PathBuf, Self)> {
        let dir = dir.canonicalize().ok()?;
        dir.ancestors().find_map(|root| Some((root.to_owned(), Self::of(root)?)))
    }

    /// Leaves it in a clone.
    pub(crate) fn leave(&self, clone: &Path) -> Result<(), Failure> {
        write_private(&clone.join(FILE), &serde_json::to_vec_pretty(self).expect("plain data with text keys"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_says_anywhere_in_it_what_it_is_for() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("src/deep");
        for folder in [&below, &dir.path().join(".git")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(DeskNote::around(&below), None);
        let name = |name: &str| name.parse().unwrap();
        let note = DeskNote {
            repo: "/repo".into(),
            flight: "f".parse().unwrap(),
            waypoint: "w".parse().unwrap(),
            person: name("human-ann"),
        };
        note.leave(dir.path()).unwrap();
        assert_eq!(DeskNote::around(&below), Some((dir.path().canonicalize().unwrap(), note)));
    }
}
