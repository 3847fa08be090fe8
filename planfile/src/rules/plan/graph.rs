//! The order of waypoints: unknown dependencies and circles.

use std::collections::{HashMap, HashSet};

use holdpoint_protocol::plan::Waypoint;

use crate::yaml::{findings::PlanProblems, likeness::closest, path::At};

/// Circles of more than this many waypoints are cut when they are named; the rest does not help to find the fault.
const PATH_SHOWN_MAX: usize = 20;

/// For how many unknown dependencies a similar id is looked for: it costs a look at every waypoint.
const SUGGESTIONS_MAX: usize = 50;

/// Reports dependencies that are listed twice or are on waypoints that do not exist, and every circle. `at` is the list of
/// waypoints.
pub(super) fn check(at: At<'_>, waypoints: &[Waypoint], found: &mut PlanProblems) {
    let index: HashMap<&str, usize> =
        waypoints.iter().enumerate().rev().map(|(i, waypoint)| (waypoint.id.as_str(), i)).collect();
    let mut suggestions = 0;
    for (i, waypoint) in waypoints.iter().enumerate() {
        let at = at.item(i);
        let at = at.key("depends_on");
        let mut seen = HashSet::new();
        for (place, id) in waypoint.depends_on.iter().enumerate() {
            let at = at.item(place);
            if !seen.insert(id) {
                found.add(at, format!("`{id}` is listed twice in `depends_on`"), "keep one of the two");
            } else if !index.contains_key(id.as_str()) {
                suggestions += 1;
                let candidates = if suggestions <= SUGGESTIONS_MAX { waypoints } else { &[] };
                let others = candidates.iter().filter(|other| other.id != waypoint.id).map(|other| other.id.as_str());
                let hint = match closest(id.as_str(), others) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "name a waypoint of this plan".to_owned(),
                };
                let message = format!("waypoint `{}` depends on `{id}`, which is not in the plan", waypoint.id);
                found.add(at, message, hint);
            }
        }
    }
    circles(at, waypoints, &index, found);
}

/// Takes away waypoints that wait for nothing until none is left, or only circles and what waits for them are. Then
/// names one circle, takes it away, and goes on.
fn circles(at: At<'_>, waypoints: &[Waypoint], index: &HashMap<&str, usize>, found: &mut PlanProblems) {
    let edges: Vec<Vec<usize>> = waypoints
        .iter()
        .map(|waypoint| waypoint.depends_on.iter().filter_map(|id| index.get(id.as_str()).copied()).collect())
        .collect();
    let mut waiting: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut dependants: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, to) in edges.iter().enumerate().flat_map(|(from, tos)| tos.iter().map(move |to| (from, *to))) {
        dependants[to].push(from);
    }
    let mut left: Vec<bool> = vec![true; edges.len()];
    let mut free: Vec<usize> = (0..edges.len()).filter(|i| waiting[*i] == 0).collect();
    let mut start = 0;
    loop {
        while let Some(done) = free.pop() {
            left[done] = false;
            for dependant in &dependants[done] {
                waiting[*dependant] -= 1;
                if waiting[*dependant] == 0 && left[*dependant] {
                    free.push(*dependant);
                }
            }
        }
        let Some(next) = (start..edges.len()).find(|i| left[*i]) else { return };
        start = next;
        let circle = circle_from(next, &edges, &left);
        report(at, &circle, waypoints, found);
        for member in &circle {
            left[*member] = false;
        }
        // What waited for a member of the circle waits no more; members themselves are not freed again.
        for dependant in circle.iter().flat_map(|member| &dependants[*member]) {
            waiting[*dependant] -= 1;
            if waiting[*dependant] == 0 && left[*dependant] {
                free.push(*dependant);
            }
        }
    }
}

/// Follows dependencies that are left until one repeats. Every waypoint that is left waits for another that is.
fn circle_from(start: usize, edges: &[Vec<usize>], left: &[bool]) -> Vec<usize> {
    let mut path = vec![start];
    let mut place: HashMap<usize, usize> = HashMap::from([(start, 0)]);
    let mut at = start;
    while let Some(next) = edges[at].iter().copied().find(|next| left[*next]) {
        if let Some(from) = place.get(&next) {
            return path.split_off(*from);
        }
        place.insert(next, path.len());
        path.push(next);
        at = next;
    }
    path
}

fn report(at: At<'_>, circle: &[usize], waypoints: &[Waypoint], found: &mut PlanProblems) {
    // Named from its first waypoint in the plan, at the dependency that leads on from there.
    let Some(first) = (0..circle.len()).min_by_key(|i| circle[*i]) else { return };
    let in_order: Vec<&Waypoint> = (0..circle.len()).map(|i| &waypoints[circle[(first + i) % circle.len()]]).collect();
    let head = in_order[0];
    let next = &in_order[1 % in_order.len()].id;
    let place = head.depends_on.iter().position(|id| id == next).unwrap_or_default();
    let mut names: Vec<&str> = in_order.iter().take(PATH_SHOWN_MAX).map(|waypoint| waypoint.id.as_str()).collect();
    if in_order.len() > PATH_SHOWN_MAX {
        names.push("…");
    }
    names.push(head.id.as_str());
    let message = format!("waypoints wait for each other in a circle: {}", names.join(" → "));
    let waypoint = at.item(circle[first]);
    found.add(waypoint.key("depends_on").item(place), message, "remove one of these dependencies");
}
