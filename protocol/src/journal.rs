//! Journal entries: one entry is one message is one transition (architecture §2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::OrchestratorDecision,
    facts::{BundleRef, Oid},
    ids::{ArtifactId, FlightId, PoolId, RoleId, WaypointId},
    plan::{Plan, Priority},
    state::WaypointState,
    time::Millis,
    turn::Turn,
    version::SchemaVersion,
};

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
    },
    /// A decision that opens no turn.
    Decided,
}

impl EntryKind {
    /// The last tokens of the entry's subject.
    #[must_use]
    pub fn subject_tail(&self) -> String {
        match self {
            Self::Submitted => "submitted".to_owned(),
            Self::Landed => "landed".to_owned(),
            Self::Turn { role, priority } => format!("turn.{role}.{}", priority.as_str()),
            Self::Decided => "decided".to_owned(),
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
}

impl Entry {
    /// The journal's part.
    #[must_use]
    pub fn record(&self) -> &Record {
        match self {
            Self::Submitted(e) => &e.record,
            Self::Landed(e) => &e.record,
            Self::Turn(e) => &e.record,
            Self::Decided(e) => &e.record,
        }
    }

    /// The journal's part, to be completed by whoever appends.
    pub fn record_mut(&mut self) -> &mut Record {
        match self {
            Self::Submitted(e) => &mut e.record,
            Self::Landed(e) => &mut e.record,
            Self::Turn(e) => &mut e.record,
            Self::Decided(e) => &mut e.record,
        }
    }
}

/// What the fleet that flies a flight can do, recorded at submission (spec README).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Which agents take its turns.
    pub pool: PoolId,
    /// Re-opened build turns go to role `repair`.
    pub repair: bool,
    /// Criteria without a check have a judge.
    pub judge: bool,
    /// How many waypoints are open at once; `None`: as many as are ready.
    pub parallel: Option<u32>,
    /// How long a turn may wait for an agent, beside the time its work may take.
    pub queue_grace: Millis,
    /// How long the program of a build turn may run where the plan does not say.
    pub build_wall: Millis,
}

/// The first entry of a flight's journal: everything it is flown by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The flight.
    pub flight: FlightId,
    /// The plan.
    pub plan: Plan,
    /// The commit it starts from.
    pub base: Oid,
    /// The tree of that commit.
    pub base_tree: Oid,
    /// What brings that commit.
    pub snapshot: BundleRef,
    /// The covenant's path in the repository.
    pub covenant: String,
    /// The digest of the covenant's text as on the base.
    pub covenant_version: Digest,
    /// The fleet.
    pub fleet: Fleet,
    /// The journal's part.
    pub record: Record,
}

/// An accepted waypoint stands on the flight's branch. The order of these is the order of the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Landed {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The verified tree.
    pub tree: Oid,
    /// The landing commit.
    pub commit: Oid,
    /// Its parent: the head before it.
    pub parent: Oid,
    /// What brings it, on top of the parent.
    pub bundle: BundleRef,
    /// The digest of the accepting report.
    pub report: Digest,
    /// The journal's part.
    pub record: Record,
}

/// A decision that opens no turn: accepted, or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// `MAJOR.MINOR`.
    pub schema_version: SchemaVersion,
    /// The decision.
    pub decision: OrchestratorDecision,
    /// The journal's part.
    pub record: Record,
}
