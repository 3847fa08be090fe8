//! The gate machine: how a workflow moves (spec GATE-5, GATE-7, GATE-14).
//!
//! It knows gates, roles, duties and outcomes. What a workflow may declare is [`crate::declared`], which is more than is run
//! here; which workflows are built in is [`crate::workflows`]; what a turn of a gate is about, and what an outcome does to a
//! waypoint, is [`crate::engine`].

mod obstacles;

use std::collections::BTreeSet;

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId, role},
    state::Outcome,
    time::Millis,
    workflow::{GateSpec, WorkflowSpec, is_human},
};

pub use obstacles::obstacles;

/// Gates of one workflow, at most: every visit of a gate is in every entry of a waypoint.
pub const GATES_MAX: usize = 32;

/// A checked, ordered list of gates.
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
    /// What a turn of it is.
    pub duty: Duty,
    /// Whether that role may send work back.
    pub can_reject: bool,
    /// Only people may complete it.
    pub require_human: bool,
    /// Which people; empty: any.
    pub people: Vec<AgentName>,
    /// What it is for.
    pub description: Option<String>,
    /// How long a turn of it may take.
    pub timeout: Option<Millis>,
}

/// What a turn of a gate is. It follows from the gate's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// A workspace turn: clone, program, commit.
    Make,
    /// A verification with evidence.
    Judge,
    /// Everything else: an outcome with a summary, by an agent or a person.
    Complete,
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
}

/// Why gates do not make a workflow, or an outcome does not fit a gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Something that may be declared and that this version does not run.
    #[error("{what} cannot be run yet")]
    NotYet {
        /// What, in the words of the file.
        what: String,
    },
    /// No gates.
    #[error("workflow {name} has no gates")]
    Empty {
        /// The workflow.
        name: String,
    },
    /// More gates than a waypoint can remember.
    #[error("workflow {name} has {count} gates; {GATES_MAX} are allowed")]
    TooMany {
        /// The workflow.
        name: String,
        /// How many it has.
        count: usize,
    },
    /// Two gates of one id.
    #[error("gate {gate} is there twice")]
    Duplicate {
        /// The gate.
        gate: GateId,
    },
    /// The first gate has nothing to reject to.
    #[error("the first gate {gate} cannot reject: there is no gate before it")]
    FirstRejects {
        /// The gate.
        gate: GateId,
    },
    /// Work is made that no verifier judges: it could never land (invariant 4).
    #[error("gate {gate} makes work and no verifier's gate follows it")]
    Unverified {
        /// The gate.
        gate: GateId,
    },
    /// A verifier's gate that may not send work back: a failing verdict would lead nowhere.
    #[error("gate {gate} judges work and may not send it back")]
    JudgeCannotReject {
        /// The gate.
        gate: GateId,
    },
    /// Nobody takes turns of such a role in this version.
    #[error(
        "gate {gate} belongs to role {role}, which is no agents' role: set requireHuman for a gate that people complete"
    )]
    NoAgents {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// A gate of agents' work that only people may complete, or one of the reserved roles.
    #[error("gate {gate} cannot belong to role {role}")]
    Role {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// A name in `people` that is no person's.
    #[error("gate {gate} names {name} as a person: names of people begin with `human-`")]
    NoPerson {
        /// The gate.
        gate: GateId,
        /// The name.
        name: AgentName,
    },
    /// A gate for people without a time limit (GATE-3).
    #[error("gate {gate} waits for people and has no timeout")]
    NoTimeout {
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
    /// Once more in the same gate: its maker had nothing to hand off.
    Again(&'a Gate),
    /// It stays in its gate, for a person (GATE-7a).
    Hold,
    /// That was the last gate (GATE-10).
    Finish,
}

impl Workflow {
    /// Checks and makes a workflow.
    ///
    /// # Errors
    /// [`GateError`]: the first thing that is wrong.
    pub fn try_new(spec: &WorkflowSpec) -> Result<Self, GateError> {
        let name = spec.name.clone();
        if let Some(what) = obstacles(spec).into_iter().next() {
            return Err(GateError::NotYet { what });
        }
        let gates: Vec<Gate> = spec.all_gates().map(Gate::from).collect();
        let Some(first) = gates.first() else { return Err(GateError::Empty { name }) };
        if first.can_reject {
            return Err(GateError::FirstRejects { gate: first.id.clone() });
        }
        if gates.len() > GATES_MAX {
            return Err(GateError::TooMany { name, count: gates.len() });
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = gates.iter().find(|gate| !seen.insert(&gate.id)) {
            return Err(GateError::Duplicate { gate: twice.id.clone() });
        }
        gates.iter().try_for_each(Gate::check)?;
        let judged = gates.iter().rposition(|gate| gate.duty == Duty::Judge);
        let made = gates.iter().rposition(|gate| gate.duty == Duty::Make);
        if let Some(made) = made.filter(|made| judged.is_none_or(|judged| judged < *made)) {
            return Err(GateError::Unverified { gate: gates[made].id.clone() });
        }
        Ok(Self { name, gates })
    }

    /// The gate where work begins, and to which a rejection goes.
    #[must_use]
    pub fn first(&self) -> &Gate {
        self.gates.first().expect("a workflow has at least one gate by construction")
    }

    /// The gate with this id.
    #[must_use]
    pub fn gate(&self, id: &GateId) -> Option<&Gate> {
        self.gates.iter().find(|gate| &gate.id == id)
    }

    /// The last verifier's gate: where a merge is verified again. `None`: nothing of this workflow lands.
    #[must_use]
    pub fn last_judge(&self) -> Option<&Gate> {
        self.gates.iter().rev().find(|gate| gate.duty == Duty::Judge)
    }

    /// Where `outcome` leads from `gate`. The only place that says where work goes next.
    ///
    /// # Errors
    /// [`GateError::Unknown`], [`GateError::RejectNotAllowed`].
    pub fn evaluate(&self, gate: &GateId, outcome: Outcome) -> Result<Move<'_>, GateError> {
        let at = self.gates.iter().position(|g| &g.id == gate);
        let (Some(at), Some(current)) = (at, self.gate(gate)) else {
            return Err(GateError::Unknown { gate: gate.clone(), name: self.name.clone() });
        };
        match outcome {
            Outcome::Blocked => Ok(Move::Hold),
            Outcome::NeedsReview if current.can_reject => Ok(Move::Reject(self.first())),
            Outcome::NeedsReview if current.duty == Duty::Make => Ok(Move::Again(current)),
            Outcome::NeedsReview => Err(GateError::RejectNotAllowed { gate: gate.clone() }),
            Outcome::Complete | Outcome::Skip => Ok(self.gates.get(at + 1).map_or(Move::Finish, Move::Advance)),
        }
    }
}

impl From<&GateSpec> for Gate {
    fn from(spec: &GateSpec) -> Self {
        Self {
            id: spec.id.clone(),
            role: spec.role.clone(),
            duty: Duty::of(&spec.role),
            can_reject: spec.can_reject,
            require_human: spec.require_human,
            people: spec.people.clone(),
            description: spec.description.clone(),
            timeout: spec.timeout,
        }
    }
}

impl Gate {
    fn check(&self) -> Result<(), GateError> {
        let (gate, role) = (self.id.clone(), self.role.clone());
        match self.duty {
            _ if matches!(role.as_str(), role::ORCHESTRATOR | role::OPERATOR) => Err(GateError::Role { gate, role }),
            Duty::Make | Duty::Judge if self.require_human => Err(GateError::Role { gate, role }),
            Duty::Judge if !self.can_reject => Err(GateError::JudgeCannotReject { gate }),
            Duty::Make | Duty::Judge => Ok(()),
            Duty::Complete if !self.require_human => Err(GateError::NoAgents { gate, role }),
            Duty::Complete if self.timeout.is_none() => Err(GateError::NoTimeout { gate }),
            Duty::Complete => match self.people.iter().find(|name| !is_human(name)) {
                Some(name) => Err(GateError::NoPerson { gate, name: name.clone() }),
                None => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
