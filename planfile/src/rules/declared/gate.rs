//! Rules for single gates and forks. Those about people are in [`super::people`], those about their order in
//! [`super::order`].

use holdpoint_protocol::{
    state::Outcome,
    workflow::{ByOutcome, ForkSpec, GateKind, GateSpec, RejectionStrategy, WorkflowSpec},
};

use super::{
    demands, escalation, people, roles,
    roster::{Findings, Roster, duty, makes},
};
use crate::{
    declared::condition::Conditions,
    gates::Duty,
    yaml::{path::At, words::quoted},
};

/// What gates are held against.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub(super) spec: &'a WorkflowSpec,
    pub(super) roster: Option<Roster<'a>>,
    pub(super) conditions: Conditions<'a>,
}

/// Holds a gate against every rule that concerns it alone.
pub(super) fn check(at: At<'_>, gate: &GateSpec, first: bool, cx: Cx<'_>, found: &mut Findings) {
    roles::role(at.key("role"), &gate.role, cx.roster, found);
    escalation::check(at.key("escalateTo"), gate, cx.roster, found);
    if let Some(text) = &gate.when {
        when(at.key("when"), text, cx, found);
    }
    if let Some(span) = gate.timeout {
        found.errors.duration(at.key("timeout"), "timeout", span);
    }
    if duty(gate, cx.roster) == Duty::Judge && !gate.can_reject {
        let message = format!("gate `{}` judges work and may not send it back", gate.id);
        found.errors.add(
            at.key("canReject"),
            message,
            "write `canReject: true`: a failing verdict has to lead somewhere",
        );
    }
    if cx.spec.default_outcome == Some(Outcome::NeedsReview)
        && duty(gate, cx.roster) == Duty::Complete
        && !gate.can_reject
        && !gate.require_human
    {
        let message = format!(
            "gate `{}` may not send work back, and a completion that names no outcome does so here: it is refused",
            gate.id
        );
        let hint = "write `canReject: true`, or another `defaultOutcome`, or have its agents name an outcome";
        found.warnings.add(at.key("id"), message, hint);
    }
    inspection(at, gate, cx, found);
    reject_to(at, gate, cx, found);
    texts(at, gate, found);
    demands::check(at, gate, cx.roster, found);
    people::check(at, gate, first, cx.roster, found);
}

/// Whether anyone can take the turns of an inspection (GATE-30).
fn inspection(at: At<'_>, gate: &GateSpec, cx: Cx<'_>, found: &mut Findings) {
    if gate.kind != Some(GateKind::Inspection) {
        return;
    }
    if duty(gate, cx.roster) == Duty::Judge {
        let message = format!("gate `{}` judges work by evidence, and cannot be an inspection", gate.id);
        found.errors.add(at.key("type"), message, "remove `type`, or give the gate another role");
    }
    let role = cx.roster.and_then(|roster| roster.role(&gate.role));
    if makes(&gate.role, cx.roster) && role.is_some_and(|role| role.agents.len() == 1) {
        let message = format!(
            "gate `{}` looks at work of role `{}`, whose one agent never looks at its own work",
            gate.id, gate.role
        );
        found.warnings.add(at.key("role"), message, "give the role a second agent: without one the work waits here");
    }
}

/// Holds a fork against every rule that concerns it alone; its branches are gates.
pub(super) fn fork(at: At<'_>, fork: &ForkSpec, cx: Cx<'_>, found: &mut Findings) {
    if let Some(text) = &fork.when {
        when(at.key("when"), text, cx, found);
    }
    if let Some(text) = &fork.description {
        found.sentence(at.key("description"), "`description`", text);
    }
    if fork.branches.len() < 2 {
        let message = format!("fork `{}` has fewer than two branches", fork.id);
        found.errors.add(at.key("branches"), message, "add another branch, or make it a gate");
    }
    let branches = at.key("branches");
    for (i, branch) in fork.branches.iter().enumerate() {
        if duty(branch, cx.roster) == Duty::Make {
            let message = format!("gate `{}` makes work in a fork, where others look at it meanwhile", branch.id);
            found.errors.add(branches.item(i).key("role"), message, "put it before the fork");
        }
    }
}

fn when(at: At<'_>, text: &str, cx: Cx<'_>, found: &mut Findings) {
    if let Err(error) = (cx.conditions)(text) {
        let message = format!("`when: {}` is no predicate: {error}", quoted(text));
        let hint = "write one JavaScript expression over `tags`, `metadata` and `gateHistory`, such as \
                    `tags.includes('legal')`";
        found.errors.add(at, message, hint);
    }
}

fn reject_to(at: At<'_>, gate: &GateSpec, cx: Cx<'_>, found: &mut Findings) {
    let named = cx.spec.rejection_strategy == RejectionStrategy::Named;
    match &gate.reject_to {
        Some(_) if !named => {
            let hint = "write `rejectionStrategy: named` in the workflow, or remove `rejectTo`";
            found.errors.add(at.key("rejectTo"), "`rejectTo` says nothing without the strategy `named`", hint);
        }
        Some(_) if !gate.can_reject => {
            let message = format!("gate `{}` names where it rejects to and may not reject", gate.id);
            found.errors.add(at.key("rejectTo"), message, "write `canReject: true`, or remove `rejectTo`");
        }
        None if named && gate.can_reject => {
            let message = format!("gate `{}` may reject and does not say where to", gate.id);
            found.errors.add(at.key("rejectTo"), message, "add `rejectTo:` with the id of a gate before it");
        }
        _ => {}
    }
}

fn texts(at: At<'_>, gate: &GateSpec, found: &mut Findings) {
    if let Some(text) = &gate.description {
        found.sentence(at.key("description"), "`description`", text);
    }
    found.sentences(at.key("expectations"), "expectations", &gate.expectations);
    found.sentences(at.key("tips"), "tips", &gate.tips);
    let help = at.key("outcomeHelp");
    let ByOutcome { complete, needs_review, blocked } = &gate.outcome_help;
    for (word, text) in [("complete", complete), ("needs_review", needs_review), ("blocked", blocked)] {
        if let Some(text) = text {
            found.sentence(help.key(word), &format!("`{word}` of `outcomeHelp`"), text);
        }
    }
}
