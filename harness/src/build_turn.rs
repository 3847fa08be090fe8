//! Build and repair turns: from a turn to a handoff.
//!
//! The harness gives a program a disposable clone, lets a [`crate::backend`] run it, and reads what it left as plain
//! files. Git says what changed, never the program; a verifier decides whether it is right.
//!
//! - [`folder`]: the folders of a turn. [`mod@workbench`]: the turn itself, without the broker;
//!   `task`: what a program is given; `capture`: what it left in its files; `outcome`: what came of the turn, with them.
//! - [`answer`]: pure; what an ended program means. [`unsure`]: pure; when that is a question. [`output`]: pure; what is
//!   kept of its output.
//! - `unusable`: pure; how files that cannot be handed off are put right.
//! - `standing`: a refusal of the model's provider that stands for more turns than one.
//! - `talk`: the conversation that goes along with a question, and with its answer.
//! - `left_behind`: the files of a turn that is over and whose agent died.
//! - [`by_hand`]: what a person left who took over a turn.
//! - [`worker`]: the turn as the broker's agents do it: plan, mirror, workbench, upload, handoff. [`process`]: the agent.

pub mod answer;
pub mod by_hand;
mod capture;
mod checkpoints;
pub(crate) mod documents;
pub(crate) mod exchanged;
pub mod folder;
mod handoff;
mod hazards;
mod left_behind;
mod outcome;
pub mod output;
pub mod process;
mod so_far;
pub(crate) mod standing;
mod talk;
pub(crate) mod task;
pub mod unsure;
mod unusable;
pub mod workbench;
pub mod worker;

pub use capture::{CapturedWork, Ready};
pub use folder::{AgentFolderError, TurnFolder, TurnFolders};
pub use outcome::BuildTurnOutcome;
pub use workbench::{BuildError, Built, Workbench};
pub use worker::{AgentStartError, BuildWorker};
