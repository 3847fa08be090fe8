//! What an audit finds: one broken link, in the words of the person who has to act on it.

use std::fmt;

use holdpoint_protocol::ids::WaypointId;
use serde::Serialize;

/// Which kind of link is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokenLink {
    /// The file itself: a line that cannot be read, or one that is missing.
    File,
    /// An entry without an orchestrator's signature.
    Signature,
    /// An entry that cannot be read, or does not fit its place.
    Entry,
    /// The chain of digests, and the order of entries.
    Chain,
    /// An invariant of the machine.
    Invariant,
    /// The handoff that an entry answers: it is missing, or another one.
    Cause,
    /// The sender of a handoff: another key, another role, no credentials.
    Sender,
    /// A turn that was opened or answered twice.
    Turn,
    /// An entry that the rules do not make of the state before it and of what it answers.
    Decision,
    /// An acceptance that its report does not carry.
    Report,
    /// A run that a report has from another one, which made no such run.
    Citation,
    /// A landing that is not of the accepted work on the head.
    Landing,
    /// Evidence that is missing, or not what its name says.
    Evidence,
    /// A reference points behind the end of a journal: a tail was lost.
    Tail,
    /// A journal does not end where the orchestrator that made the export saw it end.
    Seal,
}

/// One broken link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind of link.
    pub link: BrokenLink,
    /// Where: `STREAM/SEQUENCE` of an entry or handoff, or another name for the place.
    pub at: String,
    /// The waypoint whose journal it is in; `None`: the flight's own, or none.
    pub waypoint: Option<WaypointId>,
    /// What a sound account has there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, expected, found, .. } = self;
        match &self.waypoint {
            Some(waypoint) => write!(f, "{at} (waypoint {waypoint}): expected {expected}; found {found}"),
            None => write!(f, "{at}: expected {expected}; found {found}"),
        }
    }
}
