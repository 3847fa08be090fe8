//! What of a plan runs with a network. Some fleets keep their verifiers from every network: there such a plan could
//! only end in red checks, and is refused before it begins.

use holdpoint_protocol::plan::{Check, Plan};

/// Every part of the plan that runs with a network, in the words of plan files; empty where none does.
#[must_use]
pub fn wants_network(plan: &Plan) -> Vec<String> {
    let wants = |check: &Check| check.network;
    let guards = plan.guards.iter().filter(|guard| wants(&guard.check)).map(|guard| format!("the guard {}", guard.id));
    let criteria = plan.waypoints.iter().flat_map(|waypoint| {
        let criteria = waypoint.criteria.iter().filter(|criterion| criterion.check.as_ref().is_some_and(wants));
        criteria.map(|criterion| format!("the criterion {} of {}", criterion.id, waypoint.id))
    });
    plan.prepare.iter().map(|_| "prepare".to_owned()).chain(guards).chain(criteria).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BUILT_IN_WORKFLOWS, read};

    fn wanted(text: &str) -> Vec<String> {
        wants_network(&read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap())
    }

    #[test]
    fn everything_that_wants_a_network_is_named() {
        let plan = |top: &str, network: &str| {
            let check = format!("{{id: unit, statement: it works, check: make test{network}}}");
            format!("plan: p\n{top}\nwaypoints: [{{id: a, title: t, goal: g, criteria: [{check}]}}]\n")
        };
        assert_eq!(wanted(&plan("guards: [{id: g, check: make}]", "")), [""; 0]);
        assert_eq!(wanted(&plan("prepare: make fetch", "")), ["prepare"]);
        assert_eq!(
            wanted(&plan("guards: [{id: g, check: make, network: true}]", ", network: true")),
            ["the guard g", "the criterion unit of a"]
        );
    }
}
