//! Answers of the API that may be longer than one message of a broker: cut into pages, and put together by the caller.
//!
//! A page has as many items as have room, but at least one. Pages are made when they are asked for: what changes between
//! two of them shows in the later one; not so in a list of all flights, which is kept for its further pages.

use std::io;

use crate::{
    api::{FlightLine, Flights, Inbox, InboxItem},
    ids::FlightId,
    view::{FlightView, WaypointView},
};
use serde::Serialize;

mod kept;

#[cfg(test)]
mod tests;

pub use kept::KeptFlights;

/// Bytes of a page as JSON, unless one item alone has more. It is an eighth of what our brokers carry, so that nobody
/// else waits long behind it.
pub const PAGE_LEN: usize = 1 << 20;
/// Bytes that are kept free for the place where the next page goes on, and for the names of the lists.
const REST_LEN: usize = 512;
/// Troubles that a view shows at most: each has up to 2,000 characters.
const TROUBLES_MAX: usize = 50;

/// A page that is being filled.
#[derive(Debug)]
pub struct Page<T> {
    items: Vec<T>,
    room: usize,
    is_full: bool,
}

impl<T: Serialize> Page<T> {
    /// One with room for so many bytes of JSON.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { items: Vec::new(), room, is_full: false }
    }

    /// Takes the next item, if it has room; says whether it did. A full page takes none.
    pub fn take(&mut self, item: T) -> bool {
        // And a comma.
        let len = json_len(&item) + 1;
        self.is_full = self.is_full || (len > self.room && !self.items.is_empty());
        if !self.is_full {
            self.room = self.room.saturating_sub(len);
            self.items.push(item);
        }
        !self.is_full
    }

    /// The items, and whether one had no room.
    #[must_use]
    pub fn finish(self) -> (Vec<T>, bool) {
        (self.items, self.is_full)
    }

    fn of(items: impl IntoIterator<Item = T>, room: usize) -> (Vec<T>, bool) {
        let mut page = Self::new(room);
        let _ = items.into_iter().all(|item| page.take(item));
        page.finish()
    }
}

/// A page of a view: `head` with as many of these waypoints as have room, and with a bounded number of troubles.
#[must_use]
pub fn of_view(head: FlightView, waypoints: impl IntoIterator<Item = WaypointView>) -> FlightView {
    cut_view(head, waypoints, PAGE_LEN)
}

fn cut_view(mut head: FlightView, waypoints: impl IntoIterator<Item = WaypointView>, len: usize) -> FlightView {
    // The oldest: one that is new does not make another seem to be over.
    head.trouble.sort_by_key(|trouble| trouble.since);
    head.trouble_left_out += head.trouble.split_off(TROUBLES_MAX.min(head.trouble.len())).len() as u64;
    let room = len.saturating_sub(json_len(&head) + REST_LEN);
    let (waypoints, more) = Page::of(waypoints, room);
    let next = waypoints.last().filter(|_| more).map(|waypoint| waypoint.id.clone());
    FlightView { waypoints, next, ..head }
}

/// Puts the page behind the end of a view.
pub fn join_view(view: &mut FlightView, page: FlightView) {
    // An empty page has no end to go on from.
    view.next = page.next.filter(|_| !page.waypoints.is_empty());
    view.waypoints.extend(page.waypoints);
}

/// A page of all flights (newest first), from behind one of them; `None` if it is not among them.
#[must_use]
pub fn of_flights(lines: Vec<FlightLine>, after: Option<&FlightId>) -> Option<Flights> {
    let from = match after {
        Some(after) => lines.iter().position(|line| line.flight == *after)? + 1,
        None => 0,
    };
    let (flights, more) = Page::of(lines.into_iter().skip(from), PAGE_LEN - REST_LEN);
    let next = flights.last().filter(|_| more).map(|line| line.flight.clone());
    Some(Flights { flights, next })
}

/// A page of an inbox, of what waits in each of several flights: pages in order, each with whether there is more of it.
#[must_use]
pub fn of_inbox(flights: Vec<(Vec<InboxItem>, bool)>) -> Inbox {
    cut_inbox(flights, inbox_room())
}

fn cut_inbox(flights: Vec<(Vec<InboxItem>, bool)>, room: usize) -> Inbox {
    // The entries behind the end of a flight's own page are not known.
    let ends = flights.iter().filter(|(_, more)| *more).filter_map(|(items, _)| items.last());
    let end = ends.map(InboxItem::place).min();
    let mut items: Vec<InboxItem> = flights.into_iter().flat_map(|(items, _)| items).collect();
    items.sort_by_cached_key(InboxItem::place);
    items.retain(|item| end.as_ref().is_none_or(|end| item.place() <= *end));
    let (items, more) = Page::of(items, room);
    let next = items.last().filter(|_| more || end.is_some()).map(InboxItem::place);
    Inbox { items, next }
}

/// Bytes of items that a page of an inbox has room for.
#[must_use]
pub fn inbox_room() -> usize {
    PAGE_LEN - REST_LEN
}

/// How many bytes something has as JSON. A value without such a form is refused when it is sent.
#[must_use]
pub fn json_len(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
