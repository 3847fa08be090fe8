//! What a turn of a gate is for: making work, judging it or its base or a merge, or completing the gate.

use holdpoint_planfile::gates::{Duty, Gate};
use holdpoint_protocol::{
    artifact::VerificationPurpose,
    ids::{GateId, RoleId, role},
    state::{Purpose, WaypointState},
    turn::Feedback,
};

use super::{StepContext, terms};

/// What work is verified for that was accepted before.
pub(super) const MERGE: Purpose = Purpose::Verify(VerificationPurpose::Merge);
/// What a verification of the base is for.
pub(super) const BASELINE: Purpose = Purpose::Verify(VerificationPurpose::Baseline);

/// Whether a base has to be tried before anything is built on it at this gate: a check has to be red there.
pub(super) fn is_tried_red(gate: &Gate, cx: &StepContext<'_>) -> bool {
    gate.duty == Duty::Make && !terms::criteria(VerificationPurpose::Baseline, cx).is_empty()
}

/// Whether the base is tried before this gate: nothing was built on it, and guards have to be shown green there, or a check red.
pub(super) fn is_base_tried(gate: &Gate, state: &WaypointState, cx: &StepContext<'_>) -> bool {
    let guards = terms::guards(VerificationPurpose::Baseline, state.base.as_ref(), cx);
    let guarded = gate.duty == Duty::Make && !guards.is_empty();
    state.counters.attempts == 0 && (guarded || is_tried_red(gate, cx))
}

/// Whether a turn judges work, and not its base.
pub(super) fn judges_work(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Verify(VerificationPurpose::Handoff | VerificationPurpose::Merge))
}

/// Whether the role `repair` takes turns of this gate that opens again.
pub(super) fn is_repaired(gate: &Gate, cx: &StepContext<'_>) -> bool {
    gate.role.as_str() == role::BUILDER && cx.flight.submitted.fleet.repair
}

/// Whether this is the role that takes turns again.
pub(super) fn is_repairs(role: &RoleId) -> bool {
    role.as_str() == role::REPAIR
}

/// What an ordinary turn of a gate is for.
pub(super) fn purpose(gate: &Gate) -> Purpose {
    match gate.duty {
        Duty::Make => Purpose::Build,
        Duty::Judge => Purpose::Verify(VerificationPurpose::Handoff),
        // Of a gate at which no turn opens this is never the purpose of one.
        Duty::Complete | Duty::Delegate => Purpose::Complete,
    }
}

/// What was said to the turn of one gate, as a turn of another hears it: answers are for those who asked, and who looks at work
/// hears none that its maker got (FLY-18).
pub(super) fn passed_on(told: Feedback, of: Option<(&GateId, Purpose)>, to: (&GateId, Purpose)) -> Feedback {
    let makes = |purpose| matches!(purpose, Purpose::Build | BASELINE);
    let same = of.is_some_and(|of| of == to || makes(of.1) && makes(to.1));
    if same { told } else { Feedback { clarifications: Vec::new(), ..told } }
}
