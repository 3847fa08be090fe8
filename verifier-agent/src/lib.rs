//! The verifier: judges handed-off trees by evidence, in a read-only sandbox (FLY-3, FLY-34).
//!
//! It has no way to change what it judges, and it never sees what a builder wrote in prose: it gets commits and
//! criteria, checks the tree out afresh, and says of each criterion what was shown. It decides nothing about a
//! waypoint: that is the orchestrator's.
//!
//! - [`worker`]: a turn, from its plan to its report; [`process`]: the whole agent.
//! - [`mod@workbench`]: judging one tree, without the broker; [`settings`]: what it knows about its machine.
//! - [`place`]: what a program may touch; [`evidence`]: what it printed.

mod base_product;
mod by_judge;
mod canary;
mod case;
mod changes;
mod checkpoint;
mod criterion;
pub mod error;
pub mod evidence;
mod findings;
mod folder;
mod guard;
mod heard;
mod judge;
mod judged_before;
mod known_runs;
mod mutants;
pub mod place;
pub mod process;
mod reports;
mod runs;
pub mod settings;
mod steady;
mod submodules;
pub mod suspects;
mod tree_changed;
mod unrun;
mod work;
pub mod workbench;
pub mod worker;

pub use by_judge::JudgeAsks;
pub use error::VerifyError;
pub use findings::Findings;
pub use judged_before::Attempts;
pub use process::{ROLE, run};
pub use settings::{JudgeSettings, VerifierSettings};
pub use workbench::{VerificationTerms, VerifierWorkbench};
pub use worker::{VerifierStartError, VerifyWorker};
