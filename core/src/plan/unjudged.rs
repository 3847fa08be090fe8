//! Criteria that only a judge can decide: without one their waypoints end `blocked` (`judge_missing`), which is worth a
//! warning before a flight begins.

use holdpoint_protocol::{
    ids::{CriterionId, WaypointId},
    plan::Plan,
};

/// Every criterion without a check, with its waypoint, in the plan's order.
pub fn without_check(plan: &Plan) -> impl Iterator<Item = (&WaypointId, &CriterionId)> {
    plan.waypoints.iter().flat_map(|waypoint| {
        let criteria = waypoint.criteria.iter().filter(|criterion| criterion.check.is_none());
        criteria.map(|criterion| (&waypoint.id, &criterion.id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BUILT_IN_WORKFLOWS, read};

    #[test]
    fn a_criterion_that_no_command_shows_is_found_with_its_waypoint() {
        let text = "plan: p\nwaypoints:\n  - {id: a, goal: g, criteria: [{id: c, check: x}]}\n  \
                    - {id: b, goal: g, criteria: [{id: c, check: x}, {id: d, statement: s}]}\n";
        let plan = read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        let found: Vec<String> = without_check(&plan).map(|(waypoint, id)| format!("{waypoint}/{id}")).collect();
        assert_eq!(found, ["b/d"]);
    }
}
