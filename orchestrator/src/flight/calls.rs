//! What agents ask about a turn by a request: whether their completion was taken, and the turn that they hold.

use holdpoint_bus::auth::VerifiedUser;
use holdpoint_engine::waypoint;
use holdpoint_protocol::{
    Digest,
    ids::{RoleId, TurnId, WaypointId, role},
    journal::{Entry, Sequence},
    state::OpenTurn,
    subjects::HandoffSubject,
    turn::Turn,
};
use holdpoint_runtime::telemetry::ErrorChain;

use super::{ApiFailure, State, failure};
use crate::{books::BooksError, senders};

/// Asks whether a handoff led to an entry, or may.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    /// Its waypoint.
    pub(crate) waypoint: WaypointId,
    /// Its stream.
    pub(crate) stream: String,
    /// Whose it is.
    pub(crate) role: RoleId,
    /// Its digest: the same bytes count once, wherever in the stream they are.
    pub(crate) digest: Digest,
}

/// What came of a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// An entry names it as its cause; it is there.
    Taken(Sequence),
    /// Nothing yet, and a turn is open that its sender's role may answer.
    MayBeTaken,
    /// Nothing, and nothing will: no such turn is open.
    Nothing,
}

/// A turn that an agent says it holds.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// Its waypoint.
    pub(crate) waypoint: WaypointId,
    /// The turn.
    pub(crate) turn: TurnId,
}

impl State {
    /// What came of a handoff, by what is journalled now.
    pub(super) async fn followed(&mut self, asked: &Followed) -> Result<Follows, ApiFailure> {
        let shell = self.shell.clone();
        let books = self.fresh_books().await.map_err(|error| failure(&error))?;
        if books.flight.planned(&asked.waypoint).is_none() {
            let what = format!("the plan of flight {} has no waypoint {}", books.id(), asked.waypoint);
            return Err(ApiFailure::new(404, what));
        }
        let people = asked.role.as_str() == role::OPERATOR;
        let may_answer = |open: &OpenTurn| people || (!open.is_peoples() && open.role == asked.role);
        let is_open = books.state(&asked.waypoint).open_turns().any(may_answer);
        let mut found = None;
        let look = |_, entry: Entry| {
            let cause = entry.record().cause.as_ref();
            let same = cause.filter(|cause| cause.stream == asked.stream && cause.digest == asked.digest);
            found = found.or_else(|| same.map(|cause| cause.sequence));
        };
        books.each_entry(&shell, &asked.waypoint, look).await.map_err(|error| failure(&error))?;
        Ok(match found {
            Some(sequence) => Follows::Taken(sequence),
            None if is_open => Follows::MayBeTaken,
            None => Follows::Nothing,
        })
    }

    /// The open turn that the caller planned for.
    pub(super) async fn held_turn(&mut self, held: &Held, caller: &VerifiedUser) -> Result<Turn, ApiFailure> {
        let Held { waypoint, turn } = held;
        let not_yours = || {
            let what = format!(
                "{} holds no open turn {} on {}: publish the plan of a turn that was delivered to you first",
                caller.name, turn, waypoint
            );
            ApiFailure::new(404, what)
        };
        let shell = self.shell.clone();
        let read = async |state: &mut Self| -> Result<Option<_>, BooksError> {
            let books = state.fresh_books().await?;
            let open = books.state(waypoint).open_turn(turn).is_some_and(|open| open.role == caller.role);
            if !open {
                return Ok(None);
            }
            let answers = books.answers(&shell, waypoint, turn).await?;
            Ok(books.turn(&shell, waypoint, turn).await?.map(|turn| (turn, answers)))
        };
        let found = read(self).await.map_err(|error| failure(&error))?;
        let (mut held, answers) = found.ok_or_else(not_yours)?;
        if !self.is_holder(waypoint, turn, caller).await? {
            return Err(not_yours());
        }
        answers.iter().for_each(|given| waypoint::reply(&mut held, &given.answer));
        Ok(held)
    }

    /// Whether the caller planned for the turn. Plans are read only where nobody is known to have it: after a start.
    async fn is_holder(&self, waypoint: &WaypointId, turn: &TurnId, caller: &VerifiedUser) -> Result<bool, ApiFailure> {
        if let Some(holder) = self.holders.of(waypoint, turn) {
            return Ok(*holder == caller.name);
        }
        let (role, flight, waypoint) = (caller.role.clone(), self.id.clone(), waypoint.clone());
        let subject = HandoffSubject { role, flight, waypoint, kind: String::new() };
        let planned = senders::has_planned_as(&self.shell.bus, &subject, turn, &caller.name).await;
        planned.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))
    }
}
