//! What has to be remembered of a flight so that it can be resumed with the same fleet.

use std::{fs, io, path::PathBuf, time::SystemTime};

use holdpoint_protocol::{facts::Oid, ids::FlightId, plan::Plan, workflow::WorkflowSpec};
use serde::{Deserialize, Serialize};

use super::{Lock, StateDir, unusable, write_private};
use crate::failure::Failure;

/// A flight that `run` began here. Secret: its configuration may hold values of variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlightRecord {
    /// The flight.
    pub(crate) flight: FlightId,
    /// The plan file, which may be gone by now; its folder is readable for the builders. `None`: there was none.
    #[serde(default)]
    pub(crate) plan: Option<PathBuf>,
    /// How many builders it has.
    pub(crate) builders: u32,
    /// How many verifiers it was given; `None`: as many as its builders need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verifiers: Option<u32>,
    /// The configuration of its fleet (TOML).
    pub(crate) config: String,
    /// What is submitted, in case that an interruption comes first. `None` in a record of before there was this.
    #[serde(default)]
    pub(crate) submission: Option<Submission>,
}

/// What begins a flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submission {
    /// The plan as it was read.
    pub(crate) plan: Plan,
    /// The declared workflows that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) workflows: Vec<WorkflowSpec>,
    /// The commit that it starts from.
    pub(crate) base: Oid,
}

impl FlightRecord {
    /// Takes a flight to fly it. Two commands at once would each start a fleet for it, and each write its branch.
    pub(crate) fn claim(state: &StateDir, flight: &FlightId) -> Result<Lock, Failure> {
        state.folder("flights")?;
        loop {
            if let Some(lock) = Lock::try_exclusive(&lock_of(state, flight))? {
                return Ok(lock);
            }
            if Self::is_flown(state, flight)? {
                break;
            }
            // Commands that look whether it is flown share it for a moment, and that was one of them.
        }
        let message = format!("another `holdpoint run` is flying the flight {flight} at this moment");
        let hint = format!("`holdpoint watch {flight}` follows it; when that command has ended it can be resumed");
        Err(Failure::usage("flight_in_use", message, hint))
    }

    /// Whether a command flies it.
    pub(crate) fn is_flown(state: &StateDir, flight: &FlightId) -> Result<bool, Failure> {
        Lock::is_held(&lock_of(state, flight))
    }

    /// Keeps it.
    pub(crate) fn save(&self, state: &StateDir) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(self).expect("plain data with text keys");
        write_private(&path(state, &self.flight), &bytes)
    }

    /// Forgets it: the flight left.
    pub(crate) fn remove(state: &StateDir, flight: &FlightId) -> Result<(), Failure> {
        for file in [path(state, flight), state.path(&format!("flights/{flight}.lock"))] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable("remove", &file, &error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The flights that are remembered here, the last one that was begun or resumed first.
    pub(crate) fn all(state: &StateDir) -> Vec<FlightId> {
        // Where there is no folder, none was begun.
        let files = fs::read_dir(state.path("flights")).into_iter().flatten().flatten().map(|file| file.path());
        let named = files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
        let dated =
            |file: PathBuf| Some((file.metadata().ok()?.modified().ok()?, file.file_stem()?.to_str()?.parse().ok()?));
        let mut all: Vec<(SystemTime, FlightId)> = named.filter_map(dated).collect();
        all.sort_by(|one, other| other.cmp(one));
        all.into_iter().map(|(_, flight)| flight).collect()
    }

    /// Reads it back; `None` if no such flight was begun here.
    pub(crate) fn load(state: &StateDir, flight: &FlightId) -> Result<Option<Self>, Failure> {
        let path = path(state, flight);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(unusable("read", &path, &source)),
        };
        let damaged = |error: serde_json::Error| unusable("read", &path, &io::Error::other(error));
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }
}

/// What the command that flies it holds.
fn lock_of(state: &StateDir, flight: &FlightId) -> PathBuf {
    state.path(&format!("flights/{flight}.lock"))
}

fn path(state: &StateDir, flight: &FlightId) -> PathBuf {
    state.path(&format!("flights/{flight}.json"))
}
