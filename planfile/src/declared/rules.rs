//! The rules that declarations keep (spec GATE-3). The readers check what only a file can get wrong; no rule is in
//! both.

mod chart;
pub(crate) mod demands;
mod escalation;
mod gate;
mod order;
mod people;

use std::collections::BTreeSet;

use holdpoint_protocol::{
    ids::{RoleId, role},
    org::{OrgChart, Plane, RoleSpec},
    workflow::{ByOutcome, Effect, GateOrFork, GateSpec, WorkflowSpec},
};

pub(super) use chart::check as chart;
pub(super) use people::notified;

use holdpoint_text::shown;

use super::{
    condition::Conditions,
    project::{Declared, ProjectDefaults},
};
use crate::{
    gates::{Duty, GATES_MAX},
    plan::rules::{change, environment},
    workflows,
    yaml::{findings::PlanProblems, path::At},
};

/// The longest sentence in bytes: descriptions, expectations, tips and the like are shown to the agent or person who has the turn.
const SENTENCE_BYTES_MAX: usize = 4 << 10;
/// The most expectations, tips or people of a gate. Agents and people read a few at most.
const ITEMS_MAX: usize = 50;

/// What the rules find.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: PlanProblems,
    pub(super) warnings: PlanProblems,
}

impl Findings {
    /// A text that says something, and is not too long.
    fn sentence(&mut self, at: At<'_>, what: &str, text: &str) {
        if text.trim().is_empty() {
            self.errors.add(at, format!("{what} is empty"), "write a text, or remove it");
        } else if text.len() > SENTENCE_BYTES_MAX {
            let message = format!("{what} is longer than {} KiB", SENTENCE_BYTES_MAX >> 10);
            self.errors.add(at, message, "make it shorter");
        } else if text.chars().any(|c| c != '\n' && shown::first_hidden(c.encode_utf8(&mut [0; 4])).is_some()) {
            let message = format!("{what} has a character that cannot be seen");
            self.errors.add(at, message, "remove control characters, marks of direction and zero-width characters");
        }
    }

    /// Sentences that are not too many.
    fn sentences(&mut self, at: At<'_>, key: &str, texts: &[String]) {
        if texts.len() > ITEMS_MAX {
            let message = format!("`{key}` has {} items, more than {ITEMS_MAX}", texts.len());
            self.errors.add(at.item(ITEMS_MAX), message, "leave some out");
            return;
        }
        for (i, text) in texts.iter().enumerate() {
            self.sentence(at.item(i), &format!("an item of `{key}`"), text);
        }
    }
}

/// The org chart that gates are held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roster<'a> {
    pub(super) chart: &'a OrgChart,
    /// Whether all of it could be read.
    pub(super) whole: bool,
}

impl<'a> Roster<'a> {
    fn role(self, id: &RoleId) -> Option<&'a RoleSpec> {
        self.chart.roles.get(id)
    }
}

/// What a turn of this gate is: by its type and its role's name, unless the org chart says more of the role.
fn duty(gate: &GateSpec, roster: Option<Roster<'_>>) -> Duty {
    Duty::at(gate, plane(&gate.role, roster).or(gate.plane))
}

/// What the org chart says of the turns of a role.
fn plane(role: &RoleId, roster: Option<Roster<'_>>) -> Option<Plane> {
    roster.and_then(|roster| roster.role(role)).and_then(|role| role.plane)
}

/// Whether agents of this role make work at its other gates.
fn makes(role: &RoleId, roster: Option<Roster<'_>>) -> bool {
    plane(role, roster).is_some() || Duty::of(role) == Duty::Make
}

/// Whether agents of the role are there without an org chart.
fn is_built_in(id: &RoleId) -> bool {
    role::AGENTS.contains(&id.as_str())
}

/// What plans leave out is held against the rules of plans.
pub(super) fn defaults(declared: &ProjectDefaults, found: &mut Findings) {
    let at = At::ROOT;
    if let Some(spec) = &declared.environment {
        environment(at.key("environment"), spec, &mut found.errors);
    }
    if let Some(suite) = &declared.suite {
        found.errors.command(at.key("suite"), "`suite`", suite);
    }
    if let Some(rules) = &declared.verify {
        change::check(at.key("verify"), rules, &mut found.errors);
    }
}

/// Workflows that come together have names of their own.
pub(super) fn names(at: At<'_>, workflows: &[Declared], found: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (i, Declared { spec, .. }) in workflows.iter().enumerate() {
        if !seen.insert(&spec.name) {
            let message = format!("there are two workflows with the name `{}`", spec.name);
            found.errors.add(at.item(i).key("name"), message, "give each its own name");
        }
    }
}

/// Holds one workflow against every rule.
pub(super) fn workflow(
    at: At<'_>,
    declared: &Declared,
    roster: Option<Roster<'_>>,
    conditions: Conditions<'_>,
    found: &mut Findings,
) {
    let spec = &declared.spec;
    head(at, spec, found);
    let gates = at.key("gates");
    if spec.gates.is_empty() && declared.whole {
        let hint = "add `gates:` with one item for each gate, in order: its `id` and its `role`";
        found.errors.add(gates, format!("workflow `{}` has no gates", spec.name), hint);
    }
    let count = spec.all_gates().count();
    if count > GATES_MAX {
        let message = format!("workflow `{}` has {count} gates, more than {GATES_MAX}", spec.name);
        found.errors.add(gates, message, "split it into several workflows");
        return;
    }
    let cx = gate::Cx { spec, roster, conditions };
    for (i, item) in spec.gates.iter().enumerate() {
        let here = gates.item(i);
        match item {
            GateOrFork::Gate(one) => gate::check(here, one, i == 0, cx, found),
            GateOrFork::Fork(fork) => {
                gate::fork(here, fork, cx, found);
                let branches = here.key("branches");
                for (n, one) in fork.branches.iter().enumerate() {
                    gate::check(branches.item(n), one, false, cx, found);
                }
            }
        }
    }
    order::check(gates, declared, roster, found);
}

fn head(at: At<'_>, spec: &WorkflowSpec, found: &mut Findings) {
    if workflows::is_reserved(&spec.name) {
        let message = format!("workflow `{}` is built in", spec.name);
        found.errors.add(at.key("name"), message, "give yours another name");
    }
    if let Some(text) = &spec.description {
        found.sentence(at.key("description"), "`description`", text);
    }
    let ByOutcome { complete, needs_review, blocked } = &spec.outcomes;
    let leads_on =
        [complete.unwrap_or(Effect::Advance), needs_review.unwrap_or(Effect::Reject), blocked.unwrap_or(Effect::Hold)];
    if !leads_on.contains(&Effect::Advance) {
        let message = "no outcome leads to `advance`, so work could never pass a gate";
        found.errors.add(at.key("outcomes"), message, "write `complete: advance`");
    }
}
