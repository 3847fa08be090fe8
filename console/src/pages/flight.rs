//! One flight.

use std::collections::BTreeMap;

use holdpoint_account::cost::{By, Sum};
use holdpoint_engine::flight::FlightState;
use holdpoint_protocol::{
    ids::WaypointId,
    journal::Submitted,
    state::Status,
    view::{FlightView, WaypointView},
};
use holdpoint_text::units::counted;
use maud::{Markup, html};

use super::{
    board::board,
    flights::progress,
    forms,
    frame::Frame,
    graph::{NODES_MAX, graph},
    parts::{beginning, commit, cost, flight_status, pager, status, time, word},
    timeline::timeline,
};
use crate::{
    account::FlightAccount,
    view::{STATUSES, Show, View},
};

/// Waypoints of a page of the list.
const PER_PAGE: usize = 200;
/// Up to how many waypoints a flight is shown as a graph where nothing else is asked for.
const GRAPH_FIRST: usize = 40;
/// Landings that are listed: the newest.
const LANDINGS_MAX: usize = 500;

/// The page. `rests` is whether nobody flies it at the moment.
pub(crate) fn flight(
    frame: &Frame,
    (view, rests): (&FlightView, bool),
    account: &FlightAccount,
    show: &Show,
) -> Markup {
    let best = if view.waypoints.len() <= GRAPH_FIRST { Show::Graph } else { Show::List(0, None) };
    let show = if *show == Show::Best { &best } else { show };
    html! {
        (head(frame, (view, rests), account))
        (tabs(frame, view, show))
        @match show {
            Show::Graph => (graph(frame, &view.flight, &view.waypoints, &dependencies(view, account))),
            Show::Board => (board(frame, &view.flight, &view.waypoints, account)),
            Show::Timeline => (timeline(frame, &view.flight, &account.turns)),
            Show::Landed => (landed(frame, view, account)),
            Show::Best => {}
            Show::List(page, only) => (list(frame, view, account, *page, *only)),
        }
    }
}

fn head(frame: &Frame, (view, rests): (&FlightView, bool), account: &FlightAccount) -> Markup {
    let (complete, all) = view.progress();
    let used = account.used();
    let is_over = view.waypoints.iter().all(|waypoint| waypoint.status.is_over());
    let waits: Vec<&WaypointView> = view.waypoints.iter().filter(|waypoint| waits(waypoint)).collect();
    html! {
        h1 { (view.flight) " " (flight_status(view.status, rests)) @if view.paused { " " span.tag { "paused" } } }
        dl.facts {
            div { dt { "Plan" } dd { (word(&view.plan)) } }
            div { dt { "Progress" } dd { (progress(complete, all)) } }
            @if let Some(Submitted { record, by, .. }) = account.flight.as_ref().map(|flight| &flight.submitted) {
                div { dt { "Submitted" } dd { (time(record.at)) @if let Some(by) = by { " by " (by) } } }
            }
            div { dt { "Used" } dd { (cost(&used)) } }
            div { dt { "Branch" } dd { code { (word(&view.branch)) } " at " (commit(&view.head)) } }
        }
        @for trouble in &view.trouble {
            p.warn {
                "Trouble" @if let Some(waypoint) = &trouble.waypoint { " with " (waypoint) } " since " (time(trouble.since))
                ", tried " (trouble.failures) " times: " (word(&trouble.message))
            }
        }
        @if view.trouble_left_out > 0 { p.warn { "and " (view.trouble_left_out) " more troubles" } }
        @if !waits.is_empty() {
            p.waits {
                (counted(waits.len(), "waypoint")) " need a person: "
                @for (at, waypoint) in waits.iter().take(8).enumerate() {
                    @if at > 0 { ", " }
                    a href=(frame.href(&View::Waypoint(view.flight.clone(), waypoint.id.clone()))) { (waypoint.id) }
                }
                @if waits.len() > 8 { " and " (waits.len() - 8) " more" }
                ". " a href=(frame.href(&View::Inbox)) { "Inbox" }
            }
        }
        @if !is_over { div.acts { (forms::of_flight(frame, &view.flight, view.paused)) } }
    }
}

fn waits(waypoint: &WaypointView) -> bool {
    waypoint.needs_people() || waypoint.actions.contains(&holdpoint_protocol::artifact::Verb::Answer)
}

fn tabs(frame: &Frame, view: &FlightView, show: &Show) -> Markup {
    let list = Show::List(0, None);
    let mut tabs = vec![(Show::Board, "Board"), (Show::Timeline, "Timeline"), (list, "List"), (Show::Landed, "Landed")];
    if view.waypoints.len() <= NODES_MAX {
        tabs.insert(0, (Show::Graph, "Graph"));
    }
    html! {
        nav.tabs aria-label="Views of the flight" {
            @for (tab, name) in tabs {
                @let here = std::mem::discriminant(&tab) == std::mem::discriminant(show);
                a href=(frame.href(&View::Flight(view.flight.clone(), tab))) aria-current=[here.then_some("page")] { (name) }
            }
        }
    }
}

/// What each waypoint waits for: what it depends on, and its children.
fn dependencies(view: &FlightView, account: &FlightAccount) -> BTreeMap<WaypointId, Vec<WaypointId>> {
    let planned = account.flight.iter().flat_map(FlightState::all_planned);
    let mut all: BTreeMap<WaypointId, Vec<WaypointId>> =
        planned.map(|waypoint| (waypoint.id.clone(), waypoint.depends_on.clone())).collect();
    for waypoint in &view.waypoints {
        if let Some(parent) = &waypoint.parent {
            all.entry(parent.clone()).or_default().push(waypoint.id.clone());
        }
    }
    all
}

/// All waypoints, page by page.
fn list(frame: &Frame, view: &FlightView, account: &FlightAccount, page: usize, only: Option<Status>) -> Markup {
    let used: BTreeMap<String, Sum> = account
        .costs(By::Waypoint)
        .into_iter()
        .map(|row| {
            let total = row.total();
            (row.name, total)
        })
        .collect();
    let fits: Vec<&WaypointView> =
        view.waypoints.iter().filter(|waypoint| only.is_none_or(|only| waypoint.status == only)).collect();
    let href = |page, only| frame.href(&View::Flight(view.flight.clone(), Show::List(page, only)));
    html! {
        nav.filters aria-label="Waypoints by state" {
            a href=(href(0, None)) aria-current=[only.is_none().then_some("true")] { "all " (view.waypoints.len()) }
            @for each in STATUSES {
                @let many = view.waypoints.iter().filter(|waypoint| waypoint.status == each).count();
                @if many > 0 { a href=(href(0, Some(each))) aria-current=[(only == Some(each)).then_some("true")] { (each) " " (many) } }
            }
        }
        div.scroll tabindex="0" role="region" aria-label="Waypoints" {
            table.cards {
                thead { tr {
                    th scope="col" { "Waypoint" } th scope="col" { "State" } th scope="col" { "Gate" } th scope="col" { "Attempts" }
                    th scope="col" { "Criteria" } th scope="col" { "Used" } th scope="col" { "Last moved" } th scope="col" { "Commit" }
                } }
                tbody {
                    @for waypoint in fits.iter().skip(page.saturating_mul(PER_PAGE)).take(PER_PAGE) {
                        (row(frame, view, waypoint, used.get(waypoint.id.as_str())))
                    }
                }
            }
        }
        (pager(page, fits.len().div_ceil(PER_PAGE), |page| href(page, only)))
    }
}

fn row(frame: &Frame, view: &FlightView, waypoint: &WaypointView, used: Option<&Sum>) -> Markup {
    let passed = waypoint.criteria.iter().filter(|one| one.verdict == holdpoint_protocol::facts::Verdict::Pass).count();
    html! {
        tr {
            th scope="row" {
                a href=(frame.href(&View::Waypoint(view.flight.clone(), waypoint.id.clone()))) { (waypoint.id) }
                div.sub { (beginning(&waypoint.title, 120)) }
            }
            td data-label="State" { (status(waypoint.status)) @if let (Some(reason), true) = (waypoint.reason_code, waits(waypoint)) { " " (reason) } }
            td data-label="Gate" {
                @match &waypoint.gate { Some(gate) => { (gate) } None => { span.dim { "–" } } }
                @if let Some(turn) = &waypoint.turn {
                    div.sub { (turn.role) @if let Some(agent) = &turn.agent { ": " (agent) } " since " (time(turn.opened_at)) }
                }
            }
            td data-label="Attempts" { (waypoint.attempts) @if waypoint.sent_back > 0 { ", sent back " (waypoint.sent_back) "×" } }
            td data-label="Criteria" { @if waypoint.criteria.is_empty() { span.dim { "–" } } @else { (passed) " of " (waypoint.criteria.len()) " pass" } }
            td data-label="Used" { @match used { Some(used) => { (cost(used)) } None => { span.dim { "–" } } } }
            td data-label="Last moved" { @match waypoint.changed_at { Some(at) => (time(at)), None => span.dim { "–" } } }
            td data-label="Commit" { @match &waypoint.commit { Some(oid) => (commit(oid)), None => span.dim { "–" } } }
        }
    }
}

fn landed(frame: &Frame, view: &FlightView, account: &FlightAccount) -> Markup {
    html! {
        @let landed = account.flight.iter().flat_map(|flight| flight.landed.iter()).rev().take(LANDINGS_MAX);
        @if landed.clone().next().is_none() {
            p.empty { "Nothing has landed yet." }
        } @else {
            p.hint { "On " code { (word(&view.branch)) } ", newest first. " code { "holdpoint fetch " (view.flight) } " writes the branch into your repository." }
            ol.landed reversed {
                @for landing in landed {
                    li { (commit(&landing.commit)) " " a href=(frame.href(&View::Waypoint(view.flight.clone(), landing.waypoint.clone()))) { (landing.waypoint) } " " (time(landing.record.at)) }
                }
            }
        }
    }
}
