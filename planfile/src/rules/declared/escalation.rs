//! Rules about the roles to which a gate escalates (spec GATE-15): how many, and whose turns they can answer.

use holdpoint_protocol::{
    ids::RoleId,
    roles::is_reserved,
    workflow::{ESCALATIONS_MAX, Escalation, GateSpec},
};

use super::{
    people::{ADD_A_PERSON, has_person},
    roles::role,
    roster::{Findings, Roster, duty, is_built_in, makes},
};
use crate::{declared::resolve::is_peoples, gates::Duty, yaml::path::At};

/// Holds what a gate says in `escalateTo` against every rule. `at` is the value, a role or a list of them.
pub(super) fn check(at: At<'_>, gate: &GateSpec, roster: Option<Roster<'_>>, found: &mut Findings) {
    let links = &gate.escalations;
    if links.len() > ESCALATIONS_MAX {
        let message = format!("gate `{}` escalates to {} roles, more than {ESCALATIONS_MAX}", gate.id, links.len());
        found.errors.add(
            at.item(ESCALATIONS_MAX),
            message,
            "leave some out: each waits for the gate's whole `timeout`",
        );
        return;
    }
    for (i, Escalation { role: next, .. }) in links.iter().enumerate() {
        let here = at.item(i);
        role(here, next, roster, found);
        if *next == gate.role {
            let message = format!("gate `{}` escalates to its own role `{next}`", gate.id);
            found.errors.add(
                here,
                message,
                "name another role, or remove it: without `escalateTo` its own role has it again",
            );
        } else if links.iter().take(i).any(|earlier| earlier.role == *next) {
            let message = format!("gate `{}` escalates to role `{next}` twice", gate.id);
            found.errors.add(here, message, "name each role once");
        } else {
            answers(here, gate, next, roster, found);
        }
    }
}

/// Whether a role can answer the turns of the gate.
fn answers(at: At<'_>, gate: &GateSpec, next: &RoleId, roster: Option<Roster<'_>>, found: &mut Findings) {
    let spec = roster.and_then(|roster| roster.role(next));
    // Errors of the chart are reported there, and a role that nobody can have has been reported.
    let is_unknown = |_| spec.is_none() && !is_built_in(next);
    if roster.is_some_and(|roster| !roster.whole) || roster.is_some_and(is_unknown) || is_reserved(next) {
        return;
    }
    let for_people = roster.and_then(|roster| roster.role(&gate.role)).is_some_and(|role| role.require_human);
    if gate.require_human || for_people {
        if spec.is_some_and(|role| !role.require_human && !has_person(role)) {
            let message =
                format!("gate `{}` is for people, and role `{next}`, to which it escalates, has none", gate.id);
            found.errors.add(at, message, ADD_A_PERSON);
        }
        return;
    }
    if spec.is_some_and(|spec| is_peoples(next, spec)) {
        return;
    }
    let other = if makes(next, roster) { Duty::Make } else { Duty::of(next) };
    let (message, hint) = match duty(gate, roster) {
        Duty::Make if other != Duty::Make => (
            format!("gate `{}` makes work, and agents of role `{next}`, to which it escalates, do not", gate.id),
            "give the role `plane: build` in the org chart, or name a role of people",
        ),
        Duty::Judge => (
            format!("gate `{}` judges work, and escalates to people only: role `{next}` is not one of people", gate.id),
            "name a role of people: they hear that no verifier answers",
        ),
        Duty::Complete if other != Duty::Complete => (
            format!(
                "gate `{}` is completed, and agents of role `{next}`, to which it escalates, complete no gates",
                gate.id
            ),
            "name a role that neither makes nor judges work",
        ),
        // Where no turn opens, nothing escalates: that is reported with where the gate stands.
        Duty::Make | Duty::Complete | Duty::Delegate => return,
    };
    found.errors.add(at, message, hint);
}
