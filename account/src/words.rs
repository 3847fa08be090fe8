//! The marks and words in which people read of a flight: on a terminal, on a page, in a notice.

use std::borrow::Cow;

use holdpoint_evidence::telling;
use holdpoint_protocol::{
    facts::{CriterionResult, Verdict},
    state::Status,
};
use holdpoint_text::shown;

/// A verdict in one character.
#[must_use]
pub fn verdict_mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Fail => "✗",
        Verdict::Inconclusive => "?",
    }
}

/// A waypoint's status in one character; the word stands next to it.
#[must_use]
pub fn status_mark(status: Status) -> &'static str {
    match status {
        Status::Complete => "✓",
        Status::Blocked | Status::Failed => "✗",
        // A person wanted it so.
        Status::Cancelled => "–",
        Status::Waiting => "?",
        Status::Running => "…",
        Status::Pending => "·",
    }
}

/// Why a result is not a plain pass: its verifier's note, or else its reason in words.
#[must_use]
pub fn why<'a>(result: &CriterionResult, note: Option<&'a str>) -> Option<Cow<'a, str>> {
    note.map(shown::line).or_else(|| result.reason.map(telling::in_words).map(Cow::Borrowed))
}

/// Text of others as one line of Markdown: no markup, no end of a cell.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in shown::line(text).chars() {
        match c {
            // A forge would notify the person of that name.
            '@' => out.push_str("@&#8203;"),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
