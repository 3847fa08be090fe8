//! Pages that stay open: when it is looked again, and what is sent when something changed.

use std::{
    collections::hash_map::DefaultHasher,
    convert::Infallible,
    hash::{Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use axum::response::sse::Event;
use futures::Stream;
use holdpoint_text::{live::Spoken, shown};
use serde_json::json;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, watch},
    time::{Instant, sleep_until, timeout_at},
};

use super::{Inner, Page};
use crate::{fleet::ConsoleFleet, view::View};

/// How often a page is looked at whose flight moves.
const MOVING: Duration = Duration::from_secs(1);
/// How often one is whose flight does not.
const STILL: Duration = Duration::from_secs(5);
/// How often lists are that cost the fleet a reading of all journals, where nothing moves.
const QUIET: Duration = Duration::from_secs(60);
/// How soon after a hint it is looked: one seldom comes alone.
const AFTER_HINT: Duration = Duration::from_millis(500);
/// How often an open stream says that it is there.
const BEAT: Duration = Duration::from_secs(20);
/// Events that wait for a slow reader.
const EVENTS_MAX: usize = 64;

/// How long a page rests before it is looked again.
pub(crate) fn pause(view: &View, moving: bool) -> Duration {
    match (view, moving) {
        (View::Flight(..) | View::Waypoint(..), true) => MOVING,
        (View::Flight(..) | View::Waypoint(..), false) | (View::Flights(_) | View::Inbox, true) | (View::Fleet, _) => {
            STILL
        }
        _ => QUIET,
    }
}

/// What a page's content is known by.
pub(crate) fn mark(main: &str) -> String {
    let mut hasher = DefaultHasher::new();
    main.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The events of one open page. `shown` is the mark of what it shows.
pub(crate) fn follow<F: ConsoleFleet>(
    inner: Arc<Inner<F>>,
    view: View,
    shown: String,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let (events, seen) = mpsc::channel(EVENTS_MAX);
    let hints = inner.hints();
    tokio::spawn(async move {
        let follower = Follower { inner, view, shown, events: events.clone(), hints };
        tokio::select! {
            () = follower.run() => {}
            () = events.closed() => {}
        }
        drop(place);
    });
    futures::stream::unfold(seen, async |mut seen| Some((Ok(seen.recv().await?), seen)))
}

struct Follower<F: ConsoleFleet> {
    inner: Arc<Inner<F>>,
    view: View,
    shown: String,
    events: mpsc::Sender<Event>,
    hints: watch::Receiver<u64>,
}

impl<F: ConsoleFleet> Follower<F> {
    /// Ends when nobody reads any more.
    async fn run(mut self) {
        let mut listening = None;
        let mut beaten = Instant::now();
        let mut age = AFTER_HINT;
        loop {
            let page = self.inner.main(&self.view, age).await;
            let rest = match page {
                Ok(page) => {
                    let moving = page.moving;
                    if self.show(page, &mut beaten).await.is_err() {
                        return;
                    }
                    pause(&self.view, moving)
                }
                Err(problem) => {
                    let message = shown::line(&problem.message).into_owned();
                    if self.events.send(Event::default().event("trouble").data(message)).await.is_err() {
                        return;
                    }
                    STILL
                }
            };
            self.learn(&mut listening).await;
            let until = Instant::now() + rest;
            // A hint makes what is kept old.
            age = if self.rest(&mut listening, until).await { AFTER_HINT } else { rest / 2 };
            if beaten.elapsed() >= BEAT {
                beaten = Instant::now();
                if self.events.send(Event::default().comment("here")).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn show(&mut self, page: Page, beaten: &mut Instant) -> Result<(), mpsc::error::SendError<Event>> {
        let main = page.main.into_string();
        let mark = mark(&main);
        if mark == self.shown {
            return Ok(());
        }
        self.shown = mark;
        *beaten = Instant::now();
        let waits = self.inner.waits();
        // As JSON: a line's end in the markup of a `pre` is none of the stream's.
        let data = json!({"main": main, "waits": waits}).to_string();
        self.events.send(Event::default().event("page").data(data)).await
    }

    /// Listens to a waypoint's agents, and notifies the listener whose turn it is.
    async fn learn(&self, listening: &mut Option<F::Listening>) {
        let View::Waypoint(flight, waypoint) = &self.view else { return };
        if listening.is_none() {
            // Not worth an error: the page is whole without it, and it is tried again.
            *listening = self.inner.fleet().listen(flight, waypoint).await.ok();
        }
        let Some(listener) = listening else { return };
        let Ok(book) = self.inner.book(flight).await else { return };
        let Some(view) = book.view() else { return };
        drop(book);
        for spoken in self.inner.fleet().learn(listener, &view) {
            let _ = self.events.send(said(&spoken)).await;
        }
    }

    /// Rests, and sends what agents say meanwhile. Whether a hint ended it.
    async fn rest(&mut self, listening: &mut Option<F::Listening>, until: Instant) -> bool {
        let beat = Instant::now() + BEAT;
        let until = until.min(beat);
        loop {
            tokio::select! {
                hinted = self.hints.changed() => {
                    if hinted.is_err() {
                        sleep_until(until).await;
                        return false;
                    }
                    sleep_until(Instant::now() + AFTER_HINT).await;
                    return true;
                }
                line = timeout_at(until, next(self.inner.fleet(), listening)) => match line {
                    Ok(spoken) => {
                        if self.events.send(said(&spoken)).await.is_err() {
                            return false;
                        }
                    }
                    Err(_) => return false,
                },
            }
        }
    }
}

async fn next<F: ConsoleFleet>(fleet: &F, listening: &mut Option<F::Listening>) -> Spoken {
    match listening {
        Some(listening) => fleet.next(listening).await,
        None => std::future::pending().await,
    }
}

fn said(Spoken { from, line }: &Spoken) -> Event {
    let data = json!({
        "at": line.at, "agent": from.agent, "kind": line.kind.as_str(), "text": shown::line(&line.text), "left_out": line.left_out,
    });
    Event::default().event("said").data(data.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_rests_longer_where_nothing_moves_and_longest_where_a_look_costs_most() {
        let flight = || View::Waypoint("f".parse().unwrap(), "w".parse().unwrap());
        assert!(pause(&flight(), true) < pause(&flight(), false));
        assert!(pause(&flight(), false) < pause(&View::Inbox, false));
        assert!(pause(&View::Flights(0), true) < pause(&View::Flights(0), false));
    }
}
