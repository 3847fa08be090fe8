//! Backends: how a program that is not ours does the work of one turn.
//!
//! A backend runs a program in a clone and says how it ended and what it printed. It knows neither git nor the broker,
//! and judges nothing: what the result is worth is [`crate::build_turn`]'s matter.
//!
//! - [`command`]: any program that takes a prompt on standard input, in the sandbox.
//! - [`prompt`], [`markers`], [`question`], [`environment`], [`program`]: pure; what it is told, what its output says,
//!   what it asks, what it gets.

pub mod command;
pub mod environment;
pub mod markers;
pub mod program;
pub mod prompt;
pub mod question;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_protocol::ids::{FlightId, RoleId, WaypointId};
use holdpoint_sandbox::Ended;

use crate::ask::{Access, Line};

pub use command::{CommandBackend, CommandSettings, SettingsError};

/// One turn's work for a program.
#[derive(Debug, Clone)]
pub struct BackendTask {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The role of the turn.
    pub role: RoleId,
    /// Which attempt at the waypoint, from 1.
    pub attempt: u32,
    /// The clone it works in, or the checkout it looks at.
    pub clone: PathBuf,
    /// It looks, and changes nothing there.
    pub looks: bool,
    /// A folder of its own that dies with the turn.
    pub scratch: PathBuf,
    /// The turn as a JSON file, outside the clone.
    pub turn_file: PathBuf,
    /// What was wrong with the last handoff, as a JSON file outside the clone.
    pub feedback_file: Option<PathBuf>,
    /// What the work under review changed, as a patch outside the checkout.
    pub diff_file: Option<PathBuf>,
    /// Where it asks while it runs.
    pub line: Option<Access>,
    /// What it is told, Markdown.
    pub prompt: String,
    /// The turn's own limits; `None`: the configured ones.
    pub wall: Option<Duration>,
    /// Bytes of output; `None`: as configured.
    pub output_bytes: Option<u64>,
}

/// What a program left behind besides its files.
#[derive(Debug, Clone)]
pub struct BackendResult {
    /// The command line that was run.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
    /// Its standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// How long it ran.
    pub duration: Duration,
    /// Whether everything it started has ended too.
    pub tree_ended: bool,
}

/// The program could not be run. How it ended is never an error.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The sandbox could not be set up, or lost the program.
    #[error("cannot run the agent's program in the sandbox")]
    Sandbox(#[from] holdpoint_sandbox::Error),
    /// A folder that the program needs cannot be made.
    #[error("cannot make {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// A way to get the work of a turn done.
pub trait Backend: Send + Sync + 'static {
    /// Does the work. The program and everything it started is ended once `end` is there, or when the future is dropped.
    fn run(
        &self,
        task: BackendTask,
        end: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = Result<BackendResult, BackendError>> + Send;

    /// Opens a line in the folder `dir` that the program can reach.
    fn line(&self, dir: &Path) -> impl Future<Output = Result<Line, BackendError>> + Send;

    /// Copies the files in `from`, where a program may be at work, into the empty folder `to`, and says whether all are
    /// there. No file is copied that the program itself could not read. The clone's own git folder is left out.
    fn copy(&self, from: &Path, to: &Path) -> impl Future<Output = bool> + Send;
}
