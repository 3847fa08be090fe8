//! The gate machine: how a workflow moves (spec GATE-5, GATE-7, GATE-14).
//!
//! It knows gates, roles, duties and outcomes. What a workflow may declare is [`crate::declared`], which is more than is run
//! here; which workflows are built in is [`crate::workflows`]; what a turn of a gate is about, and what an outcome does to a
//! waypoint, is [`crate::engine`].

mod error;
mod obstacles;

use std::collections::BTreeSet;

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId, role},
    org::Plane,
    state::Outcome,
    time::Millis,
    workflow::{ByOutcome, Effect, GateContext, GateSpec, RejectionStrategy, WorkflowSpec, is_human},
};

pub use error::GateError;
pub use obstacles::obstacles;

/// Gates of one workflow, at most: every visit of a gate is in every entry of a waypoint.
pub const GATES_MAX: usize = 32;

/// How often work comes to a gate of a declared workflow before a person has to look (GATE-18).
pub const ENTRIES_MAX: u32 = 5;

/// A checked, ordered list of gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    gates: Vec<Gate>,
    /// How often work may come to each gate before a person has to look (GATE-18); `None`: the workflow has other bounds.
    pub entries_max: Option<u32>,
    strategy: RejectionStrategy,
    outcomes: ByOutcome<Effect>,
    /// What a completion of an agent comes to that names no outcome (GATE-7).
    pub default_outcome: Outcome,
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
    /// Which role gets a turn that nobody completed in time (GATE-15).
    pub escalate_to: Option<RoleId>,
    /// The people of that role. Of a gate for people empty: any; of one that agents complete: agents get the turn.
    pub escalation_people: Vec<AgentName>,
    /// Nobody has the role: work that comes here is held (GATE-3).
    pub vacant: bool,
    /// What it is for.
    pub description: Option<String>,
    /// What its role is for.
    pub role_description: Option<String>,
    /// What it says to whoever has its turn.
    pub context: GateContext,
    /// How long a turn of it may take.
    pub timeout: Option<Millis>,
    /// When work enters it at all: a JavaScript predicate (GATE-6).
    pub when: Option<String>,
    /// Where its rejections lead, if the workflow's strategy is `named`.
    pub reject_to: Option<GateId>,
}

/// What a turn of a gate is. It follows from the gate's role, and what the org chart says of that role.
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

    /// The duty of a gate.
    pub(crate) fn of_gate(gate: &GateSpec) -> Self {
        match gate.plane {
            Some(Plane::Build) => Self::Make,
            None => Self::of(&gate.role),
        }
    }
}

/// Where an outcome leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move<'a> {
    /// On to the next gate.
    Advance(&'a Gate),
    /// Back to this gate, as the workflow's strategy says (GATE-14, GATE-31).
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
        let strategy = spec.rejection_strategy;
        (0..gates.len()).try_for_each(|at| check_target(&gates, at, strategy))?;
        if let Some(effect) = spec.outcomes.complete.filter(|effect| *effect != Effect::Advance) {
            return Err(GateError::Effect { effect });
        }
        let default_outcome = spec.default_outcome.unwrap_or(Outcome::Complete);
        if default_outcome == Outcome::Skip {
            return Err(GateError::Default);
        }
        let judged = gates.iter().rposition(|gate| gate.duty == Duty::Judge);
        let made = gates.iter().rposition(|gate| gate.duty == Duty::Make);
        if let Some(made) = made.filter(|made| judged.is_none_or(|judged| judged < *made)) {
            return Err(GateError::Unverified { gate: gates[made].id.clone() });
        }
        Ok(Self { name, gates, entries_max: None, strategy, outcomes: spec.outcomes.clone(), default_outcome })
    }

    /// The gate where work begins, and to which a rejection goes.
    #[must_use]
    pub fn first(&self) -> &Gate {
        self.gates.first().expect("a workflow has at least one gate by construction")
    }

    /// The first gate where work is made; the first gate, where none is.
    #[must_use]
    pub fn first_make(&self) -> &Gate {
        self.gates.iter().find(|gate| gate.duty == Duty::Make).unwrap_or_else(|| self.first())
    }

    /// Whether work is made at this gate or at one behind it.
    #[must_use]
    pub fn makes_from(&self, gate: &GateId) -> bool {
        self.gates.iter().skip_while(|other| &other.id != gate).any(|gate| gate.duty == Duty::Make)
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

    /// Whether work is made or verified at any of its gates: then there is a repository that it is made in.
    #[must_use]
    pub fn needs_repository(&self) -> bool {
        self.gates.iter().any(|gate| gate.duty != Duty::Complete)
    }

    /// Whether builders have turns of it.
    #[must_use]
    pub fn needs_builder(&self) -> bool {
        self.gates.iter().any(|gate| gate.role.as_str() == role::BUILDER)
    }

    /// The roles of agents that its gates and their escalations name, each with what its turns are; some more than once.
    pub fn agent_roles(&self) -> impl Iterator<Item = (&RoleId, Duty)> {
        let theirs = self.gates.iter().filter(|gate| !gate.require_human);
        theirs
            .flat_map(|gate| {
                // Where it escalates to people, no agents of that role are wanted.
                let escalation = gate.escalate_to.as_ref().filter(|_| gate.escalation_people.is_empty());
                [Some(&gate.role), escalation].map(|role| Some((role?, gate.duty)))
            })
            .flatten()
    }

    /// Where `outcome` leads from `gate`. The only place that says where work goes next. `was_entered` tells of earlier gates
    /// whether work was there, or passed over them.
    ///
    /// # Errors
    /// [`GateError::Unknown`], [`GateError::RejectNotAllowed`].
    pub fn evaluate(
        &self,
        gate: &GateId,
        outcome: Outcome,
        was_entered: impl Fn(&GateId) -> bool,
    ) -> Result<Move<'_>, GateError> {
        let at = self.gates.iter().position(|g| &g.id == gate);
        let (Some(at), Some(current)) = (at, self.gate(gate)) else {
            return Err(GateError::Unknown { gate: gate.clone(), name: self.name.clone() });
        };
        match self.effect(current, outcome) {
            Effect::Advance => Ok(self.gates.get(at + 1).map_or(Move::Finish, Move::Advance)),
            Effect::Hold => Ok(Move::Hold),
            Effect::Reject if current.duty == Duty::Make => Ok(Move::Again(current)),
            Effect::Reject if current.can_reject => Ok(Move::Reject(self.target(at, was_entered))),
            Effect::Reject => Err(GateError::RejectNotAllowed { gate: gate.clone() }),
        }
    }

    /// What an outcome leads to. What a verifier found wrong never goes on, whatever the workflow says.
    fn effect(&self, gate: &Gate, outcome: Outcome) -> Effect {
        let usual = match outcome {
            Outcome::Complete | Outcome::Skip => Effect::Advance,
            Outcome::NeedsReview => Effect::Reject,
            Outcome::Blocked => Effect::Hold,
        };
        let ByOutcome { complete, needs_review, blocked } = &self.outcomes;
        let declared = match outcome {
            Outcome::Complete => complete,
            Outcome::NeedsReview => needs_review,
            Outcome::Blocked => blocked,
            Outcome::Skip => &None,
        };
        declared.filter(|_| gate.duty != Duty::Judge).unwrap_or(usual)
    }

    /// Where a rejection of the gate at this place leads.
    fn target(&self, at: usize, was_entered: impl Fn(&GateId) -> bool) -> &Gate {
        let before = self.gates.get(..at).unwrap_or_default();
        let target = match self.strategy {
            RejectionStrategy::Origin => None,
            RejectionStrategy::Previous => before.iter().rev().find(|gate| was_entered(&gate.id)),
            RejectionStrategy::Named => {
                let named = self.gates.get(at).and_then(|gate| gate.reject_to.as_ref());
                named.and_then(|named| self.gate(named))
            }
        };
        target.unwrap_or_else(|| self.first())
    }

    /// The gate behind this one.
    #[must_use]
    pub fn after(&self, gate: &GateId) -> Option<&Gate> {
        self.gates.iter().skip_while(|other| &other.id != gate).nth(1)
    }
}

impl From<&GateSpec> for Gate {
    fn from(spec: &GateSpec) -> Self {
        Self {
            id: spec.id.clone(),
            role: spec.role.clone(),
            duty: Duty::of_gate(spec),
            can_reject: spec.can_reject,
            require_human: spec.require_human,
            people: spec.people.clone(),
            escalate_to: spec.escalate_to.clone(),
            escalation_people: spec.escalation_people.clone(),
            vacant: spec.vacant,
            description: spec.description.clone(),
            role_description: spec.role_description.clone(),
            context: GateContext {
                expectations: spec.expectations.clone(),
                tips: spec.tips.clone(),
                outcome_help: spec.outcome_help.clone(),
            },
            timeout: spec.timeout,
            when: spec.when.clone(),
            reject_to: spec.reject_to.clone(),
        }
    }
}

/// Whether the rejections of the gate at this place lead to a gate before it.
fn check_target(gates: &[Gate], at: usize, strategy: RejectionStrategy) -> Result<(), GateError> {
    let Some(gate) = gates.get(at) else { return Ok(()) };
    let earlier = |named: &GateId| gates.iter().take(at).any(|other| &other.id == named);
    let sound = match (&gate.reject_to, strategy) {
        (Some(named), RejectionStrategy::Named) => gate.can_reject && earlier(named),
        (None, RejectionStrategy::Named) => !gate.can_reject,
        (named, _) => named.is_none(),
    };
    if sound { Ok(()) } else { Err(GateError::RejectTo { gate: gate.id.clone() }) }
}

impl Gate {
    /// Whether a turn of it that is this role's is for people.
    #[must_use]
    pub fn is_peoples(&self, role: &RoleId) -> bool {
        self.require_human || *role != self.role && !self.escalation_people.is_empty()
    }

    /// The people who may complete a turn of it that is this role's; none: any.
    #[must_use]
    pub fn people_of(&self, role: &RoleId) -> &[AgentName] {
        if *role != self.role && self.escalate_to.as_ref() == Some(role) {
            return &self.escalation_people;
        }
        &self.people
    }

    fn check(&self) -> Result<(), GateError> {
        let (gate, role) = (self.id.clone(), self.role.clone());
        match self.duty {
            _ if matches!(role.as_str(), role::ORCHESTRATOR | role::OPERATOR) => Err(GateError::Role { gate, role }),
            Duty::Make if role.as_str() == role::VERIFIER => Err(GateError::Role { gate, role }),
            Duty::Make | Duty::Judge if self.require_human => Err(GateError::Role { gate, role }),
            Duty::Judge if !self.can_reject => Err(GateError::JudgeCannotReject { gate }),
            Duty::Make | Duty::Judge => Ok(()),
            Duty::Complete if self.require_human && self.timeout.is_none() => Err(GateError::NoTimeout { gate }),
            Duty::Complete => match self.people.iter().chain(&self.escalation_people).find(|name| !is_human(name)) {
                Some(name) => Err(GateError::NoPerson { gate, name: name.clone() }),
                None => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
