//! Long texts of others: captured output, and diffs.

use holdpoint_protocol::{
    Digest,
    ids::{FlightId, WaypointId},
};
use maud::{Markup, html};

use super::{frame::Frame, parts::lines, side::side_by_side};
use crate::{fleet::Patch, view::View};

/// Bytes of a text that are shown.
const SHOWN_MAX: usize = 1 << 20;

/// The bytes behind a digest.
pub(crate) fn evidence(digest: Digest, bytes: &[u8]) -> Markup {
    let shown = bytes.get(..bytes.len().min(SHOWN_MAX)).unwrap_or_default();
    html! {
        h1 { "Evidence" }
        p.sub { code.long { (digest) } ", " (bytes.len()) " bytes" }
        pre.output tabindex="0" { (lines(&String::from_utf8_lossy(shown))) }
        @if bytes.len() > SHOWN_MAX { p.hint { "The first MiB. " code { "holdpoint artifact " (digest) } " has all of it." } }
    }
}

/// What of a text is shown, and whether that is less than all of it.
pub(crate) fn beginning_of(text: &str) -> (&str, bool) {
    let beginning = text.get(..text.floor_char_boundary(SHOWN_MAX)).unwrap_or_default();
    (beginning, beginning.len() < text.len())
}

/// What an attempt changed.
pub(crate) fn patch(frame: &Frame, flight: &FlightId, waypoint: &WaypointId, patch: &Patch) -> Markup {
    html! {
        h1 { "What was changed" }
        p.sub { a href=(frame.href(&View::Waypoint(flight.clone(), waypoint.clone()))) { (waypoint) } " of " (flight) }
        @match patch {
            Patch::Nothing => p.empty { "Nothing was changed." },
            Patch::TooLong(cap) => p.hint { "The difference has more than " (cap) " bytes. " code { "holdpoint fetch " (flight) } " writes what landed into your repository." },
            Patch::Text(text) => { @match side_by_side(text) { Some(sides) => (sides), None => (unified(text)) } }
        }
    }
}

/// A unified diff, a line an element, by what it is.
pub(crate) fn unified(text: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for line in text.split_inclusive('\n') {
                span class=[class(line)] { (lines(line)) }
            }
        }
    }
}

fn class(line: &str) -> Option<&'static str> {
    if line.starts_with("diff --git ") {
        return Some("file");
    }
    match line.as_bytes().first() {
        Some(b'+') => Some("added"),
        Some(b'-') => Some("removed"),
        Some(b'@') => Some("hunk"),
        _ => None,
    }
}
