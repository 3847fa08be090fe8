//! Rules for org charts (spec GATE-2).

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    ids::{AgentName, RoleId, role},
    org::{OrgChart, Plane, ROLES_MAX, RoleSpec},
    roles::{is_persons, is_reserved},
    streams::roles_collide,
    workflow::{HUMAN_PREFIX, is_human},
};

use super::{
    people::{ADD_A_PERSON, has_person},
    roster::Findings,
};
use crate::{declared::resolve::is_peoples, gates::Duty, yaml::path::At};

/// The most agents of a role.
const AGENTS_MAX: usize = 1_000;

/// Holds an org chart against every rule. `keys` are the names that have a key.
pub(crate) fn check(chart: &OrgChart, keys: Option<&BTreeSet<AgentName>>) -> Findings {
    let mut found = Findings::default();
    let roles = At::ROOT.key("roles");
    if chart.roles.is_empty() {
        found.errors.add(roles, "the org chart has no roles", "add a role with its `agents`");
    }
    if chart.roles.len() > ROLES_MAX {
        let message = format!("the org chart has {} roles, more than {ROLES_MAX}", chart.roles.len());
        found.errors.add(roles, message, "each is a stream of the broker: let gates share roles");
        return found;
    }
    names(roles, chart, &mut found);
    agents(roles, chart, keys, &mut found);
    for (id, spec) in &chart.roles {
        of_role(roles.key(id.as_str()), id, spec, &mut found);
    }
    found
}

fn names(roles: At<'_>, chart: &OrgChart, found: &mut Findings) {
    let ours = role::AGENTS.map(role::id);
    let mut before: Vec<&RoleId> = ours.iter().collect();
    for id in chart.roles.keys() {
        let at = roles.name(id.as_str());
        if is_reserved(id) {
            let hint = "choose another name, such as `lead`";
            found.errors.add(at, format!("role `{id}` is reserved for the fleet itself"), hint);
        } else if is_persons(id) {
            let hint = "choose a name for what they do, such as `reviewer`, and list people in its `agents`";
            found.errors.add(at, format!("role `{id}` begins with `{HUMAN_PREFIX}`, as the names of people do"), hint);
        } else if let Some(other) = before.iter().find(|other| **other != id && roles_collide(other, id)) {
            let message = format!("roles `{id}` and `{other}` would share a stream or consumer of the broker");
            found.errors.add(at, message, "give one of them another name: `-`, `_` and capitals make no difference");
        }
        before.push(id);
    }
}

fn agents(roles: At<'_>, chart: &OrgChart, keys: Option<&BTreeSet<AgentName>>, found: &mut Findings) {
    let mut owner: BTreeMap<&AgentName, &RoleId> = BTreeMap::new();
    for (id, spec) in &chart.roles {
        let of_role = roles.key(id.as_str());
        let list = of_role.key("agents");
        if spec.agents.len() > AGENTS_MAX {
            let message = format!("role `{id}` has {} agents, more than {AGENTS_MAX}", spec.agents.len());
            found.errors.add(list.item(AGENTS_MAX), message, "leave some out");
            continue;
        }
        for (i, agent) in spec.agents.iter().enumerate() {
            let at = list.item(i);
            if let Some(other) = owner.insert(agent, id) {
                let message = format!("`{agent}` has role `{other}` already");
                found.errors.add(
                    at,
                    message,
                    "an agent has one role: list it once, or give the second one a key of its own",
                );
            }
            if keys.is_some_and(|keys| !keys.contains(agent)) {
                let message = format!("there is no key of `{agent}`, so it gets no work");
                found.warnings.add(at, message, "make a key for it, or remove it from the role");
            }
            if spec.require_human && !is_human(agent) {
                let message = format!("`{agent}` is no person, and role `{id}` is for people: it gets no work");
                found.warnings.add(at, message, "ids of people begin with `human-`");
            }
        }
        let none = !spec.agents.iter().any(|agent| keys.is_none_or(|keys| keys.contains(agent)));
        if none && (has_person(spec) || !spec.require_human) {
            let message =
                format!("role `{id}` has no agents: work that comes to it is blocked with `no agents for role`");
            found.warnings.add(list, message, "add an agent to `agents`");
        }
    }
}

fn of_role(at: At<'_>, id: &RoleId, spec: &RoleSpec, found: &mut Findings) {
    if let Some(text) = &spec.description {
        found.sentence(at.key("description"), "`description`", text);
    }
    if spec.plane == Some(Plane::Build) && Duty::of(id) == Duty::Judge {
        let message = format!("role `{id}` judges what others build, and cannot build");
        found.errors.add(at.key("plane"), message, "remove `plane`, or name the role otherwise");
    }
    if spec.only_listed && is_peoples(id, spec) {
        let message =
            format!("`onlyListed` says nothing of role `{id}`, which is for people: those are always who is listed");
        found.warnings.add(at.key("onlyListed"), message, "remove `onlyListed`: it is about agents");
    }
    if !spec.require_human {
        return;
    }
    if spec.plane == Some(Plane::Build) || Duty::of(id) != Duty::Complete {
        let message = format!("role `{id}` is agents' work and cannot be for people");
        found.errors.add(at.key("requireHuman"), message, "give people a role that neither builds nor verifies");
    } else if !has_person(spec) {
        let message = format!("role `{id}` is for people and has none");
        found.errors.add(at.key("agents"), message, ADD_A_PERSON);
    }
}
