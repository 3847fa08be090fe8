//! The harness around agents: the turn loop that every role shares.
//!
//! ```text
//! supervisor (root)
//! ├── presence    says every few seconds who this is and what it does
//! ├── refusals    logs what the orchestrator found wrong with a handoff
//! └── puller      takes one turn at a time; several of an agent with several slots
//!     └── runner  one a turn: plan → work → final handoff → acknowledgement; heartbeats and progress meanwhile
//! ```
//!
//! A turn is acknowledged after its final handoff is stored, so a process that dies in between loses nothing: the turn
//! is delivered again. This module does not know what a turn means and what its work is: a [`Worker`] knows that.

mod args;
mod error;
mod handoff;
mod job;
mod presence;
pub mod process;
mod progress;
mod puller;
mod refusals;
mod reply;
mod runner;
mod stop;
mod talk;
mod trace;
mod tree;
mod worker;

pub use args::AgentArgs;
pub use error::AgentError;
pub use handoff::{HandoffError, ask_in_turn, declare_plan, hand_over_late, hear_help, message_id, record_exchange};
pub use holdpoint_protocol::presence::Presence;
pub use job::{Job, JobArgs};
pub use progress::{ProgressError, newest, why_over};
pub use stop::{StopReason, StopSignal, Stopper, stop_signal};
pub use talk::TurnTalk;
pub use tree::{run, start, start_with};
pub use worker::{Final, PlanHandoff, WorkError, Worker};

#[cfg(test)]
mod tests;
