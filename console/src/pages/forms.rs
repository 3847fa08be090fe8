//! Buttons that act. A browser sends them with the page's own script, so that the request names its origin.

use holdpoint_protocol::{
    artifact::Verb,
    ids::{FlightId, WaypointId},
};
use maud::{Markup, html};

use super::{frame::Frame, parts::word};

/// What an act is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct On<'a> {
    /// The flight.
    pub(crate) flight: &'a FlightId,
    /// The waypoint; `None`: the whole flight.
    pub(crate) waypoint: Option<&'a WaypointId>,
    /// What is looked at.
    pub(crate) seen: Option<&'a str>,
}

/// A form of one act, with these fields.
pub(crate) fn form(frame: &Frame, on: On<'_>, verb: Verb, label: &str, fields: &Markup) -> Markup {
    let refused = frame.refuses(verb);
    let confirm = match (verb, on.waypoint) {
        (Verb::Cancel, Some(waypoint)) => Some(format!("End {waypoint}? It cannot be undone.")),
        (Verb::Cancel, None) => {
            Some(format!("End everything of {} that has not landed? It cannot be undone.", on.flight))
        }
        _ => None,
    };
    html! {
        form method="post" action=(frame.act()) class={ "act v-" (verb.as_str()) } data-confirm=[confirm] {
            input type="hidden" name="verb" value=(verb.as_str());
            input type="hidden" name="flight" value=(on.flight);
            @if let Some(waypoint) = on.waypoint { input type="hidden" name="waypoint" value=(waypoint); }
            @if let Some(seen) = on.seen { input type="hidden" name="seen" value=(word(seen)); }
            fieldset disabled[refused.is_some()] {
                (fields)
                button type="submit" { (label) }
            }
            @if let Some(why) = refused { p.off { (label) " is off: " (why) "." } }
        }
    }
}

/// A text field.
pub(crate) fn text(name: &str, label: &str, required: bool) -> Markup {
    html! { label { span { (label) } textarea name=(name) rows="2" maxlength="8000" required[required] {} } }
}

/// The acts on a whole flight.
pub(crate) fn of_flight(frame: &Frame, flight: &FlightId, paused: bool) -> Markup {
    let on = On { flight, waypoint: None, seen: None };
    html! {
        @if paused { (form(frame, on, Verb::Resume, "Resume", &html! {})) } @else { (form(frame, on, Verb::Pause, "Pause", &html! {})) }
        (form(frame, on, Verb::Cancel, "Cancel the flight", &html! {}))
    }
}

/// The acts on a waypoint that this console has buttons for, of those that are open.
pub(crate) fn of_waypoint(frame: &Frame, on: On<'_>, actions: &[Verb], options: &[String]) -> Markup {
    html! {
        @for verb in actions {
            @match verb {
                Verb::Answer => (form(frame, on, Verb::Answer, "Answer", &answer(options))),
                Verb::Approve => (form(frame, on, Verb::Approve, "Approve", &text("note", "What you looked at", false))),
                Verb::Reject => (form(frame, on, Verb::Reject, "Send back", &text("note", "What has to change", true))),
                Verb::Retry => (form(frame, on, Verb::Retry, "Try again", &html! {
                    label { span { "More reworks" } input type="number" name="reworks" min="0" max="99" value="0"; }
                    (text("note", "Words for the next turn", false))
                })),
                Verb::Cancel => (form(frame, on, Verb::Cancel, "Cancel this waypoint", &html! {})),
                _ => {}
            }
        }
        @let others: Vec<&str> = actions.iter().filter(|verb| is_by_command(**verb)).map(|verb| verb.as_str()).collect();
        @if !others.is_empty() {
            p.hint { "From a terminal also: " @for (at, verb) in others.iter().enumerate() {
                @let waypoint = on.waypoint.map(|waypoint| format!(" {waypoint}")).unwrap_or_default();
                @if at > 0 { ", " } code { ((frame.typed)(&format!("holdpoint {verb}{waypoint} --flight {}", on.flight))) }
            } }
        }
    }
}

fn is_by_command(verb: Verb) -> bool {
    matches!(verb, Verb::Take | Verb::Release | Verb::HandIn | Verb::Budget)
}

fn answer(options: &[String]) -> Markup {
    html! {
        @if !options.is_empty() {
            div.options role="radiogroup" aria-label="Options" {
                @for (at, option) in options.iter().enumerate() {
                    label.option { input type="radio" name="option" value=(at); span { (word(option)) } }
                }
            }
        }
        (text("text", if options.is_empty() { "Your answer" } else { "Or in your own words" }, false))
    }
}
