//! The events of one entry of a waypoint's journal: what its state after it shows, next to the state before.

use holdpoint_engine::completion;
use holdpoint_planfile::gates::Duty;
use holdpoint_protocol::{
    ids::{AgentName, FlightId, GateId, RoleId, WaypointId},
    journal::Entry,
    reason::ReasonCode,
    state::{GateVisit, Held, OpenTurn, Outcome, Phase, Resume, WaypointState},
    time::Millis,
    turn::Feedback,
    workflow::{GateSpec, WorkflowSpec},
};

use super::{
    event::{AdviceOutcome, Event, EventKind, SKIPPING, SkipReason},
    visits,
};

/// Blockers that an event names.
const BLOCKERS_MAX: usize = 50;

/// Where an entry belongs.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The flight.
    pub flight: &'a FlightId,
    /// The plan's name.
    pub project: &'a str,
    /// The waypoint.
    pub waypoint: &'a WaypointId,
    /// The workflow of the waypoint, as it is recorded with the flight.
    pub workflow: &'a WorkflowSpec,
}

impl Scene<'_> {
    fn gate(&self, id: &GateId) -> Option<&GateSpec> {
        self.workflow.all_gates().find(|gate| gate.id == *id)
    }

    /// Whether what a gate's turn came to can be a rejection. A maker that had nothing to hand off rejects nobody's work.
    fn rejects(&self, visit: &GateVisit) -> bool {
        visit.outcome == Some(Outcome::NeedsReview) && self.gate(&visit.gate).is_none_or(|gate| gate.can_reject)
    }
}

/// The events of an entry, in the order in which they happened. Nothing of it depends on who reads.
#[must_use]
pub fn of_entry(scene: &Scene<'_>, before: &WaypointState, entry: &Entry) -> Vec<Event> {
    let Some(after) = entry.record().state.as_ref() else { return Vec::new() };
    let told = Change { scene, before, after, entry };
    let mut whats = Vec::new();
    told.timeout(&mut whats);
    told.visits(&mut whats);
    told.advice(&mut whats);
    told.conditions(&mut whats);
    told.stops(&mut whats);
    whats.into_iter().map(|(what, message)| told.event(what, message)).collect()
}

type Whats = Vec<(EventKind, Option<String>)>;

struct Change<'a> {
    scene: &'a Scene<'a>,
    before: &'a WaypointState,
    after: &'a WaypointState,
    entry: &'a Entry,
}

impl Change<'_> {
    fn event(&self, what: EventKind, message: Option<String>) -> Event {
        Event {
            timestamp: self.entry.record().at,
            level: what.level(),
            what,
            task_id: self.scene.waypoint.clone(),
            flight: self.scene.flight.clone(),
            project: self.scene.project.to_owned(),
            workflow: self.scene.workflow.name.clone(),
            reference: String::new(),
            message,
        }
    }

    fn reason(&self) -> Option<ReasonCode> {
        self.entry.decision().map(|decision| decision.reason_code)
    }

    /// The turn of a gate that is open now.
    fn now_open(&self, gate: &GateId) -> Option<&OpenTurn> {
        self.after.open_turns().find(|open| open.gate == *gate)
    }

    /// The turn that nobody answered in time. No handoff causes that: only the clock does.
    fn timed_out(&self) -> Option<OpenTurn> {
        let open = self.entry.about(self.before)?;
        if self.entry.record().cause.is_some() {
            return None;
        }
        let late = match self.entry {
            Entry::Dead(dead) => dead.deaths.is_empty(),
            // Its role has it again.
            Entry::Turn(_) if open.taken_by().is_some() => true,
            Entry::Turn(turn) => {
                let again =
                    self.after.open_turn(&turn.turn_id).is_some_and(|again| again.redeliveries > open.redeliveries);
                again || self.reason() == Some(ReasonCode::GateTimeout)
            }
            _ => self.reason() == Some(ReasonCode::GateTimeout),
        };
        late.then(|| open.clone())
    }

    fn timeout(&self, whats: &mut Whats) {
        let Some(open) = self.timed_out() else { return };
        let now = self.now_open(&open.gate);
        let escalate_to = now.filter(|now| now.link != open.link).map(|now| now.role.clone());
        let what = match (&escalate_to, now) {
            (Some(role), _) => format!("it is escalated to role '{role}'"),
            (None, Some(_)) => "it is open for the same role again".to_owned(),
            (None, None) => "it is held for a person".to_owned(),
        };
        let message = self.says(format!("timed out at gate '{}' (role: {}): {what}", open.gate, open.role));
        let what = EventKind::GateTimeout {
            gate: open.gate.clone(),
            role: open.role.clone(),
            agent: None,
            timeout: open.deadline.since(open.opened_at).into(),
            escalate_to,
            reopened: now.is_some(),
        };
        whats.push((what, message));
    }

    /// Gates that were left, passed over and entered.
    fn visits(&self, whats: &mut Whats) {
        let entered = visits::opened(self.before, self.after).map(|visit| visit.gate.clone());
        let mut came = entered.clone();
        for visit in visits::closed(self.before, self.after) {
            // Work that a reload took from its gate leaves it; a branch of a decided fork is one of several, and leads
            // nowhere.
            let moved = self.before.fork.is_none() && visits::was_open(self.before, visit);
            if visit.outcome == Some(Outcome::Skip) && !moved {
                whats.push((self.skipped(visit), None));
                continue;
            }
            whats.extend(self.left(visit, came.take()));
        }
        if let Some(gate) = came {
            // Votes were reported before: the fork leads on.
            let fork = self.before.fork.as_ref().filter(|_| self.after.fork.is_none());
            let what = EventKind::GateTransition {
                from_gate: fork.map(|fork| fork.fork.clone()),
                to_gate: Some(gate),
                outcome: None,
                role: None,
                agent: None,
                duration: None,
                summary: None,
            };
            whats.push((what, None));
        }
    }

    /// Advice was asked for, given or not to be had.
    fn advice(&self, whats: &mut Whats) {
        let Some(advice) = self.after.advice().or_else(|| self.before.advice()) else { return };
        let asker = &advice.question.turn;
        let outcome = match &self.after.phase {
            _ if self.after.advice().is_some() => AdviceOutcome::Asked,
            Phase::Waiting(_) => AdviceOutcome::Unhelped,
            // A turn that a decision opens is another one.
            Phase::InTurn(open) if open.gate == asker.gate && self.entry.decision().is_none() => AdviceOutcome::Advised,
            _ => AdviceOutcome::Superseded,
        };
        let message = match outcome {
            AdviceOutcome::Unhelped => {
                self.says(format!("has no advice at gate '{}' (role: {}): a person is asked", asker.gate, asker.role))
            }
            _ => None,
        };
        let (gate, role, round) = (asker.gate.clone(), asker.role.clone(), advice.round);
        whats.push((EventKind::GateAdvice { gate, role, agent: None, round, outcome }, message));
    }

    /// A gate was left for another one, or for none.
    fn left(&self, visit: &GateVisit, to_gate: Option<GateId>) -> Whats {
        let duration = duration(visit);
        let transition = EventKind::GateTransition {
            from_gate: Some(visit.gate.clone()),
            to_gate: to_gate.clone(),
            outcome: visit.outcome,
            role: Some(visit.role.clone()),
            agent: visit.agent.clone(),
            duration: Some(duration),
            summary: None,
        };
        let mut whats = vec![(transition, None)];
        if self.scene.rejects(visit) {
            let blockers = self.blockers();
            let is_completed = self.scene.gate(&visit.gate).is_some_and(|gate| Duty::of_gate(gate) == Duty::Complete);
            let vague = if is_completed { completion::vague(&blockers) } else { Vec::new() };
            let rejection = EventKind::GateRejection {
                gate: visit.gate.clone(),
                target_gate: to_gate,
                role: visit.role.clone(),
                agent: visit.agent.clone(),
                work_of: self.maker(),
                vague_blockers: vague.into_iter().map(str::to_owned).collect(),
                blockers,
                duration,
            };
            whats.push((rejection, None));
        }
        whats
    }

    fn maker(&self) -> Option<AgentName> {
        self.before.work.as_ref().map(|work| work.agent.clone())
    }

    /// What the next turn of the work says.
    fn blockers(&self) -> Vec<String> {
        let feedback = match self.entry {
            Entry::Turn(turn) => turn.told_or_kept(),
            Entry::Decided(decided) => decided.feedback.as_deref(),
            _ => None,
        };
        feedback.map(blockers_of).unwrap_or_default()
    }

    fn skipped(&self, visit: &GateVisit) -> EventKind {
        let failed = self.entry.record().conditions.iter().any(|c| c.gate == visit.gate && c.failure.is_some());
        let reason = match failed {
            _ if visits::was_open(self.before, visit) => SkipReason::Superseded,
            true => SkipReason::ConditionError,
            false => SkipReason::ConditionFalse,
        };
        EventKind::GateSkip { gate: visit.gate.clone(), role: visit.role.clone(), reason }
    }

    fn conditions(&self, whats: &mut Whats) {
        for result in &self.entry.record().conditions {
            let Some(error) = &result.failure else { continue };
            let expression = self.scene.gate(&result.gate).and_then(|gate| gate.when.clone()).unwrap_or_default();
            let held =
                self.reason() == Some(ReasonCode::ConditionFailed) && self.held_gate().as_ref() == Some(&result.gate);
            let action = if held { "Holding the work for a person" } else { SKIPPING };
            let message = format!("condition of gate '{}' cannot be evaluated ({error}): {action}", result.gate);
            let what =
                EventKind::GateConditionError { gate: result.gate.clone(), expression, error: error.clone(), action };
            whats.push((what, self.says(message)));
        }
    }

    /// Why work stopped, where that is an event of its own.
    fn stops(&self, whats: &mut Whats) {
        let (Some(reason), Some(gate)) = (self.reason(), self.held_gate()) else { return };
        if reason == ReasonCode::GateLoop {
            let entries = self.after.entries.iter().find(|entries| entries.gate == gate);
            let loop_count = entries.map_or(0, |entries| entries.count);
            let message = self.says(format!("came to gate '{gate}' {loop_count} times: it is held for a person"));
            whats.push((EventKind::GateCircularLoop { gate, loop_count }, message));
        } else if reason == ReasonCode::NoAgents {
            let Some(role) = self.role_of(&gate) else { return };
            let message = self.says(format!("cannot come to gate '{gate}': no agents available for role '{role}'"));
            whats.push((EventKind::GateBlockedNoAgents { gate, role }, message));
        }
    }

    fn role_of(&self, gate: &GateId) -> Option<RoleId> {
        if let Phase::Held(Held { resume: Resume::Turn(open), .. }) = &self.after.phase {
            return Some(open.role.clone());
        }
        self.scene.gate(gate).map(|gate| gate.role.clone())
    }

    fn held_gate(&self) -> Option<GateId> {
        match &self.after.phase {
            Phase::Held(_) => visits::places(self.after).next()?.gate,
            _ => None,
        }
    }

    fn says(&self, what: String) -> Option<String> {
        Some(format!("{} {what}", self.scene.waypoint))
    }
}

/// How long a gate was open.
pub(super) fn duration(visit: &GateVisit) -> Millis {
    visit.exited.unwrap_or(visit.entered).since(visit.entered).into()
}

/// What has to change, as a turn that opens again says.
pub(super) fn blockers_of(feedback: &Feedback) -> Vec<String> {
    let failing = feedback.failing.iter().map(|failing| {
        let result = &failing.result;
        let why = result.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let note = failing.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        format!("{} {}{why}{note}", result.id, result.verdict.as_str())
    });
    failing.chain(feedback.notes.iter().cloned()).take(BLOCKERS_MAX).collect()
}
