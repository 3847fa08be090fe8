//! Which handoffs an open turn takes, and what becomes of work that was made or of a turn that failed.

use holdpoint_protocol::{
    artifact::{Disposition, Failure},
    facts::{LeftOut, Violation},
    ids::{AgentName, RoleId},
    reason::{BlockReason, ReasonCode},
    state::{EARLIER_MAKERS_MAX, OpenTurn, Outcome, Phase, Purpose, Resume, WaypointState, Work},
    turn::Feedback,
};

use super::{
    BundledCommit, EngineStep, Handoff, Refusal, StepContext, branches, funding, holder, listing,
    transition::{Ruled, Transition},
};
use crate::{
    feedback,
    policy::{self, met},
};

/// Why a program may say that its turn failed; everything else is the orchestrator's to say.
pub(super) const FAILURES: [ReasonCode; 8] = [
    ReasonCode::AgentFailed,
    ReasonCode::AgentTimeout,
    ReasonCode::OutputLimit,
    ReasonCode::BudgetExhausted,
    ReasonCode::HandoffInvalid,
    ReasonCode::NotExecutable,
    ReasonCode::Unsupported,
    ReasonCode::CheckpointsUnmet,
];

/// The turn that a handoff answers. The redelivery of the winning handoff is a no-op, every other late one a refusal
/// (architecture §2).
pub(super) fn open_turn<'a, T>(
    state: &'a WaypointState,
    handoff: &Handoff<T>,
    cx: &StepContext<'_>,
) -> Result<&'a OpenTurn, EngineStep> {
    if state.answered.iter().any(|taken| taken.turn == handoff.turn && taken.digest == handoff.cause.digest) {
        return Err(EngineStep::Nothing);
    }
    let Phase::InTurn(open) = &state.phase else {
        return Err(EngineStep::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    };
    // Its gate went to another role while this one had the turn (GATE-19).
    if open.turn != handoff.turn
        && let Some((_, expected)) = reassigned(state).filter(|(from, _)| **from == handoff.role)
    {
        let (turn, expected, found) = (handoff.turn.clone(), expected.clone(), handoff.role.clone());
        return Err(EngineStep::Refuse(Refusal::WrongRole { turn, expected, found }));
    }
    // One that a person took over, or has to, is no agent's to answer.
    if open.turn != handoff.turn || holder::is_no_agents(open) {
        return Err(EngineStep::Refuse(Refusal::NotOpen { turn: handoff.turn.clone() }));
    }
    if open.role != handoff.role {
        return Err(EngineStep::Refuse(Refusal::WrongRole {
            turn: handoff.turn.clone(),
            expected: open.role.clone(),
            found: handoff.role.clone(),
        }));
    }
    if !listing::is_listed(open, &handoff.agent, cx.flight, cx.waypoint) {
        let (turn, role, agent) = (handoff.turn.clone(), open.role.clone(), handoff.agent.clone());
        return Err(EngineStep::Refuse(Refusal::NotListed { turn, role, agent }));
    }
    if branches::has_voted(state, &handoff.agent) {
        return Err(EngineStep::Refuse(Refusal::Voted { turn: handoff.turn.clone(), agent: handoff.agent.clone() }));
    }
    Ok(open)
}

/// The role that had the turn before its gate went to another one by a reload, and the role that has it now; `None`: that is not
/// how the open turn came about.
fn reassigned(state: &WaypointState) -> Option<(&RoleId, &RoleId)> {
    let Phase::InTurn(open) = &state.phase else { return None };
    let [.., old, now] = state.history.as_slice() else { return None };
    let taken_back = old.outcome == Some(Outcome::Skip) && old.exited == Some(now.entered);
    let same = old.gate == open.gate && now.gate == open.gate;
    (taken_back && same && old.role != open.role).then_some((&old.role, &open.role))
}

/// What the holder of a turn hears that is not open any more.
#[must_use]
pub fn why_over(state: &WaypointState) -> String {
    match (&state.phase, reassigned(state)) {
        (Phase::InTurn(open), Some((from, to))) => {
            format!("the turn was taken back: gate {} is role {to}'s now, and no longer role {from}'s", open.gate)
        }
        _ => "the turn was answered, superseded or cancelled".to_owned(),
    }
}

/// What ends such a turn, in words.
pub(super) fn wanted(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Build => "a build artifact",
        Purpose::Verify(_) => "a verification report",
        Purpose::Complete => "a completion",
        Purpose::Advise => "a completion whose summary is the advice",
    }
}

/// Work was made in this turn, by an agent of its role or by the person who took it over: its gate is left. With it goes what
/// was seen of it: broken path rules, and what was left out.
pub(super) fn made(
    mut transition: Transition<'_>,
    open: &OpenTurn,
    agent: AgentName,
    commit: Option<BundledCommit>,
    (violations, left_out): (Vec<Violation>, Vec<LeftOut>),
) -> EngineStep {
    let base_tree = transition.before.base.as_ref().and_then(|b| transition.cx.flight.tree_of(b));
    let Some(tree) = commit.as_ref().map(|c| &c.tree).or(base_tree).cloned() else {
        // A base is a commit of the flight's branch by construction.
        let what = "the waypoint has no base".to_owned();
        return EngineStep::Refuse(Refusal::Mismatch { turn: open.turn.clone(), what });
    };
    let earlier_makers = earlier_makers(transition.next.work.as_ref().filter(|_| commit.is_some()), &agent);
    transition.forget_work();
    transition.next.work = Some(Work {
        commit: commit.as_ref().map(|c| c.commit.clone()),
        tree,
        bundle: commit.map(|c| c.bundle),
        violations,
        left_out,
        role: open.role.clone(),
        agent,
        earlier_makers,
        made_on: None,
    });
    transition.leave(&open.gate, Outcome::Complete, met())
}

/// Who made what an agent or person went on from, but for themselves: each is kept from completing a gate that looks at it
/// (GATE-30).
pub(super) fn earlier_makers(from: Option<&Work>, by: &AgentName) -> Vec<AgentName> {
    let mut all = Vec::new();
    for maker in from.into_iter().flat_map(Work::makers).filter(|maker| *maker != by) {
        if !all.contains(maker) {
            all.push(maker.clone());
        }
    }
    let over = all.len().saturating_sub(EARLIER_MAKERS_MAX);
    all.drain(..over);
    all
}

/// What is decided on a failed turn, and what the next one learns besides `told`, as the failed one did: a rework,
/// which is counted.
///
/// # Errors
/// The step that holds the work, where none is left or nothing would change.
pub(super) fn rule_failed<'a>(
    mut transition: Transition<'a>,
    open: &OpenTurn,
    (failure, left_out): (&Failure, &[LeftOut]),
    told: Option<Box<Feedback>>,
) -> Result<(Transition<'a>, Ruled), EngineStep> {
    let ruling = match failure.reason {
        ReasonCode::BudgetExhausted if funding::degrades(&transition) => {
            transition.next.spent.degraded = true;
            policy::rule_failed_turn(failure.reason, &failure.detail, left_out, transition.reworks_left())
        }
        ReasonCode::BudgetExhausted => funding::crossed(&failure.detail, transition.cx),
        reason => policy::rule_failed_turn(reason, &failure.detail, left_out, transition.reworks_left()),
    };
    let feedback = Some(feedback::after_failure(told.map(|told| *told), failure, left_out));
    let ruled = Ruled { ruling, feedback };
    if ruled.ruling.disposition != Disposition::Rework {
        let resume = Resume::Gate { gate: open.gate.clone(), purpose: open.purpose };
        if failure.reason == ReasonCode::CheckpointsUnmet {
            transition.block_reason = Some(BlockReason::NeedsHumanInput);
        }
        return Err(transition.hold(resume, ruled));
    }
    transition.count_rework(&ruled.ruling);
    Ok((transition, ruled))
}

/// Work that is not finished: nobody judges it, and the next turn starts from it.
pub(super) fn leave_in_progress(
    transition: &mut Transition<'_>,
    BundledCommit { commit, tree, bundle }: BundledCommit,
    (role, agent): (RoleId, AgentName),
) {
    let earlier_makers = earlier_makers(transition.before.work.as_ref(), &agent);
    let (commit, bundle, violations) = (Some(commit), Some(bundle), Vec::new());
    let left_out = Vec::new();
    transition.next.work =
        Some(Work { commit, tree, bundle, violations, left_out, role, agent, earlier_makers, made_on: None });
}
