//! The order of waypoints: unknown dependencies and circles.

use std::collections::{HashMap, HashSet};

use super::{
    error::Problems,
    likeness::closest,
    tree::{Node, Value},
    waypoint::Located,
};

/// Circles of more than this many waypoints are cut when they are named; the rest does not help to find the fault.
const PATH_SHOWN_MAX: usize = 20;

/// For how many unknown dependencies a similar id is looked for: it costs a look at every waypoint.
const SUGGESTIONS_MAX: usize = 50;

/// Reports dependencies on waypoints that do not exist, and every circle.
///
/// `nodes` are all waypoints as they were written: an id whose waypoint was refused for something else is not unknown.
pub(super) fn check(waypoints: &[Located], nodes: &[Node], problems: &mut Problems) {
    let index: HashMap<&str, usize> =
        waypoints.iter().enumerate().rev().map(|(i, located)| (located.waypoint.id.as_str(), i)).collect();
    let written: Vec<&str> = nodes.iter().filter_map(written_id).collect();
    let known: HashSet<&str> = written.iter().copied().collect();
    let mut suggestions = 0;
    for located in waypoints {
        for (id, at) in located.waypoint.depends_on.iter().zip(&located.depends_on) {
            if known.contains(id.as_str()) {
                continue;
            }
            suggestions += 1;
            let candidates = if suggestions <= SUGGESTIONS_MAX { written.as_slice() } else { &[] };
            let hint = match closest(
                id.as_str(),
                candidates.iter().copied().filter(|other| *other != located.waypoint.id.as_str()),
            ) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name a waypoint of this plan".to_owned(),
            };
            let message = format!("waypoint `{}` depends on `{id}`, which is not in the plan", located.waypoint.id);
            problems.add(*at, message, hint);
        }
    }
    circles(waypoints, &index, problems);
}

fn written_id(node: &Node) -> Option<&str> {
    let Value::Map(entries) = &node.value else { return None };
    let (_, id) = entries.iter().find(|(key, _)| key.name == "id")?;
    if let Value::Scalar { text, .. } = &id.value { Some(text) } else { None }
}

/// Takes away waypoints that wait for nothing until none is left, or only circles and what waits for them are. Then
/// names one circle, takes it away, and goes on.
fn circles(waypoints: &[Located], index: &HashMap<&str, usize>, problems: &mut Problems) {
    let edges: Vec<Vec<usize>> = waypoints
        .iter()
        .map(|located| located.waypoint.depends_on.iter().filter_map(|id| index.get(id.as_str()).copied()).collect())
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
        report(&circle, waypoints, problems);
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

fn report(circle: &[usize], waypoints: &[Located], problems: &mut Problems) {
    // Named from its first waypoint in the file, at the dependency that leads on from there.
    let Some(first) = (0..circle.len()).min_by_key(|i| circle[*i]) else { return };
    let in_order: Vec<&Located> = (0..circle.len()).map(|i| &waypoints[circle[(first + i) % circle.len()]]).collect();
    let head = in_order[0];
    let next = &in_order[1 % in_order.len()].waypoint.id;
    let place = head.waypoint.depends_on.iter().position(|id| id == next);
    let Some(at) = place.and_then(|place| head.depends_on.get(place)) else { return };
    let mut names: Vec<&str> = in_order.iter().take(PATH_SHOWN_MAX).map(|l| l.waypoint.id.as_str()).collect();
    if in_order.len() > PATH_SHOWN_MAX {
        names.push("…");
    }
    names.push(head.waypoint.id.as_str());
    let message = format!("waypoints wait for each other in a circle: {}", names.join(" → "));
    problems.add(*at, message, "remove one of these dependencies");
}
