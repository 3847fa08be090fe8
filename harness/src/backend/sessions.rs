//! The conversations of one role on this machine: where programs keep them, and which one belongs to which waypoint.
//!
//! ```text
//! <dir>/<flight>/files             written by programs in turns of this flight, and out of reach in those of others
//!               /<waypoint>.json   ours: the last conversation about it
//!               /last-used         ours: its time says when it was
//! ```
//!
//! They are an agent's words: no state has them, and no verifier reads them. The one in which an agent asks goes along with its question
//! ([`super::transcript`]).

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::Arc,
};

use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_runtime::{
    shelf::{Shelf, remove},
    telemetry::ErrorChain,
};

use crate::dialect::Continuation;

/// Flights whose conversations are kept; those of the longest unused one go first.
const FLIGHTS_MAX: usize = 16;

/// The conversations of one role.
#[derive(Debug, Clone)]
pub struct Sessions {
    shelf: Arc<Shelf>,
}

impl Sessions {
    /// Those in this folder, which is made when it is needed.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { shelf: Arc::new(Shelf::new(dir, FLIGHTS_MAX)) }
    }

    /// The folder in which programs keep the conversations of a flight.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(&self, flight: &FlightId) -> io::Result<PathBuf> {
        let files = self.shelf.folder(flight.as_str()).join("files");
        DirBuilder::new().recursive(true).mode(0o700).create(&files)?;
        let current = self.shelf.touch(flight.as_str())?;
        self.shelf.prune(|folder| {
            let is_old = folder != current;
            if is_old {
                remove(folder);
            }
            is_old
        });
        Ok(files)
    }

    /// The last conversation about a waypoint.
    #[must_use]
    pub fn last(&self, flight: &FlightId, waypoint: &WaypointId) -> Option<Continuation> {
        serde_json::from_slice(&fs::read(self.note(flight, waypoint)).ok()?).ok()
    }

    /// Keeps in mind which conversation is the last about a waypoint; `None`: none that can be gone on with.
    pub fn remember(&self, flight: &FlightId, waypoint: &WaypointId, last: Option<&Continuation>) {
        let note = self.note(flight, waypoint);
        let kept = match last {
            Some(last) => fs::write(&note, serde_json::to_vec(last).expect("plain data with text keys")),
            None => fs::remove_file(&note).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }),
        };
        if let Err(error) = kept {
            // The next turn begins a new conversation, or goes on with one that its program no longer knows and hears
            // so.
            tracing::warn!(file = %note.display(), error = %ErrorChain(&error), "cannot note a conversation");
        }
    }

    fn note(&self, flight: &FlightId, waypoint: &WaypointId) -> PathBuf {
        self.shelf.folder(flight.as_str()).join(format!("{waypoint}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::AgentUsage;

    #[test]
    fn a_conversation_is_known_in_its_flight_and_waypoint_only() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(dir.path().join("sessions"));
        let flight = |name: &str| name.parse::<FlightId>().unwrap();
        let (w1, w2) = ("w1".parse().unwrap(), "w2".parse().unwrap());
        let used = Some(AgentUsage { input: 3, ..AgentUsage::default() });
        let last = Continuation { session: "s-1".to_owned(), used, cost_micro_usd: Some(7) };
        sessions.folder(&flight("f1")).unwrap();
        sessions.remember(&flight("f1"), &w1, Some(&last));
        assert_eq!(sessions.last(&flight("f1"), &w1), Some(last));
        assert_eq!(sessions.last(&flight("f1"), &w2), None);
        assert_eq!(sessions.last(&flight("f2"), &w1), None);
        sessions.remember(&flight("f1"), &w1, None);
        sessions.remember(&flight("f1"), &w1, None);
        assert_eq!(sessions.last(&flight("f1"), &w1), None);
    }

    #[test]
    fn only_so_many_flights_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(dir.path().to_owned());
        for n in 0..2 * FLIGHTS_MAX {
            sessions.folder(&format!("f{n}").parse().unwrap()).unwrap();
        }
        let kept = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('f');
        let left = fs::read_dir(dir.path()).unwrap().flatten().filter(kept).count();
        assert_eq!(left, FLIGHTS_MAX);
    }
}
