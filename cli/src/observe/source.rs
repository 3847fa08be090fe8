//! One flight, read as it is stored, as often as it is asked for what is new.

use holdpoint_account::events::{EntryEffect, Event, FlightReader};
use holdpoint_bus::auth::{PastSenders, TrustRoots};
use holdpoint_engine::audit::{EntryLine, HandoffLine};
use holdpoint_protocol::{
    export::{Cut, ExportPlace, Message, MessageQuery},
    headers,
    ids::FlightId,
    journal::{Entry, Sequence},
    streams,
};

use crate::{
    archive::{each_message, signed},
    client::Client,
    failure::Failure,
    output,
};

/// Gets what is read of a flight.
pub(crate) trait Follower {
    /// An entry that counts, and what the reader of its flight made of it.
    fn entry(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry);

    /// A handoff, with what is known of its sender.
    fn handoff(&mut self, line: &HandoffLine);
}

/// Only looks at entries.
struct Looks<L>(L);

impl<L: FnMut(&FlightReader, &EntryEffect, &Entry)> Follower for Looks<L> {
    fn entry(&mut self, reader: &FlightReader, told: &EntryEffect, entry: &Entry) {
        (self.0)(reader, told, entry);
    }

    fn handoff(&mut self, _: &HandoffLine) {}
}

/// A flight that is read.
pub(crate) struct Source {
    flight: FlightId,
    roots: TrustRoots,
    journal: ExportPlace,
    /// The handoffs of each role, and up to where they were read.
    handoffs: Vec<(String, ExportPlace)>,
    reader: FlightReader,
}

impl Source {
    /// A flight of which nothing was read yet.
    pub(crate) async fn open(client: &Client, flight: &FlightId) -> Result<Self, Failure> {
        let begun = client.cut(flight).await?;
        let unreadable = |error: serde_json::Error| {
            Failure::environment(
                "orchestrator",
                format!("what the orchestrator says of {flight} cannot be read: {error}"),
                "",
            )
        };
        let cut: Cut = serde_json::from_slice(&begun.seal.payload).map_err(unreadable)?;
        let roots = serde_json::from_value(begun.trust).map_err(unreadable)?;
        let handoffs = cut.handoffs.into_iter().map(|end| (end.stream, ExportPlace::default())).collect();
        Ok(Self {
            flight: flight.clone(),
            roots,
            journal: ExportPlace::default(),
            handoffs,
            reader: FlightReader::default(),
        })
    }

    /// The flight.
    pub(crate) fn flight(&self) -> &FlightId {
        &self.flight
    }

    /// What was read so far.
    pub(crate) fn reader(&self) -> &FlightReader {
        &self.reader
    }

    /// Reads what was stored since the last time; each entry that counts is given to `look`. The events of it, oldest first.
    pub(crate) async fn read_on(
        &mut self,
        client: &Client,
        look: impl FnMut(&FlightReader, &EntryEffect, &Entry),
    ) -> Result<Vec<Event>, Failure> {
        self.follow(client, &mut Looks(look)).await
    }

    /// The same; `follower` gets each handoff as well, before the entries.
    pub(crate) async fn follow(
        &mut self,
        client: &Client,
        follower: &mut impl Follower,
    ) -> Result<Vec<Event>, Failure> {
        // The journal first: what an entry answers is among the handoffs that are read behind it.
        let entries = self.entries(client).await?;
        for at in 0..self.handoffs.len() {
            let Some((stream, after)) = self.handoffs.get(at).cloned() else { continue };
            let query = self.query(&stream, after);
            let mut senders = PastSenders::new(&self.roots);
            let reader = &mut self.reader;
            let end = each_message(client, query, |message| {
                if let Some(line) = handoff(&message, &mut senders) {
                    reader.handoff(&line, message.time);
                    follower.handoff(&line);
                }
                Ok(())
            })
            .await?;
            if let Some((_, place)) = self.handoffs.get_mut(at) {
                *place = end;
            }
        }
        let mut events = self.take(entries, &mut |reader, told, entry| follower.entry(reader, told, entry));
        events.extend(self.reader.conflicts());
        events.sort_by_key(|event| event.timestamp);
        Ok(events)
    }

    /// The events of what was journalled since the last time, without what only handoffs say: names and conflicts.
    pub(crate) async fn read_journal(&mut self, client: &Client) -> Result<Vec<Event>, Failure> {
        let entries = self.entries(client).await?;
        Ok(self.take(entries, &mut |_, _, _| {}))
    }

    async fn entries(&mut self, client: &Client) -> Result<Vec<EntryLine>, Failure> {
        let mut entries = Vec::new();
        let (query, roots) = (self.query(streams::JOURNAL, self.journal), &self.roots);
        self.journal = each_message(client, query, |message| {
            entries.extend(entry(&message, roots));
            Ok(())
        })
        .await?;
        Ok(entries)
    }

    fn take(
        &mut self,
        entries: Vec<EntryLine>,
        look: &mut impl FnMut(&FlightReader, &EntryEffect, &Entry),
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for line in entries {
            let Ok(entry) = &line.entry else { continue };
            let told = self.reader.entry(line.journal.waypoint.as_ref(), line.sequence, entry);
            look(&self.reader, &told, entry);
            events.extend(told.events);
        }
        events
    }

    fn query(&self, stream: &str, after: ExportPlace) -> MessageQuery {
        MessageQuery { flight: self.flight.clone(), stream: stream.to_owned(), after, until: Sequence(u64::MAX) }
    }
}

/// An entry that an orchestrator signed.
fn entry(message: &Message, roots: &TrustRoots) -> Option<EntryLine> {
    let line = EntryLine::read(message, roots.was_orchestrators(signed(message)))?;
    if let (true, Err(error)) = (line.signed, &line.entry) {
        output::err(&format!("warning: entry {} cannot be read and is left out: {error}", line.reference()));
    }
    Some(line).filter(|line| line.signed)
}

/// A handoff, with what is known of its sender. Of its evidence nothing is looked at.
fn handoff(message: &Message, senders: &mut PastSenders<'_>) -> Option<HandoffLine> {
    let mut line = HandoffLine::read(message)?;
    line.sender = match &line.body {
        Ok((head, _)) => {
            let jwt = message.header(headers::JWT);
            senders.verify(&line.subject.role, &head.agent, jwt, signed(message))
        }
        Err(error) => Err(error.clone()),
    };
    Some(line)
}
