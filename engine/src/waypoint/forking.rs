//! A fork under way (GATE-29): several turns of a waypoint are open at the same time, each in a branch of its own.
//!
//! A branch moves by the rules of a waypoint outside of forks: [`super::branches`] has the waypoint as one branch sees it, and
//! [`Transition::go_to`] puts the phase that comes of it back. Votes are entries of their own. So is the decision that follows
//! from them ([`holdpoint_planfile::gates::Workflow::join`]), because the next maker learns the words of every branch. When votes count is
//! not decided here.

use holdpoint_planfile::gates::{Duty, Fork, Gate, Join};
use holdpoint_protocol::{
    Digest,
    ids::GateId,
    journal::Entry,
    reason::ReasonCode,
    state::{Branch, BranchStanding, Held, OpenFork, Outcome, Phase, Purpose, Resume, Status, Vote, WaypointState},
    turn::{Feedback, ReviewContext},
};

use super::{
    EngineStep, Fresh, StepContext, arrival,
    branches::{as_seen_by, place_of},
    transition::{Ruled, Transition, met},
    turns::{self, Opening},
};
use crate::{
    feedback,
    policy::{Ruling, escalate, exhausted},
};

/// What the next maker of the work learns from the entry of a vote.
#[derive(Debug, Clone, PartialEq)]
pub struct Voted {
    /// The digest of the handoff or act that brought it.
    pub cause: Digest,
    /// Its words.
    pub feedback: Feedback,
}

/// The status of a waypoint in a fork: it runs while anything but people can move it on.
pub(super) fn status(fork: &OpenFork) -> Status {
    let is_peoples = |phase: &Phase| match phase {
        Phase::InTurn(open) => open.people,
        _ => true,
    };
    let due = fork.branches.iter().any(|branch| branch.standing == BranchStanding::Due);
    let waits = fork.phases().next().is_some() && fork.phases().all(is_peoples);
    if waits && !due { Status::Waiting } else { Status::Running }
}

impl<'a> Transition<'a> {
    /// Where work is from here on. The result of a branch is kept in its fork; a phase elsewhere ends the fork, and its
    /// turns that are open are superseded.
    pub(super) fn go_to(&mut self, phase: Phase) {
        if !matches!(&phase, Phase::InTurn(open) if open.purpose == Purpose::Advise) {
            self.next.advice = None;
        }
        self.settle_stack(&phase);
        let Some(fork) = &mut self.next.fork else {
            self.next.phase = phase;
            return;
        };
        let redeliveries = std::mem::take(&mut self.next.counters.redeliveries);
        match &phase {
            Phase::Forked => {}
            Phase::InTurn(_) | Phase::Waiting(_) => {
                let branch = phase.turn().and_then(|open| fork.branch_mut(&open.gate));
                let Some(branch) = branch else { return self.leave_fork(phase, redeliveries) };
                branch.redeliveries = redeliveries;
                branch.standing = BranchStanding::Open(phase);
                self.next.phase = Phase::Forked;
                return;
            }
            Phase::Held(Held { resume: Resume::Fork, .. }) => self.suspend(),
            Phase::Held(Held { resume, .. }) => {
                let branch = place_of(resume).and_then(|gate| fork.branch(gate));
                if branch.is_none() {
                    return self.leave_fork(phase, redeliveries);
                }
                self.suspend();
            }
            Phase::Pending | Phase::Delegated(_) | Phase::Queued(_) | Phase::Accepted { .. } | Phase::Cancelled => {
                return self.leave_fork(phase, redeliveries);
            }
        }
        self.next.phase = phase;
    }

    fn leave_fork(&mut self, phase: Phase, redeliveries: u32) {
        self.end_fork();
        self.next.counters.redeliveries = redeliveries;
        self.next.phase = phase;
    }

    /// The fork is over. Its open turns count no more.
    fn end_fork(&mut self) {
        self.close_visits();
        self.next.fork = None;
    }

    /// Held in a fork: what is open is due again afterwards.
    fn suspend(&mut self) {
        self.close_visits();
        let Some(fork) = &mut self.next.fork else { return };
        for branch in fork.branches.iter_mut().filter(|branch| branch.phase().is_some()) {
            branch.standing = BranchStanding::Due;
            branch.redeliveries = 0;
        }
    }

    fn close_visits(&mut self) {
        let now = self.cx.now;
        for visit in self.next.history.iter_mut().filter(|visit| visit.exited.is_none()) {
            (visit.exited, visit.outcome) = (Some(now), Some(Outcome::Skip));
        }
    }

    /// Whether a gate is a branch of the fork that the work is in.
    pub(super) fn is_in_fork(&self, gate: &GateId) -> bool {
        self.next.fork.as_ref().is_some_and(|fork| fork.branch(gate).is_some())
    }

    /// A branch voted. Whether that decides the fork is due next.
    pub(super) fn vote(mut self, gate: &GateId, outcome: Outcome, Ruled { ruling, feedback }: Ruled) -> EngineStep {
        let vote = match (&self.by, &self.cause) {
            (Some(by), Some(cause)) => Vote {
                outcome,
                by: by.clone(),
                disposition: ruling.disposition,
                reason_code: ruling.reason,
                cause: cause.digest,
            },
            // Every vote is a handoff or an act by construction.
            _ => return EngineStep::Nothing,
        };
        if let Some(branch) = self.next.fork.as_mut().and_then(|fork| fork.branch_mut(gate)) {
            branch.standing = BranchStanding::Voted(vote);
            branch.redeliveries = 0;
        }
        self.decided(Phase::Forked, &ruling, feedback)
    }

    /// Opens the turn of the first branch that is due.
    pub(super) fn open_branch(self, feedback: Option<Feedback>, ruling: Option<&Ruling>) -> EngineStep {
        let cx = self.cx;
        let due =
            |fork: &OpenFork| fork.branches.iter().find(|b| b.standing == BranchStanding::Due).map(|b| b.gate.clone());
        let gate = self.next.fork.as_ref().and_then(due).and_then(|gate| cx.workflow.gate(&gate));
        let Some(gate) = gate else { return EngineStep::Nothing };
        let waits = self.wanted(gate).map(|text| escalate(ReasonCode::ApprovalOpen, &text));
        turns::open(self, Opening { feedback, ..Opening::of(gate) }, ruling.or(waits.as_ref()))
    }
}

/// Opens the next branch.
pub(super) fn open_next(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    Transition::new(state, cx, fresh).open_branch(None, None)
}

/// The votes decide. `voted` has what the rejecting ones said.
pub(super) fn joined(state: &WaypointState, voted: &[Voted], cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(open) = state.fork.as_ref().filter(|_| state.phase == Phase::Forked) else { return EngineStep::Nothing };
    let Some(fork) = cx.workflow.fork(&open.fork) else { return EngineStep::Nothing };
    let mut transition = Transition::new(state, cx, fresh);
    match cx.workflow.join(open) {
        Join::Open => EngineStep::Nothing,
        Join::Pass => {
            transition.end_fork();
            match cx.workflow.behind(fork) {
                Some(stop) => transition.enter(stop),
                None => transition.finish(&met()),
            }
        }
        Join::Reject => rejected(transition, fork, open, voted),
    }
}

/// The work goes back, with what every branch said that rejected it: one rework.
fn rejected(mut transition: Transition<'_>, fork: &Fork, open: &OpenFork, voted: &[Voted]) -> EngineStep {
    let cx = transition.cx;
    let rejections: Vec<(&GateId, &Vote)> =
        open.votes().filter(|(_, vote)| vote.outcome == Outcome::NeedsReview).collect();
    let judges = |gate: &GateId| cx.workflow.gate(gate).is_some_and(|gate| gate.duty == Duty::Judge);
    // A verifier's ruling counts for more: it may take the work back altogether.
    let Some((_, first)) = rejections.iter().find(|(gate, _)| judges(gate)).or_else(|| rejections.first()) else {
        return EngineStep::Nothing;
    };
    let ruling =
        Ruling { disposition: first.disposition, reason: first.reason_code, exhausted: false, remediation: None };
    let feedback = joined_feedback(&transition, fork, &rejections, voted, &ruling);
    transition.end_fork();
    let by: Vec<&GateId> = rejections.iter().map(|(gate, _)| *gate).collect();
    if !transition.reworks_left() {
        transition.next.verified = None;
        transition.next.cleared = false;
        let gates: Vec<&str> = by.iter().map(|gate| gate.as_str()).collect();
        let text = format!(
            "rejected in fork {} ({}), and the reworks are used up: `holdpoint retry --reworks +1`",
            fork.id,
            gates.join(", ")
        );
        let first = cx.workflow.first_make();
        let resume = Resume::Gate { gate: first.id.clone(), purpose: turns::purpose(first) };
        let ruling = exhausted(ReasonCode::AttemptsExhausted, &text);
        return transition.hold(resume, Ruled { ruling, feedback: Some(feedback) });
    }
    transition.count_rework(&ruling);
    let target = cx.workflow.rejected_to(fork, &by, |earlier| arrival::was_entered(transition.before, earlier));
    transition.reject_to(target, Ruled { ruling, feedback: Some(feedback) })
}

/// What the next turn learns: what each branch said, with its name.
fn joined_feedback(
    transition: &Transition<'_>,
    fork: &Fork,
    rejections: &[(&GateId, &Vote)],
    voted: &[Voted],
    ruling: &Ruling,
) -> Feedback {
    let mut all = feedback::in_words(ruling.disposition, ruling.reason, Vec::new());
    for (gate, vote) in rejections {
        let Some(said) = voted.iter().find(|voted| voted.cause == vote.cause) else { continue };
        all.failing.extend(said.feedback.failing.iter().cloned());
        all.notes.extend(said.feedback.notes.iter().map(|note| format!("{gate}: {note}")));
    }
    let role = |gate: &Gate| gate.role.clone();
    let from = rejections.first().and_then(|(gate, vote)| Some((transition.cx.workflow.gate(gate).map(role)?, *vote)));
    all.review = from.map(|(from_role, vote)| ReviewContext {
        from_gate: fork.id.clone(),
        from_role,
        from_agent: Some(vote.by.clone()),
        at: transition.cx.now,
    });
    all
}

/// What is wrong with an entry that leaves a waypoint in a fork.
pub(super) fn misfit(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    let Some(fork) = &after.fork else { return Some("it is in a fork that the state does not name".to_owned()) };
    let kept = before.fork.as_ref().filter(|earlier| earlier.fork == fork.fork && earlier.since == fork.since);
    let lost = |earlier: &Branch| {
        matches!(earlier.standing, BranchStanding::Voted(_))
            && fork.branch(&earlier.gate).map(|branch| &branch.standing) != Some(&earlier.standing)
    };
    if kept.is_some_and(|earlier| earlier.branches.iter().any(lost)) {
        return Some("a vote was changed or lost".to_owned());
    }
    if fork.phases().any(|phase| phase.turn().is_none()) {
        return Some("a branch is in a phase that is no branch's".to_owned());
    }
    match entry {
        Entry::Turn(turn) => {
            let open = after.open_turn(&turn.turn_id).is_some_and(|open| open.role == turn.role);
            (!open).then(|| "the state names another turn than the entry".to_owned())
        }
        Entry::Decided(_) | Entry::Answered(_) => {
            let moved = |branch: &&Branch| kept.and_then(|kept| kept.branch(&branch.gate)) != Some(*branch);
            match fork.branches.iter().find(moved).map(|branch| &branch.standing) {
                Some(BranchStanding::Open(Phase::InTurn(open))) => {
                    let seen = as_seen_by(before, &open.turn);
                    super::asking::misfit(&seen, open, entry).map(str::to_owned)
                }
                _ => None,
            }
        }
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}
