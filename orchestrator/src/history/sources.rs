//! The journal and the streams of handoffs of one waypoint, read together in the order of their times. One message of each is
//! held, and what its reader has in its buffer.

use holdpoint_bus::{
    Stored,
    journal::{ReadError, Replay},
    past,
};
use holdpoint_protocol::{
    api::StreamPlace,
    ids::{FlightId, RoleId, WaypointId},
    journal::Sequence,
    streams,
    subjects::JournalKey,
};

use crate::shell::Shell;

/// A stream, with the replays of those of its messages that are wanted.
struct Source {
    stream: String,
    replays: Vec<(Replay, Option<Stored>)>,
    /// The last that was given out.
    read: Sequence,
}

/// See the module.
pub(crate) struct Sources(Vec<Source>);

impl Source {
    async fn start(shell: &Shell, keys: &[JournalKey], after: Sequence) -> Result<Self, ReadError> {
        let mut replays = Vec::new();
        for key in keys {
            let replay = shell.journal.replay_after(&key.filter(), after).await?;
            replays.push((replay.frugal(), None));
        }
        Ok(Self { stream: streams::JOURNAL.to_owned(), replays, read: after })
    }

    /// Fetches what is at the head of each replay.
    async fn peek(&mut self) -> Result<Option<&Stored>, ReadError> {
        for (replay, head) in &mut self.replays {
            if head.is_none() {
                *head = replay.next().await?;
            }
        }
        Ok(self.replays.iter().filter_map(|(_, head)| head.as_ref()).min_by_key(|head| head.sequence))
    }

    fn take(&mut self) -> Option<Stored> {
        let heads = self.replays.iter_mut().map(|(_, head)| head).filter(|head| head.is_some());
        let taken = heads.min_by_key(|head| head.as_ref().map(|head| head.sequence))?.take();
        self.read = taken.as_ref().map_or(self.read, |taken| taken.sequence);
        taken
    }
}

impl Sources {
    /// Everything of a waypoint behind these places: handoffs of every role, its journal, and its flight's.
    pub(crate) async fn open(
        shell: &Shell,
        flight: &FlightId,
        waypoint: &WaypointId,
        after: &[StreamPlace],
    ) -> Result<Self, ReadError> {
        let known = |stream: &str| {
            let place = after.iter().find(|place| place.stream == stream);
            place.map_or(Sequence(0), |place| place.sequence)
        };
        let mut sources = Vec::new();
        for role in shell.roles().handing() {
            let stream = streams::handoff(&role);
            let read = known(&stream);
            let replay = past::of_waypoint(&shell.bus, &role, flight, waypoint, read).await?;
            sources.push(Source { stream, replays: vec![(replay.frugal(), None)], read });
        }
        let keys = [JournalKey::waypoint(flight, waypoint), JournalKey::flight(flight)];
        sources.push(Source::start(shell, &keys, known(streams::JOURNAL)).await?);
        Ok(Self(sources))
    }

    /// The journal alone, from its beginning.
    pub(crate) async fn of_journal(shell: &Shell, flight: &FlightId, waypoint: &WaypointId) -> Result<Self, ReadError> {
        let keys = [JournalKey::flight(flight), JournalKey::waypoint(flight, waypoint)];
        Ok(Self(vec![Source::start(shell, &keys, Sequence(0)).await?]))
    }

    /// The handoffs of a role alone, from their beginning.
    pub(crate) async fn of_role(
        shell: &Shell,
        role: &RoleId,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> Result<Self, ReadError> {
        let replay = past::of_waypoint(&shell.bus, role, flight, waypoint, Sequence(0)).await?;
        let replays = vec![(replay.frugal(), None)];
        Ok(Self(vec![Source { stream: streams::handoff(role), replays, read: Sequence(0) }]))
    }

    /// The next message, with its stream. Handoffs come before the entries of the same millisecond: a cause before what
    /// it led to.
    pub(crate) async fn next(&mut self) -> Result<Option<(String, Stored)>, ReadError> {
        let mut first: Option<(usize, holdpoint_protocol::Timestamp)> = None;
        for (number, source) in self.0.iter_mut().enumerate() {
            if let Some(head) = source.peek().await?
                && first.is_none_or(|(_, time)| head.time < time)
            {
                first = Some((number, head.time));
            }
        }
        let Some((number, _)) = first else { return Ok(None) };
        let source = &mut self.0[number];
        Ok(source.take().map(|stored| (source.stream.clone(), stored)))
    }

    /// Up to where everything was given out.
    pub(crate) fn places(&self) -> Vec<StreamPlace> {
        let place = |source: &Source| StreamPlace { stream: source.stream.clone(), sequence: source.read };
        self.0.iter().map(place).collect()
    }
}
