//! Plans: the rules they keep (`rules`), and reading them from a file. Every problem is found at once.
//!
//! A file's text becomes a tree with a place for every key and value (`tree`), and hand-written readers turn that into the
//! normalized [`Plan`], collecting what cannot be read. The rules then say what is wrong with the plan, and the tree
//! where that is. A plan that comes with a request is held against the same rules. Nothing is read from disk here, and
//! whether the base exists or a check can run is not asked: only what the file itself can get wrong.
//!
//! Texts are taken as they are written: `check: true` is the command `true`, and `base: 1234567` is a git ref.

mod bdd;
pub(crate) mod error;
pub(crate) mod fields;
pub mod front_matter;
mod likeness;
pub(crate) mod limits;
mod over_http;
pub(crate) mod path;
mod patterns;
pub(crate) mod rules;
mod schema;
pub(crate) mod task;
pub(crate) mod tree;
mod unjudged;
pub(crate) mod waypoint;
pub(crate) mod whole;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use holdpoint_protocol::{ids::role, plan::Plan, workflow::WorkflowSpec};

pub use bdd::read_tests;
pub use error::{PlanError, PlanErrors};
pub use holdpoint_text::units::written as span_written;
pub use likeness::closest;
pub use limits::*;
pub use over_http::criteria_over_http;
pub use path::PlanPath;
pub use patterns::{PatternList, PatternMatches, matches_on, that_protect_nothing};
pub use rules::{PlanProblem, PlanProblems, validate, validate_submission};
pub(crate) use rules::{validate_order, validate_waypoints};
pub use schema::schema;
pub use task::{ChangeRules, PlanTask, of_change, of_task};
pub use unjudged::{
    accepted_untouched, idle_checks, located, nothing_fulfils, that_lack, that_nothing_fulfils, that_want_network,
    without_check,
};

use error::Problems;
use holdpoint_text::bom;
use tree::{FileKind, Position};

use crate::workflows::ONE_GATE;

/// What messages about plan files say.
const KIND: FileKind = FileKind {
    name: "plan",
    least: "a plan has at least `plan: NAME` and `waypoints:` with one waypoint",
    depth: "a plan needs six levels; only `metadata` and `tests` may have a few more",
};

/// The largest plan file in bytes. A plan is written by people or small scripts; 4 MiB holds some 10,000 waypoints.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// The most problems that are reported at once; nobody reads more, and one cause can have thousands of effects.
pub const PROBLEMS_MAX: usize = 200;
/// The most problems that are kept while looking, to find the first [`PROBLEMS_MAX`] in the order of their places. Any
/// more are counted: one mistake can be made half a million times in a plan.
const KEPT_MAX: usize = 10 * PROBLEMS_MAX;

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

/// A file's bytes as text, without a byte order mark; else the text before the first byte that is none, which is reported.
pub(crate) fn text_of<'a>(bytes: &'a [u8], problems: &mut Problems) -> Result<&'a str, &'a str> {
    std::str::from_utf8(bytes).map(bom::stripped).map_err(|error| {
        let before = std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        let hint = "save it in UTF-8: a byte here belongs to another encoding";
        problems.add(Position { line, column }, "the file is not UTF-8 text", hint);
        before
    })
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
