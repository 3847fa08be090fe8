//! Flights with declared gates, and what is read of them.

use std::time::Duration;

use holdpoint_engine::{
    audit::HandoffLine,
    testing::{
        account::{Account, built, completed, fulfilled},
        fixture::Fixture,
        parts::{failure, fleet, plan, waypoint},
    },
    waypoint::{Handoff, Input},
};
use holdpoint_protocol::{
    Digest, Timestamp,
    facts::Harness,
    ids::{TurnId, role},
    journal::{Cause, Sequence},
    reason::ReasonCode,
    state::Outcome,
    streams,
    time::Millis,
    workflow::{GateSpec, WorkflowSpec},
};
use serde_json::Value;

use crate::events::{EntryEffect, Event, EventKind, FlightReader};

pub(super) fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

pub(super) fn build() -> GateSpec {
    gate("build", role::BUILDER)
}

pub(super) fn verify() -> GateSpec {
    GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) }
}

pub(super) fn people(name: &str) -> GateSpec {
    GateSpec { require_human: true, can_reject: true, timeout: Some(Millis(60_000)), ..gate(name, "reviewer") }
}

pub(super) fn when(spec: GateSpec) -> GateSpec {
    GateSpec { when: Some(format!("tags.includes('{}')", spec.id)), ..spec }
}

/// A flight of one waypoint, `w`, through these gates; nothing has begun.
pub(super) fn flown_by(gates: impl IntoIterator<Item = GateSpec>) -> Fixture {
    flown(WorkflowSpec::new("declared", gates))
}

/// A flight of one waypoint, `w`, by this workflow of the name `declared`.
pub(super) fn flown(spec: WorkflowSpec) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    plan.policy.max_reworks = 20;
    Fixture::flown_by(plan, fleet(), &[spec])
}

/// The events of a flight's journals alone.
pub(super) fn events(fixture: &Fixture) -> Vec<Event> {
    read(fixture, &[]).1.into_iter().flat_map(|told| told.events).collect()
}

/// A flight with all of its handoffs, and these; what its waypoints' entries came to.
pub(super) fn read(fixture: &Fixture, handoffs: &[HandoffLine]) -> (FlightReader, Vec<EntryEffect>) {
    read_at(fixture, handoffs, Timestamp::from_millis(0))
}

/// The same, of handoffs that were stored when everything else had happened.
pub(super) fn read_late(fixture: &Fixture, handoffs: &[HandoffLine]) -> (FlightReader, Vec<EntryEffect>) {
    read_at(fixture, handoffs, fixture.now.after(Duration::from_secs(1)))
}

fn read_at(fixture: &Fixture, handoffs: &[HandoffLine], at: Timestamp) -> (FlightReader, Vec<EntryEffect>) {
    let (mut reader, account) = (FlightReader::default(), Account::of(fixture));
    for line in account.handoffs.iter().chain(handoffs) {
        let sound = HandoffLine { sender: Ok(Harness::Holdpoint), ..line.clone() };
        reader.handoff(&sound, at);
    }
    let entries = fixture.log.iter().zip(1..);
    let told = entries.map(|(logged, n)| reader.entry(logged.waypoint.as_ref(), Sequence(n), &logged.entry));
    let told: Vec<EntryEffect> = told.filter(|told| told.waypoint.is_some()).collect();
    (reader, told)
}

/// A final handoff on a turn that no entry answers.
pub(super) fn handed(fixture: &Fixture, role_name: &'static str, agent: &str, turn: &TurnId, n: u64) -> HandoffLine {
    let role = role::id(role_name);
    let cause = Cause {
        stream: streams::handoff(&role),
        sequence: Sequence(500_000 + n),
        digest: Digest::of(&n.to_be_bytes()),
        artifact: format!("artifact-{n}").parse().unwrap(),
    };
    let (agent, body) = (agent.parse().unwrap(), failure(ReasonCode::AgentFailed));
    let entry = Account::of(fixture).entries.into_iter().find(|line| line.journal.waypoint.is_some()).unwrap();
    built(
        &entry,
        &Handoff { turn: turn.clone(), role, agent, cause, told: None, metered: None, left_out: Vec::new(), body },
    )
}

/// Another completion of the open turn, by an agent.
pub(super) fn fulfilled_too(fixture: &mut Fixture) -> HandoffLine {
    let Input::Fulfilled(handoff) = fixture.fulfilment("w", |_| {}) else { unreachable!("a completion") };
    let entry = Account::of(fixture).entries.into_iter().find(|line| line.journal.waypoint.is_some()).unwrap();
    fulfilled(&entry, &handoff)
}

/// A completion of the open gate by this person.
pub(super) fn completed_by(fixture: &mut Fixture, by: &str) -> HandoffLine {
    let Input::Completed(act) = fixture.completion("w", by, Outcome::Complete) else { unreachable!("a completion") };
    let entry = Account::of(fixture).entries.into_iter().find(|line| line.journal.waypoint.is_some()).unwrap();
    completed(&entry, &act)
}

/// A completion of the open turn without a summary, which no orchestrator takes.
pub(super) fn unusable(fixture: &mut Fixture) -> HandoffLine {
    let Input::Fulfilled(handoff) = fixture.fulfilment("w", |completion| completion.summary.clear()) else {
        unreachable!("a completion")
    };
    let entry = Account::of(fixture).entries.into_iter().find(|line| line.journal.waypoint.is_some()).unwrap();
    fulfilled(&entry, &handoff)
}

pub(super) fn json_of(event: &Event) -> Value {
    serde_json::to_value(event).unwrap()
}

/// A few words for each event.
pub(super) fn brief(events: &[Event]) -> Vec<String> {
    let name = |gate: Option<String>| gate.unwrap_or_else(|| "-".to_owned());
    let words = |event: &Event| match &event.what {
        EventKind::GateTransition { from_gate, to_gate, outcome, .. } => {
            let (from, to) = (from_gate.as_ref().map(ToString::to_string), to_gate.as_ref().map(ToString::to_string));
            let outcome: String = outcome.map(|outcome: Outcome| format!(" {}", outcome.as_str())).unwrap_or_default();
            format!("transition {}→{}{outcome}", name(from), name(to))
        }
        EventKind::GateRejection { gate, target_gate, .. } => {
            format!("rejection {gate}→{}", name(target_gate.as_ref().map(ToString::to_string)))
        }
        EventKind::GateAdvice { gate, round, outcome, .. } => format!("advice {gate} {round} {}", outcome.as_str()),
        EventKind::GateSkip { gate, reason, .. } => format!("skip {gate} {}", reason.as_str()),
        EventKind::GateTimeout { gate, role, escalate_to, reopened, .. } => {
            let to = name(escalate_to.as_ref().map(ToString::to_string));
            format!("timeout {gate} {role}→{to} {}", if *reopened { "open" } else { "held" })
        }
        EventKind::GateConflict { gate, winning_agent, losing_agent } => {
            format!("conflict {gate} {} before {losing_agent}", name(winning_agent.as_ref().map(ToString::to_string)))
        }
        EventKind::GateCircularLoop { gate, loop_count } => format!("circular_loop {gate} {loop_count}"),
        EventKind::GateBlockedNoAgents { gate, role } => format!("blocked_no_agents {gate} {role}"),
        EventKind::GateConditionError { gate, .. } => format!("condition_error {gate}"),
        EventKind::GateAssignmentError { gate, expected_role, actual_role, agent } => {
            format!("assignment_error {gate} {expected_role} not {actual_role} by {agent}")
        }
    };
    events.iter().map(words).collect()
}
