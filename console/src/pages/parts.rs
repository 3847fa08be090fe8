//! Small parts of pages.

use std::{borrow::Cow, time::Duration};

use holdpoint_account::{
    cost::Sum,
    words::{status_mark, verdict_mark},
};
use holdpoint_protocol::{
    Timestamp,
    facts::{Oid, Verdict},
    state::{Outcome, Status},
    view::FlightStatus,
};
use holdpoint_text::{
    shown,
    units::{seconds, span},
};
use maud::{Markup, html};

/// Text of others as a part of a line: what a reader could not see is written out. Maud escapes it.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    shown::line(text)
}

/// Text of others over several lines.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    shown::lines(text)
}

/// The beginning of a text of others, as a part of a line.
pub(crate) fn beginning(text: &str, characters: usize) -> String {
    let text = shown::line(text);
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.into_owned(),
    }
}

/// A point in time; the page adds how long ago it was.
pub(crate) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (seconds(at).replace('T', " ")) } }
}

/// How a waypoint stands: a mark and a word, so that colour is not all there is.
pub(crate) fn status(status: Status) -> Markup {
    let word = status.as_str();
    html! { span class={ "state s-" (word) } { span aria-hidden="true" { (status_mark(status)) } " " (word) } }
}

/// How a flight stands.
pub(crate) fn flight_status(status: FlightStatus, rests: bool) -> Markup {
    let (word, mark, class) = match status {
        FlightStatus::Running if rests => ("interrupted", "–", "waiting"),
        FlightStatus::Running => ("running", "▶", "running"),
        FlightStatus::Waiting => ("waiting", "?", "waiting"),
        FlightStatus::Accepted => ("accepted", "✓", "complete"),
        FlightStatus::Incomplete => ("incomplete", "✗", "failed"),
    };
    html! { span class={ "state s-" (class) } { span aria-hidden="true" { (mark) } " " (word) } }
}

/// A verdict.
pub(crate) fn verdict(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Pass => "complete",
        Verdict::Fail => "failed",
        Verdict::Inconclusive => "waiting",
    };
    html! { span class={ "state s-" (class) } { span aria-hidden="true" { (verdict_mark(verdict)) } " " (verdict.as_str()) } }
}

/// What a gate's turn came to.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::NeedsReview => "needs review",
        Outcome::Blocked => "blocked",
        Outcome::Skip => "skipped",
    }
}

/// The beginning of a commit's name.
pub(crate) fn commit(oid: &Oid) -> Markup {
    html! { code title=(oid) { (oid.short()) } }
}

/// What was used up, in words.
pub(crate) fn cost(sum: &Sum) -> String {
    let Sum { turns, used, unmetered, estimated, claimed } = sum;
    if *turns == 0 {
        return "–".to_owned();
    }
    let about = if *estimated > 0 { "≈ " } else { "" };
    let mut text = format!("{about}{}, {} tokens", sum.price(), used.tokens);
    if !sum.is_metered() && used.tokens == 0 {
        text = format!("not metered, {}", span(Duration::from_millis(used.wall_ms)));
    } else if *unmetered > 0 {
        text.push_str(&format!(", {unmetered} of {turns} turns not metered"));
    }
    if *claimed > 0 {
        text.push_str(&format!(", {claimed} claimed"));
    }
    text
}

/// Links to the pages of a list; nothing where there is one.
pub(crate) fn pager(page: usize, pages: usize, href: impl Fn(usize) -> String) -> Markup {
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages of this list" {
                @if page > 0 { a rel="prev" href=(href(page - 1)) { "← Previous" } }
                span { "Page " (page.saturating_add(1)) " of " (pages) }
                @if page.saturating_add(1) < pages { a rel="next" href=(href(page + 1)) { "Next →" } }
            }
        }
    }
}
