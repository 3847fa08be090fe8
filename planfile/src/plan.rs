//! Plans: what a file of one says. Every problem is found at once.
//!
//! A file's text becomes a tree with a place for every key and value (`yaml`), and hand-written readers turn that into the
//! normalized [`Plan`](holdpoint_protocol::plan::Plan), collecting what cannot be read. The rules (`rules`) then say what is wrong
//! with the plan, and the tree where that is; [`read()`] does all of it. A plan that comes with a request keeps the same rules.
//! Nothing is read from disk here, and whether the base exists or a check can run is not asked.
//!
//! Texts are taken as they are written: `check: true` is the command `true`, and `base: 1234567` is a git ref.

mod bdd;
pub(crate) mod change;
pub(crate) mod criteria;
pub(crate) mod environment;
mod issue;
pub(crate) mod limits;
pub(crate) mod over_http;
mod read;
mod schema;
mod task;
pub(crate) mod waypoint;
mod whole;
pub(crate) mod workflows;

#[cfg(test)]
mod tests;

pub use crate::rules::{
    PatternList, PatternMatches, accepted_untouched, idle_checks, matches_on, nothing_fulfils, that_are_open,
    that_lack, that_nothing_fulfils, that_protect_nothing, that_want_network, validate, validate_submission,
    without_check,
};
pub use crate::yaml::{
    error::{PlanError, PlanErrors},
    findings::{PROBLEMS_MAX, PlanProblem, PlanProblems},
    front_matter,
    likeness::closest,
    path::PlanPath,
};
pub use change::ChangeRules;
pub use holdpoint_text::units::written as span_written;
pub use issue::{ISSUE_BYTES_MAX, read_issue};
pub use limits::*;
pub use over_http::criteria_over_http;
pub use read::{FILE_BYTES_MAX, glance, located, read, read_bytes, read_tests};
pub use schema::schema;
pub use task::{PlanTask, of_change, of_task};
pub use workflows::{BUILT_IN_WORKFLOWS, KnownWorkflow};
