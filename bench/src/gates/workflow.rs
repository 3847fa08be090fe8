//! The workflow that is measured: build, verification, and reviews behind them, some of which have a condition.

use holdpoint_protocol::{
    ids::{GateId, RoleId, role},
    plan::Plan,
    time::Millis,
    workflow::{GateSpec, WorkflowSpec},
};

use serde::Serialize;

use crate::{BenchError, error::Doing as _, submit};

/// Its name.
const NAME: &str = "gated";
/// The role of its reviewers.
const REVIEWER: &str = "reviewer";
/// A condition on the plan's words, which holds.
const ON_PLAN: &str = "!tags.includes('trivial')";
/// One that reads the history, and holds behind every gate.
const ON_HISTORY: &str = "gateHistory.some(visit => visit.outcome === 'complete')";
/// How long a review may wait: longer than a benchmark takes.
const TIMEOUT: Millis = Millis(24 * 60 * 60 * 1000);

/// What conditions look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The plan's words: what came of it once is known for all work that has the same.
    Plan,
    /// The history, which is another each time.
    History,
}

impl On {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Plan => "the plan",
            Self::History => "the history",
        }
    }
}

/// A workflow of so many gates, so many of which have a condition, spread over the reviews.
pub(super) fn declared(gates: usize, conditions: usize, on: On) -> Result<WorkflowSpec, BenchError> {
    let reviews = gates.saturating_sub(2);
    let condition = match on {
        On::Plan => ON_PLAN,
        On::History => ON_HISTORY,
    };
    let mut all = vec![gate("build", role::BUILDER)?, gate("verify", role::VERIFIER)?];
    for n in 0..reviews {
        let has_condition = n * conditions / reviews != (n + 1) * conditions / reviews;
        let when = has_condition.then(|| condition.to_owned());
        all.push(GateSpec { when, timeout: Some(TIMEOUT), ..gate(&format!("review-{n}"), REVIEWER)? });
    }
    Ok(WorkflowSpec::new(NAME, all))
}

fn gate(id: &str, role: &str) -> Result<GateSpec, BenchError> {
    const ACTION: &str = "name a gate";
    let (id, role) = (GateId::try_new(id).doing(ACTION)?, RoleId::try_new(role).doing(ACTION)?);
    // Nothing is before the first gate that work could be sent back to.
    let can_reject = role.as_str() != role::BUILDER;
    Ok(GateSpec { can_reject, ..GateSpec::new(id, role) })
}

/// The reviewers' role.
pub(super) fn reviewer() -> Result<RoleId, BenchError> {
    RoleId::try_new(REVIEWER).doing("name a role")
}

/// A plan of so many waypoints that are flown by it.
pub(super) fn plan(waypoints: usize) -> Result<Plan, BenchError> {
    let mut plan = submit::plan(waypoints)?;
    NAME.clone_into(&mut plan.workflow);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::gates::Workflow;

    use super::*;

    #[test]
    fn the_workflow_is_sound_and_has_as_many_conditions_as_wanted() {
        for (gates, conditions) in [(3, 0), (3, 1), (20, 0), (20, 4), (20, 18), (32, 7)] {
            let spec = declared(gates, conditions, On::History).unwrap();
            assert!(Workflow::try_new(&spec).is_ok(), "{gates} {conditions}");
            let found = spec.all_gates().filter(|gate| gate.when.is_some()).count();
            assert_eq!((spec.all_gates().count(), found), (gates, conditions));
        }
    }
}
