//! Handing a plan to the fleet: it is pasted or picked, looked at, and submitted.

use holdpoint_protocol::{ids::FlightId, plan::Plan};
use holdpoint_text::units::counted;
use maud::{Markup, html};

use super::{
    frame::Frame,
    graph,
    parts::{beginning, lines, word},
};
use crate::{
    fleet::{Condition, Mistake, PlanInspection},
    view::{Show, View},
};

/// Waypoints of a plan that are listed.
const WAYPOINTS_MAX: usize = 500;
/// Mistakes that are listed: the first.
const MISTAKES_MAX: usize = 100;

/// The page: a field, and two buttons.
pub(crate) fn submit(frame: &Frame, bytes_max: usize) -> Markup {
    let refused = frame.submits();
    html! {
        h1 { "Submit a plan" }
        p.lead { "Paste a plan or pick its file. Looking at it starts nothing." }
        form #plan method="post" action={ (frame.base) "/plan" } data-into="looked" data-keeps {
            fieldset {
                label { span { "Plan file" } input type="file" accept=".yaml,.yml" data-fills="text"; }
                label { span { "Plan" } textarea #text.code name="plan" rows="16" spellcheck="false" autocomplete="off" required maxlength=(bytes_max) {} }
            }
            div.acts {
                button type="submit" name="go" value="look" { "Look at it" }
                span.v-approve { button type="submit" name="go" value="submit" disabled[refused.is_some()] { "Submit" } }
            }
            @if let Some(why) = refused { p.off { "Submit is off: " (why) "." } }
        }
        div #looked role="region" aria-label="What was found" {}
    }
}

/// What a look at a plan found. `text` is the plan.
pub(crate) fn looked(looked: &PlanInspection, text: &str) -> Markup {
    html! {
        @if looked.mistakes.is_empty() {
            @if let Some(base) = &looked.base { p.good { "It can be flown from " code { (word(base)) } "." } }
        } @else {
            h2 { (counted(looked.mistakes.len(), "mistake")) }
            ol.mistakes { @for mistake in looked.mistakes.iter().take(MISTAKES_MAX) { li { (one(mistake, text)) } } }
            @if looked.mistakes.len() > MISTAKES_MAX { p.hint { "The first " (MISTAKES_MAX) "." } }
        }
        @for note in &looked.notes { p.warn { (word(note)) } }
        @if let Some(plan) = &looked.plan { (of_plan(plan)) }
        @if !looked.machine.is_empty() {
            h2 { "This machine" }
            ul.criteria { @for condition in &looked.machine { (of_machine(condition)) } }
            p.hint { "As " code { "holdpoint doctor" } " says it." }
        }
    }
}

fn one(mistake: &Mistake, text: &str) -> Markup {
    let source = mistake.line.and_then(|line| text.lines().nth(line.checked_sub(1)?));
    html! {
        @if let Some(line) = mistake.line { strong { "Line " (line) } ": " }
        (word(&mistake.message))
        @if let Some(source) = source { pre.output { (beginning(source, 200)) } }
        @if !mistake.hint.is_empty() { p.hint { (lines(&mistake.hint)) } }
    }
}

fn of_machine(condition: &Condition) -> Markup {
    let (class, mark, word_of) = if condition.ok { ("complete", "✓", "ok") } else { ("failed", "✗", "not ok") };
    html! {
        li { span class={ "state s-" (class) } { span aria-hidden="true" { (mark) } " " (word_of) } " " (word(&condition.name)) ": " (word(&condition.says)) }
    }
}

fn of_plan(plan: &Plan) -> Markup {
    html! {
        h2 { (word(&plan.plan)) ": " (counted(plan.waypoints.len(), "waypoint")) ", " (counted(plan.guards.len(), "guard")) }
        (graph::of_plan(plan))
        ul { @for waypoint in plan.waypoints.iter().take(WAYPOINTS_MAX) {
            li { strong { (waypoint.id) } " " (beginning(&waypoint.title, 120)) span.sub { " " (counted(waypoint.criteria.len(), "criterion").replace("criterions", "criteria")) } }
        } }
        @if plan.waypoints.len() > WAYPOINTS_MAX { p.hint { "The first " (WAYPOINTS_MAX) "." } }
    }
}

/// What is shown once it was submitted.
pub(crate) fn submitted(frame: &Frame, flight: &FlightId) -> Markup {
    html! { p.good { "Submitted: " a href=(frame.href(&View::Flight(flight.clone(), Show::Best))) { (flight) } } }
}
