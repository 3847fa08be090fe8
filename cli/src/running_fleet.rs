//! Fleets that `holdpoint up` keeps for a repository, and who flies a flight on this machine.

use holdpoint_protocol::ids::FlightId;
use holdpoint_sandbox::ProcessId;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use crate::{
    failure::Failure,
    state::{FlightRecord, StateDir, unusable, write_private},
    typed::typed,
};

/// Where fleets announce themselves, in the state folder.
const FOLDER: &str = "up";

/// What `submit` has to know of a fleet that runs here: `up/<process>.json`, one for each.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunningFleet {
    /// The process of `up`.
    pub(crate) process: ProcessId,
    /// Whether it has a repair agent.
    pub(crate) repair: bool,
    /// Whether it has a judge.
    pub(crate) judge: bool,
    /// How many advisors a round asks.
    #[serde(default)]
    pub(crate) advisors: u32,
    /// Whether checks reach a network.
    #[serde(default = "yes")]
    pub(crate) network: bool,
}

/// What fleets that say nothing of their network have.
const fn yes() -> bool {
    true
}

impl RunningFleet {
    /// The fleet that runs for this repository, if one does.
    pub(crate) fn find(state: &StateDir) -> Option<Self> {
        let mut files = std::fs::read_dir(state.path(FOLDER)).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        files.find_map(|file| {
            let fleet: Self = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            if fleet.process.alive() {
                return Some(fleet);
            }
            // Its process was killed.
            let _ = std::fs::remove_file(&file);
            None
        })
    }

    /// Announces this fleet to others; until the file is dropped.
    pub(crate) fn announce(&self, state: &StateDir) -> Result<TempPath, Failure> {
        let file = state.folder(FOLDER)?.join(format!("{}.json", std::process::id()));
        write_private(&file, &serde_json::to_vec_pretty(self).expect("plain data with text keys"))?;
        TempPath::try_from_path(&file).map_err(|error| unusable("name", &file, &error))
    }
}

/// Whether a flight is flown by nobody here, and how it goes on; `None`: a command flies it, or it is not of this
/// machine.
pub(crate) fn goes_on_by(state: &StateDir, flight: &FlightId) -> Option<String> {
    let begun_here = FlightRecord::load(state, flight).ok().flatten().is_some();
    if begun_here {
        let is_flown = FlightRecord::is_flown(state, flight).unwrap_or(true);
        return (!is_flown).then(|| typed(&format!("holdpoint run --resume {flight}")));
    }
    RunningFleet::find(state).is_none().then(|| typed("holdpoint up"))
}
