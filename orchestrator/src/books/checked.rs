//! What can be checked of an entry by itself: who signed it, and what it says. It takes most of the time of reading a
//! journal, and can be done for many entries at once. Whether it fits the entries before it is the fold's to say.

use holdpoint_bus::{Stored, auth::TrustRoots, journal};
use holdpoint_protocol::{
    Digest,
    codec::CodecError,
    journal::{Entry, Sequence},
    subjects::{self, JournalKey},
};

/// A stored entry that was checked by itself. There is no other way into a fold.
pub(crate) struct Checked {
    /// Whose journal it is in; `None`: its subject is none of a journal.
    pub(crate) key: Option<JournalKey>,
    pub(crate) sequence: Sequence,
    /// Whether it is where a flight's submission is.
    pub(crate) is_submission: bool,
    /// How long its payload is.
    pub(super) bytes: usize,
    pub(super) says: Says,
}

/// What an entry says.
pub(super) enum Says {
    /// Nothing: no orchestrator signed it.
    Nothing,
    /// This, with the digest of its payload.
    Entry(Digest, Entry),
    /// Something that this build cannot read.
    Unreadable(CodecError),
}

impl Checked {
    /// Checks an entry; one that no orchestrator signed is an alarm.
    pub(crate) fn of(roots: &TrustRoots, stored: &Stored) -> Self {
        Self::new(stored, trusted(roots, stored))
    }

    /// Checks many entries, which costs less than each by itself.
    pub(crate) fn all(roots: &TrustRoots, entries: &[Stored]) -> Vec<Self> {
        let signed = journal::are_orchestrators(roots, entries);
        entries.iter().zip(signed).map(|(stored, signed)| Self::new(stored, noted(stored, signed))).collect()
    }

    /// The entry, if an orchestrator signed it and it can be read.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        match &self.says {
            Says::Entry(_, entry) => Some(entry),
            Says::Nothing | Says::Unreadable(_) => None,
        }
    }

    fn new(stored: &Stored, trusted: bool) -> Self {
        Self {
            key: subjects::parse_journal(&stored.subject),
            sequence: stored.sequence,
            is_submission: subjects::is_submission(&stored.subject),
            bytes: stored.payload.len(),
            says: if trusted { says(stored) } else { Says::Nothing },
        }
    }
}

fn says(stored: &Stored) -> Says {
    match Entry::decode_signed(&stored.subject, &stored.payload, stored.content_type.as_deref()) {
        Ok(entry) => Says::Entry(Digest::of(&stored.payload), entry),
        Err(error) => Says::Unreadable(error),
    }
}

/// Whether an orchestrator signed it; if not, that is an alarm.
pub(super) fn trusted(roots: &TrustRoots, stored: &Stored) -> bool {
    noted(stored, stored.is_orchestrators(roots))
}

fn noted(stored: &Stored, signed: bool) -> bool {
    if !signed {
        tracing::error!(subject = %stored.subject, sequence = stored.sequence.0, "journal entry without an orchestrator's signature: ignored");
    }
    signed
}
