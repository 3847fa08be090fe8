//! Turns by agent, over time.

use std::collections::BTreeMap;

use holdpoint_protocol::{Timestamp, ids::FlightId, state::Outcome};
use holdpoint_text::units::{counted, span};
use maud::{Markup, html};

use super::{
    frame::Frame,
    parts::{outcome, time},
};
use crate::{account::TurnLine, view::View};

/// Turns that are drawn: the newest.
const TURNS_MAX: usize = 400;
const WIDTH: u64 = 880;
const LABEL: u64 = 170;
const LANE: u64 = 26;

/// The picture, and the same as a table.
pub(crate) fn timeline(frame: &Frame, flight: &FlightId, turns: &[TurnLine]) -> Markup {
    let shown = turns.get(turns.len().saturating_sub(TURNS_MAX)..).unwrap_or_default();
    let (Some(from), now) = (shown.iter().map(|turn| turn.opened).min(), frame.now) else {
        return html! { p.empty { "No turn was opened yet." } };
    };
    let until = shown.iter().map(|turn| turn.over.unwrap_or(now)).max().unwrap_or(now);
    let mut lanes: BTreeMap<String, Vec<&TurnLine>> = BTreeMap::new();
    for turn in shown {
        let lane = match &turn.agent {
            Some(agent) => agent.to_string(),
            None => format!("{} (nobody yet)", turn.role),
        };
        lanes.entry(lane).or_default().push(turn);
    }
    let height = lanes.len() as u64 * LANE + 24;
    let all = until.since(from).as_millis().max(1);
    let x =
        |at: Timestamp| LABEL + u64::try_from(at.since(from).as_millis() * u128::from(WIDTH) / all).unwrap_or(WIDTH);
    html! {
        p.hint { (counted(turns.len(), "turn")) @if turns.len() > TURNS_MAX { ", of which the newest " (TURNS_MAX) " are drawn" } ". A bar is a turn from when it was opened until it was over; its agent may take it later." }
        div.scroll tabindex="0" role="region" aria-label="Timeline of turns" {
            svg.timeline width=(LABEL + WIDTH + 16) height=(height) viewBox={ "0 0 " (LABEL + WIDTH + 16) " " (height) } role="group" aria-label="Turns by agent" {
                @for (lane, (name, turns)) in lanes.iter().enumerate() {
                    @let y = lane as u64 * LANE + 4;
                    text.small x="4" y=(y + 14) { (name.chars().take(24).collect::<String>()) }
                    @for turn in turns {
                        @let begin = x(turn.opened);
                        @let end = x(turn.over.unwrap_or(now)).max(begin + 3);
                        a href=(frame.href(&View::Waypoint(flight.clone(), turn.waypoint.clone()))) class={ "bar " (class(turn)) } {
                            title { (says(turn, now)) }
                            rect x=(begin) y=(y) width=(end - begin) height=(LANE - 8) rx="3" {}
                        }
                    }
                }
                text.small x=(LABEL) y=(height - 6) { (short(from)) }
                text.small x=(LABEL + WIDTH) y=(height - 6) text-anchor="end" { (short(until)) }
            }
        }
        details {
            summary { "As a table" }
            div.scroll tabindex="0" role="region" aria-label="Turns" {
                table {
                    thead { tr { th { "Opened" } th { "Waypoint" } th { "Gate" } th { "Who" } th { "Took" } th { "Came to" } } }
                    tbody {
                        @for turn in shown.iter().rev() {
                            tr {
                                td { (time(turn.opened)) }
                                td { a href=(frame.href(&View::Waypoint(flight.clone(), turn.waypoint.clone()))) { (turn.waypoint) } }
                                td { (turn.gate) }
                                td { @match &turn.agent { Some(agent) => { (agent) } None => { (turn.role) } } }
                                td { (span(turn.over.unwrap_or(now).since(turn.opened))) }
                                td { (came_to(turn)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn short(at: Timestamp) -> String {
    at.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

fn came_to(turn: &TurnLine) -> &'static str {
    match (turn.over, turn.outcome) {
        (None, _) => "open",
        (Some(_), Some(with)) => outcome(with),
        (Some(_), None) => "over",
    }
}

fn class(turn: &TurnLine) -> &'static str {
    match (turn.over, turn.outcome) {
        (None, _) => "s-running",
        (Some(_), Some(Outcome::Complete)) => "s-complete",
        (Some(_), Some(Outcome::NeedsReview | Outcome::Blocked)) => "s-failed",
        (Some(_), Some(Outcome::Skip) | None) => "s-pending",
    }
}

fn says(turn: &TurnLine, now: Timestamp) -> String {
    let took = span(turn.over.unwrap_or(now).since(turn.opened));
    format!("{} at {}: {}, {took}", turn.waypoint, turn.gate, came_to(turn))
}
