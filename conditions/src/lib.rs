//! Conditions of gates (spec GATE-6): whether a JavaScript predicate holds for a waypoint.
//!
//! A condition comes from a workflow's file and is not trusted. It is evaluated by an engine without a host (no files, no
//! network, no clock, no randomness), within bounds of time and memory, in a process that has no key, no environment and no
//! access to files, and that is killed when a condition goes over its bounds ([`Confinement`]). A process may evaluate many
//! conditions of one owner, each in an engine of its own.
//!
//! - [`ConditionHelper`]: many conditions at once, each by itself; it keeps a few processes for the next ones.
//! - [`maybe_run`]: the side of the helper; every executable that evaluates conditions calls it first.
//!
//! Which gates have conditions, what they may see, and what follows from an answer is up to the engine
//! (`holdpoint-engine`). An answer depends on the time limit, so a decision made by it records it.
//!
//! [`Confinement`]: holdpoint_sandbox::Confinement

mod engine;
mod evaluator;
mod helper;
mod memo;
mod message;
mod serve;

pub use helper::{ConditionHelper, ConditionHelperError};
pub use message::{ConditionAnswer, ConditionFailure, Scope};
pub use serve::maybe_run;

use std::time::Duration;

/// Processor time of one condition.
pub const TIME_MAX: Duration = Duration::from_millis(100);
/// Bytes of memory of one condition.
pub const MEMORY_MAX: usize = 16 << 20;
/// Characters of one condition.
pub const LENGTH_MAX: usize = 4_096;
