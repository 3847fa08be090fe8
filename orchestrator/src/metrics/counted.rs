//! Counters and histograms, and what an entry adds to them.

use holdpoint_account::events::{self, AdviceOutcome, Event, EventKind, Scene};
use holdpoint_engine::flight::{FlightState, Waypoints};
use holdpoint_protocol::{
    ids::{GateId, RoleId, WaypointId},
    journal::Entry,
    refusal::RefusalCode,
    state::{OpenTurn, Outcome, Phase, WaypointState},
    subjects::HandoffSubject,
    workflow::WorkflowSpec,
};
use holdpoint_runtime::metrics::{CounterFamily, Histograms, Labels, Metrics, Total};

/// From a second to a week, in seconds.
const DURATIONS: &[f64] = &[
    1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 86_400.0, 172_800.0, 604_800.0,
];
/// Passes through a workflow: once is ideal, and with more than three the process has a problem.
const PASSES: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0];
/// Where there is no gate. No gate has this name, and Prometheus takes it for a label that is not there.
const NO_GATE: &str = "";

/// The families.
pub(super) struct Gates {
    transitions: CounterFamily,
    rejections: CounterFamily,
    advice: CounterFamily,
    skips: CounterFamily,
    timeouts: CounterFamily,
    conflicts: CounterFamily,
    circular_loops: CounterFamily,
    condition_errors: CounterFamily,
    assignment_errors: CounterFamily,
    blocked: CounterFamily,
    status_updates: CounterFamily,
    landings: CounterFamily,
    cut_off: CounterFamily,
    invalid: Total,
    durations: Histograms,
    passes: Histograms,
}

impl Gates {
    /// Adds them to what the process serves.
    pub(super) fn register(metrics: &Metrics) -> Self {
        Self {
            transitions: metrics.counters("gate_transitions", "Times that work left a gate, came to one, or both"),
            rejections: metrics.counters("gate_rejections", "Times that a gate which may reject sent work back"),
            advice: metrics.counters("gate_advice", "Times that advisors were asked, helped or could not help"),
            skips: metrics.counters("gate_skips", "Times that work passed over a gate"),
            timeouts: metrics.counters("gate_timeouts", "Turns that nobody answered in time"),
            conflicts: metrics.counters("gate_conflicts", "Handoffs and acts that came second, or after their turn was over"),
            circular_loops: metrics.counters("gate_circular_loops", "Times that work came to a gate too often"),
            condition_errors: metrics.counters("gate_condition_errors", "Conditions that could not be evaluated"),
            assignment_errors: metrics.counters("gate_assignment_errors", "Turns that another role answered than their own"),
            blocked: metrics.counters("gate_blocked", "Times that work was held for a person"),
            status_updates: metrics.counters("status_updates", "Times that an agent said how far its turn is"),
            landings: metrics.counters("landings", "Waypoints that landed"),
            cut_off: metrics.counters(
                "keys_cut_off",
                "Times that a key's connections were ended because it stored or handed off too much",
            ),
            invalid: metrics.total("workflow_config_invalid", "Submissions and reloads whose workflows are not sound"),
            durations: metrics.histograms(
                "gate_duration_seconds",
                "How long gates were open, until they were left",
                DURATIONS,
            ),
            passes: metrics.histograms(
                "waypoint_passes",
                "How often a waypoint that landed went through its workflow: once, and once more each time it was sent back",
                PASSES,
            ),
        }
    }

    pub(super) fn count(&self, counted: Counted) {
        let Counted { events, held, landed } = counted;
        events.iter().for_each(|event| self.event(event));
        if let Some((labels, reason)) = held {
            self.blocked.count(with(labels, "reason", reason));
        }
        if let Some((labels, passes)) = landed {
            self.landings.count(labels.clone());
            self.passes.observe(labels, f64::from(passes));
        }
    }

    fn event(&self, event: &Event) {
        let of = |gate: &GateId| at(&event.project, &event.workflow, gate.as_str());
        match &event.what {
            EventKind::GateTransition { from_gate, to_gate, outcome, duration, .. } => {
                let outcome = outcome.map_or("", Outcome::as_str);
                if let (Some(gate), Some(duration)) = (from_gate, duration) {
                    let labels = with(of(gate), "outcome", outcome);
                    self.durations.observe(labels, duration.duration().as_secs_f64());
                }
                let name = |gate: &Option<GateId>| gate.as_ref().map_or(NO_GATE, GateId::as_str).to_owned();
                let mut labels = project(&event.project, &event.workflow);
                labels.push(("from_gate", name(from_gate)));
                labels.push(("to_gate", name(to_gate)));
                self.transitions.count(with(labels, "outcome", outcome));
            }
            EventKind::GateRejection { gate, .. } => self.rejections.count(of(gate)),
            EventKind::GateAdvice { gate, outcome, .. } => {
                self.advice.count(with(of(gate), "outcome", outcome.as_str()));
            }
            EventKind::GateSkip { gate, reason, .. } => self.skips.count(with(of(gate), "reason", reason.as_str())),
            EventKind::GateTimeout { gate, role, .. } => self.timeouts.count(role_at(of(gate), role)),
            EventKind::GateCircularLoop { gate, .. } => self.circular_loops.count(of(gate)),
            EventKind::GateConditionError { gate, .. } => self.condition_errors.count(of(gate)),
            // The first two are in handoffs and not in entries; the last is a reason for which work is held.
            EventKind::GateConflict { .. }
            | EventKind::GateAssignmentError { .. }
            | EventKind::GateBlockedNoAgents { .. } => {}
        }
    }

    pub(super) fn refused(
        &self,
        flight: &FlightState,
        state: &WaypointState,
        subject: &HandoffSubject,
        code: RefusalCode,
    ) {
        let Some(workflow) = workflow(flight, &subject.waypoint) else { return };
        let project = &flight.submitted.plan.plan;
        match code {
            RefusalCode::TurnNotOpen => {
                let gate = last_gate_of(state, &subject.role);
                self.conflicts.count(at(project, &workflow.name, gate));
            }
            RefusalCode::WrongRole | RefusalCode::NotListed => {
                // Of several branches of a fork it is not known which was meant.
                let Some(open) = state.open_turns().next() else { return };
                let labels = at(project, &workflow.name, open.gate.as_str());
                self.assignment_errors.count(role_at(labels, &open.role));
            }
            _ => {}
        }
    }

    pub(super) fn status_update(&self, flight: &FlightState, open: &OpenTurn, subject: &HandoffSubject) {
        let Some(workflow) = workflow(flight, &subject.waypoint) else { return };
        let labels = at(&flight.submitted.plan.plan, &workflow.name, open.gate.as_str());
        self.status_updates.count(role_at(labels, &open.role));
    }

    pub(super) fn act_late(&self, flight: &FlightState, state: &WaypointState, waypoint: &WaypointId) {
        let Some(workflow) = workflow(flight, waypoint) else { return };
        let gate = state
            .history
            .iter()
            .rev()
            .find(|visit| visit.exited.is_some())
            .map_or(NO_GATE, |visit| visit.gate.as_str());
        self.conflicts.count(at(&flight.submitted.plan.plan, &workflow.name, gate));
    }

    /// Has the series of a workflow's gates begin at nothing, so that the first that is counted is seen as an increase.
    pub(super) fn begin(&self, name: &str, workflow: &WorkflowSpec) {
        let of_workflow = project(name, &workflow.name);
        self.landings.touch(of_workflow.clone());
        self.passes.touch(of_workflow);
        for gate in workflow.all_gates() {
            let of_gate = at(name, &workflow.name, gate.id.as_str());
            for outcome in [Outcome::Complete, Outcome::NeedsReview, Outcome::Blocked] {
                self.durations.touch(with(of_gate.clone(), "outcome", outcome.as_str()));
            }
            for outcome in AdviceOutcome::ALL {
                self.advice.touch(with(of_gate.clone(), "outcome", outcome.as_str()));
            }
            for counters in [&self.rejections, &self.conflicts, &self.circular_loops] {
                counters.touch(of_gate.clone());
            }
        }
    }

    pub(super) fn cut_off(&self, role: &RoleId, why: CutOff) {
        self.cut_off.count(vec![("role", role.to_string()), ("kind", why.as_str().to_owned())]);
    }

    pub(super) fn invalid_config(&self) {
        self.invalid.count();
    }
}

/// Of what a key did too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutOff {
    /// It stored too many bytes.
    Bytes,
    /// It stored too many messages.
    Messages,
    /// It handed off too often.
    Handoffs,
}

impl CutOff {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Messages => "messages",
            Self::Handoffs => "handoffs",
        }
    }
}

/// What an entry adds.
pub(crate) struct Counted {
    events: Vec<Event>,
    /// Work that is held now, and why.
    held: Option<(Labels, &'static str)>,
    /// A waypoint that landed, and after how many passes.
    landed: Option<(Labels, u32)>,
}

impl Counted {
    pub(super) fn of(
        flight: &FlightState,
        waypoints: &Waypoints,
        waypoint: Option<&WaypointId>,
        entry: &Entry,
    ) -> Self {
        let mut counted = Self { events: Vec::new(), held: None, landed: None };
        let name = &flight.submitted.plan.plan;
        if let Entry::Landed(landed) = entry {
            let passes = waypoints.get(&landed.waypoint).map_or(1, |state| state.counters.sent_back() + 1);
            let workflow = workflow(flight, &landed.waypoint).map_or("", |workflow| workflow.name.as_str());
            counted.landed = Some((project(name, workflow), passes));
        }
        let Some((waypoint, workflow)) = waypoint.and_then(|id| Some((id, workflow(flight, id)?))) else {
            return counted;
        };
        let nothing = WaypointState::default();
        let before = waypoints.get(waypoint).unwrap_or(&nothing);
        let scene = Scene { flight: &flight.submitted.flight, project: name, waypoint, workflow };
        counted.events = events::of_entry(&scene, before, entry);
        counted.held = held(name, &workflow.name, before, entry);
        counted
    }
}

/// Work that came to be held by an entry.
fn held(name: &str, workflow: &str, before: &WaypointState, entry: &Entry) -> Option<(Labels, &'static str)> {
    let after = entry.record().state.as_ref()?;
    let is_held = |state: &WaypointState| matches!(state.phase, Phase::Held(_));
    if !is_held(after) || is_held(before) {
        return None;
    }
    let gate = events::places(after).next().and_then(|place| place.gate);
    let reason = entry.decision().map_or("", |decision| decision.reason_code.as_str());
    Some((at(name, workflow, gate.as_ref().map_or(NO_GATE, GateId::as_str)), reason))
}

/// The gate whose turn a role had last: the one that a late handoff of it is about.
fn last_gate_of<'a>(state: &'a WaypointState, role: &RoleId) -> &'a str {
    let visits = state.history.iter().rev();
    let mut visits = visits.filter(|visit| visit.role == *role && visit.outcome != Some(Outcome::Skip));
    visits.next().map_or(NO_GATE, |visit| visit.gate.as_str())
}

/// The workflow of a waypoint, as it is recorded with the flight.
pub(super) fn workflow<'a>(flight: &'a FlightState, waypoint: &WaypointId) -> Option<&'a WorkflowSpec> {
    flight.declared(flight.planned(waypoint)?)
}

pub(super) fn project(name: &str, workflow: &str) -> Labels {
    vec![("project", name.to_owned()), ("workflow", workflow.to_owned())]
}

pub(super) fn at(name: &str, workflow: &str, gate: &str) -> Labels {
    with(project(name, workflow), "gate", gate)
}

pub(super) fn with(mut labels: Labels, name: &'static str, value: &str) -> Labels {
    labels.push((name, value.to_owned()));
    labels
}

fn role_at(labels: Labels, role: &RoleId) -> Labels {
    with(labels, "role", role.as_str())
}

#[cfg(test)]
mod tests;
