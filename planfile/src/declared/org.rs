//! Reading `org.yaml`: who has which role (spec GATE-2).

use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    org::{OrgChart, Plane, RoleSpec},
};

use crate::yaml::{
    error::Problems,
    fields::Fields,
    tree::{FileKind, Key, Node},
    words::{not_an_id, quoted},
};

/// What messages about such files say.
pub(super) const KIND: FileKind = FileKind {
    name: "org chart",
    least: "an org chart has at least `roles:` with one role and its `agents`",
    depth: "an org chart needs four levels",
};

/// The keys of the file.
pub(super) const FILE_KEYS: &[&str] = &["roles"];
/// The keys of a role.
pub(super) const ROLE_KEYS: &[&str] = &["agents", "description", "requireHuman", "onlyListed", "plane"];

/// Reads an org chart.
pub(super) fn read(root: &Node, problems: &mut Problems) -> Option<OrgChart> {
    let file = Fields::open(root, "the org chart", FILE_KEYS, problems)?;
    file.demand("roles", "add `roles:` with one key for each role", problems);
    let node = file.get("roles", problems)?;
    let roles = Fields::free(node, "`roles`", "write `roles: {reviewer: {agents: [agent-1]}}`", problems)?;
    let entries = roles.entries().iter().filter_map(|(key, _)| role(&roles, key, problems));
    Some(OrgChart { roles: entries.collect() })
}

fn role(roles: &Fields<'_>, key: &Key, problems: &mut Problems) -> Option<(RoleId, RoleSpec)> {
    let id = RoleId::try_new(key.name.as_str());
    if id.is_err() {
        let (message, hint) = not_an_id(&key.name);
        problems.add(key.at, message, hint);
    }
    // A role whose fields cannot be read is still there for the gates that name it.
    let spec = roles.get(&key.name, problems).and_then(|node| spec(node, &key.name, problems));
    Some((id.ok()?, spec.unwrap_or_default()))
}

fn spec(node: &Node, name: &str, problems: &mut Problems) -> Option<RoleSpec> {
    let fields = Fields::open(node, &format!("role `{}`", quoted(name)), ROLE_KEYS, problems)?;
    Some(RoleSpec {
        agents: fields.ids("agents", AgentName::try_new, problems),
        description: fields.text("description", problems),
        require_human: fields.flag("requireHuman", problems).unwrap_or(false),
        only_listed: fields.flag("onlyListed", problems).unwrap_or(false),
        plane: fields.choice("plane", "a plane", &[("build", Plane::Build)], problems),
    })
}
