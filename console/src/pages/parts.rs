//! Small parts of pages.

use std::{borrow::Cow, time::Duration};

use holdpoint_account::cost::Sum;
use holdpoint_protocol::{
    Timestamp,
    facts::{Oid, Verdict},
    state::{Outcome, Status},
    view::FlightStatus,
};
use holdpoint_text::shown;
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
    let full = at.to_string();
    let short = match full.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => full.clone(),
    };
    html! { time datetime=(full) { (short.replace('T', " ")) } }
}

/// A span in two units at most.
pub(crate) fn span(span: Duration) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    if span < Duration::from_secs(10) {
        return format!("{:.1}s", span.as_secs_f64());
    }
    let mut rest = span.as_secs();
    let mut parts = Vec::new();
    for (unit, length) in UNITS {
        let many = rest / length;
        rest %= length;
        if many > 0 {
            parts.push(format!("{many}{unit}"));
        }
    }
    parts.truncate(2);
    parts.join(" ")
}

/// How a waypoint stands: a mark and a word, so that colour is not all there is.
pub(crate) fn status(status: Status) -> Markup {
    let word = status.as_str();
    html! { span class={ "state s-" (word) } { span aria-hidden="true" { (mark(status)) } " " (word) } }
}

/// The mark of a status.
pub(crate) fn mark(status: Status) -> &'static str {
    match status {
        Status::Complete => "✓",
        Status::Blocked => "■",
        Status::Failed => "✗",
        Status::Cancelled => "–",
        Status::Waiting => "?",
        Status::Running => "▶",
        Status::Pending => "·",
    }
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
    let (mark, class) = match verdict {
        Verdict::Pass => ("✓", "complete"),
        Verdict::Fail => ("✗", "failed"),
        Verdict::Inconclusive => ("?", "waiting"),
    };
    html! { span class={ "state s-" (class) } { span aria-hidden="true" { (mark) } " " (verdict.as_str()) } }
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
    html! { code title=(oid) { (oid.as_str().get(..10).unwrap_or(oid.as_str())) } }
}

/// What was used up, in words.
pub(crate) fn cost(sum: &Sum) -> String {
    let Sum { turns, used, unmetered, estimated, claimed } = sum;
    if *turns == 0 {
        return "–".to_owned();
    }
    let about = if *estimated > 0 { "≈ " } else { "" };
    let mut text = format!("{about}${:.2}, {} tokens", used.cost_micro_usd as f64 / 1e6, used.tokens);
    if unmetered == turns && used.cost_micro_usd == 0 && used.tokens == 0 {
        text = format!("not metered, {}", span(Duration::from_millis(used.wall_ms)));
    } else if *unmetered > 0 {
        text.push_str(&format!(", {unmetered} of {turns} turns not metered"));
    }
    if *claimed > 0 {
        text.push_str(&format!(", {claimed} claimed"));
    }
    text
}

/// `1 attempt`, `2 attempts`.
pub(crate) fn count(count: impl Into<u64>, one: &str) -> String {
    let count = count.into();
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
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
