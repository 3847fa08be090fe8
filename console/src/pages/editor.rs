//! Editing the text of a gate's document: the field, what an edit changes, and what became of it.

use holdpoint_planfile::document::{ArtifactDocument, newest, pasts, unified_diff};
use holdpoint_protocol::{
    api::HistoryLine,
    artifact::Verb,
    checkpoint::DOCUMENT_BYTES_MAX,
    ids::{FlightId, WaypointId},
};
use maud::{Markup, html};

use super::{frame::Frame, parts::word, side::side_by_side, text::unified};
use crate::view::View;

/// Which documents of a waypoint are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The flight.
    pub(crate) flight: &'a FlightId,
    /// The waypoint.
    pub(crate) waypoint: &'a WaypointId,
    /// The reference of the one that is shown.
    pub(crate) of: &'a str,
    /// The reference of the one that it is compared with; `None`: the one before it, of the same gate and kind.
    pub(crate) with: Option<&'a str>,
}

/// The field for the text of the newest document of a gate; of an older one where the newest is; of others nothing.
pub(crate) fn editor(frame: &Frame, asked: Asked<'_>, shown: &ArtifactDocument, history: &[HistoryLine]) -> Markup {
    let Some((newest, text)) = newest_of(shown, history).zip(text_of(shown)) else { return html! {} };
    if newest != asked.of {
        return html! { p { "The newest document of its gate is " (link(frame, asked, newest)) "." } };
    }
    let refused = frame.refuses(Verb::Revise);
    html! {
        h2 { "Edit" }
        p.hint { "Turns that open later get the edited text, signed by " (frame.rights.me) "; one that is open keeps what it began with." }
        form #edit method="post" action={ (frame.base) "/document" } data-into="revised" data-keeps {
            input type="hidden" name="flight" value=(asked.flight);
            input type="hidden" name="waypoint" value=(asked.waypoint);
            input type="hidden" name="of" value=(word(asked.of));
            fieldset disabled[refused.is_some()] {
                // A browser takes the first line feed for its own.
                label { span { "Text" } textarea.code name="text" rows="24" spellcheck="true" autocomplete="off" required maxlength=(DOCUMENT_BYTES_MAX) { "\n" (text) } }
                div.acts {
                    button type="submit" name="go" value="look" { "What differs" }
                    span.v-approve { button type="submit" name="go" value="revise" { "Revise" } }
                }
            }
            @if let Some(why) = refused { p.off { "Revise is off: " (why) "." } }
        }
        div #revised role="region" aria-label="What differs" {}
    }
}

/// What a text changes of the newest document of the gate, and whether that is another one than was edited; `None`: there is none.
pub(crate) fn edited(frame: &Frame, asked: Asked<'_>, history: &[HistoryLine], text: &str) -> Option<(Markup, bool)> {
    let of = |reference: &str| {
        let found = history.iter().zip(pasts(history)).find(|(line, _)| line.reference == reference);
        found.map(|(line, past)| ArtifactDocument::of(line, past))
    };
    let newest = newest_of(&of(asked.of)?, history)?.to_owned();
    let (before, overtaken) = (of(&newest)?, newest != asked.of);
    let diff = unified_diff(&newest, text_of(&before)?, text);
    let shown = html! {
        @if overtaken {
            p.warn { "Nothing was done: meanwhile " (link(frame, asked, &newest)) " is the newest document of its gate. Your text is still in its field." }
            h2 { "From the newest to yours" }
        } @else { h2 { "What differs" } }
        @if diff.is_empty() { p.empty { "Nothing." } }
        @else { @match side_by_side(&diff) { Some(sides) => (sides), None => (unified(&diff)) } }
        @if overtaken {
            div.acts { button type="submit" form="edit" name="onto" value=(word(&newest)) { "Put yours in the place of " (word(&newest)) } }
        }
    };
    Some((shown, overtaken))
}

/// What became of an edit.
pub(crate) fn revised(frame: &Frame, asked: Asked<'_>, history: &[HistoryLine], done: &str) -> Markup {
    let shown = history.iter().zip(pasts(history)).find(|(line, _)| line.reference == asked.of);
    let shown = shown.map(|(line, past)| ArtifactDocument::of(line, past));
    let newest = shown.as_ref().and_then(|shown| newest_of(shown, history));
    html! {
        p.good { (word(done)) }
        @if let Some(newest) = newest { p { "The newest document of its gate is " (link(frame, asked, newest)) "." } }
    }
}

fn newest_of<'h>(shown: &ArtifactDocument, history: &'h [HistoryLine]) -> Option<&'h str> {
    newest(history, shown.gate()?)
}

/// The text that a gate hands on.
fn text_of(document: &ArtifactDocument) -> Option<&str> {
    document.artifact()["document"]["text"].as_str()
}

fn link(frame: &Frame, asked: Asked<'_>, reference: &str) -> Markup {
    let to = View::Document(asked.flight.clone(), asked.waypoint.clone(), reference.to_owned(), None);
    html! { a href=(frame.href(&to)) { (word(reference)) } }
}
