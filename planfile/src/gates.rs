//! The gate machine: how a workflow moves (spec GATE-5, GATE-7, GATE-14).
//!
//! It knows gates, roles, duties and outcomes. [`crate::declared`] says what a workflow may declare; which workflows
//! are built in is [`crate::workflows`]; what a turn of a gate is about, and what an outcome does to a waypoint, is
//! `engine::waypoint`.

mod chain;
mod children;
mod duty;
mod error;
mod fork;
mod misplaced;
mod sign_off;

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId, role},
    plan::Mode,
    state::Outcome,
    time::Millis,
    workflow::{
        ByOutcome, Effect, Escalation, GateContext, GateKind, GateOrFork, GateSpec, RejectionStrategy, WorkflowSpec,
        is_human,
    },
};

pub use duty::Duty;
pub use error::GateError;
pub use fork::{Fork, Join, Stop};
pub(crate) use misplaced::misplaced;

/// Gates of one workflow, at most: every visit of a gate is in every entry of a waypoint.
pub const GATES_MAX: usize = 32;

/// How often work comes to a gate of a declared workflow before a person has to look (GATE-18).
pub const ENTRIES_MAX: u32 = 5;

/// A checked, ordered list of gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    /// In order; those of a fork are next to each other.
    gates: Vec<Gate>,
    forks: Vec<Fork>,
    /// How often work may come to each gate before a person has to look (GATE-18); `None`: the workflow has other bounds.
    pub entries_max: Option<u32>,
    strategy: RejectionStrategy,
    outcomes: ByOutcome<Effect>,
    /// What a completion of an agent comes to that names no outcome (GATE-7).
    pub default_outcome: Outcome,
    /// The roles whose turns only these agents answer (GATE-2); of any other role every agent with a key of it.
    pub listed: BTreeMap<RoleId, Vec<AgentName>>,
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
    /// Which roles get a turn that nobody answered in time, one after the other (GATE-15).
    pub escalations: Vec<Escalation>,
    /// Nobody has the role: work that comes here is held (GATE-3).
    pub vacant: bool,
    /// What it is for.
    pub description: Option<String>,
    /// What its role is for.
    pub role_description: Option<String>,
    /// What it says to the holder of its turn.
    pub context: GateContext,
    /// How long a turn of it may take.
    pub timeout: Option<Millis>,
    /// When work enters it at all: a JavaScript predicate (GATE-6).
    pub when: Option<String>,
    /// The workflow by which children are flown that do the work here.
    pub child_workflow: Option<String>,
    /// Where its rejections lead, if the workflow's strategy is `named`.
    pub reject_to: Option<GateId>,
    /// Only work enters it that a person has to sign off ([`Workflow::with_sign_off`]).
    pub sign_off: bool,
}

/// Where an outcome leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move<'a> {
    /// On to the next gate, or fork.
    Advance(Stop<'a>),
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
        let gates: Vec<Gate> = spec.all_gates().map(Gate::from).collect();
        let forks = forks(spec)?;
        let Some(first) = gates.first() else { return Err(GateError::Empty { name }) };
        if first.can_reject {
            return Err(GateError::FirstRejects { gate: first.id.clone() });
        }
        if gates.len() > GATES_MAX {
            return Err(GateError::TooMany { name, count: gates.len() });
        }
        let mut seen = BTreeSet::new();
        let mut ids = gates.iter().map(|gate| &gate.id).chain(forks.iter().map(|fork| &fork.id));
        if let Some(twice) = ids.find(|id| !seen.insert(*id)) {
            return Err(GateError::Duplicate { gate: twice.clone() });
        }
        gates.iter().try_for_each(Gate::check)?;
        let mut inspections = spec.all_gates().filter(|gate| gate.kind == Some(GateKind::Inspection));
        if let Some(judge) = inspections.find(|gate| Duty::of(&gate.role) == Duty::Judge) {
            return Err(GateError::Role { gate: judge.id.clone(), role: judge.role.clone() });
        }
        check_forks(&gates, &forks)?;
        if let Some((gate, why)) = misplaced(spec, Duty::of_gate) {
            return Err(GateError::Misplaced { gate: gate.id.clone(), why });
        }
        let strategy = spec.rejection_strategy;
        (0..gates.len()).try_for_each(|at| check_target(&gates, &forks, at, strategy))?;
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
        let (outcomes, listed) = (spec.outcomes.clone(), spec.listed.clone());
        Ok(Self { name, gates, forks, entries_max: None, strategy, outcomes, default_outcome, listed })
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

    /// Every gate, in order.
    pub fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter()
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

    /// Whose turns judge work and try its base.
    #[must_use]
    pub fn judging_role(&self) -> RoleId {
        self.last_judge().map_or_else(|| role::id(role::VERIFIER), |gate| gate.role.clone())
    }

    /// The workflow in a flight of this mode: one agent alone has all turns that make work or judge it, and nobody of another role
    /// takes them in its place (FLY-36).
    #[must_use]
    pub fn under(mut self, mode: Mode) -> Self {
        for gate in self.gates.iter_mut().filter(|gate| mode.is_single() && gate.duty != Duty::Complete) {
            gate.role = role::id(role::SOLO);
            gate.vacant = false;
            gate.escalations.retain(|link| !link.people.is_empty());
        }
        self
    }

    /// Whether work is made or verified at any of its gates: then there is a repository that it is made in.
    #[must_use]
    pub fn needs_repository(&self) -> bool {
        self.gates.iter().any(|gate| gate.duty != Duty::Complete)
    }

    /// Whether builders have turns of it.
    #[must_use]
    pub fn needs_builder(&self) -> bool {
        self.agent_roles().any(|(role, _)| role.as_str() == role::BUILDER)
    }

    /// Whether turns of it make work.
    #[must_use]
    pub fn makes_work(&self) -> bool {
        self.gates.iter().any(|gate| gate.duty == Duty::Make)
    }

    /// The roles of agents that its gates and their escalations name, each with what its turns are; some more than once.
    pub fn agent_roles(&self) -> impl Iterator<Item = (&RoleId, Duty)> {
        let theirs = self.gates.iter().filter(|gate| !gate.require_human && gate.duty != Duty::Delegate);
        theirs.flat_map(|gate| {
            let roles = std::iter::once(&gate.role).chain(gate.escalates_to_agents());
            roles.map(|role| (role, gate.duty))
        })
    }

    /// Where `outcome` leads from `gate`. The only place that says where work goes next. `was_entered` says whether
    /// work was at an earlier gate, or passed over it.
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
            Effect::Advance => Ok(self.stop_at(self.place_behind(at)).map_or(Move::Finish, Move::Advance)),
            Effect::Hold => Ok(Move::Hold),
            Effect::Reject if current.duty == Duty::Make => Ok(Move::Again(current)),
            Effect::Reject if current.can_reject => Ok(Move::Reject(self.target(at, was_entered))),
            Effect::Reject => Err(GateError::RejectNotAllowed { gate: gate.clone() }),
        }
    }

    /// What an outcome leads to. A workflow leads completions elsewhere, and neither what a verifier found nor a turn that failed to
    /// make work.
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
        declared.filter(|_| gate.duty == Duty::Complete).unwrap_or(usual)
    }

    /// Where a rejection of the gate at this place leads: never to a branch of a fork.
    fn target(&self, at: usize, was_entered: impl Fn(&GateId) -> bool) -> &Gate {
        let before = self.gates.get(..at).unwrap_or_default();
        let target = match self.strategy {
            RejectionStrategy::Origin => None,
            RejectionStrategy::Previous => {
                let mut earlier = (0..before.len()).rev().filter(|place| !self.is_branch(*place));
                earlier.find_map(|place| before.get(place).filter(|gate| was_entered(&gate.id)))
            }
            RejectionStrategy::Named => {
                let named = self.gates.get(at).and_then(|gate| gate.reject_to.as_ref());
                named.and_then(|named| self.gate(named))
            }
        };
        target.unwrap_or_else(|| self.first())
    }

    /// What comes after this gate, or after the fork that it is a branch of.
    #[must_use]
    pub fn after(&self, gate: &GateId) -> Option<Stop<'_>> {
        let place = self.gates.iter().position(|other| &other.id == gate)?;
        self.stop_at(self.place_behind(place))
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
            escalations: spec.escalations.clone(),
            vacant: spec.vacant,
            description: spec.description.clone(),
            role_description: spec.role_description.clone(),
            context: GateContext {
                expectations: spec.expectations.clone(),
                tips: spec.tips.clone(),
                outcome_help: spec.outcome_help.clone(),
                demands: spec.demands.clone(),
            },
            timeout: spec.timeout,
            when: spec.when.clone(),
            child_workflow: spec.child_workflow.clone(),
            reject_to: spec.reject_to.clone(),
            sign_off: false,
        }
    }
}

/// The forks of a declaration, with the places of their branches among all gates.
fn forks(spec: &WorkflowSpec) -> Result<Vec<Fork>, GateError> {
    let (mut forks, mut place) = (Vec::new(), 0);
    for item in &spec.gates {
        match item {
            GateOrFork::Gate(_) => place += 1,
            GateOrFork::Fork(fork) => {
                let places = place..place + fork.branches.len();
                if fork.branches.len() < 2 {
                    return Err(GateError::Branches { fork: fork.id.clone() });
                }
                place = places.end;
                forks.push(Fork { id: fork.id.clone(), strategy: fork.join_strategy, when: fork.when.clone(), places });
            }
        }
    }
    Ok(forks)
}

/// A fork needs work to look at, and nobody changes it meanwhile.
fn check_forks(gates: &[Gate], forks: &[Fork]) -> Result<(), GateError> {
    for fork in forks {
        let branches = gates.get(fork.places.clone()).unwrap_or_default();
        if fork.places.start == 0 || branches.iter().any(|gate| gate.duty == Duty::Make) {
            return Err(GateError::Fork { fork: fork.id.clone() });
        }
    }
    Ok(())
}

/// Whether the rejections of the gate at this place lead to a gate before it.
fn check_target(gates: &[Gate], forks: &[Fork], at: usize, strategy: RejectionStrategy) -> Result<(), GateError> {
    let Some(gate) = gates.get(at) else { return Ok(()) };
    let is_branch = |place: &usize| forks.iter().any(|fork| fork.places.contains(place));
    let earlier = |named: &GateId| {
        let place = gates.iter().take(at).position(|other| &other.id == named);
        place.is_some_and(|place| !is_branch(&place))
    };
    let sound = match (&gate.reject_to, strategy) {
        (Some(named), RejectionStrategy::Named) => gate.can_reject && earlier(named),
        (None, RejectionStrategy::Named) => !gate.can_reject,
        (named, _) => named.is_none(),
    };
    if sound { Ok(()) } else { Err(GateError::RejectTo { gate: gate.id.clone() }) }
}

impl Gate {
    fn check(&self) -> Result<(), GateError> {
        let (gate, role) = (self.id.clone(), self.role.clone());
        match self.duty {
            _ if matches!(role.as_str(), role::ORCHESTRATOR | role::OPERATOR | role::SOLO) => {
                Err(GateError::Role { gate, role })
            }
            Duty::Make if role.as_str() == role::VERIFIER => Err(GateError::Role { gate, role }),
            Duty::Make | Duty::Judge if self.require_human => Err(GateError::Role { gate, role }),
            Duty::Judge if !self.can_reject => Err(GateError::JudgeCannotReject { gate }),
            Duty::Make | Duty::Judge | Duty::Delegate => Ok(()),
            // An inspection of a role that makes work is agents' work too.
            Duty::Complete if self.require_human && Duty::of(&self.role) == Duty::Make => {
                Err(GateError::Role { gate, role })
            }
            Duty::Complete if self.require_human && self.proposes() => Err(GateError::Role { gate, role }),
            Duty::Complete if self.require_human && self.timeout.is_none() => Err(GateError::NoTimeout { gate }),
            Duty::Complete => match self.people.iter().find(|name| !is_human(name)) {
                Some(name) => Err(GateError::NoPerson { gate, name: name.clone() }),
                None => Ok(()),
            },
        }?;
        self.check_chain()
    }
}

#[cfg(test)]
mod tests;
