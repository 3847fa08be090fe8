//! Giving a flight out as it is stored: where it ends, signed, and its messages a page at a time.
//!
//! Stored messages are given out as they are. An export is for journals that are not sound.

use std::{cmp::Ordering, collections::BTreeMap};

use holdpoint_bus::{
    Stored,
    api::ApiFailure,
    journal::{ReadError, Replay},
    past,
};
use holdpoint_protocol::pages;
use holdpoint_protocol::{
    Digest,
    export::{Cut, CutQuery, ExportCut, ExportPlace, HandoffsEnd, JournalEnd, MessagePage, MessageQuery, Seal},
    ids::{FlightId, RoleId, WaypointId},
    journal::Sequence,
    streams, subjects, version,
};
use holdpoint_runtime::{clock, telemetry::ErrorChain};

use crate::shell::Shell;

/// Bytes of payloads in one answer, which are a third more in it: well below what a broker carries.
const PAGE_LEN: usize = 2 << 20;
/// What a message takes besides its payload and headers, by a generous guess.
const MESSAGE_OVERHEAD: usize = 2 << 10;

/// Where the flight ends at this moment.
pub(crate) async fn cut(shell: &Shell, query: &CutQuery) -> Result<ExportCut, ApiFailure> {
    let flight = &query.flight;
    let cut = make_cut(shell, flight).await.map_err(|error| unread(&error))?;
    if cut.journals.is_empty() {
        return Err(ApiFailure::new(404, format!("there is no flight {flight}")));
    }
    let payload = serde_json::to_vec(&cut).map_err(|error| unread(&error))?;
    let signature = shell.bus.signer().sign(&subjects::seal(flight), &payload);
    let trust = serde_json::to_value(shell.trust.roots().as_ref()).map_err(|error| unread(&error))?;
    Ok(ExportCut { seal: Seal { payload, signature }, trust })
}

/// Handoffs before the journals, so that each of them is on a turn that the journals know; and again after them, so that
/// each that an entry answers is there.
async fn make_cut(shell: &Shell, flight: &FlightId) -> Result<Cut, ReadError> {
    // Once: those of today may be more a moment later.
    let roles = shell.roles().handing();
    let known = handoff_ends(shell, &roles, flight).await?;
    let mut ends: BTreeMap<Option<WaypointId>, (Sequence, Digest)> = BTreeMap::new();
    let mut entries = shell.journal.replay(&subjects::journal_of_flight(flight)).await?;
    while let Some(stored) = entries.next().await? {
        let Some(key) = subjects::parse_journal(&stored.subject) else { continue };
        ends.insert(key.waypoint, (stored.sequence, Digest::of(&stored.payload)));
    }
    if !entries.is_whole() {
        return Err(ReadError::Interrupted { filter: subjects::journal_of_flight(flight) });
    }
    let until = handoff_ends(shell, &roles, flight).await?;
    let journals = ends.into_iter().map(|(waypoint, (sequence, digest))| JournalEnd { waypoint, sequence, digest });
    let handoffs = known.into_iter().zip(until);
    let handoffs = handoffs.map(|((stream, known), (_, until))| HandoffsEnd { stream, known, until });
    Ok(Cut {
        schema_version: version::CURRENT,
        flight: flight.clone(),
        at: clock::now(),
        journals: journals.collect(),
        handoffs: handoffs.collect(),
    })
}

async fn handoff_ends(
    shell: &Shell,
    roles: &[RoleId],
    flight: &FlightId,
) -> Result<Vec<(String, Sequence)>, ReadError> {
    let mut ends = Vec::new();
    for role in roles {
        let end = past::of_flight(&shell.bus, role, flight, Sequence(0)).await?.end();
        ends.push((streams::handoff(role), end));
    }
    Ok(ends)
}

/// The messages of a flight in one stream, from a place on.
pub(crate) async fn page(shell: &Shell, query: &MessageQuery) -> Result<MessagePage, ApiFailure> {
    let mut replay = replay(shell, query).await?.frugal();
    let mut page = Page::new(query);
    while page.next.is_none() {
        match replay.next().await.map_err(|error| unread(&error))? {
            Some(stored) if stored.sequence <= query.until => page.take(&stored),
            _ => break,
        }
    }
    Ok(MessagePage { messages: page.messages, next: page.next })
}

async fn replay(shell: &Shell, query: &MessageQuery) -> Result<Replay, ApiFailure> {
    let after = query.after.sequence;
    let opened = if query.stream == streams::JOURNAL {
        shell.journal.replay_after(&subjects::journal_of_flight(&query.flight), after).await
    } else {
        let role = shell.roles().handing().into_iter().find(|role| streams::handoff(role) == query.stream);
        let role = role.ok_or_else(|| ApiFailure::new(404, format!("no stream {} is exported", query.stream)))?;
        past::of_flight(&shell.bus, &role, &query.flight, after).await
    };
    opened.map_err(|error| unread(&error))
}

/// What fits into one answer.
struct Page<'a> {
    stream: &'a str,
    messages: Vec<holdpoint_protocol::export::Message>,
    room: usize,
    /// Behind the last whole message, and how much of the next one is given out.
    place: ExportPlace,
    next: Option<ExportPlace>,
}

impl<'a> Page<'a> {
    fn new(query: &'a MessageQuery) -> Self {
        Self { stream: &query.stream, messages: Vec::new(), room: PAGE_LEN, place: query.after, next: None }
    }

    fn take(&mut self, stored: &Stored) {
        let mut message = stored.exported(self.stream);
        let from = usize::try_from(self.place.offset).unwrap_or(usize::MAX).min(message.payload.len());
        message.payload.drain(..from);
        // Headers are their sender's words as well.
        let cost = message.payload.len() + MESSAGE_OVERHEAD + pages::json_len(&message.headers);
        match (cost.cmp(&self.room), self.messages.is_empty()) {
            (Ordering::Greater, false) => self.next = Some(self.place),
            (Ordering::Greater, true) if message.payload.len() > PAGE_LEN => {
                message.payload.truncate(PAGE_LEN);
                let offset = self.place.offset + message.payload.len() as u64;
                self.next = Some(ExportPlace { offset, ..self.place });
                self.messages.push(message);
            }
            _ => {
                self.room = self.room.saturating_sub(cost);
                self.place = ExportPlace { sequence: stored.sequence, offset: 0 };
                self.messages.push(message);
            }
        }
    }
}

fn unread(error: &dyn std::error::Error) -> ApiFailure {
    ApiFailure::new(503, format!("cannot read the flight: {}", ErrorChain(error)))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;

    use super::*;

    fn stored(sequence: u64, len: usize) -> Stored {
        Stored {
            sequence: Sequence(sequence),
            subject: "s".to_owned(),
            payload: (0..len).map(|n| n as u8).collect::<Vec<_>>().into(),
            time: Timestamp::from_millis(0),
            signature: None,
            jwt: None,
            schema: None,
            content_type: None,
            traceparent: None,
            message_id: None,
            nonce: None,
        }
    }

    /// Reads everything page by page, as a client does.
    fn read(all: &[Stored]) -> (Vec<(u64, Vec<u8>)>, usize) {
        let mut query = MessageQuery {
            flight: "f".parse().unwrap(),
            stream: streams::JOURNAL.to_owned(),
            after: ExportPlace::default(),
            until: Sequence(u64::MAX),
        };
        let mut read: Vec<(u64, Vec<u8>)> = Vec::new();
        for pages in 1.. {
            let mut page = Page::new(&query);
            let rest = all.iter().filter(|stored| stored.sequence > query.after.sequence);
            for stored in rest {
                page.take(stored);
                if page.next.is_some() {
                    break;
                }
            }
            for (n, message) in page.messages.into_iter().enumerate() {
                match read.last_mut().filter(|_| n == 0 && query.after.offset > 0) {
                    Some((_, payload)) => payload.extend(message.payload),
                    None => read.push((message.sequence.0, message.payload)),
                }
            }
            match page.next {
                Some(next) => query.after = next,
                None => return (read, pages),
            }
        }
        unreachable!()
    }

    #[test]
    fn pages_put_together_are_what_is_stored() {
        let sizes = [0, 10, PAGE_LEN - MESSAGE_OVERHEAD, 1, PAGE_LEN, PAGE_LEN + 1, 3 * PAGE_LEN, 5];
        let all: Vec<_> = sizes.iter().enumerate().map(|(n, len)| stored(2 * n as u64 + 1, *len)).collect();
        let (read, pages) = read(&all);
        let expected: Vec<_> = all.iter().map(|stored| (stored.sequence.0, stored.payload.to_vec())).collect();
        assert!(read == expected, "{:?}", read.iter().map(|(n, p)| (n, p.len())).collect::<Vec<_>>());
        assert!(pages >= 6, "{pages}");
    }
}
