//! Agents by role, what each does, how much waits for them, and the turns that killed them.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    api::DeadTurn,
    ids::{FlightId, GateId, RoleId, TurnId, WaypointId},
    state::Status,
    view::FlightView,
};
use maud::{Markup, html};

use super::{
    forms::{self, On},
    frame::Frame,
    parts::time,
};
use crate::{
    fleet::HeardOf,
    view::{Show, View},
};

/// Rows of each table.
const ROWS_MAX: usize = 500;

/// What the page is made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crew {
    /// Who was heard of.
    pub(crate) heard: Vec<HeardOf>,
    /// The open turns of open flights.
    pub(crate) open: BTreeMap<TurnId, (FlightId, WaypointId, Option<GateId>, RoleId)>,
    /// Those that nobody has yet, by role.
    pub(crate) queued: BTreeMap<RoleId, usize>,
    /// Open flights that were not looked at, because there are too many.
    pub(crate) left_out: usize,
    /// The turns that are given up.
    pub(crate) dead: Vec<DeadTurn>,
}

impl Crew {
    /// Takes the open turns of a flight.
    pub(crate) fn take(&mut self, view: &FlightView) {
        for waypoint in &view.waypoints {
            let own = waypoint.turn.iter().map(|turn| (turn, waypoint.gate.clone()));
            let branches =
                waypoint.branches.iter().filter_map(|branch| Some((branch.turn.as_ref()?, Some(branch.gate.clone()))));
            for (turn, gate) in own.chain(branches) {
                if turn.agent.is_none() && waypoint.status == Status::Running {
                    *self.queued.entry(turn.role.clone()).or_default() += 1;
                }
                let place = (view.flight.clone(), waypoint.id.clone(), gate, turn.role.clone());
                self.open.insert(turn.turn.clone(), place);
            }
        }
    }
}

/// The page.
pub(crate) fn fleet(frame: &Frame, crew: &Crew) -> Markup {
    let mut roles: BTreeMap<&RoleId, Vec<&HeardOf>> = BTreeMap::new();
    for heard in &crew.heard {
        roles.entry(&heard.role).or_default().push(heard);
    }
    for role in crew.queued.keys() {
        roles.entry(role).or_default();
    }
    html! {
        h1 { "Fleet" }
        p.lead { "What agents say of themselves, every ten seconds; nothing is decided by it." }
        @if crew.left_out > 0 { p.hint { "Turns of " (crew.left_out) " older open flights are not counted here." } }
        @if roles.is_empty() { p.empty { "Nobody was heard of yet. Agents say every ten seconds that they are there." } }
        @for (role, agents) in roles {
            section {
                h2 { (role) " " span.dim { (agents.len()) @if agents.len() == 1 { " process, " } @else { " processes, " } (crew.queued.get(role).copied().unwrap_or(0)) " turns wait" } }
                @if !agents.is_empty() {
                    div.scroll tabindex="0" role="region" aria-label={ "Processes of role " (role) } {
                        table.cards {
                            thead { tr { th scope="col" { "Name" } th scope="col" { "Does" } th scope="col" { "Heard of" } } }
                            tbody { @for heard in agents.iter().take(ROWS_MAX) { (row(frame, crew, heard)) } }
                        }
                    }
                }
            }
        }
        h2 { "Dead turns" }
        @if crew.dead.is_empty() { p.empty { "None: no turn keeps ending its agents." } }
        @for dead in crew.dead.iter().take(ROWS_MAX) {
            article.item {
                h3 { a href=(frame.href(&View::Waypoint(dead.flight.clone(), dead.waypoint.clone()))) { (dead.waypoint) } " of " a href=(frame.href(&View::Flight(dead.flight.clone(), Show::Best))) { (dead.flight) } }
                p.sub { "a turn of " (dead.role) ", dead since " (time(dead.since)) }
                ul { @for death in &dead.deaths { li { (death.agent) ", delivery " (death.delivery) } } }
                @if dead.overdue > 0 { p.sub { "reopened " (dead.overdue) " times because nobody answered" } }
                @let on = On { flight: &dead.flight, waypoint: Some(&dead.waypoint), seen: None };
                div.acts { (forms::of_waypoint(frame, on, &[holdpoint_protocol::artifact::Verb::Retry], &[])) }
            }
        }
    }
}

fn row(frame: &Frame, crew: &Crew, heard: &HeardOf) -> Markup {
    html! {
        tr {
            th scope="row" { (heard.agent) }
            td data-label="Does" {
                @match heard.turn.as_ref().map(|turn| crew.open.get(turn)) {
                    Some(Some((flight, waypoint, gate, _))) => {
                        a href=(frame.href(&View::Waypoint(flight.clone(), waypoint.clone()))) { (waypoint) }
                        @if let Some(gate) = gate { " at " (gate) } " of " (flight)
                    }
                    Some(None) => { "a turn that is not open any more, or not yet" }
                    None => { span.dim { "waits for a turn" } }
                }
            }
            td data-label="Heard of" { (time(heard.at)) }
        }
    }
}
