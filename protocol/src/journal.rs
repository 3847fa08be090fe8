//! Journal entries: one entry is one message is one transition (architecture §2).

mod basis;
mod entries;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::OrchestratorDecision,
    codec::{self, CodecError, Encoding},
    ids::{ArtifactId, GateId, PoolId, RoleId},
    plan::Priority,
    retire::Retired,
    state::{OpenTurn, WaypointState},
    streams,
    turn::Turn,
};
pub use basis::{Basis, Behind, BundledCommit, Happened, MergeResult, Merged};
pub use entries::{
    Added, Answered, DEAD_AFTER, Dead, Death, Decided, Enqueued, Fleet, Landed, Reserved, Revised, Steered, Submitted,
};

/// The word for entries that give a turn up.
const DEAD: &str = "dead";
/// The word for entries by which people steer a flight.
const STEERED: &str = "steered";
/// The word for entries that answer a question in its turn.
const ANSWERED: &str = "answered";
/// The word for entries that reserve a part of a flight's budget.
const RESERVED: &str = "reserved";
/// The word for entries by which a person's edit takes the place of a gate's document.
const REVISED: &str = "revised";
/// The word for entries by which work waits in the queue.
const QUEUED: &str = "queued";
/// The word for entries that add waypoints to a flight.
const ADDED: &str = "added";
/// The word for entries that retire a flight.
const RETIRED: &str = "retired";

/// A position in a stream, from 1; 0 is "before the first".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Sequence(pub u64);

/// Which handoff an entry answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The stream it is stored in.
    pub stream: String,
    /// Its position there.
    pub sequence: Sequence,
    /// The digest of its payload as sent.
    pub digest: Digest,
    /// The artifact's id.
    pub artifact: ArtifactId,
}

impl Cause {
    /// The reference users name it by: `STREAM/SEQUENCE`.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}", self.stream, self.sequence.0)
    }
}

/// How a reader of an entry names it: `HP_JOURNAL/<sequence>@<digest>`. A reference past the journal's end, or to
/// another digest than the entry has, shows that the journal lost a tail or was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRef {
    /// Its place in the stream.
    pub sequence: Sequence,
    /// The digest of its payload; `None` where only the place is named.
    pub digest: Option<Digest>,
}

impl EntryRef {
    /// Reads a reference; `None` if it names no entry.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(streams::JOURNAL)?.strip_prefix('/')?;
        let (sequence, digest) = match rest.split_once('@') {
            Some((sequence, digest)) => (sequence, Some(digest.parse().ok()?)),
            None => (rest, None),
        };
        Some(Self { sequence: Sequence(sequence.parse().ok()?), digest })
    }
}

impl fmt::Display for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", streams::JOURNAL, self.sequence.0)?;
        self.digest.map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

/// The journal's own part of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// When it was written.
    pub at: Timestamp,
    /// The digest of the payload of the entry before it in the same journal: a chain.
    pub previous: Option<Digest>,
    /// The handoff it answers.
    pub cause: Option<Cause>,
    /// The waypoint's state after it: a cache that the fold checks. `None` in a flight's journal.
    pub state: Option<WaypointState>,
    /// What came of the conditions of the gates that work came to by this entry, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionResult>,
    /// What it was decided on. `None` in a flight's journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

impl Record {
    /// One of this time that says nothing else.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self { at, previous: None, cause: None, state: None, conditions: Vec::new(), basis: None }
    }
}

/// What came of a gate's condition when work came to the gate (GATE-6). It is recorded because it follows from a time limit
/// as well: a repeated decision goes by this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionResult {
    /// The gate.
    pub gate: GateId,
    /// Whether work enters it.
    pub holds: bool,
    /// Why the condition could not be evaluated; it does not hold then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What kind of entry; the tail of its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A flight begins.
    Submitted,
    /// An accepted waypoint stands on the branch.
    Landed,
    /// A turn opens: what agents pull.
    Turn {
        /// The role that may take it.
        role: RoleId,
        /// The order in which it is taken.
        priority: Priority,
        /// Whose agents may take it: the flight's pool.
        pool: PoolId,
    },
    /// A decision that opens no turn.
    Decided,
    /// A turn is given up, because its agents die.
    Dead,
    /// A person paused, resumed or ended the flight, or gave it other workflows.
    Steered,
    /// A question was answered in its turn, which stays open.
    Answered,
    /// A person edited the document of a gate.
    Revised,
    /// Work waits in the queue to the branch.
    Queued,
    /// A part of the flight's budget is reserved for a turn.
    Reserved,
    /// Waypoints are added to the flight, as the children of another one.
    Added,
    /// The flight is exported, and its other entries are deleted.
    Retired,
}

impl EntryKind {
    /// The last tokens of the entry's subject.
    #[must_use]
    pub fn subject_tail(&self) -> String {
        match self {
            Self::Submitted => "submitted".to_owned(),
            Self::Landed => "landed".to_owned(),
            Self::Turn { role, priority, pool } => format!("turn.{role}.{}.{pool}", priority.as_str()),
            Self::Decided => "decided".to_owned(),
            Self::Dead => DEAD.to_owned(),
            Self::Steered => STEERED.to_owned(),
            Self::Answered => ANSWERED.to_owned(),
            Self::Revised => REVISED.to_owned(),
            Self::Queued => QUEUED.to_owned(),
            Self::Reserved => RESERVED.to_owned(),
            Self::Added => ADDED.to_owned(),
            Self::Retired => RETIRED.to_owned(),
        }
    }

    /// The kind's name in the schema header.
    #[must_use]
    pub fn schema_name(&self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Landed => "landed",
            Self::Turn { .. } => "turn",
            Self::Decided => "decided",
            Self::Dead => DEAD,
            Self::Steered => STEERED,
            Self::Answered => ANSWERED,
            Self::Revised => REVISED,
            Self::Queued => QUEUED,
            Self::Reserved => RESERVED,
            Self::Added => ADDED,
            Self::Retired => RETIRED,
        }
    }
}

/// Any entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A flight begins.
    Submitted(Box<Submitted>),
    /// A waypoint stands on the branch.
    Landed(Box<Landed>),
    /// A turn opens.
    Turn(Box<Turn>),
    /// A decision that opens no turn.
    Decided(Box<Decided>),
    /// A turn is given up.
    Dead(Box<Dead>),
    /// A person paused, resumed or ended the flight, or gave it other workflows.
    Steered(Box<Steered>),
    /// A question was answered in its turn.
    Answered(Box<Answered>),
    /// A person edited the document of a gate.
    Revised(Box<Revised>),
    /// Work waits in the queue to the branch.
    Queued(Box<Enqueued>),
    /// A part of the flight's budget is reserved for a turn.
    Reserved(Box<Reserved>),
    /// Waypoints are added to the flight.
    Added(Box<Added>),
    /// The flight is exported, and its other entries are deleted.
    Retired(Box<Retired>),
}

impl Entry {
    /// Reads an entry as it is stored. Its subject names its kind, and was signed together with the payload.
    ///
    /// # Errors
    /// [`CodecError`]: another version wrote it, or it was changed.
    pub fn decode(subject: &str, payload: &[u8], content_type: Option<&str>) -> Result<Self, CodecError> {
        let encoding = Encoding::from_content_type(content_type)?;
        // The fourth token after the root.
        match subject.split('.').nth(5) {
            Some("submitted") => codec::decode(payload, encoding).map(Self::Submitted),
            Some("landed") => codec::decode(payload, encoding).map(Self::Landed),
            Some("decided") => codec::decode(payload, encoding).map(Self::Decided),
            Some(DEAD) => codec::decode(payload, encoding).map(Self::Dead),
            Some(STEERED) => codec::decode(payload, encoding).map(Self::Steered),
            Some(ANSWERED) => codec::decode(payload, encoding).map(Self::Answered),
            Some(REVISED) => codec::decode(payload, encoding).map(Self::Revised),
            Some(QUEUED) => codec::decode(payload, encoding).map(Self::Queued),
            Some(RESERVED) => codec::decode(payload, encoding).map(Self::Reserved),
            Some(ADDED) => codec::decode(payload, encoding).map(Self::Added),
            Some(RETIRED) => codec::decode(payload, encoding).map(Self::Retired),
            _ => codec::decode(payload, encoding).map(Self::Turn),
        }
    }

    /// As [`Entry::decode`], for an entry that an orchestrator has signed. Turns are most of all entries: they are read
    /// once, without the look at what strangers send.
    ///
    /// # Errors
    /// As [`Entry::decode`].
    pub fn decode_signed(subject: &str, payload: &[u8], content_type: Option<&str>) -> Result<Self, CodecError> {
        let is_turn = subject.split('.').nth(5) == Some("turn");
        if is_turn && let Ok(turn) = codec::read::<Box<Turn>>(payload, Encoding::from_content_type(content_type)?) {
            turn.schema_version.check_readable()?;
            return Ok(Self::Turn(turn));
        }
        // Also what is wrong with a turn.
        Self::decode(subject, payload, content_type)
    }

    /// The kind's name in the schema header, and for people.
    #[must_use]
    pub fn schema_name(&self) -> &'static str {
        match self {
            Self::Submitted(_) => "submitted",
            Self::Landed(_) => "landed",
            Self::Turn(_) => "turn",
            Self::Decided(_) => "decided",
            Self::Dead(_) => DEAD,
            Self::Steered(_) => STEERED,
            Self::Answered(_) => ANSWERED,
            Self::Revised(_) => REVISED,
            Self::Queued(_) => QUEUED,
            Self::Reserved(_) => RESERVED,
            Self::Added(_) => ADDED,
            Self::Retired(_) => RETIRED,
        }
    }

    /// The decision that it carries.
    #[must_use]
    pub fn decision(&self) -> Option<&OrchestratorDecision> {
        match self {
            Self::Decided(decided) => Some(&decided.decision),
            Self::Turn(turn) => turn.decision.as_ref(),
            Self::Dead(dead) => Some(&dead.decision),
            Self::Submitted(_)
            | Self::Landed(_)
            | Self::Steered(_)
            | Self::Answered(_)
            | Self::Revised(_)
            | Self::Queued(_)
            | Self::Reserved(_)
            | Self::Added(_)
            | Self::Retired(_) => None,
        }
    }

    /// The turn that it is about, if it was open in the state before it.
    #[must_use]
    pub fn about<'a>(&self, before: &'a WaypointState) -> Option<&'a OpenTurn> {
        before.open_turn(self.record().basis.as_ref()?.turn.as_ref()?)
    }

    /// The journal's part.
    #[must_use]
    pub fn record(&self) -> &Record {
        match self {
            Self::Submitted(e) => &e.record,
            Self::Landed(e) => &e.record,
            Self::Turn(e) => &e.record,
            Self::Decided(e) => &e.record,
            Self::Dead(e) => &e.record,
            Self::Steered(e) => &e.record,
            Self::Answered(e) => &e.record,
            Self::Revised(e) => &e.record,
            Self::Queued(e) => &e.record,
            Self::Reserved(e) => &e.record,
            Self::Added(e) => &e.record,
            Self::Retired(e) => &e.record,
        }
    }

    /// The journal's part, to be completed by the appender.
    pub fn record_mut(&mut self) -> &mut Record {
        match self {
            Self::Submitted(e) => &mut e.record,
            Self::Landed(e) => &mut e.record,
            Self::Turn(e) => &mut e.record,
            Self::Decided(e) => &mut e.record,
            Self::Dead(e) => &mut e.record,
            Self::Steered(e) => &mut e.record,
            Self::Answered(e) => &mut e.record,
            Self::Revised(e) => &mut e.record,
            Self::Queued(e) => &mut e.record,
            Self::Reserved(e) => &mut e.record,
            Self::Added(e) => &mut e.record,
            Self::Retired(e) => &mut e.record,
        }
    }
}
