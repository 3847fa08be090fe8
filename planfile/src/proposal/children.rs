//! The waypoints that a proposal becomes.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    ids::{ID_LEN_MAX, WaypointId},
    plan::{TurnBudget, Waypoint},
    proposal::{PlanProposal, ProposedWaypoint},
};

/// What of a child's name is not its parent's, in bytes: `_` and at most five digits.
const SUFFIX_LEN_MAX: usize = 6;

/// The children of a waypoint, in the order of its proposal: flown by this workflow, with the parent's protected paths, tags and
/// budget. Their names count on from `before`, how many children it had, and pass over names that are taken.
#[must_use]
pub fn children(
    parent: &Waypoint,
    workflow: &str,
    proposal: &PlanProposal,
    before: usize,
    is_taken: impl Fn(&WaypointId) -> bool,
) -> Vec<Waypoint> {
    let stem = parent.id.as_str().get(..ID_LEN_MAX - SUFFIX_LEN_MAX).unwrap_or_else(|| parent.id.as_str());
    let name = |number: usize| WaypointId::try_new(format!("{stem}_{number:02}")).ok();
    let mut names = (before + 1..).map_while(name).filter(|id| !is_taken(id));
    let named: BTreeMap<&WaypointId, WaypointId> =
        proposal.waypoints.iter().filter_map(|one| Some((&one.key, names.next()?))).collect();
    let child = |one: &ProposedWaypoint| {
        let scope = if one.scope.is_empty() { &parent.scope } else { &one.scope };
        Some(Waypoint {
            depends_on: one.depends_on.iter().filter_map(|key| named.get(key).cloned()).collect(),
            scope: scope.clone(),
            new_tests: parent.new_tests.clone(),
            changed_tests: parent.changed_tests.clone(),
            protected: parent.protected.clone(),
            tags: parent.tags.clone(),
            metadata: parent.metadata.clone(),
            budget: parent.budget.clone(),
            workflow: Some(workflow.to_owned()),
            ..planned(one, named.get(&one.key)?.clone())
        })
    };
    proposal.waypoints.iter().filter_map(child).collect()
}

/// A proposed waypoint by itself, under this name.
pub(super) fn planned(one: &ProposedWaypoint, id: WaypointId) -> Waypoint {
    Waypoint {
        id,
        title: one.title.clone(),
        goal: one.goal.clone(),
        depends_on: one.depends_on.clone(),
        priority: one.priority,
        tags: Vec::new(),
        metadata: BTreeMap::new(),
        scope: one.scope.clone(),
        new_tests: Vec::new(),
        changed_tests: Vec::new(),
        protected: Vec::new(),
        criteria: one.criteria.clone(),
        budget: TurnBudget::default(),
        workflow: None,
        max_reworks: Some(one.max_reworks),
        tests: Vec::new(),
        tests_file: None,
    }
}
