//! The machine that moves one waypoint: `step(state, input) → entry`, and the fold back.
//!
//! Pure and total. An entry that opens a turn is decision, state change and dispatch in one message. What orders several
//! waypoints is [`crate::flight`]; the decision table is [`crate::policy`]; where an outcome leads is [`holdpoint_planfile::gates`].

mod acts;
mod advising;
mod arrival;
mod asking;
mod branches;
mod checkpoints;
mod completing;
mod dead;
mod delegating;
mod escalating;
mod fold;
mod forking;
mod funding;
mod handoff;
mod input;
mod landing;
mod listing;
mod migrating;
mod opening;
mod oversize;
mod questions;
mod refusal;
mod report;
mod requests;
mod revising;
mod stacking;
mod taking;
mod transition;
mod turns;
mod verdicts;
mod visits;

use holdpoint_protocol::{
    Timestamp,
    ids::{ArtifactId, TurnId},
    journal::{ConditionResult, Entry},
    plan::Waypoint,
    state::{Phase, WaypointState},
};

pub use acts::{GRANT_MAX, reference};
pub use advising::{ADVICE_BYTES_MAX, ADVICE_ROUNDS_MAX, Advised, begins_at};
pub use arrival::Evaluate;
pub use asking::{QUESTIONS_IN_TURN_MAX, questions_left};
pub use branches::{as_seen_by, before_entry, is_for_others, voted};
pub(crate) use checkpoints::held;
pub use dead::{TakenUp, deaths, silence};
pub use fold::{Alarm, Folded, invariants};
pub use forking::Voted;
pub use handoff::why_over;
pub use input::{
    AgentQuestion, BuildOutcome, BundledCommit, Died, Ends, Handoff, Input, MergeResult, Merged, Migrating, Oversize,
    PersonAct, PersonAnswer, ReportInput, Retrying,
};
pub use listing::unlisted;
pub use migrating::has_to_migrate;
pub use questions::{ANSWER_BYTES_MAX, CONSTRAINT_BYTES_MAX, CONSTRAINTS_MAX};
pub use refusal::Refusal;
pub(crate) use report::runs_on_work;
pub use requests::{evidence_expected, policy_hash};
pub use stacking::{Aside, Behind, counts_now, stacks, unmerged};
pub(crate) use stacking::{keeps, lands_by_verdict, replaceable};
pub use taking::{HandingIn, Releasing, TAKEN_TIME, Taking, can_be_taken, in_hand, queued_for, waits_to_be_taken};
pub use transition::phase_status;
pub use turns::{queue, reply};
pub use visits::VISITS_MAX;

use holdpoint_planfile::gates::Workflow;

use crate::{budget::Need, flight::FlightState};

/// What a step may look at besides the waypoint's own state.
#[derive(Debug, Clone, Copy)]
pub struct StepContext<'a> {
    /// The flight.
    pub flight: &'a FlightState,
    /// The waypoint as planned.
    pub waypoint: &'a Waypoint,
    /// How it moves.
    pub workflow: &'a Workflow,
    /// The time of the step.
    pub now: Timestamp,
    /// What came of the conditions that the step wanted ([`EngineStep::Evaluate`]), so far.
    pub conditions: &'a [ConditionResult],
    /// No other work is on its way to the branch ([`crate::flight::is_first`]).
    pub is_first: bool,
}

/// Ids for one step, made by the caller: the engine knows no randomness.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// For the turn, if one opens. Unguessable.
    pub turn: TurnId,
    /// For the decision, if one is taken.
    pub decision: ArtifactId,
    /// For the turn's guidance.
    pub guidance: ArtifactId,
    /// For the turn's request.
    pub request: ArtifactId,
}

/// What a step comes to.
#[derive(Debug, Clone)]
pub enum EngineStep {
    /// Append this entry.
    Append(Box<Entry>),
    /// Evaluate this condition, and take the step again with its result.
    Evaluate(Box<Evaluate>),
    /// Reserve this of the flight's budget ([`crate::flight::reserve`]), and take the step again.
    Reserve(Box<Need>),
    /// The input cannot be taken; its sender hears why.
    Refuse(Refusal),
    /// It was taken before, or is no longer due.
    Nothing,
}

/// Takes one input.
#[must_use]
pub fn step(state: &WaypointState, mut input: Input, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    if input.act().is_some_and(|cause| acts::is_repeated(state, cause)) {
        return EngineStep::Nothing;
    }
    let focused = stacking::as_kept(state, &mut input).or_else(|| branches::focus(state, &input, cx));
    let state = focused.as_ref().unwrap_or(state);
    match input {
        Input::Open if state.phase == Phase::Forked => forking::open_next(state, cx, fresh),
        Input::Open => opening::open(state, cx, fresh),
        Input::Joined(voted) => forking::joined(state, &voted, cx, fresh),
        Input::Gathered => delegating::gathered(state, cx, fresh),
        Input::Recalled => delegating::recalled(state, cx, fresh),
        Input::Built(handoff) => handoff::built(state, handoff, cx, fresh),
        Input::Reported(handoff) => report::reported(state, handoff, cx, fresh),
        Input::Fulfilled(handoff) => completing::fulfilled(state, handoff, cx, fresh),
        Input::Advised(handoff) => advising::advised(state, handoff, cx, fresh),
        Input::Asked(handoff) => questions::asked(state, handoff, cx, fresh),
        Input::Answered(act) => questions::answered(state, act, cx, fresh),
        Input::Completed(act) => acts::completed(state, act, cx, fresh),
        Input::Retried(act) => acts::retried(state, act, cx, fresh),
        Input::Taken(act) => taking::taken(state, act, cx, fresh),
        Input::Released(act) => taking::released(state, act, cx, fresh),
        Input::HandedIn(act) => taking::handed_in(state, act, cx, fresh),
        Input::Revised(act) => revising::revised(state, act, cx, fresh),
        Input::Cancelled(act) => acts::cancelled(state, act, cx, fresh),
        Input::Reconfigured(act) => migrating::reconfigured(state, act, cx, fresh),
        Input::DeadlinePassed(turn) => escalating::deadline_passed(state, *turn, cx, fresh),
        Input::AnswerOverdue => questions::overdue(state, cx, fresh),
        Input::Died(died) => dead::died(state, died, cx, fresh),
        Input::Integrated(merge) => landing::integrated(state, merge, cx, fresh),
        Input::LandingFailed(detail) => landing::landing_failed(state, &detail, cx, fresh),
        Input::BudgetExhausted => opening::budget_exhausted(state, cx, fresh),
        Input::TooLarge(size) => oversize::hold(state, size, cx, fresh),
    }
}

/// Whether a turn is still wanted: what `progress` answers.
#[must_use]
pub fn is_current(state: &WaypointState, turn: &TurnId) -> bool {
    state.open_turn(turn).is_some()
}

#[cfg(test)]
pub(crate) mod tests;
