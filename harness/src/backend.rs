//! Backends: how a program that is not ours does the work of one turn.
//!
//! A backend runs a program in a clone and says how it ended and what it printed. It knows neither git nor the broker,
//! and judges nothing: [`crate::build_turn`] decides what the result is worth.
//!
//! - [`command`]: any program that takes a prompt on standard input, in the sandbox.
//! - [`installed`], [`own_settings`], [`sessions`], [`transcript`]: where a program is, its own settings in a turn, its conversations,
//!   and what takes one to another machine.
//! - [`prompt`], [`markers`], [`question`], [`environment`], [`program`]: pure; its prompt, what its output says, what
//!   it asks, what it gets.

pub mod command;
pub mod environment;
pub mod installed;
pub mod login;
pub mod markers;
pub mod own_settings;
pub mod program;
pub mod prompt;
pub mod question;
pub mod sessions;
pub mod transcript;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_engine::budget::price::Price;
use holdpoint_protocol::{
    artifact::HelpEvent,
    ids::{FlightId, RoleId, WaypointId},
    plan::EnvironmentSpec,
};
use holdpoint_sandbox::{Ended, Standby, Tap};
use holdpoint_workspace::{Mirror, ObjectId};

use crate::{
    ask::{Access, AskLine},
    dialect::{Continuation, Dialect, Said},
    environment::Underlay,
};

pub use command::{CommandBackend, CommandSettings, SettingsError};
pub use transcript::Transcript;

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
    /// Its conversation may be gone on with in a later turn about the same waypoint.
    pub keeps: bool,
    /// What lies under the clone; `None`: nothing does.
    pub underlay: Option<Underlay>,
    /// A folder of its own that dies with the turn.
    pub scratch: PathBuf,
    /// Where its own settings go if it has any. Not there yet; dies with the turn.
    pub settings: PathBuf,
    /// The turn as a JSON file, outside the clone.
    pub turn_file: PathBuf,
    /// What was wrong with the last handoff, as a JSON file outside the clone.
    pub feedback_file: Option<PathBuf>,
    /// What the work under review changed, as a patch outside the checkout.
    pub diff_file: Option<PathBuf>,
    /// The folder with the documents of earlier gates; `None`: there are none.
    pub documents: Option<PathBuf>,
    /// Where it writes the document of its gate; `None`: its gate has none.
    pub document_file: Option<PathBuf>,
    /// The map of the repository, next to the turn's file.
    pub map_file: Option<PathBuf>,
    /// Where it asks while it runs.
    pub line: Option<Access>,
    /// Sees its output while it runs.
    pub tap: Option<Tap>,
    /// Its prompt, Markdown.
    pub prompt: String,
    /// The turn's own limits; `None`: the configured ones.
    pub wall: Option<Duration>,
    /// Bytes of output; `None`: as configured.
    pub output_bytes: Option<u64>,
    /// It has to be cheaper: an earlier turn reached a limit.
    pub degraded: bool,
    /// Which retry of the exchange it is, from 1; 0: the first run of the turn.
    pub retry: u32,
    /// The conversation that it goes on with; a program that cannot begins a new one.
    pub go_on: Option<Continuation>,
}

/// What a program left behind besides its files.
#[derive(Debug, Clone)]
pub struct BackendResult {
    /// The command line that was run.
    pub command: String,
    /// Its prompt: anything that it repeats of that says nothing.
    pub prompt: String,
    /// How it ended.
    pub ended: Ended,
    /// Its standard output as printed, up to the limit: evidence. `said` has its meaning.
    pub stdout: Vec<u8>,
    /// What the agent said in it.
    pub said: Said,
    /// Whether it went on with the conversation it was given.
    pub went_on: bool,
    /// Its standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Its calls for help, as they were heard while it ran.
    pub help_events: Vec<HelpEvent>,
    /// How long it ran.
    pub duration: Duration,
    /// Whether everything it started has ended too.
    pub tree_ended: bool,
}

/// A command of a gate that was run where its program worked.
#[derive(Debug, Clone)]
pub struct CheckedCommand {
    /// How it ended.
    pub ended: Ended,
    /// What it printed, standard output first.
    pub output: Vec<u8>,
}

/// The program could not be run. How it ended is never an error.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The sandbox could not be set up, or lost the program.
    #[error("cannot run the agent's program in the sandbox")]
    Sandbox(#[from] holdpoint_sandbox::SandboxError),
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

    /// What the tree of a commit depends on, to lie under its clone, with a folder that goes with the turn. It is set up where that
    /// was not done before.
    fn underlay(
        &self,
        _spec: &EnvironmentSpec,
        _of: (&Mirror, &ObjectId),
        _dir: &Path,
    ) -> impl Future<Output = Result<Option<Underlay>, BackendError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Runs a command of the turn's gate where the program worked, under the program's own rules (DOC-4).
    fn check(
        &self,
        task: &BackendTask,
        command: &str,
        wall: Duration,
    ) -> impl Future<Output = Result<CheckedCommand, BackendError>> + Send;

    /// Begins to set up the sandbox of the next program, as long as the result lives; `None`: it is set up when the program runs.
    fn stand_by(&self) -> impl Future<Output = Option<Standby<'_>>> + Send {
        std::future::ready(None)
    }

    /// The time and bytes of output that a task may use up.
    fn limits(&self, task: &BackendTask) -> (Duration, u64);

    /// How many bytes a prompt may have.
    fn prompt_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// The form in which the program says what it says.
    fn dialect(&self) -> Dialect;

    /// What its tokens cost where it names no cost.
    fn price(&self) -> Option<Price> {
        None
    }

    /// What its person does for a login, where that is known.
    fn login(&self) -> Option<String> {
        None
    }

    /// Files that the program leaves among its work and that are none, as patterns of gitignore(5).
    fn ignored(&self) -> &[String] {
        &[]
    }

    /// Whether the program prints what it does while it does it.
    fn streams(&self) -> bool {
        !self.dialect().is_plain()
    }

    /// Whether the program can go on in a conversation.
    fn resumes(&self) -> bool;

    /// The conversation about the same waypoint that a program can go on with.
    fn conversation(&self, task: &BackendTask) -> Option<Continuation>;

    /// The transcript of the last conversation about the task's waypoint, which goes along to the next turn; `None`: it stays here.
    fn transcript(&self, _task: &BackendTask, _talk: &Continuation) -> Option<Transcript> {
        None
    }

    /// Takes up a conversation that an agent of the same role had, perhaps on another machine. Its program finds it in the next turn.
    ///
    /// # Errors
    /// It cannot be laid out: the next turn begins a new one.
    fn take_up(
        &self,
        _at: (&FlightId, &WaypointId),
        _talk: &Continuation,
        _transcript: &Transcript,
    ) -> std::io::Result<()> {
        Ok(())
    }

    /// Opens a line in the folder `dir` that the program can reach.
    fn line(&self, dir: &Path) -> impl Future<Output = Result<AskLine, BackendError>> + Send;

    /// Copies the files in `from`, where a program may be at work, into the empty folder `to`, and says whether all are
    /// there. No file is copied that the program itself could not read. The clone's own git folder is left out.
    fn copy(&self, from: &Path, to: &Path) -> impl Future<Output = bool> + Send;
}
