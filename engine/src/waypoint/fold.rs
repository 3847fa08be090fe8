//! Reading a journal back: the state after the last entry, checked against the chain and the invariants.

use holdpoint_protocol::{
    Digest,
    journal::{Entry, Record, Sequence},
    state::WaypointState,
};

use super::invariants::invariants;

/// Something in a journal that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// An entry was lost or changed: the chain of digests is broken.
    #[error("entry {sequence:?} does not follow the entry before it: the journal lost or changed an entry")]
    ChainBroken {
        /// Where.
        sequence: Sequence,
    },
    /// An entry without a state, in a waypoint's journal.
    #[error("entry {sequence:?} carries no state")]
    NoState {
        /// Where.
        sequence: Sequence,
    },
    /// An invariant does not hold; only a bug of ours can do that.
    #[error("entry {sequence:?} breaks an invariant: {what}")]
    Invariant {
        /// Where.
        sequence: Sequence,
        /// Which one.
        what: String,
    },
}

/// The fold of a journal's beginning: where the next entry has to fit on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// The state after the last entry.
    pub state: WaypointState,
    /// The digest of the last entry's payload.
    pub last: Option<Digest>,
}

impl Folded {
    /// Takes the next entry, with its position and the digest of its payload.
    ///
    /// # Errors
    /// An [`Alarm`]; nothing after it can be trusted, and `self` is as it was.
    pub fn take(&mut self, sequence: Sequence, digest: Digest, entry: &Entry) -> Result<(), Alarm> {
        let record: &Record = entry.record();
        if record.previous != self.last {
            return Err(Alarm::ChainBroken { sequence });
        }
        let next = record.state.as_ref().ok_or(Alarm::NoState { sequence })?;
        if let Some(what) = invariants(&self.state, next, entry) {
            return Err(Alarm::Invariant { sequence, what });
        }
        self.state = next.clone();
        self.last = Some(digest);
        Ok(())
    }
}
