//! Which branch of a fork an input, an entry or an agent is about, and the waypoint as that branch sees it (GATE-29).
//!
//! A branch moves by the rules of a waypoint outside of forks, and [`Transition::go_to`](super::transition::Transition::go_to) puts the
//! phase that follows back. Votes are entries of their own. So is the decision that follows from them
//! ([`holdpoint_planfile::gates::Workflow::join`]), because the next maker learns the words of every branch.

use holdpoint_planfile::gates::{Duty, Workflow};
use holdpoint_protocol::{
    ids::{AgentName, ArtifactId, GateId, TurnId},
    journal::Entry,
    state::{Branch, GateVisit, OpenFork, OpenTurn, Phase, Purpose, Question, Resume, WaypointState},
};

use super::{Input, StepContext, input::Voted};

/// What the next maker of the work learns from an entry, where it is a rejecting vote.
#[must_use]
pub fn voted(entry: &Entry) -> Option<Voted> {
    let Entry::Decided(decided) = entry else { return None };
    let (record, feedback) = (entry.record(), decided.feedback.as_ref()?);
    let (cause, fork) = (record.cause.as_ref()?.digest, record.state.as_ref()?.fork.as_ref()?);
    let is_vote = fork.votes().any(|(_, vote)| vote.cause == cause);
    is_vote.then(|| Voted { cause, feedback: feedback.as_ref().clone() })
}

/// The waypoint as the branch sees it that an input is about; `None`: it is about the whole waypoint, or about no open branch.
pub(super) fn focus(state: &WaypointState, input: &Input, cx: &StepContext<'_>) -> Option<WaypointState> {
    let fork = state.fork.as_ref().filter(|_| state.phase == Phase::Forked)?;
    let branch = match input {
        Input::Built(handoff) => fork.with_turn(&handoff.turn),
        Input::Reported(handoff) => fork.with_turn(&handoff.turn),
        Input::Fulfilled(handoff) => fork.with_turn(&handoff.turn),
        Input::Advised(handoff) => fork.with_turn(&handoff.turn),
        Input::Asked(handoff) => fork.with_turn(&handoff.turn),
        Input::DeadlinePassed(turn) => fork.with_turn(&turn.turn_id),
        Input::Died(died) => fork.with_turn(&died.turn),
        Input::Answered(act) => {
            let request = act.body.response.request.as_ref();
            let asked =
                |branch: &&Branch| branch.phase().and_then(asked).is_some_and(|id| request.is_none_or(|r| r == id));
            fork.branches.iter().find(asked)
        }
        Input::Completed(act) => named(fork, act.body.on.as_deref())
            .or_else(|| fork.branches.iter().find(|branch| may_complete(branch, &act.by, cx)))
            // It is refused there, with who may.
            .or_else(|| fork.branches.iter().find(|branch| peoples(branch).is_some())),
        Input::Taken(act) => named(fork, act.body.turn.as_ref().map(|turn| turn.turn_id.as_str())),
        Input::Released(act) => named(fork, act.body.turn.as_ref().map(|turn| turn.turn_id.as_str())),
        Input::HandedIn(act) => named(fork, act.body.turn.as_ref().map(|turn| turn.turn_id.as_str())),
        Input::AnswerOverdue => {
            fork.branches.iter().find(|branch| branch.phase().is_some_and(|phase| is_overdue(phase, cx)))
        }
        Input::Open
        | Input::Gathered
        | Input::Recalled
        | Input::Joined(_)
        | Input::Retried(_)
        | Input::Revised(_)
        | Input::Cancelled(_)
        | Input::Reconfigured(_)
        | Input::Integrated(_)
        | Input::LandingFailed(_)
        | Input::BudgetExhausted
        | Input::TooLarge(_) => None,
    };
    Some(WaypointState { phase: branch?.phase()?.clone(), ..state.clone() })
}

/// Why another agent has to take an open turn: this one voted in the fork, made a part of the work, or looked at it and would
/// leave its role with nobody to look again.
#[must_use]
pub fn is_for_others(
    state: &WaypointState,
    turn: &TurnId,
    agent: &AgentName,
    workflow: &Workflow,
) -> Option<&'static str> {
    let open = state.open_turn(turn)?;
    if has_voted(state, agent) {
        return Some("you voted in this fork already: another agent of the role has this turn");
    }
    match open.purpose {
        Purpose::Complete if has_made(state, agent) => {
            Some("you made a part of the work: another agent of the role has this turn")
        }
        Purpose::Build if has_inspected(state, open, agent, workflow) => {
            Some("you looked at the work, and will look at it again: another agent of the role has this turn")
        }
        Purpose::Build | Purpose::Verify(_) | Purpose::Complete | Purpose::Advise => None,
    }
}

/// Whether this agent or person made the work, or a part of it that the last commit goes on from: then others complete the
/// gates that look at it.
pub(super) fn has_made(state: &WaypointState, by: &AgentName) -> bool {
    state.work.as_ref().is_some_and(|work| work.makers().any(|maker| maker == by))
}

/// Whether this agent completed a gate where the turn's own role looks at the work, and made nothing of it.
fn has_inspected(state: &WaypointState, open: &OpenTurn, by: &AgentName, workflow: &Workflow) -> bool {
    let inspects =
        |gate: &GateId| workflow.gate(gate).is_some_and(|gate| gate.duty == Duty::Complete && gate.role == open.role);
    let theirs = |visit: &&GateVisit| visit.agent.as_ref() == Some(by);
    !has_made(state, by) && state.history.iter().filter(theirs).any(|visit| inspects(&visit.gate))
}

/// Whether this agent or person voted in the fork that the waypoint is in.
pub(super) fn has_voted(state: &WaypointState, by: &AgentName) -> bool {
    state.fork.as_ref().is_some_and(|fork| fork.votes().any(|(_, vote)| vote.by == *by))
}

/// The branch whose open turn an act names.
fn named<'a>(fork: &'a OpenFork, on: Option<&str>) -> Option<&'a Branch> {
    let on = on?;
    fork.branches
        .iter()
        .find(|branch| branch.phase().and_then(Phase::turn).is_some_and(|open| on == open.turn.as_str()))
}

fn asked(phase: &Phase) -> Option<&ArtifactId> {
    match phase {
        Phase::Waiting(question) => Some(&question.asked.artifact),
        Phase::InTurn(open) => open.asking().map(|asking| &asking.asked.artifact),
        _ => None,
    }
}

fn may_complete(branch: &Branch, by: &AgentName, cx: &StepContext<'_>) -> bool {
    let Some(open) = peoples(branch) else { return false };
    let people = cx.workflow.gate(&open.gate).map(|gate| gate.people_at(open.link)).unwrap_or_default();
    people.is_empty() || people.contains(by)
}

/// The open turn of a branch, where a person is to complete its gate.
fn peoples(branch: &Branch) -> Option<&OpenTurn> {
    match branch.phase() {
        Some(Phase::InTurn(open)) if open.is_peoples() && open.purpose == Purpose::Complete => Some(open),
        _ => None,
    }
}

fn is_overdue(phase: &Phase, cx: &StepContext<'_>) -> bool {
    let Phase::Waiting(Question { deadline: Some(deadline), since, .. }) = phase else { return false };
    cx.flight.shifted(*deadline, *since, cx.now) <= cx.now
}

/// The gate at which held work goes on.
pub(super) fn place_of(resume: &Resume) -> Option<&GateId> {
    match resume {
        Resume::Turn(open) => Some(&open.gate),
        Resume::Gate { gate, .. } => Some(gate),
        Resume::Beginning | Resume::Fork | Resume::Landing { .. } => None,
    }
}
