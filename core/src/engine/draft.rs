//! Making entries: the one place where a decision, the state after it and the entry that carries both are put together.

use holdpoint_protocol::{
    artifact::{Disposition, OrchestratorDecision, Origin, StatusMutation},
    ids::role,
    journal::{Cause, Decided, Entry, Record},
    reason::ReasonCode,
    state::{Answered, GateVisit, LastDecision, OpenTurn, Outcome, Phase, Status, WaypointState},
    version,
};

use super::{Context, Fresh, Handoff, Refusal, Step};
use crate::policy::Ruling;

/// The redelivery of the winning handoff is a no-op, every other late one a refusal (architecture §2).
pub(super) fn open_turn<'a, T>(state: &'a WaypointState, handoff: &Handoff<T>) -> Result<&'a OpenTurn, Step> {
    if state.answered.as_ref().is_some_and(|a| a.turn == handoff.turn && a.digest == handoff.cause.digest) {
        return Err(Step::Nothing);
    }
    let Phase::InTurn(open) = &state.phase else {
        return Err(Step::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    };
    if open.turn != handoff.turn {
        return Err(Step::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    }
    if open.role != handoff.role {
        return Err(Step::Refuse(Refusal::WrongRole {
            turn: handoff.turn.clone(),
            expected: open.role.clone(),
            found: handoff.role.clone(),
        }));
    }
    Ok(open)
}

/// The state with its turn answered and its gate left.
pub(super) fn answered(state: &WaypointState, cause: &Cause, outcome: Outcome, cx: &Context<'_>) -> WaypointState {
    let mut next = state.clone();
    if let Phase::InTurn(open) = &state.phase {
        next.answered = Some(Answered { turn: open.turn.clone(), digest: cause.digest });
    }
    leave_gate(&mut next, outcome, cx);
    next.counters.redeliveries = 0;
    next
}

/// A decided build or repair turn is an attempt, unless a landing conflict opened it (contract, `attempts`).
pub(super) fn count_attempt(before: &WaypointState, next: &mut WaypointState) {
    let after_conflict = before.decision.as_ref().is_some_and(|d| d.reason_code == ReasonCode::MergeConflict);
    if !after_conflict {
        next.counters.attempts += 1;
    }
}

/// Closes the open gate visit.
pub(super) fn leave_gate(state: &mut WaypointState, outcome: Outcome, cx: &Context<'_>) {
    if let Some(visit) = state.history.last_mut().filter(|v| v.exited.is_none()) {
        visit.exited = Some(cx.now);
        visit.outcome = Some(outcome);
    }
}

/// Opens a gate visit, unless the gate is open already.
pub(super) fn enter_gate(state: &mut WaypointState, open: &OpenTurn, cx: &Context<'_>) {
    if state.history.last().is_some_and(|v| v.exited.is_none() && v.gate == open.gate) {
        return;
    }
    state.history.push(GateVisit {
        gate: open.gate.clone(),
        role: open.role.clone(),
        entered: cx.now,
        exited: None,
        outcome: None,
    });
}

/// A decision and what it rests on (FLY-I8: never without references).
pub(super) fn decision(
    ruling: &Ruling,
    cause: Option<&Cause>,
    status: Option<StatusMutation>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> OrchestratorDecision {
    // What no handoff caused rests on the submission.
    let source = cause.map_or_else(|| format!("submitted:{}", cx.flight.submitted.flight), Cause::reference);
    let origin = Origin {
        artifact_id: fresh.decision.clone(),
        waypoint_id: cx.waypoint.id.clone(),
        produced_by_role: role::id(role::ORCHESTRATOR),
        produced_at: cx.now,
        source_refs: vec![source],
    };
    OrchestratorDecision::new(origin, ruling.disposition, ruling.reason, status, ruling.remediation.clone())
}

/// Remembers a decision in the state.
pub(super) fn remember(state: &mut WaypointState, ruling: &Ruling, fresh: &Fresh) {
    state.decision = Some(LastDecision {
        id: fresh.decision.clone(),
        disposition: ruling.disposition,
        reason_code: ruling.reason,
        remediation: ruling.remediation.clone(),
    });
}

/// A decision that opens no turn.
pub(super) fn decided(
    before: &WaypointState,
    mut next: WaypointState,
    phase: Phase,
    ruling: &Ruling,
    cause: Option<Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    next.phase = phase;
    remember(&mut next, ruling, fresh);
    let status = StatusMutation { from: phase_status(before), to: phase_status(&next) };
    let decision = decision(ruling, cause.as_ref(), Some(status), cx, fresh);
    let record = Record { at: cx.now, previous: None, cause, state: Some(next), asked_by: None };
    Step::Append(Box::new(Entry::Decided(Box::new(Decided { schema_version: version::CURRENT, decision, record }))))
}

/// Ends a waypoint without accepting it.
pub(super) fn halt(
    before: &WaypointState,
    mut next: WaypointState,
    ruling: &Ruling,
    cause: Option<Cause>,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    leave_gate(&mut next, Outcome::Blocked, cx);
    let status = if ruling.exhausted { Status::Failed } else { Status::Blocked };
    decided(before, next, Phase::Halted { status }, ruling, cause, cx, fresh)
}

/// An escalation with its remediation.
pub(super) fn escalation(reason: ReasonCode, exhausted: bool, remediation: &str) -> Ruling {
    Ruling { disposition: Disposition::Escalate, reason, exhausted, remediation: Some(remediation.to_owned()) }
}

/// The status of a waypoint as far as its own journal tells: landing is the flight's.
fn phase_status(state: &WaypointState) -> Status {
    match &state.phase {
        Phase::Pending => Status::Pending,
        Phase::InTurn(_) | Phase::Accepted { .. } => Status::Running,
        Phase::Dead(_) => Status::Blocked,
        Phase::Halted { status } => *status,
    }
}
