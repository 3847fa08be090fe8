//! Rules about gates that people complete (spec GATE-2, GATE-16).

use holdpoint_protocol::{
    org::RoleSpec,
    workflow::{GateSpec, is_human},
};

use super::{Findings, ITEMS_MAX, Roster, duty};
use crate::{
    declared::default_timeout,
    gates::Duty,
    plan::{path::At, span_written},
};

/// What gives a role a person.
pub(super) const ADD_A_PERSON: &str = "give the role an agent whose id begins with `human-`";

/// Holds a gate against the rules about people.
pub(super) fn check(at: At<'_>, gate: &GateSpec, first: bool, roster: Option<Roster<'_>>, found: &mut Findings) {
    let role = roster.and_then(|roster| roster.role(&gate.role));
    named(at.key("people"), gate, role.filter(|_| roster.is_some_and(|roster| roster.whole)), found);
    let by_role = role.is_some_and(|role| role.require_human);
    if !gate.require_human && !by_role {
        return;
    }
    if gate.require_human && duty(&gate.role, roster) != Duty::Complete {
        let message = format!("gate `{}` is agents' work and cannot be for people", gate.id);
        found.errors.add(at.key("requireHuman"), message, "give it a role that neither builds nor verifies");
    }
    if gate.timeout.is_none() {
        let span = span_written(default_timeout(gate, first));
        let message = format!("gate `{}` waits for people and has only the default timeout of {span}", gate.id);
        found.warnings.add(
            at.key("timeout"),
            message,
            "people sleep: write how long it may wait, such as `timeout: 3d`",
        );
    }
    let Some(roster) = roster.filter(|roster| roster.whole) else { return };
    // A role that is for people has its error in the org chart.
    if role.is_some_and(|role| !by_role && !has_person(role)) {
        let message = format!("gate `{}` is for people, and role `{}` has none", gate.id, gate.role);
        found.errors.add(at.key("role"), message, ADD_A_PERSON);
    }
    let Some(next) = &gate.escalate_to else { return };
    if roster.role(next).is_some_and(|role| !role.require_human && !has_person(role)) {
        let message = format!("gate `{}` is for people, and role `{next}`, to which it escalates, has none", gate.id);
        found.errors.add(at.key("escalateTo"), message, ADD_A_PERSON);
    }
}

/// Whether a person has the role.
pub(super) fn has_person(role: &RoleSpec) -> bool {
    role.agents.iter().any(is_human)
}

fn named(at: At<'_>, gate: &GateSpec, role: Option<&RoleSpec>, found: &mut Findings) {
    if gate.people.len() > ITEMS_MAX {
        let message = format!("`people` has {} items, more than {ITEMS_MAX}", gate.people.len());
        found.errors.add(at.item(ITEMS_MAX), message, "leave some out: without `people` every person may complete it");
        return;
    }
    for (i, name) in gate.people.iter().enumerate() {
        if !is_human(name) {
            let message = format!("`{name}` in `people` is no person");
            found.errors.add(at.item(i), message, "ids of people begin with `human-`");
        } else if role.is_some_and(|role| !role.agents.contains(name)) {
            let message = format!("`{name}` in `people` does not have role `{}`", gate.role);
            found.warnings.add(at.item(i), message, "add that person to the role, or remove the name");
        }
    }
}
