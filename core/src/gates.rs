//! The gate machine: how a workflow moves (spec GATE-5, GATE-7, GATE-14).
//!
//! It knows neither builders nor verifiers, only gates, roles and outcomes; the built-in workflow [`fly`] is a value in
//! it like any other.

use holdpoint_protocol::{
    ids::{GateId, RoleId, role},
    state::Outcome,
};

/// An ordered list of gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    gates: Vec<Gate>,
}

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Unique in the workflow.
    pub id: GateId,
    /// Whose turn it is there.
    pub role: RoleId,
    /// Whether that role may send work back.
    pub can_reject: bool,
}

/// Why gates do not make a workflow, or an outcome does not fit a gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// No gates.
    #[error("workflow {name} has no gates")]
    Empty {
        /// The workflow.
        name: String,
    },
    /// The first gate has nothing to reject to.
    #[error("the first gate {gate} cannot reject: there is no gate before it")]
    FirstRejects {
        /// The gate.
        gate: GateId,
    },
    /// Not a gate of this workflow.
    #[error("gate {gate} is not part of workflow {name}")]
    Unknown {
        /// The gate.
        gate: GateId,
        /// The workflow.
        name: String,
    },
    /// `needs_review` from a gate that may not reject.
    #[error("gate {gate} may not send work back")]
    RejectNotAllowed {
        /// The gate.
        gate: GateId,
    },
}

/// Where an outcome leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move<'a> {
    /// On to the next gate.
    Advance(&'a Gate),
    /// Back to the first gate (GATE-14).
    Reject(&'a Gate),
    /// It stays in its gate, for a person (GATE-7a).
    Hold,
    /// That was the last gate (GATE-10).
    Finish,
}

impl Workflow {
    /// Checks and makes a workflow.
    ///
    /// # Errors
    /// [`GateError::Empty`], [`GateError::FirstRejects`].
    pub fn try_new(name: impl Into<String>, gates: Vec<Gate>) -> Result<Self, GateError> {
        let name = name.into();
        match gates.first() {
            None => Err(GateError::Empty { name }),
            Some(first) if first.can_reject => Err(GateError::FirstRejects { gate: first.id.clone() }),
            Some(_) => Ok(Self { name, gates }),
        }
    }

    /// The gate where work begins, and to which a rejection goes.
    #[must_use]
    pub fn first(&self) -> &Gate {
        self.gates.first().expect("a workflow has at least one gate by construction")
    }

    /// Where `outcome` leads from `gate`.
    ///
    /// # Errors
    /// [`GateError::Unknown`], [`GateError::RejectNotAllowed`].
    pub fn evaluate(&self, gate: &GateId, outcome: Outcome) -> Result<Move<'_>, GateError> {
        let at = self.gates.iter().position(|g| &g.id == gate);
        let (Some(at), Some(current)) = (at, self.gates.iter().find(|g| &g.id == gate)) else {
            return Err(GateError::Unknown { gate: gate.clone(), name: self.name.clone() });
        };
        match outcome {
            Outcome::Blocked => Ok(Move::Hold),
            Outcome::NeedsReview if current.can_reject => Ok(Move::Reject(self.first())),
            Outcome::NeedsReview => Err(GateError::RejectNotAllowed { gate: gate.clone() }),
            Outcome::Complete | Outcome::Skip => Ok(self.gates.get(at + 1).map_or(Move::Finish, Move::Advance)),
        }
    }
}

/// The built-in workflow: build, then verify.
#[must_use]
pub fn fly() -> Workflow {
    let gate = |id: &str, role_name: &'static str, can_reject| Gate {
        id: GateId::try_new(id).expect("a literal id"),
        role: role::id(role_name),
        can_reject,
    };
    let gates = vec![gate("build", role::BUILDER, false), gate("verify", role::VERIFIER, true)];
    Workflow::try_new("fly", gates).expect("it has gates, and the first cannot reject")
}

/// The built-in workflow of this name.
#[must_use]
pub fn built_in(name: &str) -> Option<Workflow> {
    (name == "fly").then(fly)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(id: &str) -> GateId {
        id.parse().unwrap()
    }

    #[test]
    fn fly_goes_from_build_to_verify_to_the_end_and_a_rejection_goes_back_to_build() {
        let fly = fly();
        let role_after = |id: &str, outcome| match fly.evaluate(&gate(id), outcome) {
            Ok(Move::Advance(g)) => format!("advance {}", g.id),
            Ok(Move::Reject(g)) => format!("reject {}", g.id),
            Ok(Move::Hold) => "hold".to_owned(),
            Ok(Move::Finish) => "finish".to_owned(),
            Err(error) => error.to_string(),
        };
        for (id, outcome, expected) in [
            ("build", Outcome::Complete, "advance verify"),
            ("build", Outcome::Blocked, "hold"),
            ("build", Outcome::NeedsReview, "gate build may not send work back"),
            ("build", Outcome::Skip, "advance verify"),
            ("verify", Outcome::Complete, "finish"),
            ("verify", Outcome::NeedsReview, "reject build"),
            ("verify", Outcome::Blocked, "hold"),
            ("deploy", Outcome::Complete, "gate deploy is not part of workflow fly"),
        ] {
            assert_eq!(role_after(id, outcome), expected, "{id} {outcome:?}");
        }
    }

    #[test]
    fn a_workflow_without_gates_or_with_a_rejecting_first_gate_is_refused() {
        assert!(matches!(Workflow::try_new("x", vec![]), Err(GateError::Empty { .. })));
        let rejecting = Gate { id: gate("a"), role: role::id(role::VERIFIER), can_reject: true };
        assert!(matches!(Workflow::try_new("x", vec![rejecting]), Err(GateError::FirstRejects { .. })));
    }
}
