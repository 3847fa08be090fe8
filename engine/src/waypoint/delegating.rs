//! Gates at which the children of a waypoint do the work (SDLC-2): no turn opens there, and the waypoint goes on once all of them
//! are complete. Which children there are is the flight's.

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    ids::GateId,
    reason::ReasonCode,
    state::{Delegated, Outcome, Phase, Resume, WaypointState},
};

use super::{
    EngineStep, Fresh, StepContext,
    transition::{Transition, met},
    turns,
};
use crate::policy::escalate;

impl Transition<'_> {
    /// The waypoint's part is done until its children are complete.
    pub(super) fn delegate(mut self, gate: &Gate) -> EngineStep {
        let Some(proposal) = self.next.proposal.take() else { return self.unproposed(gate) };
        let generation = self.cx.flight.families.generations(&self.cx.waypoint.id) + 1;
        self.visit(&gate.id, &gate.role);
        let since = self.cx.now;
        let phase = Delegated { gate: gate.id.clone(), since, proposal, generation };
        self.decided(Phase::Delegated(Box::new(phase)), &met(), None)
    }

    /// Nothing was proposed since the last children, as where a condition left out the gate that proposes.
    fn unproposed(self, gate: &Gate) -> EngineStep {
        let proposer = self.cx.workflow.proposer_before(&gate.id).unwrap_or_else(|| self.cx.workflow.first());
        let text = format!(
            "nothing is proposed that children could do at gate {}: `holdpoint retry` opens gate {} again",
            gate.id, proposer.id
        );
        let resume = Resume::Gate { gate: proposer.id.clone(), purpose: turns::purpose(proposer) };
        self.hold(resume, escalate(ReasonCode::GateBlocked, &text).into())
    }

    /// Work that is nobody's own stands on the newest head.
    pub(super) fn move_to_head(&mut self) {
        if self.next.work.is_none() {
            self.next.base = Some(self.cx.flight.head().clone());
        }
    }
}

/// All children are complete: the waypoint goes on.
pub(super) fn gathered(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Phase::Delegated(delegated) = &state.phase else { return EngineStep::Nothing };
    let mut transition = Transition::new(state, cx, fresh);
    transition.move_to_head();
    transition.exited(Outcome::Complete).leave(&delegated.gate, Outcome::Complete, met())
}

/// The waypoint is a child that its parent does not want any more.
pub(super) fn recalled(state: &WaypointState, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let Some(parent) = cx.flight.families.parent(&cx.waypoint.id) else { return EngineStep::Nothing };
    if matches!(state.phase, Phase::Cancelled) || super::acts::has_ended(state, cx) {
        return EngineStep::Nothing;
    }
    let text = format!("waypoint {parent} ended, or was planned again");
    let transition = Transition::new(state, cx, fresh);
    transition.exited(Outcome::Blocked).decided(Phase::Cancelled, &escalate(ReasonCode::Cancelled, &text), None)
}

/// The gate where a delegated waypoint is.
pub(super) fn gate(state: &WaypointState) -> Option<&GateId> {
    match &state.phase {
        Phase::Delegated(delegated) => Some(&delegated.gate),
        _ => None,
    }
}
