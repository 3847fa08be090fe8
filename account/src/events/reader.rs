//! The events of a whole flight: its journals and handoffs, as they come. Names of agents and summaries are the handoffs';
//! so are conflicts, which no entry records.

mod settling;

use std::collections::{BTreeMap, HashMap, HashSet};

use holdpoint_engine::{audit::HandoffLine, flight::FlightState, handed::BLOCKERS_MAX};
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Act, Completion, Handed, HandedHead, Verb},
    ids::{AgentName, GateId, RoleId, TurnId, WaypointId},
    journal::{Entry, Sequence, Submitted},
    state::{OpenTurn, WaypointState},
    workflow::WorkflowSpec,
};

use super::{
    entry::{Scene, of_entry},
    event::{Event, EventKind},
    refused::Listings,
};

/// Characters of a summary.
const SUMMARY_MAX: usize = 500;

/// Reads one flight. Of what it is given in each batch it wants the handoffs first: what an entry answers was stored before it.
#[derive(Debug, Default)]
pub struct FlightReader {
    flight: Option<FlightState>,
    listings: Listings,
    states: BTreeMap<WaypointId, WaypointState>,
    turns: HashMap<TurnId, Opened>,
    /// Who planned for a turn last.
    holders: HashMap<TurnId, AgentName>,
    handed: HashMap<String, HandoffWords>,
    /// Final handoffs of which it is not known what became of them.
    unsettled: Vec<Final>,
    /// What entries answer.
    causes: HashSet<String>,
}

#[derive(Debug)]
struct Opened {
    waypoint: WaypointId,
    gate: GateId,
    role: RoleId,
    /// The handoff that answered it.
    answered: Option<(String, Digest)>,
    /// The role to which its gate went while it was open.
    taken_back_for: Option<RoleId>,
    /// As in [`OpenTurn::listed_by`].
    listed_by: Option<u32>,
    /// When it was over.
    over: Option<Timestamp>,
}

/// What a final handoff says in words: its sender's, cut.
#[derive(Debug, Clone, Default)]
pub struct HandoffWords {
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
    /// An agent's completion.
    completion: Option<Box<Completion>>,
}

/// What an entry came to.
#[derive(Debug, Clone)]
pub struct EntryEffect {
    /// Whose journal it is in; `None`: the flight's.
    pub waypoint: Option<WaypointId>,
    /// The state of the waypoint before it.
    pub before: WaypointState,
    /// What happened.
    pub events: Vec<Event>,
}

impl FlightReader {
    /// The flight, once the submission was read.
    #[must_use]
    pub fn flight(&self) -> Option<&FlightState> {
        self.flight.as_ref()
    }

    /// The state of each waypoint that has entries.
    #[must_use]
    pub fn states(&self) -> &BTreeMap<WaypointId, WaypointState> {
        &self.states
    }

    /// What the final handoff of this reference says in words.
    #[must_use]
    pub fn said(&self, reference: &str) -> Option<&HandoffWords> {
        self.handed.get(reference)
    }

    /// Who planned for a turn last: who has it, if it is open.
    #[must_use]
    pub fn holder(&self, turn: &TurnId) -> Option<&AgentName> {
        self.holders.get(turn)
    }

    /// The workflow of a waypoint, as it is recorded.
    #[must_use]
    pub fn workflow(&self, waypoint: &WaypointId) -> Option<&WorkflowSpec> {
        let flight = self.flight.as_ref()?;
        flight.declared(flight.planned(waypoint)?)
    }

    /// The people to notify of the waypoint's work.
    #[must_use]
    pub fn notified(&self, waypoint: &WaypointId) -> Vec<AgentName> {
        let planned = self.flight.as_ref().and_then(|flight| Some((flight, flight.planned(waypoint)?)));
        planned.map(|(flight, planned)| flight.notified(planned)).unwrap_or_default()
    }

    /// Takes an entry that an orchestrator signed, in the order of its journal.
    pub fn entry(&mut self, waypoint: Option<&WaypointId>, sequence: Sequence, entry: &Entry) -> EntryEffect {
        FlightState::fold(&mut self.flight, entry);
        self.listings.take(entry);
        let nothing =
            || EntryEffect { waypoint: waypoint.cloned(), before: WaypointState::default(), events: Vec::new() };
        let Some(waypoint) = waypoint else { return nothing() };
        let before = self.states.get(waypoint).cloned().unwrap_or_default();
        let mut events = match (&self.flight, self.workflow(waypoint)) {
            (Some(flight), Some(workflow)) => {
                let Submitted { flight, plan, .. } = &flight.submitted;
                of_entry(&Scene { flight, project: &plan.plan, waypoint, workflow }, &before, entry)
            }
            _ => Vec::new(),
        };
        let reference = holdpoint_engine::audit::entry_reference(sequence);
        let cause = entry.record().cause.as_ref();
        for event in &mut events {
            reference.clone_into(&mut event.reference);
            self.name(event, entry.about(&before), cause.map(holdpoint_protocol::journal::Cause::reference).as_deref());
        }
        if let Some(cause) = cause {
            self.causes.insert(cause.reference());
            if let Some(open) = entry.about(&before)
                && let Some(opened) = self.turns.get_mut(&open.turn)
            {
                opened.answered = Some((cause.reference(), cause.digest));
                opened.taken_back_for = entry.record().state.as_ref().and_then(|after| rerouted(open, after));
            }
        }
        if let Some(state) = &entry.record().state {
            for open in state.open_turns() {
                self.turns.entry(open.turn.clone()).or_insert_with(|| Opened::of(waypoint, open));
            }
            for open in before.open_turns().filter(|open| state.open_turn(&open.turn).is_none()) {
                if let Some(opened) = self.turns.get_mut(&open.turn) {
                    opened.over = Some(entry.record().at);
                }
            }
            self.states.insert(waypoint.clone(), state.clone());
        }
        EntryEffect { before, events, ..nothing() }
    }

    /// Adds what only handoffs say.
    fn name(&self, event: &mut Event, about: Option<&OpenTurn>, cause: Option<&str>) {
        match &mut event.what {
            EventKind::GateTransition { summary, .. } => {
                *summary = cause.and_then(|cause| self.handed.get(cause)).and_then(|handed| handed.summary.clone());
            }
            EventKind::GateAdvice { agent, .. } => {
                *agent = cause.and_then(|cause| self.handed.get(cause)).and_then(|handed| handed.agent.clone());
            }
            EventKind::GateTimeout { agent, .. } => {
                if let Some(open) = about {
                    *agent = open.taken_by().cloned().or_else(|| self.holders.get(&open.turn).cloned());
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
        self.handed.insert(reference.clone(), HandoffWords { agent: Some(agent.clone()), ..said(body) });
        let Some(turn) = answers(head, body) else { return };
        let is_persons = matches!(body, Handed::Act(_)) && head.turn.is_none();
        let role = (!is_persons).then(|| line.subject.role.clone());
        let completion = match body {
            Handed::Act(Act::Complete(completion)) if !is_persons => Some(completion.clone()),
            _ => None,
        };
        self.unsettled.push(Final { reference, digest: line.digest, turn, role, agent, at, completion });
    }
}

/// The role to which a reload gave the gate of an open turn.
fn rerouted(open: &OpenTurn, after: &WaypointState) -> Option<RoleId> {
    after.acted.as_ref().filter(|acted| acted.verb == Verb::Reconfigure)?;
    let now = after.open_turns().find(|now| now.gate == open.gate && now.turn != open.turn)?;
    Some(now.role.clone()).filter(|role| *role != open.role)
}

impl Opened {
    fn of(waypoint: &WaypointId, open: &OpenTurn) -> Self {
        Self {
            waypoint: waypoint.clone(),
            gate: open.gate.clone(),
            role: open.role.clone(),
            answered: None,
            taken_back_for: None,
            listed_by: open.listed_by,
            over: None,
        }
    }
}

/// The turn that a handoff answers.
fn answers(head: &HandedHead, body: &Handed) -> Option<TurnId> {
    match body {
        Handed::Plan | Handed::GivenBack | Handed::Status(_) | Handed::Exchange(_) => None,
        // An agent's names its turn, and a person's what its person looked at.
        Handed::Act(Act::Complete(completion)) => {
            completion.turn.clone().or_else(|| completion.on.as_deref()?.parse().ok())
        }
        Handed::Act(_) => None,
        _ => head.turn.clone(),
    }
}

fn said(body: &Handed) -> HandoffWords {
    let cut = |text: &str| (!text.is_empty()).then(|| text.chars().take(SUMMARY_MAX).collect::<String>());
    match body {
        Handed::Act(Act::Complete(completion)) => HandoffWords {
            summary: cut(&completion.summary),
            blockers: completion.blockers.iter().take(BLOCKERS_MAX).filter_map(|blocker| cut(blocker)).collect(),
            notes: completion.rejection_notes.as_deref().and_then(cut),
            agent: None,
        },
        Handed::Built(artifact) => {
            let words = artifact.completion_claim.as_deref().or(artifact.last_words.as_deref());
            HandoffWords { summary: words.and_then(cut), ..HandoffWords::default() }
        }
        _ => HandoffWords::default(),
    }
}
