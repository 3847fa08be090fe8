//! Plans: the rules they keep (`rules`), and reading them from a file. Every problem is found at once.
//!
//! A file's text becomes a tree with a place for every key and value (`yaml`), and hand-written readers turn that into the
//! normalized [`Plan`], collecting what cannot be read. The rules then say what is wrong with the plan, and the tree
//! where that is. A plan that comes with a request is held against the same rules. Nothing is read from disk here, and
//! whether the base exists or a check can run is not asked: only what the file itself can get wrong.
//!
//! Texts are taken as they are written: `check: true` is the command `true`, and `base: 1234567` is a git ref.

mod bdd;
pub(crate) mod limits;
mod over_http;
mod patterns;
pub(crate) mod rules;
mod schema;
pub(crate) mod task;
mod unjudged;
pub(crate) mod waypoint;
pub(crate) mod whole;

#[cfg(test)]
mod tests;

pub use crate::yaml::{
    error::{PlanError, PlanErrors},
    findings::{PROBLEMS_MAX, PlanProblem, PlanProblems},
    front_matter,
    likeness::closest,
    path::PlanPath,
};
use holdpoint_protocol::{ids::role, plan::Plan, workflow::WorkflowSpec};

pub use bdd::read_tests;
pub use holdpoint_text::units::written as span_written;
pub use limits::*;
pub use over_http::criteria_over_http;
pub use patterns::{PatternList, PatternMatches, matches_on, that_protect_nothing};
pub use rules::{validate, validate_submission};
pub(crate) use rules::{validate_order, validate_waypoints};
pub use schema::schema;
pub use task::{ChangeRules, PlanTask, of_change, of_task};
pub use unjudged::{
    accepted_untouched, idle_checks, located, nothing_fulfils, that_lack, that_nothing_fulfils, that_want_network,
    without_check,
};

use holdpoint_text::bom;

use crate::{
    workflows::ONE_GATE,
    yaml::{
        error::Problems,
        place::Position,
        source::text_of,
        tree::{self, FileKind},
    },
};

/// What messages about plan files say.
const KIND: FileKind = FileKind {
    name: "plan",
    least: "a plan has at least `plan: NAME` and `waypoints:` with one waypoint",
    depth: "a plan needs six levels; only `metadata` and `tests` may have a few more",
};

/// The largest plan file in bytes. A plan is written by people or small scripts; 4 MiB holds some 10,000 waypoints.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// A workflow that a plan may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWorkflow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether one of its gates judges criteria: then a waypoint without any is refused.
    pub has_verifier: bool,
}

impl<'a> KnownWorkflow<'a> {
    /// What a plan has to know of a declared one.
    #[must_use]
    pub fn of(spec: &'a WorkflowSpec) -> Self {
        let has_verifier = spec.all_gates().any(|gate| gate.role.as_str() == role::VERIFIER);
        Self { name: &spec.name, has_verifier }
    }
}

/// The workflows of a project that declares none.
pub const BUILT_IN_WORKFLOWS: &[KnownWorkflow<'static>] = &[
    KnownWorkflow { name: "fly", has_verifier: true },
    KnownWorkflow { name: "fly-approved", has_verifier: true },
    KnownWorkflow { name: ONE_GATE, has_verifier: false },
    KnownWorkflow { name: "stages", has_verifier: true },
    KnownWorkflow { name: "sdlc", has_verifier: false },
    KnownWorkflow { name: "sdlc-task", has_verifier: true },
];

/// Reads a plan from a file's bytes. Of a larger file only one byte more than [`FILE_BYTES_MAX`] has to be given.
///
/// # Errors
/// As [`read`]; bytes that are not UTF-8 have only one problem.
pub fn read_bytes(bytes: &[u8], file: &str, workflows: &[KnownWorkflow<'_>]) -> Result<Plan, PlanErrors> {
    let mut problems = Problems::default();
    if bytes.len() > FILE_BYTES_MAX {
        refuse_size(&mut problems);
        return Err(problems.finish(file, ""));
    }
    match text_of(bytes, &mut problems) {
        Ok(text) => read(text, file, workflows),
        Err(before) => Err(problems.finish(file, before)),
    }
}

/// A plan from a file's bytes as far as it can be read, held against no rule: what workflows it names, and on what it stands.
/// `None`: [`read_bytes`] says why.
#[must_use]
pub fn glance(bytes: &[u8]) -> Option<Plan> {
    let mut problems = Problems::default();
    let text = text_of(bytes.get(..FILE_BYTES_MAX.min(bytes.len()))?, &mut problems).ok()?;
    let root = tree::load(text, &KIND, &mut problems)?;
    whole::read(&root, &mut problems)
}

/// Reads a plan. `file` is only the name under which problems are reported.
///
/// # Errors
/// All problems of the file, in the order of their places; a text that is not YAML has only one.
pub fn read(text: &str, file: &str, workflows: &[KnownWorkflow<'_>]) -> Result<Plan, PlanErrors> {
    let text = bom::stripped(text);
    let mut problems = Problems::default();
    let plan = parse(text, workflows, &mut problems);
    match (plan, problems.is_empty()) {
        (Some(plan), true) => Ok(plan),
        _ => Err(problems.finish(file, text)),
    }
}

fn parse(text: &str, workflows: &[KnownWorkflow<'_>], problems: &mut Problems) -> Option<Plan> {
    if text.len() > FILE_BYTES_MAX {
        refuse_size(problems);
        return None;
    }
    let root = tree::load(text, &KIND, problems)?;
    let plan = whole::read(&root, problems)?;
    problems.locate(validate(&plan, workflows), &root);
    Some(plan)
}

fn refuse_size(problems: &mut Problems) {
    let hint = "split it into several plans, and keep long texts in documents that `sources` names";
    problems.add(Position::START, format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20), hint);
}
