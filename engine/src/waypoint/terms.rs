//! The terms of a turn as plan and gate set them: criteria, guards, demands, dependencies and time.

use holdpoint_planfile::{gates::Gate, plan::WAYPOINTS_MAX};
use holdpoint_protocol::{
    artifact::VerificationPurpose,
    checkpoint::GateDemands,
    facts::Oid,
    plan::{Criterion, EnvironmentSpec, Guard},
    proposal::ProposalBounds,
    time::Millis,
};

use super::StepContext;

/// What a gate that declares no time gives a completion (GATE-15).
const COMPLETION_TIMEOUT: Millis = Millis(3_600_000);

/// What a gate demands in this flight: what it proposes has to fit in.
pub(super) fn demands(gate: &Gate, cx: &StepContext<'_>) -> GateDemands {
    let demands = gate.context.demands.clone();
    let room = WAYPOINTS_MAX.saturating_sub(cx.flight.planned_count());
    let bounds = |declared: ProposalBounds| ProposalBounds {
        waypoints: declared.waypoints.min(u32::try_from(room).unwrap_or(u32::MAX)),
        scope: cx.waypoint.scope.clone(),
        checked: !cx.flight.submitted.fleet.judge,
    };
    GateDemands { proposes: demands.proposes.map(bounds), ..demands }
}

/// The criteria that a verification is about: on the base those that must be red there, else all.
pub(super) fn criteria(purpose: VerificationPurpose, cx: &StepContext<'_>) -> Vec<Criterion> {
    let red_first = |c: &&Criterion| c.check.as_ref().is_some_and(|k| k.red_first);
    match purpose {
        VerificationPurpose::Baseline => cx.waypoint.criteria.iter().filter(red_first).cloned().collect(),
        VerificationPurpose::Handoff | VerificationPurpose::Merge => cx.waypoint.criteria.clone(),
    }
}

/// The guards that a verification is about. Where the base landed in this flight, they were green on its tree when that was
/// verified.
pub(super) fn guards<'a>(purpose: VerificationPurpose, base: Option<&Oid>, cx: &StepContext<'a>) -> &'a [Guard] {
    let has_landed = base.is_some_and(|base| cx.flight.landed.at(base).is_some());
    let are_known = purpose == VerificationPurpose::Baseline && has_landed;
    if are_known { &[] } else { &cx.flight.submitted.plan.guards }
}

/// What dependencies are set up from.
pub(super) fn environment(cx: &StepContext<'_>) -> EnvironmentSpec {
    cx.flight.submitted.plan.environment.clone().unwrap_or_default()
}

/// The wall time of a build turn's program: the plan's, the gate's, or the fleet's.
pub(super) fn build_wall(gate: &Gate, cx: &StepContext<'_>) -> Millis {
    cx.waypoint.budget.wall.or(gate.timeout).unwrap_or(cx.flight.submitted.fleet.build_wall)
}

/// How long a completion may take.
pub(super) fn completion_wall(gate: &Gate) -> Millis {
    gate.timeout.unwrap_or(COMPLETION_TIMEOUT)
}
