//! Rules about the people whom a project names: those who complete gates (spec GATE-2, GATE-16), and those to notify.

use holdpoint_protocol::{
    ids::AgentName,
    org::RoleSpec,
    workflow::{GateSpec, is_human},
};
use holdpoint_text::units;

use super::roster::{Findings, ITEMS_MAX, Roster, duty, makes};
use crate::{
    declared::{project::Project, timeouts::default_timeout},
    gates::Duty,
    yaml::{likeness::closest, path::At},
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
    if gate.require_human && (duty(gate, roster) != Duty::Complete || makes(&gate.role, roster)) {
        let message = format!("gate `{}` is agents' work and cannot be for people", gate.id);
        found.errors.add(at.key("requireHuman"), message, "give it a role that neither builds nor verifies");
    }
    if gate.timeout.is_none() {
        let span = units::written(default_timeout(gate, first));
        let message = format!("gate `{}` waits for people and has only the default timeout of {span}", gate.id);
        found.warnings.add(
            at.key("timeout"),
            message,
            "people sleep: write how long it may wait, such as `timeout: 3d`",
        );
    }
    // A role that is for people has its error in the org chart.
    if roster.is_some_and(|roster| roster.whole) && role.is_some_and(|role| !by_role && !has_person(role)) {
        let message = format!("gate `{}` is for people, and role `{}` has none", gate.id, gate.role);
        found.errors.add(at.key("role"), message, ADD_A_PERSON);
    }
}

/// Whether a person has the role.
pub(super) fn has_person(role: &RoleSpec) -> bool {
    role.agents.iter().any(is_human)
}

/// The owner and the stakeholders of a project are people of its org chart.
pub(crate) fn notified(project: &Project, roster: Option<Roster<'_>>, found: &mut Findings) {
    let roster = roster.filter(|roster| roster.whole);
    if let Some(owner) = &project.owner {
        known_person(At::ROOT.key("owner"), "owner", owner, roster, found);
    }
    let at = At::ROOT.key("stakeholders");
    let count = project.stakeholders.len();
    if count > ITEMS_MAX {
        let message = format!("`stakeholders` has {count} items, more than {ITEMS_MAX}");
        found.errors.add(at.item(ITEMS_MAX), message, "leave some out: a command or webhook can notify a whole group");
        return;
    }
    for (i, name) in project.stakeholders.iter().enumerate() {
        known_person(at.item(i), "stakeholders", name, roster, found);
    }
}

fn known_person(at: At<'_>, key: &str, name: &AgentName, roster: Option<Roster<'_>>, found: &mut Findings) {
    if !is_human(name) {
        let message = format!("`{name}` in `{key}` is no person");
        found.errors.add(at, message, "ids of people begin with `human-`");
        return;
    }
    let Some(roster) = roster else { return };
    let people = || roster.chart.roles.values().flat_map(|role| &role.agents).filter(|agent| is_human(agent));
    if people().any(|person| person == name) {
        return;
    }
    let message = format!("`{name}` in `{key}` is not in the org chart");
    let hint = match closest(name.as_str(), people().map(AgentName::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "add that person to a role of the org chart".to_owned(),
    };
    found.errors.add(at, message, hint);
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
