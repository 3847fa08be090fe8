//! A plan's waypoints in the order in which they can be flown. Pure.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    ids::WaypointId,
    plan::{Criterion, Plan, Waypoint},
};
use holdpoint_text::shown;
use serde::Serialize;

/// A waypoint and its place.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PlannedStep {
    /// From 1; waypoints of the same number wait for each other nowhere.
    step: usize,
    id: WaypointId,
    title: String,
    depends_on: Vec<WaypointId>,
    scope: Vec<String>,
    criteria: Vec<String>,
}

impl PlannedStep {
    /// The waypoints of a sound plan.
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        let mut numbers: BTreeMap<&WaypointId, usize> = BTreeMap::new();
        // Each round places at least one: no dependency of a sound plan goes round.
        for _ in &plan.waypoints {
            if numbers.len() == plan.waypoints.len() {
                break;
            }
            for waypoint in &plan.waypoints {
                let before: Option<Vec<usize>> =
                    waypoint.depends_on.iter().map(|id| numbers.get(id).copied()).collect();
                if let Some(before) = before {
                    numbers.insert(&waypoint.id, 1 + before.into_iter().max().unwrap_or_default());
                }
            }
        }
        let mut steps: Vec<Self> =
            plan.waypoints.iter().filter_map(|w| Some(Self::of(w, *numbers.get(&w.id)?))).collect();
        steps.sort_by_key(|step| step.step);
        steps
    }

    fn of(waypoint: &Waypoint, step: usize) -> Self {
        Self {
            step,
            id: waypoint.id.clone(),
            title: waypoint.title.clone(),
            depends_on: waypoint.depends_on.clone(),
            scope: waypoint.scope.clone(),
            criteria: waypoint.criteria.iter().map(in_words).collect(),
        }
    }

    /// It in two lines for people.
    pub(crate) fn lines(&self) -> [String; 2] {
        let after: Vec<&str> = self.depends_on.iter().map(WaypointId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!("  after {}", after.join(", ")) };
        let title = if self.title == self.id.as_str() { "" } else { &self.title };
        let first = format!("{}  {}  {title}", self.step, self.id);
        let second = format!("   {}; {}", self.scope.join(", "), self.criteria.join(", "));
        [format!("{}{after}", shown::line(first.trim_end())), shown::line(&second).into_owned()]
    }
}

fn in_words(criterion: &Criterion) -> String {
    let red_first = criterion.check.as_ref().is_some_and(|check| check.red_first);
    if red_first { format!("{} (red first)", criterion.id) } else { criterion.id.to_string() }
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::plan::{BUILT_IN_WORKFLOWS, read};

    use super::*;

    #[test]
    fn waypoints_stand_behind_those_that_they_wait_for() {
        let text = "plan: p\nwaypoints:\n  - {id: last, goal: g, depends_on: [left, right], scope: [c], criteria: [{id: s, check: x}]}\n  \
                    - {id: left, goal: g, depends_on: [first], scope: [b], criteria: [{id: s, check: x}]}\n  \
                    - {id: right, goal: g, scope: [d], criteria: [{id: s, check: x}]}\n  \
                    - {id: first, title: Begin, goal: g, scope: [a, b], criteria: [{id: t, check: x, red_first: true}, {id: s, check: y}]}\n";
        let plan = read(text, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        let lines: Vec<String> = PlannedStep::all(&plan).iter().flat_map(PlannedStep::lines).collect();
        assert_eq!(
            lines,
            [
                "1  right",
                "   d; s",
                "1  first  Begin",
                "   a, b; t (red first), s",
                "2  left  after first",
                "   b; s",
                "3  last  after left, right",
                "   c; s",
            ]
        );
    }
}
