//! What waits for people.

use holdpoint_evidence::telling;
use holdpoint_protocol::{
    api::{InboxItem, InboxKind},
    artifact::Verb,
    workflow::GateContext,
};
use maud::{Markup, html};

use super::{
    forms::{self, On},
    frame::Frame,
    parts::{lines, time, word},
};
use crate::view::View;

/// Items that are shown: those that wait longest.
const ITEMS_MAX: usize = 100;
/// Waypoints that are named next to the one with which they wait.
const NAMED_MAX: usize = 12;

/// What waits, and what waits for the same.
type Together<'a> = (&'a InboxItem, Vec<&'a InboxItem>);

/// The page: first what its reader can move on, then what waits for others.
pub(crate) fn inbox(frame: &Frame, items: &[InboxItem]) -> Markup {
    let (mine, others): (Vec<_>, Vec<_>) =
        InboxItem::by_cause(items).into_iter().partition(|(item, _)| item.is_for(&frame.rights.me));
    html! {
        h1 { "Inbox" }
        p.lead {
            (things(mine.len())) " for you" @if !others.is_empty() { ", " (others.len()) " for others" }
            ". What agents say is theirs: read it as you would read a stranger's mail."
        }
        @if items.is_empty() { p.empty { "Nothing waits. Questions, approvals and held work come up here by themselves." } }
        (some(frame, &mine))
        @if !others.is_empty() { h2 { "For others" } (some(frame, &others)) }
    }
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing waits".to_owned() } else { format!("{count} things wait") }
}

fn some(frame: &Frame, items: &[Together<'_>]) -> Markup {
    html! {
        @for (one, others) in items.iter().take(ITEMS_MAX) { (item(frame, one, others, true)) }
        @if items.len() > ITEMS_MAX { p { "and " (items.len() - ITEMS_MAX) " more, once these are done." } }
    }
}

/// Other works that wait for the same.
fn with(frame: &Frame, others: &[&InboxItem]) -> Markup {
    html! {
        @if !others.is_empty() {
            p { "The same holds " @for (at, other) in others.iter().take(NAMED_MAX).enumerate() {
                @if at > 0 { ", " } a href=(frame.href(&View::Waypoint(other.flight.clone(), other.waypoint.clone()))) { (other.waypoint) }
            }
            @if others.len() > NAMED_MAX { " and " (others.len() - NAMED_MAX) " more" } ": trying again is for all of them." }
        }
    }
}

/// One thing that waits, of which `others` wait for the same.
pub(crate) fn item(frame: &Frame, item: &InboxItem, others: &[&InboxItem], links: bool) -> Markup {
    let kind = item.kind;
    html! {
        article class={ "item k-" (kind) } id={ "item-" (item.flight) "-" (item.waypoint) } {
            h2 {
                span.tag { (kind) } " "
                @if links { a href=(frame.href(&View::Waypoint(item.flight.clone(), item.waypoint.clone()))) { (item.waypoint) } } @else { (item.waypoint) }
                @if let Some(gate) = &item.gate { " " span.dim { "in " (gate) } }
            }
            p.sub { "of " (item.flight) ", since " (time(item.since))
                @if let Some(reason) = item.reason_code { " · " (reason) }
                @if let Some(by) = &item.taken_by { " · taken by " (by) }
            }
            @if let Some(question) = item.question.as_deref().filter(|question| !question.is_empty()) { blockquote { pre.words { (lines(question)) } } }
            @if let Some(obstacle) = item.block_reason.and_then(telling::obstacle) { p { (obstacle) "." } }
            @if let Some(context) = &item.decision_context { h3 { "Because" } blockquote { pre.words { (lines(context)) } } }
            @if !item.to.is_empty() { p { "For " @for (at, name) in item.to.iter().enumerate() { @if at > 0 { ", " } (name) } } }
            (context(&item.context))
            @if let Some(confidence) = item.confidence { p.sub { "Confidence of its best guess: " (confidence) @if let Some(round) = item.round { ", question " (round) } } }
            @if let Some(until) = item.waits_until { p.sub { "Its program waits for the answer until " (time(until)) "." } }
            @if matches!(item.kind, InboxKind::Held | InboxKind::Failed) {
                @if let Some(remediation) = &item.remediation { p { (word(remediation)) } }
            }
            (with(frame, others))
            @if item.work.is_some() { p.sub { "Its last work is kept: " code { ((frame.typed)(&format!("holdpoint diff {} --flight {}", item.waypoint, item.flight))) } " shows it." } }
            @if !item.doubts.is_empty() { h3 { "Doubts of the verification" } ul { @for doubt in &item.doubts { li { (word(doubt)) } } } }
            @if item.self_checked { p.warn { (telling::SELF_CHECKED) ": by the agent that made the work, and nobody verified it." } }
            @if !item.evidence.is_empty() {
                p { "Evidence: " @for (at, digest) in item.evidence.iter().enumerate() { @if at > 0 { ", " } a href=(frame.href(&View::Evidence(*digest))) { code { (digest.hex().get(..10).unwrap_or_default()) } } } }
            }
            @let actions: Vec<Verb> = item.actions.iter().copied().filter(|verb| item.allows(*verb, &frame.rights.me)).collect();
            @if actions.is_empty() && !item.actions.is_empty() {
                p.off { "It waits for others: there is nothing to do for " (frame.rights.me) "." }
            } @else {
                @let on = On { flight: &item.flight, waypoint: Some(&item.waypoint), seen: Some(&item.reference) };
                div.acts { (forms::of_waypoint(frame, on, &actions, &item.options)) }
            }
        }
    }
}

fn context(said: &GateContext) -> Markup {
    let help = &said.outcome_help;
    let help = [("Approve", &help.complete), ("Send back", &help.needs_review), ("Blocked", &help.blocked)];
    html! {
        @if !said.expectations.is_empty() { h3 { "What the gate expects" } ul { @for line in &said.expectations { li { (word(line)) } } } }
        @if !said.tips.is_empty() { h3 { "Tips" } ul { @for line in &said.tips { li { (word(line)) } } } }
        @for (what, text) in help { @if let Some(text) = text { p.sub { (what) ": " (word(text)) } } }
    }
}
