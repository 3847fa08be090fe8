//! Whether a workflow that is named is known, and whether it judges.

use std::collections::BTreeMap;

use crate::yaml::{findings::PlanProblems, likeness::closest, path::At, words::quoted};

/// The workflows that a plan may name.
#[derive(Clone, Copy)]
pub(super) struct Workflows<'a> {
    /// Whether each has a verifier, by name.
    pub(super) known: &'a BTreeMap<&'a str, bool>,
    /// Whether the plan's own has one.
    pub(super) of_plan: bool,
}

impl Workflows<'_> {
    /// Whether what is here is judged by a verifier. An unknown workflow is a problem, and counts as the plan's.
    pub(super) fn judged(self, at: At<'_>, named: Option<&str>, found: &mut PlanProblems) -> bool {
        let Some(name) = named else { return self.of_plan };
        if let Some(judged) = self.known.get(name) {
            return *judged;
        }
        let hint = match closest(name, self.known.keys().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known workflows: {}", self.known.keys().copied().collect::<Vec<_>>().join(", ")),
        };
        found.add(at.key("workflow"), format!("unknown workflow `{}`", quoted(name)), hint);
        self.of_plan
    }
}
