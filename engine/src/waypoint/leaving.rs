//! Work leaves a gate and comes to the next one, as the workflow says: on, back, again, or to its end.
//!
//! [`Transition::leave`] is the one exit of every turn. What the places mean is [`holdpoint_planfile::gates`].

use holdpoint_planfile::gates::{Fork, Gate, Move, Stop};
use holdpoint_protocol::{
    ids::GateId,
    reason::ReasonCode,
    state::{BranchStanding, OpenFork, Outcome, Phase, Queued, Resume, Vote},
    turn::{Feedback, ReviewContext},
};

use super::{
    EngineStep,
    arrival::{self, Arrival},
    purposes, stacking,
    transition::{Ruled, Transition},
    turns::{self, Opening},
    visits,
};
use crate::policy::{Ruling, escalate, met};

impl<'a> Transition<'a> {
    /// Leaves a gate: the one exit of every turn. Where it leads is the workflow's to say.
    pub(super) fn leave(self, gate: &GateId, outcome: Outcome, ruled: impl Into<Ruled>) -> EngineStep {
        let (cx, mut ruled) = (self.cx, ruled.into());
        let moved = cx.workflow.evaluate(gate, outcome, |earlier| visits::was_entered(self.before, earlier));
        if self.is_in_fork(gate) {
            match moved {
                Ok(Move::Advance(_) | Move::Finish) => return self.vote(gate, Outcome::Complete, ruled),
                Ok(Move::Reject(_)) => return self.vote(gate, Outcome::NeedsReview, ruled),
                Ok(Move::Again(_) | Move::Hold) | Err(_) => {}
            }
        }
        match moved {
            Ok(Move::Advance(next)) => self.enter(next),
            Ok(Move::Reject(target)) => {
                if let Some(feedback) = &mut ruled.feedback {
                    feedback.review = self.review(gate);
                }
                self.reject_to(target, ruled)
            }
            // The role that has the turn tries again, at any link of the chain.
            Ok(Move::Again(target)) => {
                let link = self.before.phase.turn().filter(|open| open.gate == target.id).map_or(0, |open| open.link);
                self.again_by(target, link, ruled)
            }
            Ok(Move::Finish) => self.finish(&ruled.ruling),
            // A rejection that the gate may not give: a person has to look.
            Ok(Move::Hold) | Err(_) => {
                let resume = self.same_gate(gate);
                self.hold(resume, ruled)
            }
        }
    }

    /// Work goes back to a gate.
    pub(super) fn reject_to(mut self, target: &'a Gate, ruled: Ruled) -> EngineStep {
        self.unstack();
        // What was verified stays so where nothing is made of it again.
        if self.cx.workflow.makes_from(&target.id) {
            self.next.verified = None;
        }
        self.next.cleared = false;
        self.send_back(target, ruled)
    }

    /// Where a rejection comes from.
    fn review(&self, gate: &GateId) -> Option<ReviewContext> {
        let Phase::InTurn(open) = &self.before.phase else { return None };
        let (from_gate, from_role) = (gate.clone(), open.role.clone());
        Some(ReviewContext { from_gate, from_role, from_agent: self.by.clone(), at: self.cx.now })
    }

    /// Where work goes on that is held in a gate.
    fn same_gate(&self, gate: &GateId) -> Resume {
        let purpose = match &self.before.phase {
            Phase::InTurn(open) => Some(open.purpose),
            _ => self.cx.workflow.gate(gate).map(purposes::purpose),
        };
        purpose.map_or(Resume::Beginning, |purpose| Resume::Gate { gate: gate.clone(), purpose })
    }

    /// Comes to a gate or fork with work that was let through so far.
    pub(super) fn enter(self, stop: Stop<'a>) -> EngineStep {
        match self.arrive(stop) {
            Arrival::At(transition, Stop::Fork(_)) => transition.open_branch(None, None),
            Arrival::At(transition, Stop::Gate(gate))
                if purposes::is_base_tried(gate, &transition.next, transition.cx) =>
            {
                turns::open(*transition, Opening { purpose: purposes::BASELINE, ..Opening::of(gate) }, None)
            }
            Arrival::At(transition, Stop::Gate(gate)) if stacking::waits(&transition.next, gate, transition.cx) => {
                transition.enqueue(gate)
            }
            Arrival::At(transition, Stop::Gate(gate)) => {
                let waits = transition.wanted(gate).map(|text| escalate(ReasonCode::ApprovalOpen, &text));
                turns::open(*transition, Opening::of(gate), waits.as_ref())
            }
            Arrival::End(transition) => transition.finish(&met()),
            Arrival::Stopped(step) => step,
        }
    }

    /// What a person can do at a gate for people.
    pub(super) fn wanted(&self, gate: &Gate) -> Option<String> {
        let (flight, waypoint) = (&self.cx.flight.submitted.flight, &self.cx.waypoint.id);
        let reject = if gate.can_reject { ", or `holdpoint reject`," } else { "" };
        let text = || format!("`holdpoint approve {waypoint} --flight {flight}`{reject} at gate {}", gate.id);
        gate.require_human.then(text)
    }

    /// Comes back to a gate, with what was wrong.
    pub(super) fn send_back(self, gate: &'a Gate, ruled: Ruled) -> EngineStep {
        match self.arrive(Stop::Gate(gate)) {
            Arrival::At(transition, Stop::Gate(gate)) => transition.again(gate, ruled),
            // Nobody is left before the fork who could change the work: its branches look at it again.
            Arrival::At(transition, Stop::Fork(_)) => transition.open_branch(ruled.feedback, Some(&ruled.ruling)),
            // Work that was sent back is not finished because no condition lets it in any more.
            Arrival::End(transition) => transition.hold_at(gate, arrival::nothing_entered()),
            Arrival::Stopped(step) => step,
        }
    }

    /// Another turn at `gate`, with what was wrong.
    pub(super) fn again(self, gate: &Gate, ruled: Ruled) -> EngineStep {
        self.again_by(gate, 0, ruled)
    }

    /// Another turn at `gate`, of this link of its chain.
    pub(super) fn again_by(self, gate: &Gate, link: u32, Ruled { mut ruling, feedback }: Ruled) -> EngineStep {
        ruling.remediation = self.wanted(gate).or(ruling.remediation);
        let repair = purposes::is_repaired(gate, self.cx);
        turns::open(self, Opening { feedback, repair, link, ..Opening::of(gate) }, Some(&ruling))
    }

    /// The last gate is passed (GATE-10); landing is the flight's. What no gate verified does not land.
    pub(super) fn finish(mut self, ruling: &Ruling) -> EngineStep {
        if !visits::entered_any(&self.next) {
            return self.hold(Resume::Beginning, arrival::nothing_entered().into());
        }
        let is_made = self.next.work.as_ref().is_some_and(|work| work.commit.is_some());
        if let Some(gate) = self.cx.workflow.last_judge().filter(|_| is_made && self.next.verified.is_none()) {
            let resume = Resume::Gate { gate: gate.id.clone(), purpose: purposes::purpose(gate) };
            return self.hold(resume, arrival::not_verified(gate).into());
        }
        if self.next.verified.is_none() {
            self.next.work = None;
        }
        self.next.cleared = true;
        let at = self.cx.now;
        self.decided(Phase::Accepted { at }, ruling, None)
    }

    /// A branch voted. Whether that decides the fork is due next.
    fn vote(mut self, gate: &GateId, outcome: Outcome, Ruled { ruling, feedback }: Ruled) -> EngineStep {
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

    /// Comes to a verifier's gate with work that has to be integrated first.
    fn enqueue(self, gate: &Gate) -> EngineStep {
        let (gate, purpose, since) = (gate.id.clone(), purposes::purpose(gate), self.cx.now);
        self.queued(Queued { gate, purpose, since, kept: None })
    }

    /// Work that was held before a fork enters it: a person looked at why.
    pub(super) fn enter_held(mut self, fork: &'a Fork) -> EngineStep {
        match self.asked_anyway(fork) {
            Some(wanted) => EngineStep::Evaluate(Box::new(wanted)),
            None => self.open_branch(None, None),
        }
    }
}
