//! What every page has around it.

use holdpoint_protocol::{Timestamp, artifact::Verb};
use maud::{DOCTYPE, Markup, html};

use super::parts::{lines, word};
use crate::{problem::ConsoleProblem, view::View, wanted::Rights};

/// Where and for whom pages are made.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The random prefix of every address, `/0123…`.
    pub(crate) base: String,
    /// What may be done.
    pub(crate) rights: Rights,
    /// How much waits, where that is known.
    pub(crate) waits: Option<usize>,
    /// Why no plan is submitted here, if none is.
    pub(crate) unplanned: Option<String>,
    /// The time.
    pub(crate) now: Timestamp,
    /// Gives a command the flags by which it reaches the fleet.
    pub(crate) typed: fn(&str) -> String,
}

impl Frame {
    /// The address of a page.
    pub(crate) fn href(&self, view: &View) -> String {
        format!("{}{view}", self.base)
    }

    /// The address that forms are sent to.
    pub(crate) fn act(&self) -> String {
        format!("{}/act", self.base)
    }

    /// Why this is not done here, if it is not.
    pub(crate) fn refuses(&self, verb: Verb) -> Option<String> {
        self.rights.refuses(verb)
    }

    /// Why no plan is submitted here, if none is.
    pub(crate) fn submits(&self) -> Option<String> {
        self.rights.submits().or_else(|| self.unplanned.clone())
    }
}

/// A whole page. `mark` is what its content is known by.
pub(crate) fn whole(frame: &Frame, view: Option<&View>, title: &str, mark: &str, main: &Markup) -> Markup {
    let here = |is: bool| is.then_some("page");
    let followed =
        view.filter(|view| !matches!(view, View::Patch(..) | View::Document(..) | View::Evidence(_) | View::Submit));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (word(title)) " · Holdpoint" }
                link rel="icon" type="image/svg+xml" href={ (frame.base) "/icon.svg" };
                link rel="stylesheet" href={ (frame.base) "/console.css" };
                script src={ (frame.base) "/console.js" } defer {}
            }
            body data-base=(frame.base) data-mark=(mark) data-follow=[followed.map(View::to_string)] {
                a.skip href="#main" { "Skip to the content" }
                header {
                    a.brand href={ (frame.base) "/" } { "Holdpoint" }
                    nav aria-label="Console" {
                        a href={ (frame.base) "/" } aria-current=[here(matches!(view, Some(View::Flights(_) | View::Flight(..) | View::Waypoint(..))))] { "Flights" }
                        a href={ (frame.base) "/inbox" } aria-current=[here(matches!(view, Some(View::Inbox)))] {
                            "Inbox"
                            @let waits = frame.waits.unwrap_or(0);
                            " " span.badge #waits hidden[waits == 0] { (waits) }
                        }
                        a href={ (frame.base) "/fleet" } aria-current=[here(matches!(view, Some(View::Fleet)))] { "Fleet" }
                        a href={ (frame.base) "/submit" } aria-current=[here(matches!(view, Some(View::Submit)))] { "Submit" }
                    }
                    span.who {
                        @if frame.rights.read_only { "read only" } @else { "as " (frame.rights.me) }
                        @if followed.is_some() { " · " span #link { "not live" } }
                    }
                }
                p #notice role="status" aria-live="polite" {}
                main #main tabindex="-1" { (main) }
            }
        }
    }
}

/// What is shown in the place of a page that could not be made.
pub(crate) fn problem(problem: &ConsoleProblem) -> Markup {
    html! {
        h1 { @if problem.not_found { "Not found" } @else { "That did not work" } }
        p { (lines(&problem.message)) }
        @if !problem.hint.is_empty() { p.hint { (lines(&problem.hint)) } }
    }
}
