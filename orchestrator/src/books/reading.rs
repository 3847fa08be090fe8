//! What entries say that the fold does not keep: turns as they stand, answers, whole journals. Each is read from the broker when it
//! is asked for.

use holdpoint_bus::Stored;
use holdpoint_engine::waypoint::{self, InputNeeds, InputParts};
use holdpoint_protocol::{
    Timestamp,
    api::GivenAnswer,
    codec::CodecError,
    ids::{FlightId, TurnId, WaypointId},
    journal::{Entry, EntryKind},
    subjects::JournalKey,
    turn::{Feedback, Turn},
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
        match self.state(waypoint).open_turn(turn) {
            Some(_) => Box::pin(self.turn(shell, waypoint, turn)).await,
            None => Ok(None),
        }
    }

    /// What an input needs, but for what was asked: that is a handoff.
    pub(crate) async fn parts(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        needs: &InputNeeds,
    ) -> Result<InputParts, BooksError> {
        let mut parts = InputParts::default();
        if let Some(turn) = &needs.turn {
            parts.turn = self.turn(shell, waypoint, turn).await?.map(Box::new);
        }
        if needs.feedback {
            parts.feedback = self.kept(shell, waypoint).await?;
        }
        Ok(parts)
    }

    /// A turn of a waypoint as it stands, wherever it was opened in the journal: with what was answered in it since.
    pub(crate) async fn turn(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        turn: &TurnId,
    ) -> Result<Option<Turn>, BooksError> {
        // Most often nothing follows the entry that opened it.
        let key = JournalKey::waypoint(self.id(), waypoint);
        let last = shell.journal.last(&key).await;
        let last = last.map_err(|source| BooksError::Read { flight: self.id().clone(), source })?;
        if let Some(stored) = last.filter(|stored| trusted(&shell.trust.roots(), stored))
            && let Entry::Turn(opened) = decode_entry(self.id(), &stored)?
            && opened.turn_id == *turn
        {
            return Ok(Some(*opened));
        }
        let mut opened: Option<Turn> = None;
        self.each_entry(shell, waypoint, |_, entry| match entry {
            Entry::Turn(one) if one.turn_id == *turn => opened = Some(*one),
            Entry::Answered(answered) if answered.turn == *turn => {
                opened.iter_mut().for_each(|opened| waypoint::reply(opened, &answered.answer));
            }
            _ => {}
        })
        .await?;
        Ok(opened)
    }

    /// The answers that were given in a turn while it was open, oldest first.
    pub(crate) async fn answers(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        turn: &TurnId,
    ) -> Result<Vec<GivenAnswer>, BooksError> {
        let mut given = Vec::new();
        self.each_entry(shell, waypoint, |_, entry| match entry {
            Entry::Answered(answered) if answered.turn == *turn => {
                given.push(GivenAnswer { words: answered.words, answer: answered.answer });
            }
            _ => {}
        })
        .await?;
        Ok(given)
    }

    /// What the last decision that opened no turn kept for the next build turn.
    pub(crate) async fn kept(&self, shell: &Shell, waypoint: &WaypointId) -> Result<Option<Box<Feedback>>, BooksError> {
        let mut kept = None;
        let look = |_, entry| match entry {
            // Whatever was held stays so while a document is edited.
            Entry::Revised(_) => {}
            Entry::Decided(decided) => kept = decided.feedback,
            _ => kept = None,
        };
        self.each_entry(shell, waypoint, look).await?;
        Ok(kept)
    }

    /// How the flight was submitted, and what people did to it as a whole, with when the broker stored each: these are few.
    pub(crate) async fn steering(&self, shell: &Shell) -> Result<Vec<(Timestamp, Entry)>, BooksError> {
        let (key, mut all) = (JournalKey::flight(self.id()), Vec::new());
        for kind in [EntryKind::Submitted, EntryKind::Steered] {
            self.each_under(shell, &key.entry(&kind), |at, entry| all.push((at, entry))).await?;
        }
        Ok(all)
    }

    /// Gives `take` every entry of a waypoint's journal that counts, oldest first, with when the broker stored it. They may be many:
    /// none is kept here.
    pub(crate) async fn each_entry(
        &self,
        shell: &Shell,
        waypoint: &WaypointId,
        take: impl FnMut(Timestamp, Entry),
    ) -> Result<(), BooksError> {
        self.each_under(shell, &JournalKey::waypoint(self.id(), waypoint).filter(), take).await
    }

    async fn each_under(
        &self,
        shell: &Shell,
        filter: &str,
        mut take: impl FnMut(Timestamp, Entry),
    ) -> Result<(), BooksError> {
        let read = |source| BooksError::Read { flight: self.id().clone(), source };
        let mut stored = shell.journal.replay(filter).await.map_err(read)?;
        let roots = shell.trust.roots();
        while let Some(stored) = stored.next().await.map_err(read)? {
            if trusted(&roots, &stored) {
                take(stored.time, decode_entry(self.id(), &stored)?);
            }
        }
        Ok(())
    }
}

fn unreadable(flight: &FlightId, stored: &Stored, source: CodecError) -> BooksError {
    BooksError::Entry { flight: flight.clone(), sequence: stored.sequence, source }
}

fn decode_entry(flight: &FlightId, stored: &Stored) -> Result<Entry, BooksError> {
    let entry = Entry::decode(&stored.subject, &stored.payload, stored.content_type.as_deref());
    entry.map_err(|source| unreadable(flight, stored, source))
}
