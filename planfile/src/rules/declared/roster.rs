//! What is found, and who has which role: what every rule over declarations is given.

use holdpoint_protocol::{
    ids::{RoleId, role},
    org::{OrgChart, Plane, RoleSpec},
    workflow::GateSpec,
};
use holdpoint_text::shown;

use crate::{
    gates::Duty,
    yaml::{findings::PlanProblems, path::At},
};

/// The longest sentence in bytes: descriptions, expectations, tips and the like are shown to the agent or person who has the turn.
const SENTENCE_BYTES_MAX: usize = 4 << 10;
/// The most expectations, tips or people of a gate. Agents and people read a few at most.
pub(super) const ITEMS_MAX: usize = 50;

/// What the rules find.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: PlanProblems,
    pub(crate) warnings: PlanProblems,
}

impl Findings {
    /// A text that says something, and is not too long.
    pub(super) fn sentence(&mut self, at: At<'_>, what: &str, text: &str) {
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
    pub(super) fn sentences(&mut self, at: At<'_>, key: &str, texts: &[String]) {
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
pub(crate) struct Roster<'a> {
    pub(crate) chart: &'a OrgChart,
    /// Whether all of it could be read.
    pub(crate) whole: bool,
}

impl<'a> Roster<'a> {
    pub(super) fn role(self, id: &RoleId) -> Option<&'a RoleSpec> {
        self.chart.roles.get(id)
    }
}

/// What a turn of this gate is: by its type and its role's name, unless the org chart says more of the role.
pub(super) fn duty(gate: &GateSpec, roster: Option<Roster<'_>>) -> Duty {
    Duty::at(gate, plane(&gate.role, roster).or(gate.plane))
}

/// What the org chart says of the turns of a role.
pub(super) fn plane(role: &RoleId, roster: Option<Roster<'_>>) -> Option<Plane> {
    roster.and_then(|roster| roster.role(role)).and_then(|role| role.plane)
}

/// Whether agents of this role make work at its other gates.
pub(super) fn makes(role: &RoleId, roster: Option<Roster<'_>>) -> bool {
    plane(role, roster).is_some() || Duty::of(role) == Duty::Make
}

/// Whether agents of the role are there without an org chart.
pub(super) fn is_built_in(id: &RoleId) -> bool {
    role::AGENTS.contains(&id.as_str())
}
