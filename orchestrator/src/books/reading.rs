//! What entries say that the fold does not keep: turns as they stand, answers, whole journals. Each is read from the broker when it
//! is asked for.

use holdpoint_bus::Stored;
use holdpoint_core::engine;
use holdpoint_protocol::{
    Timestamp,
    api::GivenAnswer,
    codec::CodecError,
    ids::{FlightId, TurnId, WaypointId},
    journal::{Answered, Entry},
    state::Phase,
    subjects::JournalKey,
    turn::Turn,
};

use super::{Books, BooksError, checked::trusted};
use crate::shell::Shell;

impl Books {
    /// A turn that is open in a waypoint, as it stands; `None` if it is not.
    pub(crate) async fn open_turn(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        turn: &TurnId,
    ) -> Result<Option<Turn>, BooksError> {
        let state = self.state(waypoint);
        let Some(open) = state.open_turn(turn) else { return Ok(None) };
        if state.phase == Phase::Forked || !open.questions.is_empty() {
            return self.turn(shell, waypoint, turn).await;
        }
        // Nothing follows the entry that opened it.
        let key = JournalKey::waypoint(self.id(), waypoint);
        let last = shell.journal.last(&key).await;
        let last = last.map_err(|source| BooksError::Read { flight: self.id().clone(), source })?;
        let Some(stored) = last.filter(|stored| trusted(&shell.trust.roots(), stored)) else { return Ok(None) };
        match decode_entry(self.id(), &stored)? {
            Entry::Turn(opened) if opened.turn_id == *turn => Ok(Some(*opened)),
            _ => Ok(None),
        }
    }

    /// A turn of a waypoint as it stands, wherever it was opened in the journal: with what was answered in it since.
    pub(crate) async fn turn(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        turn: &TurnId,
    ) -> Result<Option<Turn>, BooksError> {
        let entries = self.entries(shell, waypoint).await?;
        let opened = entries.iter().find_map(|entry| match entry {
            Entry::Turn(opened) if opened.turn_id == *turn => Some(opened.as_ref().clone()),
            _ => None,
        });
        Ok(opened.map(|mut opened| {
            answered_in(&entries, turn).for_each(|answered| engine::reply(&mut opened, &answered.answer));
            opened
        }))
    }

    /// The answers that were given in a turn while it was open, oldest first.
    pub(crate) async fn answers(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        turn: &TurnId,
    ) -> Result<Vec<GivenAnswer>, BooksError> {
        let entries = self.entries(shell, waypoint).await?;
        let given = |answered: &Answered| GivenAnswer { words: answered.words, answer: answered.answer.clone() };
        Ok(answered_in(&entries, turn).map(given).collect())
    }

    /// All entries of a waypoint's journal that count.
    pub(crate) async fn entries(&self, shell: &Shell, waypoint: &WaypointId) -> Result<Vec<Entry>, BooksError> {
        self.entries_of(shell, Some(waypoint)).await
    }

    /// All entries of the flight's own journal that count.
    pub(crate) async fn own_entries(&self, shell: &Shell) -> Result<Vec<Entry>, BooksError> {
        self.entries_of(shell, None).await
    }

    /// All entries of a waypoint's journal that count, or of the flight's own, with when the broker stored each.
    pub(crate) async fn timed_entries(
        &self,
        shell: &Shell,
        waypoint: Option<&WaypointId>,
    ) -> Result<Vec<(Timestamp, Entry)>, BooksError> {
        let key = JournalKey { flight: self.id().clone(), waypoint: waypoint.cloned() };
        let stored = shell.journal.read(&key).await;
        let stored = stored.map_err(|source| BooksError::Read { flight: self.id().clone(), source })?;
        let roots = shell.trust.roots();
        let counted = stored.iter().filter(|stored| trusted(&roots, stored));
        counted.map(|stored| Ok((stored.time, decode_entry(self.id(), stored)?))).collect()
    }

    async fn entries_of(&self, shell: &Shell, waypoint: Option<&WaypointId>) -> Result<Vec<Entry>, BooksError> {
        let timed = self.timed_entries(shell, waypoint).await?;
        Ok(timed.into_iter().map(|(_, entry)| entry).collect())
    }
}

/// What was answered in a turn, of all entries of its waypoint.
fn answered_in<'a>(entries: &'a [Entry], turn: &'a TurnId) -> impl Iterator<Item = &'a Answered> {
    entries.iter().filter_map(move |entry| match entry {
        Entry::Answered(answered) if answered.turn == *turn => Some(answered.as_ref()),
        _ => None,
    })
}

fn unreadable(flight: &FlightId, stored: &Stored, source: CodecError) -> BooksError {
    BooksError::Entry { flight: flight.clone(), sequence: stored.sequence, source }
}

fn decode_entry(flight: &FlightId, stored: &Stored) -> Result<Entry, BooksError> {
    let entry = Entry::decode(&stored.subject, &stored.payload, stored.content_type.as_deref());
    entry.map_err(|source| unreadable(flight, stored, source))
}
