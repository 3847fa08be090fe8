//! Rules about the gates of a workflow together: their names, and what has to come before or after what.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    ids::GateId,
    workflow::{GateOrFork, GateSpec, RejectionStrategy},
};

use super::roster::{Findings, Roster, duty};
use crate::{
    declared::project::Declared,
    gates::{Duty, misplaced},
    yaml::path::At,
};

/// Holds the order of a workflow's gates against every rule. Where some could not be read, only their names are looked at.
pub(super) fn check(gates: At<'_>, declared: &Declared, roster: Option<Roster<'_>>, found: &mut Findings) {
    let items = &declared.spec.gates;
    unique(gates, items, found);
    if !declared.whole {
        return;
    }
    first(gates, items, found);
    verified(gates, items, roster, found);
    if let Some((gate, why)) = misplaced(&declared.spec, |gate| duty(gate, roster)) {
        let hint = "a gate with `proposes: true` goes before one of `type: children` with `childWorkflow`, and nobody makes work besides";
        each(gates, items, |at, _, other| {
            if other.id == gate.id {
                found.errors.add(at.key("id"), format!("gate `{}` {why}", gate.id), hint);
            }
        });
    }
    if declared.spec.rejection_strategy == RejectionStrategy::Named {
        targets(gates, items, found);
    }
}

/// Calls `see` with every gate, its place and the number of its item.
fn each(gates: At<'_>, items: &[GateOrFork], mut see: impl FnMut(At<'_>, usize, &GateSpec)) {
    for (i, item) in items.iter().enumerate() {
        let here = gates.item(i);
        match item {
            GateOrFork::Gate(gate) => see(here, i, gate),
            GateOrFork::Fork(fork) => {
                let branches = here.key("branches");
                for (n, gate) in fork.branches.iter().enumerate() {
                    see(branches.item(n), i, gate);
                }
            }
        }
    }
}

fn unique(gates: At<'_>, items: &[GateOrFork], found: &mut Findings) {
    let mut seen = BTreeSet::new();
    let mut once = |at: At<'_>, id: &GateId| {
        if !seen.insert(id.clone()) {
            found.errors.add(at.key("id"), format!("there are two gates with the id `{id}`"), "give each its own id");
        }
    };
    for (i, item) in items.iter().enumerate() {
        let here = gates.item(i);
        once(here, item.id());
        if let GateOrFork::Fork(fork) = item {
            let branches = here.key("branches");
            fork.branches.iter().enumerate().for_each(|(n, gate)| once(branches.item(n), &gate.id));
        }
    }
}

fn first(gates: At<'_>, items: &[GateOrFork], found: &mut Findings) {
    match items.first() {
        Some(GateOrFork::Fork(fork)) => {
            let message =
                format!("the workflow begins with fork `{}`: nobody made anything yet that it could look at", fork.id);
            found.errors.add(gates.item(0), message, "begin with a gate, and put the fork behind it");
        }
        Some(GateOrFork::Gate(gate)) if gate.can_reject => {
            let message = format!("the first gate `{}` cannot reject: there is no gate before it", gate.id);
            found.errors.add(gates.item(0).key("canReject"), message, "remove `canReject`");
        }
        _ => {}
    }
}

/// Work that is made has to be verified, or it could never land.
fn verified(gates: At<'_>, items: &[GateOrFork], roster: Option<Roster<'_>>, found: &mut Findings) {
    let mut last = None;
    each(gates, items, |_, item, gate| {
        if duty(gate, roster) == Duty::Judge {
            last = Some(item);
        }
    });
    each(gates, items, |at, item, gate| {
        if duty(gate, roster) != Duty::Make || last.is_some_and(|last| last > item) {
            return;
        }
        let (message, hint) = match last {
            Some(_) => (
                format!("gate `{}` makes work and no verifier's gate follows it", gate.id),
                "put a gate of the role `verifier` behind it",
            ),
            None => (
                format!("gate `{}` makes work and the workflow has no verifier", gate.id),
                "add a gate of the role `verifier` behind it: only verified work lands",
            ),
        };
        found.errors.add(at.key("role"), message, hint);
    });
}

fn targets(gates: At<'_>, items: &[GateOrFork], found: &mut Findings) {
    each(gates, items, |at, item, gate| {
        let Some(target) = &gate.reject_to else { return };
        let is_target = |earlier: &GateOrFork| matches!(earlier, GateOrFork::Gate(gate) if gate.id == *target);
        let before = items.iter().take(item).any(is_target);
        if !before && gate.can_reject {
            let hint = "name a gate that stands before it; a fork takes no work back";
            let message = format!("gate `{}` rejects to `{target}`, which does not stand before it", gate.id);
            found.errors.add(at.key("rejectTo"), message, hint);
        }
    });
}
