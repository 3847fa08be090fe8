//! One waypoint.

use holdpoint_account::{cost::By, words::why};
use holdpoint_evidence::telling;
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    api::{HistoryLine, InboxItem},
    artifact::Verb,
    ids::WaypointId,
    plan,
    view::{FlightView, TurnView, WaypointView},
};
use holdpoint_text::units::span;
use maud::{Markup, html};

use super::{
    forms::{self, On},
    frame::Frame,
    inbox,
    parts::{commit, cost, lines, outcome, status, time, verdict, word},
    report,
    waterfall::waterfall,
};
use crate::{
    account::FlightAccount,
    view::{Show, View},
};

/// Visits of gates that are listed: the newest.
const VISITS_MAX: usize = 200;

/// What a page of a waypoint is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Its flight.
    pub(crate) view: &'a FlightView,
    /// It, as it stands.
    pub(crate) waypoint: &'a WaypointView,
    /// What the journal of its flight says.
    pub(crate) account: &'a FlightAccount,
    /// Its artifacts and decisions.
    pub(crate) history: &'a [HistoryLine],
    /// What of it waits for people.
    pub(crate) waits: &'a [InboxItem],
}

/// The page.
pub(crate) fn waypoint(frame: &Frame, parts: Parts<'_>) -> Markup {
    let Parts { view, waypoint, account, history, waits } = parts;
    let planned = account.planned(&waypoint.id);
    let turns: Vec<&TurnView> = waypoint.open_turns().collect();
    html! {
        p.crumb { a href=(frame.href(&View::Flight(view.flight.clone(), Show::Best))) { (view.flight) } }
        h1 { (waypoint.id) " " (status(waypoint.status)) }
        p.lead { (word(&waypoint.title)) }
        (facts(frame, parts))
        @for item in waits { (inbox::item(frame, item, &[], false)) }
        @if waits.is_empty() {
            @if let Some(remediation) = &waypoint.remediation { p.warn { (word(remediation)) } }
            @if !waypoint.actions.is_empty() {
                @let on = On { flight: &view.flight, waypoint: Some(&waypoint.id), seen: None };
                @let open: Vec<Verb> = waypoint.actions.iter().copied().filter(|verb| *verb == Verb::Cancel).collect();
                div.acts { (forms::of_waypoint(frame, on, &open, &[])) }
            }
        }
        @if !turns.is_empty() {
            h2 { "At work" }
            @for turn in turns {
                p { (turn.role) @if let Some(agent) = &turn.agent { ": " (agent) } @else { ", nobody yet" } ", open since " (time(turn.opened_at)) ", deadline " (time(turn.deadline)) }
            }
            pre.output.live #said data-lines="200" aria-label="What its agents say while they work" tabindex="0" {}
        }
        @if let Some(planned) = planned { (goal(planned)) }
        (criteria(frame, waypoint))
        (came_of_checkpoints(waypoint))
        (visits(frame, parts))
        @let own: Vec<_> = account.turns.iter().filter(|turn| turn.waypoint == waypoint.id).collect();
        (waterfall(frame, &own, history))
        h2 { "What happened" }
        (report::attempts(frame, view, waypoint, history))
    }
}

fn facts(frame: &Frame, parts: Parts<'_>) -> Markup {
    let Parts { view, waypoint, account, .. } = parts;
    let rows = account.costs(By::Waypoint);
    let used = rows.iter().find(|row| row.name == waypoint.id.as_str());
    let needs = account.planned(&waypoint.id).map(|planned| &planned.depends_on);
    let is_child = |one: &&WaypointView| one.parent.as_ref() == Some(&waypoint.id);
    let children: Vec<WaypointId> = view.waypoints.iter().filter(is_child).map(|one| one.id.clone()).collect();
    html! {
        dl.facts {
            @if let Some(gate) = &waypoint.gate { div { dt { "Gate" } dd { (gate) } } }
            div { dt { "Attempts" } dd { (waypoint.attempts) @if waypoint.sent_back > 0 { ", sent back " (waypoint.sent_back) "×" } } }
            @if let Some(disposition) = waypoint.disposition {
                div { dt { "Last decision" } dd { (disposition) @if let Some(reason) = waypoint.reason_code { " (" (reason) ")" } } }
            }
            @if let Some(oid) = &waypoint.commit { div { dt { "Landed" } dd { (commit(oid)) } } }
            @if let Some(row) = used {
                div { dt { "Used" } dd { (cost(&row.total())) @if row.reworks.turns > 0 { "; of it reworks " (cost(&row.reworks)) } } }
            }
            @if let Some(needs) = needs { (named(frame, view, "Needs", needs)) }
            (named(frame, view, "Part of", waypoint.parent.as_slice()))
            (named(frame, view, "Children", &children))
        }
    }
}

/// Other waypoints, where there are some.
fn named(frame: &Frame, view: &FlightView, name: &str, waypoints: &[WaypointId]) -> Markup {
    html! {
        @if !waypoints.is_empty() {
            div { dt { (name) } dd { @for (at, id) in waypoints.iter().enumerate() {
                @if at > 0 { ", " } a href=(frame.href(&View::Waypoint(view.flight.clone(), id.clone()))) { (id) }
            } } }
        }
    }
}

fn goal(planned: &plan::Waypoint) -> Markup {
    html! {
        details {
            summary { "Goal and criteria as planned" }
            pre.words { (lines(planned.goal.trim_end())) }
            ul { @for criterion in &planned.criteria {
                li { strong { (criterion.id) } ": " (word(&criterion.statement)) @if let Some(check) = &criterion.check { " " code.long { (word(&check.command)) } } @else { " (judged)" } }
            } }
            @if !planned.scope.is_empty() { p { "May touch: " @for (at, path) in planned.scope.iter().enumerate() { @if at > 0 { ", " } code { (word(path)) } } } }
        }
    }
}

/// The last verdicts.
fn criteria(frame: &Frame, waypoint: &WaypointView) -> Markup {
    let all = [("Criteria", &waypoint.criteria), ("Guards", &waypoint.guards)];
    html! {
        @for (name, results) in all {
            @if !results.is_empty() {
                h2 { (name) }
                @if waypoint.foreign_receipt == Some(true) { p.warn { "By a harness that is not Holdpoint's." } }
                @if waypoint.self_checked { p.warn { (telling::SELF_CHECKED) ": by the agent that made the work, and nobody verified it." } }
                ul.criteria { @for result in results {
                    li { (verdict(result.verdict)) " " (result.id) @if let Some(why) = why(result, None) { " · " (why) }
                        @for digest in &result.evidence { " " a href=(frame.href(&View::Evidence(*digest))) { "evidence" } } }
                } }
            }
        }
    }
}

/// What came of checkpoints with them, line by line.
fn came_of_checkpoints(waypoint: &WaypointView) -> Markup {
    html! {
        @for gate in &waypoint.checkpoints {
            @let all = checkpoints::lines(gate);
            @if let Some((head, each)) = all.split_first() {
                h2 { (head) }
                ul.criteria.checkpoints { @for line in each { li { (word(line)) } } }
            }
        }
    }
}

fn visits(frame: &Frame, parts: Parts<'_>) -> Markup {
    let visits = parts.account.visits.get(&parts.waypoint.id).map(Vec::as_slice).unwrap_or_default();
    let shown = visits.get(visits.len().saturating_sub(VISITS_MAX)..).unwrap_or_default();
    html! {
        @if !shown.is_empty() {
            h2 { "Gates visited" }
            ol.gates { @for visit in shown {
                @let until = visit.exited.unwrap_or(frame.now);
                li {
                    strong { (visit.gate) } span.sub { " " (visit.role) @if let Some(agent) = &visit.agent { " · " (agent) } }
                    span.sub { " " @match visit.exited { Some(_) => { (span(until.since(visit.entered))) } None => { "since " (time(visit.entered)) } } }
                    " " @match visit.outcome { Some(came) => { (outcome(came)) } None if visit.exited.is_none() => { "open" } None => {} }
                }
            } }
        }
    }
}
