//! Waypoints by gate.

use holdpoint_protocol::{
    ids::{FlightId, GateId},
    view::WaypointView,
};
use holdpoint_text::units::counted;
use maud::{Markup, html};

use super::{
    frame::Frame,
    parts::{beginning, status},
};
use crate::{
    account::FlightAccount,
    view::{Show, View},
};

/// Waypoints that one column shows; the list has all.
const CARDS_MAX: usize = 50;

/// The columns: not begun, each gate in the order of the workflows, and what is over.
pub(crate) fn board(frame: &Frame, flight: &FlightId, waypoints: &[WaypointView], account: &FlightAccount) -> Markup {
    let mut gates: Vec<GateId> = Vec::new();
    let recorded = account.flight.iter().flat_map(|flight| flight.configured.recorded());
    let declared = recorded.flat_map(|one| one.workflow.all_gates().map(|gate| gate.id.clone()));
    for gate in declared.chain(waypoints.iter().filter_map(|waypoint| waypoint.gate.clone())) {
        if !gates.contains(&gate) {
            gates.push(gate);
        }
    }
    let over = |waypoint: &&WaypointView| waypoint.status.is_over();
    let standing =
        |gate: &GateId| waypoints.iter().filter(move |w| !over(w) && w.gate.as_ref() == Some(gate)).collect();
    let begins: Vec<&WaypointView> = waypoints.iter().filter(|w| !over(w) && w.gate.is_none()).collect();
    let mut columns: Vec<(String, Vec<&WaypointView>)> = vec![("Not at a gate".to_owned(), begins)];
    columns.extend(gates.iter().map(|gate| (gate.to_string(), standing(gate))));
    columns.push(("Over".to_owned(), waypoints.iter().filter(over).collect()));
    html! {
        div.scroll tabindex="0" role="region" aria-label="Board" {
            div.board {
                @for (name, cards) in &columns {
                    section {
                        h2 { (name) " " span.dim { (cards.len()) } }
                        ul {
                            @for waypoint in cards.iter().take(CARDS_MAX) { li { (card(frame, flight, waypoint)) } }
                            @if cards.len() > CARDS_MAX {
                                li { a href=(frame.href(&View::Flight(flight.clone(), Show::List(0, None)))) { "and " (cards.len() - CARDS_MAX) " more" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn card(frame: &Frame, flight: &FlightId, waypoint: &WaypointView) -> Markup {
    html! {
        a.card href=(frame.href(&View::Waypoint(flight.clone(), waypoint.id.clone()))) {
            strong { (waypoint.id) } " " (status(waypoint.status))
            div.sub { (beginning(&waypoint.title, 90)) }
            @if let Some(turn) = &waypoint.turn {
                div.sub { (turn.role) @if let Some(agent) = &turn.agent { ": " (agent) } }
            }
            @if waypoint.attempts > 0 { div.sub { (counted(waypoint.attempts, "attempt")) } }
        }
    }
}
