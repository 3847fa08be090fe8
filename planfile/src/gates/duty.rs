//! What the turns of a gate are: making work, judging it, or completing the gate (GATE-9, GATE-30).

use holdpoint_protocol::{
    ids::{RoleId, role},
    org::Plane,
    workflow::{GateKind, GateSpec},
};

/// What a turn of a gate is. It follows from the gate's role and type, and what the org chart says of that role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// A workspace turn: clone, program, commit.
    Make,
    /// A verification with evidence.
    Judge,
    /// Everything else: an outcome with a summary, by an agent or a person.
    Complete,
    /// No turn opens: children of the waypoint do the work.
    Delegate,
}

impl Duty {
    /// The duty of a role that no org chart says more about.
    pub(crate) fn of(role: &RoleId) -> Self {
        match role.as_str() {
            role::BUILDER | role::REPAIR => Self::Make,
            role::VERIFIER => Self::Judge,
            _ => Self::Complete,
        }
    }

    /// The duty of a gate, whose role is on this plane.
    pub(crate) fn at(gate: &GateSpec, plane: Option<Plane>) -> Self {
        match (gate.kind, plane) {
            (Some(GateKind::Children), _) => Self::Delegate,
            // A verifier judges whatever the gate's type is, and is refused there.
            (Some(GateKind::Inspection), _) if Self::of(&gate.role) != Self::Judge => Self::Complete,
            (_, Some(Plane::Build)) => Self::Make,
            (_, None) => Self::of(&gate.role),
        }
    }

    /// The duty of a gate with what the org chart says of its role.
    pub fn of_gate(gate: &GateSpec) -> Self {
        Self::at(gate, gate.plane)
    }
}
