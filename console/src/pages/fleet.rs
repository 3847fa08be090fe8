//! Agents by role, what each does, how much waits for them, what the broker stores, and the turns that killed them.

use std::{collections::BTreeMap, sync::Arc};

use holdpoint_protocol::{
    api::DeadTurn,
    ids::{FlightId, GateId, RoleId, TurnId, WaypointId},
    state::Status,
    storage::Storage,
    view::FlightView,
};
use holdpoint_text::units::roughly;
use maud::{Markup, html};

use super::{
    forms::{self, On},
    frame::Frame,
    parts::{beginning, time},
};
use crate::{
    fleet::HeardOf,
    view::{Show, View},
};

/// Rows of each table.
const ROWS_MAX: usize = 500;
/// Characters of a version: it is a process's own word.
const VERSION_CHARS_MAX: usize = 40;
/// From how full the broker is warned of.
const WARNED_PERCENT: u64 = 80;

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
    /// How full the broker is; `None`: nobody says.
    pub(crate) storage: Option<Arc<Storage>>,
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
                            thead { tr { th scope="col" { "Name" } th scope="col" { "Does" } th scope="col" { "Version" } th scope="col" { "Heard of" } } }
                            tbody { @for heard in agents.iter().take(ROWS_MAX) { (row(frame, crew, heard)) } }
                        }
                    }
                }
            }
        }
        @if let Some(storage) = &crew.storage { (broker(storage)) }
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
                        @if let Some(delivery) = heard.delivery.filter(|delivery| *delivery > 1) { div.sub { "delivery " (delivery) ": it was given to an agent before" } }
                    }
                    Some(None) => { "a turn that is not open any more, or not yet" }
                    None => { span.dim { "waits for a turn" } }
                }
            }
            td data-label="Version" { @match &heard.version { Some(version) => { (beginning(version, VERSION_CHARS_MAX)) } None => { span.dim { "–" } } } }
            td data-label="Heard of" { (time(heard.at)) }
        }
    }
}

/// What each stream takes up, and what it may.
fn broker(storage: &Storage) -> Markup {
    html! {
        h2 { "Broker" }
        p { (roughly(storage.bytes)) " of " (roughly(storage.bytes_max)) " are used (" (percent(storage.bytes, storage.bytes_max)) " %). The orchestrator that says so has version " (beginning(&storage.version, VERSION_CHARS_MAX)) "." }
        @if storage.bytes.saturating_mul(100) >= storage.bytes_max.saturating_mul(WARNED_PERCENT) {
            p.warn { "Nothing moves any more when it is full. " code { "holdpoint archive" } " makes room." }
        }
        div.scroll tabindex="0" role="region" aria-label="Streams of the broker" {
            table.cards {
                thead { tr { th scope="col" { "Stream" } th scope="col" { "Size" } th scope="col" { "Of its room" } th scope="col" { "Messages" } } }
                tbody { @for stream in storage.streams.iter().take(ROWS_MAX) { tr {
                    th scope="row" { (beginning(&stream.stream, 80)) }
                    td data-label="Size" { (roughly(stream.bytes)) }
                    td data-label="Of its room" { @match stream.bytes_max { Some(most) => { (percent(stream.bytes, most)) " % of " (roughly(most)) } None => { "what others leave" } } }
                    td data-label="Messages" { (stream.messages) @if let Some(most) = stream.messages_max { " of " (most) } }
                } } }
            }
        }
    }
}

fn percent(part: u64, whole: u64) -> u128 {
    u128::from(part) * 100 / u128::from(whole.max(1))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::storage::StreamStorage;

    use super::*;
    use crate::pages::tests::samples::frame;

    #[test]
    fn the_brokers_streams_are_shown_with_what_they_may_take_and_a_full_disk_is_warned_of() {
        let stream = StreamStorage {
            stream: "HP_BLOB_BUILDER".to_owned(),
            bytes: 1_536,
            bytes_max: Some(2_048),
            messages: 3,
            messages_max: None,
        };
        let storage =
            |bytes| Storage { version: "0.1.0".to_owned(), bytes, bytes_max: 10 << 20, streams: vec![stream.clone()] };
        let page = |bytes| {
            let crew = Crew { storage: Some(Arc::new(storage(bytes))), ..Crew::default() };
            fleet(&frame(), &crew).0
        };
        let some = page(1 << 20);
        assert!(some.contains("1.0 MiB of 10.0 MiB are used (10 %)") && some.contains("75 % of 2.0 KiB"), "{some}");
        assert!(!some.contains("holdpoint archive") && page(8 << 20).contains("holdpoint archive"));
        assert!(!fleet(&frame(), &Crew::default()).0.contains("Broker"), "nobody says");
    }
}
