//! The events of a whole flight: its journals and handoffs, as they come. Names of agents and summaries are the handoffs';
//! so are conflicts, which no entry records.

use std::collections::{BTreeMap, HashMap, HashSet};

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Act, Handed, HandedHead},
    ids::{AgentName, FlightId, GateId, RoleId, TurnId, WaypointId},
    journal::{Entry, Sequence, Submitted},
    state::{Phase, WaypointState},
    workflow::WorkflowSpec,
};

use super::{
    entry::{Scene, of_entry},
    event::{Event, What},
};
use crate::{audit::HandoffLine, engine::BLOCKERS_MAX};

/// Characters of a summary.
const SUMMARY_MAX: usize = 500;

/// Reads one flight. Of what it is given in each batch it wants the handoffs first: what an entry answers was stored before it.
#[derive(Debug, Default)]
pub struct Reader {
    flight: Option<Flight>,
    states: BTreeMap<WaypointId, WaypointState>,
    turns: HashMap<TurnId, Opened>,
    /// Who planned for a turn last.
    holders: HashMap<TurnId, AgentName>,
    handed: HashMap<String, Said>,
    /// Final handoffs of which it is not known what became of them.
    unsettled: Vec<Final>,
    /// What entries answer.
    causes: HashSet<String>,
}

#[derive(Debug)]
struct Flight {
    id: FlightId,
    project: String,
    workflow: String,
    specs: BTreeMap<String, WorkflowSpec>,
    own: BTreeMap<WaypointId, String>,
}

#[derive(Debug)]
struct Opened {
    waypoint: WaypointId,
    gate: GateId,
    role: RoleId,
    /// The handoff that answered it.
    answered: Option<(String, Digest)>,
}

/// What a final handoff says in words: its sender's, cut.
#[derive(Debug, Clone, Default)]
pub struct Said {
    agent: Option<AgentName>,
    /// What was done.
    pub summary: Option<String>,
    /// What has to change.
    pub blockers: Vec<String>,
    /// What else there is to know of that.
    pub notes: Option<String>,
}

#[derive(Debug)]
struct Final {
    reference: String,
    digest: Digest,
    turn: TurnId,
    /// The role that it was handed off by; `None` for a person.
    role: Option<RoleId>,
    agent: AgentName,
    at: Timestamp,
}

/// What an entry came to.
#[derive(Debug, Clone)]
pub struct Told {
    /// Whose journal it is in; `None`: the flight's.
    pub waypoint: Option<WaypointId>,
    /// The state of the waypoint before it.
    pub before: WaypointState,
    /// What happened.
    pub events: Vec<Event>,
}

impl Reader {
    /// The plan's name, once the submission was read.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        self.flight.as_ref().map(|flight| flight.project.as_str())
    }

    /// The state of each waypoint that has entries.
    #[must_use]
    pub fn states(&self) -> &BTreeMap<WaypointId, WaypointState> {
        &self.states
    }

    /// What the final handoff of this reference says in words.
    #[must_use]
    pub fn said(&self, reference: &str) -> Option<&Said> {
        self.handed.get(reference)
    }

    /// Who planned for a turn last: who has it, if it is open.
    #[must_use]
    pub fn holder(&self, turn: &TurnId) -> Option<&AgentName> {
        self.holders.get(turn)
    }

    /// The workflows of the flight.
    pub fn workflows(&self) -> impl Iterator<Item = &WorkflowSpec> {
        self.flight.iter().flat_map(|flight| flight.specs.values())
    }

    /// The workflow of a waypoint, as it is recorded.
    #[must_use]
    pub fn workflow(&self, waypoint: &WaypointId) -> Option<&WorkflowSpec> {
        let flight = self.flight.as_ref()?;
        flight.specs.get(flight.own.get(waypoint).unwrap_or(&flight.workflow))
    }

    /// Takes an entry that an orchestrator signed, in the order of its journal.
    pub fn entry(&mut self, waypoint: Option<&WaypointId>, sequence: Sequence, entry: &Entry) -> Told {
        if let Entry::Submitted(submitted) = entry {
            self.flight.get_or_insert_with(|| Flight::of(submitted));
        }
        let nothing = || Told { waypoint: waypoint.cloned(), before: WaypointState::default(), events: Vec::new() };
        let Some(waypoint) = waypoint else { return nothing() };
        let before = self.states.get(waypoint).cloned().unwrap_or_default();
        let mut events = match (&self.flight, self.workflow(waypoint)) {
            (Some(flight), Some(workflow)) => {
                of_entry(&Scene { flight: &flight.id, project: &flight.project, waypoint, workflow }, &before, entry)
            }
            _ => Vec::new(),
        };
        let reference = crate::audit::entry_reference(sequence);
        let cause = entry.record().cause.as_ref();
        for event in &mut events {
            reference.clone_into(&mut event.reference);
            self.name(event, &before, cause.map(holdpoint_protocol::journal::Cause::reference).as_deref());
        }
        if let Some(cause) = cause {
            self.causes.insert(cause.reference());
            if let Phase::InTurn(open) = &before.phase
                && let Some(opened) = self.turns.get_mut(&open.turn)
            {
                opened.answered = Some((cause.reference(), cause.digest));
            }
        }
        if let Some(state) = &entry.record().state {
            if let Phase::InTurn(open) = &state.phase {
                let (gate, role) = (open.gate.clone(), open.role.clone());
                let opened = Opened { waypoint: waypoint.clone(), gate, role, answered: None };
                self.turns.entry(open.turn.clone()).or_insert(opened);
            }
            self.states.insert(waypoint.clone(), state.clone());
        }
        Told { before, events, ..nothing() }
    }

    /// Adds what only handoffs say.
    fn name(&self, event: &mut Event, before: &WaypointState, cause: Option<&str>) {
        match &mut event.what {
            What::GateTransition { summary, .. } => {
                *summary = cause.and_then(|cause| self.handed.get(cause)).and_then(|handed| handed.summary.clone());
            }
            What::GateTimeout { agent, .. } => {
                if let Phase::InTurn(open) = &before.phase {
                    *agent = self.holders.get(&open.turn).cloned();
                }
            }
            _ => {}
        }
    }

    /// Takes a handoff of this flight, with when the broker stored it. One that is not its sender's is passed over.
    pub fn handoff(&mut self, line: &HandoffLine, at: Timestamp) {
        let (Ok(_), Ok((head, body))) = (&line.sender, &line.body) else { return };
        if let Handed::Plan = body {
            if let Some(turn) = &head.turn {
                self.holders.insert(turn.clone(), head.agent.clone());
            }
            return;
        }
        let (reference, agent) = (line.reference(), head.agent.clone());
        self.handed.insert(reference.clone(), Said { agent: Some(agent.clone()), ..said(body) });
        let Some(turn) = answers(head, body) else { return };
        let is_persons = matches!(body, Handed::Act(_)) && head.turn.is_none();
        let role = (!is_persons).then(|| line.subject.role.clone());
        self.unsettled.push(Final { reference, digest: line.digest, turn, role, agent, at });
    }

    /// The conflicts and wrong roles of which it is known by now, oldest first. Each is told once.
    pub fn conflicts(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for handed in std::mem::take(&mut self.unsettled) {
            match self.settle(&handed) {
                Settled::Taken => {}
                Settled::Open => self.unsettled.push(handed),
                Settled::Told(event) => events.push(*event),
            }
        }
        events.sort_by_key(|event| event.timestamp);
        events
    }

    fn settle(&self, handed: &Final) -> Settled {
        if self.causes.contains(&handed.reference) {
            return Settled::Taken;
        }
        // A turn that was never opened may be opened yet, or is a word of its sender's.
        let Some(opened) = self.turns.get(&handed.turn) else { return Settled::Open };
        let (waypoint, gate) = (&opened.waypoint, opened.gate.clone());
        if let Some(actual_role) = handed.role.clone().filter(|role| *role != opened.role) {
            let message = format!(
                "{waypoint} at gate '{gate}' was answered by '{}' (role: {actual_role}), and its turn is for role '{}'",
                handed.agent, opened.role
            );
            let (expected_role, agent) = (opened.role.clone(), handed.agent.clone());
            return self.told(
                handed,
                waypoint,
                What::GateAssignmentError { gate, expected_role, actual_role, agent },
                message,
            );
        }
        match &opened.answered {
            Some((_, digest)) if *digest == handed.digest => Settled::Taken,
            None if self.is_open(waypoint, &handed.turn) => Settled::Open,
            answered => {
                let winner = answered.as_ref().and_then(|(reference, _)| self.handed.get(reference));
                let winning_agent = winner.and_then(|winner| winner.agent.clone());
                let first = match &winning_agent {
                    Some(winner) => format!("{winner} was first"),
                    None => "its turn was over".to_owned(),
                };
                let message =
                    format!("{waypoint} at gate '{gate}': the completion of {} was discarded, {first}", handed.agent);
                let losing_agent = handed.agent.clone();
                self.told(handed, waypoint, What::GateConflict { gate, winning_agent, losing_agent }, message)
            }
        }
    }

    fn is_open(&self, waypoint: &WaypointId, turn: &TurnId) -> bool {
        let state = self.states.get(waypoint);
        state.is_some_and(|state| matches!(&state.phase, Phase::InTurn(open) if open.turn == *turn))
    }

    fn told(&self, handed: &Final, waypoint: &WaypointId, what: What, message: String) -> Settled {
        let (Some(flight), Some(workflow)) = (&self.flight, self.workflow(waypoint)) else { return Settled::Taken };
        Settled::Told(Box::new(Event {
            timestamp: handed.at,
            level: what.level(),
            what,
            task_id: waypoint.clone(),
            flight: flight.id.clone(),
            project: flight.project.clone(),
            workflow: workflow.name.clone(),
            reference: handed.reference.clone(),
            message: Some(message),
        }))
    }
}

enum Settled {
    Taken,
    Open,
    Told(Box<Event>),
}

impl Flight {
    fn of(submitted: &Submitted) -> Self {
        let specs = submitted.workflows.iter().map(|recorded| &recorded.workflow);
        let own = submitted.plan.waypoints.iter();
        Self {
            id: submitted.flight.clone(),
            project: submitted.plan.plan.clone(),
            workflow: submitted.plan.workflow.clone(),
            specs: specs.map(|spec| (spec.name.clone(), spec.clone())).collect(),
            own: own.filter_map(|waypoint| Some((waypoint.id.clone(), waypoint.workflow.clone()?))).collect(),
        }
    }
}

/// The turn that a handoff answers.
fn answers(head: &HandedHead, body: &Handed) -> Option<TurnId> {
    match body {
        Handed::Plan | Handed::GivenBack | Handed::Status(_) => None,
        // An agent's names its turn, and a person's what its person looked at.
        Handed::Act(Act::Complete(completion)) => {
            completion.turn.clone().or_else(|| completion.on.as_deref()?.parse().ok())
        }
        Handed::Act(_) => None,
        _ => head.turn.clone(),
    }
}

fn said(body: &Handed) -> Said {
    let cut = |text: &str| (!text.is_empty()).then(|| text.chars().take(SUMMARY_MAX).collect::<String>());
    match body {
        Handed::Act(Act::Complete(completion)) => Said {
            summary: cut(&completion.summary),
            blockers: completion.blockers.iter().take(BLOCKERS_MAX).filter_map(|blocker| cut(blocker)).collect(),
            notes: completion.rejection_notes.as_deref().and_then(cut),
            agent: None,
        },
        Handed::Built(artifact) => {
            Said { summary: artifact.completion_claim.as_deref().and_then(cut), ..Said::default() }
        }
        _ => Said::default(),
    }
}
