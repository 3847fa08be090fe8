//! An artifact as a document, and what differs from another one of its waypoint.

use holdpoint_planfile::document::{ArtifactDocument, file_name, pasts, unified_diff};
use holdpoint_protocol::{
    api::HistoryLine,
    artifact::{Artifact as _, Completion, Revise},
};
use maud::{Markup, html};

use super::{
    editor::{self, Asked},
    frame::Frame,
    parts::{lines, word},
    side::side_by_side,
    text::{beginning_of, unified},
};
use crate::view::View;

/// The largest documents that are compared, in bytes together.
const COMPARED_MAX: usize = 2 << 20;
/// Other documents that are listed: the nearest.
const OTHERS_MAX: usize = 40;

/// The kind of what a document is one of many of: an edited one follows on what an agent handed over.
fn series(kind: &str) -> &str {
    if kind == Revise::KIND { Completion::KIND } else { kind }
}

/// A document and its place in the history.
struct Placed {
    at: usize,
    name: String,
    document: ArtifactDocument,
}

/// The page; `None`: the waypoint has no such artifact.
pub(crate) fn document(frame: &Frame, asked: Asked<'_>, history: &[HistoryLine]) -> Option<Markup> {
    let Asked { flight, waypoint, of, with } = asked;
    let all: Vec<Placed> = history
        .iter()
        .zip(pasts(history))
        .enumerate()
        .map(|(at, (line, past))| {
            let document = ArtifactDocument::of(line, past);
            Placed { at, name: file_name(at + 1, &document), document }
        })
        .collect();
    let shown = all.iter().find(|one| one.document.reference == of)?;
    let alike = |one: &&Placed| {
        let (one_of, of) = (&one.document, &shown.document);
        one.at != shown.at && series(&one_of.kind) == series(&of.kind) && one_of.gate() == of.gate()
    };
    let other = match with {
        Some(with) => Some(all.iter().find(|one| one.document.reference == with)?),
        None => all.iter().rev().filter(|one| one.at < shown.at).find(alike),
    };
    let mut others: Vec<&Placed> = all.iter().filter(alike).collect();
    others.sort_by_key(|one| one.at.abs_diff(shown.at));
    others.truncate(OTHERS_MAX);
    others.sort_by_key(|one| one.at);
    let address = |with: &Placed| {
        let with = Some(with.document.reference.clone());
        View::Document(flight.clone(), waypoint.clone(), of.to_owned(), with)
    };
    Some(html! {
        p.crumb { a href=(frame.href(&View::Waypoint(flight.clone(), waypoint.clone()))) { (waypoint) } " of " (flight) }
        h1 { (word(&shown.name)) }
        p.sub { (word(of)) " · " (shown.document.status()) @if shown.document.is_ready() { " · ready to hand on" } }
        (text_of(shown))
        (editor::editor(frame, asked, &shown.document, history))
        @if !others.is_empty() {
            p { "Compare with: " @for (at, one) in others.iter().enumerate() {
                @if at > 0 { ", " } a href=(frame.href(&address(one))) { (word(&one.name)) }
            } }
        }
        @if let Some(other) = other { (compared(shown, other)) }
        p.hint { code { (word(&(frame.typed)(&format!("holdpoint artifact {of} --markdown")))) } " prints it." }
    })
}

fn text_of(shown: &Placed) -> Markup {
    match shown.document.render() {
        Ok(text) => {
            let (beginning, is_cut) = beginning_of(&text);
            html! {
                pre.output tabindex="0" { (lines(beginning)) }
                @if is_cut { p.hint { "The first MiB." } }
            }
        }
        Err(why) => html! { p.warn { "It has no document: " (why) "." } },
    }
}

/// What differs, from the older one to the newer one.
fn compared(one: &Placed, other: &Placed) -> Markup {
    let (old, new) = if one.at < other.at { (one, other) } else { (other, one) };
    let heading = html! { h2 { "What differs" } p.sub { (word(&old.name)) " → " (word(&new.name)) } };
    let texts = old.document.render().ok().zip(new.document.render().ok());
    let Some((before, after)) = texts.filter(|(before, after)| before.len() + after.len() <= COMPARED_MAX) else {
        return html! { (heading) p.hint { "They are too large to be compared here; " code { "holdpoint export FLIGHT --folder DIR" } " writes both as files." } };
    };
    let diff = unified_diff(&new.name, &before, &after);
    html! {
        (heading)
        @if diff.is_empty() { p.empty { "Nothing." } }
        @else { @match side_by_side(&diff) { Some(sides) => (sides), None => (unified(&diff)) } }
    }
}
