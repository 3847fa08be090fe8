//! Whether a role that is named is one.

use holdpoint_protocol::{
    ids::{RoleId, role},
    roles::is_reserved,
};

use super::roster::{Findings, Roster, is_built_in};
use crate::yaml::{likeness::closest, path::At};

/// Whether there is such a role.
pub(super) fn role(at: At<'_>, id: &RoleId, roster: Option<Roster<'_>>, found: &mut Findings) {
    if is_reserved(id) {
        let hint = "name a role of the org chart";
        found.errors.add(at, format!("role `{id}` is reserved for the fleet itself"), hint);
        return;
    }
    let Some(roster) = roster else { return };
    if is_built_in(id) || roster.role(id).is_some() {
        return;
    }
    let known = || roster.chart.roles.keys().map(RoleId::as_str).chain(role::AGENTS);
    let hint = match closest(id.as_str(), known()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("add it to the org chart, which has {}", list(roster)),
    };
    found.errors.add(at, format!("role `{id}` is not in the org chart"), hint);
}

fn list(roster: Roster<'_>) -> String {
    const SHOWN_MAX: usize = 10;
    let mut names: Vec<String> = roster.chart.roles.keys().take(SHOWN_MAX).map(|id| format!("`{id}`")).collect();
    match roster.chart.roles.len() {
        0 => return "no roles".to_owned(),
        all if all > SHOWN_MAX => names.push(format!("and {} more", all - SHOWN_MAX)),
        _ => {}
    }
    names.join(", ")
}
