//! What the rules find: collected up to a bound, then only counted.

use serde::Serialize;

use super::{
    path::{At, PlanPath},
    words::Words,
};

/// The most problems that are reported at once; nobody reads more, and one cause can have thousands of effects.
pub const PROBLEMS_MAX: usize = 200;
/// The most problems that are kept while looking, to find the first [`PROBLEMS_MAX`] in the order of their places. Any
/// more are counted: one mistake can be made half a million times in a plan.
pub(super) const KEPT_MAX: usize = 10 * PROBLEMS_MAX;

/// One thing that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanProblem {
    /// Where.
    pub path: PlanPath,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Everything that is wrong with a plan, in the order in which the rules look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanProblems {
    /// The problems.
    pub problems: Vec<PlanProblem>,
    /// How many more there are than are listed.
    pub more: usize,
    /// How many costly regular expressions were compiled.
    pub(crate) heavy_regexes: usize,
}

impl PlanProblems {
    /// Whether the plan may fly.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// The first `most` problems in one line, and the number of the others.
    #[must_use]
    pub fn in_a_line(&self, most: usize) -> String {
        let tell = |problem: &PlanProblem| {
            let PlanProblem { path, message, hint } = problem;
            let place = if path.steps().is_empty() { "plan".to_owned() } else { path.to_string() };
            format!("{place}: {message} ({hint})")
        };
        let mut line = self.problems.iter().take(most).map(tell).collect::<Vec<_>>().join("; ");
        let more = self.more + self.problems.len().saturating_sub(most);
        if more > 0 {
            line += &format!("; {more} more problems follow");
        }
        line
    }

    pub(crate) fn add(&mut self, at: At<'_>, message: impl Into<String>, hint: impl Into<String>) {
        if self.problems.len() >= KEPT_MAX {
            self.more += 1;
            return;
        }
        self.problems.push(PlanProblem { path: at.path(), message: message.into(), hint: hint.into() });
    }

    pub(crate) fn say(&mut self, at: At<'_>, (message, hint): Words) {
        self.add(at, message, hint);
    }
}
