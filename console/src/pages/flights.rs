//! The list of flights.

use holdpoint_account::cost::Sum;
use holdpoint_protocol::api::FlightLine;
use holdpoint_text::units::counted;
use maud::{Markup, html};

use super::{
    frame::Frame,
    parts::{cost, flight_status, pager, time, word},
};
use crate::view::{Show, View};

/// Flights of a page.
pub(crate) const PER_PAGE: usize = 50;

/// What is known of a flight beyond its line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Waypoints that are complete.
    pub(crate) complete: usize,
    /// All of them.
    pub(crate) all: usize,
    /// What it used up.
    pub(crate) used: Sum,
    /// Whether a person paused it.
    pub(crate) paused: bool,
}

/// All flights, newest first. Of one, `about` gives what is known, `waits` how much waits for whom the page is made, and `rests` whether
/// nobody flies it at the moment.
pub(crate) fn flights(
    frame: &Frame,
    all: &[FlightLine],
    page: usize,
    (about, waits, rests): (
        impl Fn(&FlightLine) -> Option<Summary>,
        impl Fn(&FlightLine) -> usize,
        impl Fn(&FlightLine) -> bool,
    ),
) -> Markup {
    let shown = all.iter().skip(page.saturating_mul(PER_PAGE)).take(PER_PAGE);
    let open = all.iter().filter(|line| !line.status.is_over()).count();
    html! {
        h1 { "Flights" }
        p.lead { (counted(all.len(), "flight")) ", " (open) " open" }
        @if all.is_empty() {
            p.empty { "No flights yet. Hand a plan to the fleet with " code { "holdpoint submit PLAN" } " or fly one with " code { "holdpoint run PLAN" } "." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Flights" {
                table.cards {
                    thead { tr {
                        th scope="col" { "Flight" } th scope="col" { "State" } th scope="col" { "Progress" }
                        th scope="col" { "Waits for you" } th scope="col" { "Used" } th scope="col" { "Submitted" }
                    } }
                    tbody {
                        @for line in shown {
                            @let summary = about(line);
                            @let waiting = waits(line);
                            tr {
                                th scope="row" {
                                    a href=(frame.href(&View::Flight(line.flight.clone(), Show::Best))) { (line.flight) }
                                    div.sub { (word(&line.plan)) }
                                }
                                td data-label="State" {
                                    (flight_status(line.status, rests(line)))
                                    @if summary.is_some_and(|summary| summary.paused) { " " span.tag { "paused" } }
                                }
                                td data-label="Progress" { @match summary {
                                    Some(summary) => (progress(summary.complete, summary.all)),
                                    None => span.dim { "…" },
                                } }
                                td data-label="Waits for you" {
                                    @if waiting > 0 { a href=(frame.href(&View::Inbox)) { span.badge { (waiting) } " waiting" } } @else { span.dim { "nothing" } }
                                }
                                td data-label="Used" { @match summary {
                                    Some(summary) => (cost(&summary.used)),
                                    None => span.dim { "…" },
                                } }
                                td data-label="Submitted" { (time(line.submitted_at)) }
                            }
                        }
                    }
                }
            }
            (pager(page, all.len().div_ceil(PER_PAGE), |page| frame.href(&View::Flights(page))))
        }
    }
}

/// A bar and the figures that it stands for.
pub(crate) fn progress(done: usize, all: usize) -> Markup {
    html! { progress max=(all.max(1)) value=(done) aria-label="complete waypoints" {} " " (done) " of " (all) }
}
