//! Waypoints and what they depend on, as SVG: columns by depth, lines from what has to be there first.

use std::collections::BTreeMap;

use holdpoint_account::words::status_mark;
use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    plan::Plan,
    state::Status,
    view::WaypointView,
};
use holdpoint_text::units::counted;
use maud::{Markup, html};

use super::{frame::Frame, parts::beginning};
use crate::view::View;

/// Waypoints that are drawn: more are no picture any more.
pub(crate) const NODES_MAX: usize = 150;

const WIDTH: usize = 210;
const HEIGHT: usize = 52;
const GAP_X: usize = 56;
const GAP_Y: usize = 16;
const MARGIN: usize = 8;

/// A waypoint's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    column: usize,
    row: usize,
}

impl Place {
    fn x(self) -> usize {
        MARGIN + self.column * (WIDTH + GAP_X)
    }

    fn y(self) -> usize {
        MARGIN + self.row * (HEIGHT + GAP_Y)
    }
}

/// The picture. `depends_on` are those of the plan.
pub(crate) fn graph(
    frame: &Frame,
    flight: &FlightId,
    waypoints: &[WaypointView],
    depends_on: &BTreeMap<WaypointId, Vec<WaypointId>>,
) -> Markup {
    if waypoints.len() > NODES_MAX {
        return html! { p.hint { "A graph of " (waypoints.len()) " waypoints is no picture any more: the list shows them." } };
    }
    let ids: Vec<&WaypointId> = waypoints.iter().map(|waypoint| &waypoint.id).collect();
    let places = place(&ids, depends_on);
    let (width, height) = size(&places);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Graph of the waypoints" {
            svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label="Waypoints and what they depend on" {
                (edges(depends_on, &places))
                @for waypoint in waypoints {
                    @if let Some(place) = places.get(&waypoint.id) { (node(frame, flight, waypoint, *place)) }
                }
            }
        }
        (legend())
    }
}

/// The picture of a plan that nobody flies yet.
pub(crate) fn of_plan(plan: &Plan) -> Markup {
    if plan.waypoints.len() > NODES_MAX {
        return html! {};
    }
    let ids: Vec<&WaypointId> = plan.waypoints.iter().map(|waypoint| &waypoint.id).collect();
    let depends_on = plan.waypoints.iter().map(|waypoint| (waypoint.id.clone(), waypoint.depends_on.clone())).collect();
    let places = place(&ids, &depends_on);
    let (width, height) = size(&places);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Graph of the plan" {
            svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label="Waypoints and what they depend on" {
                (edges(&depends_on, &places))
                @for id in ids {
                    @if let Some(place) = places.get(id) {
                        g.node {
                            rect x=(place.x()) y=(place.y()) width=(WIDTH) height=(HEIGHT) rx="6" {}
                            text.name x=(place.x() + 10) y=(place.y() + 31) { (beginning(id.as_str(), 24)) }
                        }
                    }
                }
            }
        }
    }
}

/// How large the picture is.
fn size(places: &BTreeMap<WaypointId, Place>) -> (usize, usize) {
    let width = places.values().map(|place| place.x() + WIDTH).max().unwrap_or_default() + MARGIN;
    let height = places.values().map(|place| place.y() + HEIGHT).max().unwrap_or_default() + MARGIN;
    (width, height)
}

fn edges(depends_on: &BTreeMap<WaypointId, Vec<WaypointId>>, places: &BTreeMap<WaypointId, Place>) -> Markup {
    html! {
        @for (to, needs) in depends_on {
            @for from in needs {
                @if let (Some(from), Some(to)) = (places.get(from), places.get(to)) { path.edge d=(edge(*from, *to)) {} }
            }
        }
    }
}

fn node(frame: &Frame, flight: &FlightId, waypoint: &WaypointView, place: Place) -> Markup {
    let word = waypoint.status.as_str();
    let (x, y) = (place.x(), place.y());
    let mut says = word.to_owned();
    if let Some(gate) = waypoint.gate.as_ref().filter(|_| waypoint.status != Status::Complete) {
        says.push_str(&format!(" · {gate}"));
    }
    if waypoint.attempts > 0 {
        says.push_str(&format!(" · {}", counted(waypoint.attempts, "attempt")));
    }
    html! {
        a href=(frame.href(&View::Waypoint(flight.clone(), waypoint.id.clone()))) class={ "node s-" (word) } {
            title { (waypoint.id) ": " (beginning(&waypoint.title, 200)) }
            rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="6" {}
            text.name x=(x + 10) y=(y + 21) { (status_mark(waypoint.status)) " " (beginning(waypoint.id.as_str(), 22)) }
            text.small x=(x + 10) y=(y + 40) { (beginning(&says, 32)) }
        }
    }
}

fn edge(from: Place, to: Place) -> String {
    let (x1, y1) = (from.x() + WIDTH, from.y() + HEIGHT / 2);
    let (x2, y2) = (to.x(), to.y() + HEIGHT / 2);
    let bend = GAP_X / 2;
    format!("M{x1},{y1} C{},{y1} {},{y2} {x2},{y2}", x1 + bend, x2.saturating_sub(bend))
}

/// What the marks mean.
fn legend() -> Markup {
    let all = [Status::Pending, Status::Running, Status::Waiting, Status::Blocked, Status::Failed, Status::Complete];
    html! { p.legend { @for status in all { (super::parts::status(status)) " " } } }
}

/// Columns by the longest way from a waypoint that needs nothing; rows in the plan's order.
fn place(waypoints: &[&WaypointId], depends_on: &BTreeMap<WaypointId, Vec<WaypointId>>) -> BTreeMap<WaypointId, Place> {
    let mut columns: BTreeMap<&WaypointId, usize> = waypoints.iter().map(|id| (*id, 0)).collect();
    // A plan has no cycles; as many rounds as there are waypoints are enough for the longest chain.
    for _ in 0..waypoints.len() {
        let mut moved = false;
        for id in waypoints {
            let needs = depends_on.get(*id).into_iter().flatten();
            let column = needs.filter_map(|need| columns.get(need)).map(|column| column + 1).max().unwrap_or(0);
            moved |= columns.insert(id, column) != Some(column);
        }
        if !moved {
            break;
        }
    }
    let mut filled: BTreeMap<usize, usize> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for id in waypoints {
        let column = columns.get(id).copied().unwrap_or(0);
        let row = filled.entry(column).or_default();
        places.insert((*id).clone(), Place { column, row: *row });
        *row += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_something_stands_to_the_right_of_all_that_it_needs() {
        let waypoints: [WaypointId; 4] = ["d", "a", "b", "c"].map(|id| id.parse().unwrap());
        let ids = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect::<Vec<WaypointId>>();
        let needs = [("d", ids(&["b", "c"])), ("b", ids(&["a"])), ("c", ids(&["b"]))];
        let needs = needs.map(|(id, needs)| (id.parse().unwrap(), needs)).into_iter().collect();
        let places = place(&waypoints.each_ref(), &needs);
        let column = |id: &str| places[&id.parse::<WaypointId>().unwrap()].column;
        assert_eq!(["a", "b", "c", "d"].map(column), [0, 1, 2, 3]);
    }
}
