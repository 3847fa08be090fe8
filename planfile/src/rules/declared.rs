//! The rules that declarations keep (spec GATE-3). The readers check what only a file can get wrong; no rule is in
//! both.

mod chart;
mod demands;
mod escalation;
mod gate;
mod order;
mod people;
mod roles;
pub(crate) mod roster;

use std::collections::BTreeSet;

use holdpoint_protocol::workflow::{ByOutcome, Effect, GateOrFork, WorkflowSpec};

pub(crate) use chart::check as chart;
pub(crate) use people::notified;

use roster::{Findings, Roster};

use super::{change, environment};
use crate::{
    declared::{
        condition::Conditions,
        project::{Declared, ProjectDefaults},
    },
    gates::GATES_MAX,
    workflows,
    yaml::path::At,
};

/// What plans leave out is held against the rules of plans.
pub(crate) fn defaults(declared: &ProjectDefaults, found: &mut Findings) {
    let at = At::ROOT;
    if let Some(spec) = &declared.environment {
        environment::environment(at.key("environment"), spec, &mut found.errors);
    }
    if let Some(suite) = &declared.suite {
        found.errors.command(at.key("suite"), "`suite`", suite);
    }
    if let Some(rules) = &declared.verify {
        change::check(at.key("verify"), rules, &mut found.errors);
    }
}

/// Workflows that come together have names of their own.
pub(crate) fn names(at: At<'_>, workflows: &[Declared], found: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (i, Declared { spec, .. }) in workflows.iter().enumerate() {
        if !seen.insert(&spec.name) {
            let message = format!("there are two workflows with the name `{}`", spec.name);
            found.errors.add(at.item(i).key("name"), message, "give each its own name");
        }
    }
}

/// Holds one workflow against every rule.
pub(crate) fn workflow(
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
