//! Turns that are completed: an agent's program looks at something and says what it comes to (GATE-7, GATE-20, GATE-21).
//!
//! The program gets the tree under review to read, what was changed as a patch, and what its gate says. It changes nothing:
//! what it leaves in its folders goes with them.
//!
//! - `prompt`, `answer`, `advice`: pure; its prompt, and what an ended program means; the same of advisors. `workbench`:
//!   the turn without the broker.
//! - [`by_hand`]: the same without a program. [`handoff`]: what is handed off. The worker is [`crate::build_turn::BuildWorker`]: a role may make work at one gate and look
//!   at it at another.

mod advice;
mod answer;
pub mod by_hand;
pub mod handoff;
mod prompt;
mod workbench;

pub(crate) use advice::pause;
pub(crate) use answer::completed;
pub use workbench::{CompleteTurnOutcome, CompletedTurn};

#[cfg(test)]
pub(crate) use prompt::tests as samples;
