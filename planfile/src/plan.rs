//! Plans: the rules they keep (`rules`), and reading them from a file. Every problem is found at once.
//!
//! A file's text becomes a tree with a place for every key and value (`yaml`), and hand-written readers turn that into the
//! normalized [`Plan`], collecting what cannot be read. The rules then say what is wrong with the plan, and the tree
//! where that is. A plan that comes with a request is held against the same rules. Nothing is read from disk here, and
//! whether the base exists or a check can run is not asked: only what the file itself can get wrong.
//!
//! Texts are taken as they are written: `check: true` is the command `true`, and `base: 1234567` is a git ref.

mod bdd;
pub(crate) mod change;
pub(crate) mod criteria;
pub(crate) mod environment;
pub(crate) mod limits;
mod over_http;
mod patterns;
mod read;
pub(crate) mod rules;
mod schema;
mod task;
mod unjudged;
pub(crate) mod waypoint;
mod whole;
pub(crate) mod workflows;

#[cfg(test)]
mod tests;

pub use crate::yaml::{
    error::{PlanError, PlanErrors},
    findings::{PROBLEMS_MAX, PlanProblem, PlanProblems},
    front_matter,
    likeness::closest,
    path::PlanPath,
};
pub use change::ChangeRules;
pub use holdpoint_text::units::written as span_written;
pub use limits::*;
pub use over_http::criteria_over_http;
pub use patterns::{PatternList, PatternMatches, matches_on, that_protect_nothing};
pub use read::{FILE_BYTES_MAX, glance, located, read, read_bytes, read_tests};
pub use rules::{validate, validate_submission};
pub(crate) use rules::{validate_order, validate_waypoints};
pub use schema::schema;
pub use task::{PlanTask, of_change, of_task};
pub use unjudged::{
    accepted_untouched, idle_checks, nothing_fulfils, that_lack, that_nothing_fulfils, that_want_network, without_check,
};
pub use workflows::{BUILT_IN_WORKFLOWS, KnownWorkflow};
