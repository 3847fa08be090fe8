//! Every subject of the wire is built here and nowhere else (architecture §2).

use crate::{
    digest::Digest,
    ids::{AgentName, FlightId, PoolId, RoleId, WaypointId, role},
    journal::EntryKind,
    plan::Priority,
};

/// The root of all subjects of this version of the wire.
pub const ROOT: &str = "hp.v1";

/// The token that stands for "the flight itself" where a waypoint's id stands in its journals.
pub const FLIGHT_TOKEN: &str = "_";

/// How many partitions the handoffs of a role are spread over, by flight. Fixed: it is part of stored subjects.
pub const PARTITIONS: u32 = 8;

/// Which journal: a flight's or one of its waypoints'.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalKey {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint, or `None` for the flight's own journal.
    pub waypoint: Option<WaypointId>,
}

impl JournalKey {
    /// The journal of the flight itself.
    #[must_use]
    pub fn flight(flight: &FlightId) -> Self {
        Self { flight: flight.clone(), waypoint: None }
    }

    /// The journal of one waypoint.
    #[must_use]
    pub fn waypoint(flight: &FlightId, waypoint: &WaypointId) -> Self {
        Self { flight: flight.clone(), waypoint: Some(waypoint.clone()) }
    }

    fn token(&self) -> &str {
        self.waypoint.as_ref().map_or(FLIGHT_TOKEN, WaypointId::as_str)
    }

    /// The filter that matches every entry of this journal.
    #[must_use]
    pub fn filter(&self) -> String {
        format!("{ROOT}.journal.{}.{}.>", self.flight, self.token())
    }

    /// The filter of what an append to this journal is fenced by.
    #[must_use]
    pub fn fence(&self, fence: Fence) -> String {
        match fence {
            Fence::Journal => self.filter(),
            Fence::Flight => journal_of_flight(&self.flight),
        }
    }

    /// The subject of an entry of this journal.
    #[must_use]
    pub fn entry(&self, kind: &EntryKind) -> String {
        format!("{ROOT}.journal.{}.{}.{}", self.flight, self.token(), kind.subject_tail())
    }
}

/// The journals that must not have moved since an entry was decided.
///
/// In a cluster the broker keeps two appends apart only if they are fenced by the same filter: entries that compete for the same
/// place in a journal have the same fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// The journal that the entry is for.
    Journal,
    /// Every journal of its flight.
    Flight,
}

/// Every entry of every journal of a flight.
#[must_use]
pub fn journal_of_flight(flight: &FlightId) -> String {
    format!("{ROOT}.journal.{flight}.>")
}

/// Every entry of every journal.
#[must_use]
pub fn journals() -> String {
    format!("{ROOT}.journal.>")
}

/// All submissions: one entry a flight.
#[must_use]
pub fn journal_submissions() -> String {
    format!("{ROOT}.journal.*.{FLIGHT_TOKEN}.submitted")
}

/// The entries that retired flights: one a flight that was archived.
#[must_use]
pub fn journal_retirements() -> String {
    format!("{ROOT}.journal.*.{FLIGHT_TOKEN}.retired")
}

/// All landings of all flights.
#[must_use]
pub fn journal_landings() -> String {
    format!("{ROOT}.journal.*.{FLIGHT_TOKEN}.landed")
}

/// Whether this is the subject of a flight's submission.
#[must_use]
pub fn is_submission(subject: &str) -> bool {
    subject.strip_suffix(".submitted").is_some_and(|journal| journal.ends_with(&format!(".{FLIGHT_TOKEN}")))
}

/// All turns that were ever given up: of one flight, or of all.
#[must_use]
pub fn journal_deaths(flight: Option<&FlightId>) -> String {
    format!("{ROOT}.journal.{}.*.dead", flight.map_or("*", FlightId::as_str))
}

/// What the agents of `role` and `pool` pull at `priority`: from one flight, or from all of the pool.
#[must_use]
pub fn turns(flight: Option<&FlightId>, role: &RoleId, priority: Priority, pool: &PoolId) -> String {
    format!("{ROOT}.journal.{}.*.turn.{role}.{}.{pool}", flight.map_or("*", FlightId::as_str), priority.as_str())
}

/// The partition of a flight's handoffs: FNV-1a over the flight's id, so that every language can compute it.
#[must_use]
pub fn partition(flight: &FlightId) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in flight.as_str().bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash % PARTITIONS
}

/// Where a turn's handoffs go; the kind follows as one more token.
#[must_use]
pub fn handoff_prefix(role: &RoleId, flight: &FlightId, waypoint: &WaypointId) -> String {
    format!("{ROOT}.handoff.{role}.{}.{flight}.{waypoint}", partition(flight))
}

/// The subject of one handoff.
#[must_use]
pub fn handoff(role: &RoleId, flight: &FlightId, waypoint: &WaypointId, kind: &str) -> String {
    format!("{}.{kind}", handoff_prefix(role, flight, waypoint))
}

/// The subject of a person's act on a waypoint, or on the whole flight.
#[must_use]
pub fn act(flight: &FlightId, waypoint: Option<&WaypointId>, kind: &str) -> String {
    let waypoint = waypoint.map_or(FLIGHT_TOKEN, WaypointId::as_str);
    format!("{ROOT}.handoff.{}.{}.{flight}.{waypoint}.{kind}", role::OPERATOR, partition(flight))
}

/// All handoffs of a role.
#[must_use]
pub fn handoffs_of(role: &RoleId) -> String {
    format!("{ROOT}.handoff.{role}.>")
}

/// All handoffs of a role that its stream stores: those with as many tokens as a handoff's subject has.
#[must_use]
pub fn handoffs_stored(role: &RoleId) -> String {
    format!("{ROOT}.handoff.{role}.*.*.*.*")
}

/// All handoffs of a role in one partition.
#[must_use]
pub fn handoffs_in(role: &RoleId, partition: u32) -> String {
    format!("{ROOT}.handoff.{role}.{partition}.>")
}

/// One chunk of a blob.
#[must_use]
pub fn blob_chunk(role: &RoleId, digest: &Digest, n: u32) -> String {
    format!("{ROOT}.blob.{role}.{}.{n}", digest.hex())
}

/// All blobs of a role.
#[must_use]
pub fn blobs_of(role: &RoleId) -> String {
    format!("{ROOT}.blob.{role}.>")
}

/// All chunks of a role that its stream stores: those with as many tokens as a chunk's subject has.
#[must_use]
pub fn blobs_stored(role: &RoleId) -> String {
    format!("{ROOT}.blob.{role}.*.*")
}

/// One chunk of a transcript, which its role alone reads.
#[must_use]
pub fn talk_chunk(role: &RoleId, digest: &Digest, n: u32) -> String {
    format!("{ROOT}.talk.{role}.{}.{n}", digest.hex())
}

/// All transcripts of a role.
#[must_use]
pub fn talk_of(role: &RoleId) -> String {
    format!("{ROOT}.talk.{role}.>")
}

/// All chunks of transcripts of a role that its stream of blobs stores.
#[must_use]
pub fn talk_stored(role: &RoleId) -> String {
    format!("{ROOT}.talk.{role}.*.*")
}

/// What matches the chunks of blobs and of transcripts of a role.
#[must_use]
pub fn chunks_stored(role: &RoleId) -> String {
    format!("{ROOT}.*.{role}.*.*")
}

/// Every upload of a blob or a transcript, by any role.
#[must_use]
pub fn uploads() -> [String; 2] {
    ["blob", "talk"].map(|family| format!("{ROOT}.{family}.>"))
}

/// Reads the subject of a chunk of a blob or transcript: what all chunks of it begin with, its digest, and the chunk's number.
#[must_use]
pub fn parse_chunk(subject: &str) -> Option<(&str, Digest, u32)> {
    let (prefix, n) = subject.rsplit_once('.')?;
    let tokens: Vec<&str> = prefix.strip_prefix(ROOT)?.split('.').collect();
    let ["", "blob" | "talk", _, hex] = tokens.as_slice() else { return None };
    Some((prefix, Digest::from_hex(hex).ok()?, n.parse().ok()?))
}

/// The blobs of all roles.
#[must_use]
pub fn blobs() -> String {
    format!("{ROOT}.blob.>")
}

/// Where a stream is asked for its last message on `subject`. The subject is in the request's own, so that permissions and
/// imports can say what may be read.
#[must_use]
pub fn direct_get(stream: &str, subject: &str) -> String {
    format!("$JS.API.DIRECT.GET.{stream}.{subject}")
}

/// The hint to all agents of `role` that a turn may be waiting, in whichever pool.
#[must_use]
pub fn wake(role: &RoleId) -> String {
    format!("{ROOT}.wake.{role}")
}

/// The hint to one agent of a role and pool that a turn is waiting: agents listen in the queue group [`WAKE_GROUP`].
#[must_use]
pub fn wake_one(role: &RoleId, pool: &PoolId) -> String {
    format!("{ROOT}.wake.{role}.{pool}")
}

/// The queue group of the agents that hear a hint to one of them.
pub const WAKE_GROUP: &str = "agents";

/// Where an agent hears that a handoff was refused, and why.
#[must_use]
pub fn refused(role: &RoleId, agent: &AgentName) -> String {
    format!("{ROOT}.refused.{role}.{agent}")
}

/// Where an agent that asked with its plan hears whether the turn is open.
#[must_use]
pub fn progress(role: &RoleId, agent: &AgentName) -> String {
    format!("{ROOT}.progress.{role}.{agent}")
}

/// Where an agent says that it is there and what it does.
#[must_use]
pub fn presence(role: &RoleId, agent: &AgentName) -> String {
    format!("{ROOT}.presence.{role}.{agent}")
}

/// Where all of a role say that they are there.
#[must_use]
pub fn presence_of(role: &RoleId) -> String {
    format!("{ROOT}.presence.{role}.*")
}

/// Where everybody says that they are there.
#[must_use]
pub fn presences() -> String {
    format!("{ROOT}.presence.>")
}

/// Where an agent says what the program of its turn says while it runs. Not stored.
#[must_use]
pub fn log(role: &RoleId, agent: &AgentName, flight: &FlightId, waypoint: &WaypointId) -> String {
    format!("{ROOT}.log.{role}.{agent}.{flight}.{waypoint}")
}

/// What all agents say of a waypoint, or of all waypoints of a flight, while they work.
#[must_use]
pub fn logs_on(flight: &FlightId, waypoint: Option<&WaypointId>) -> String {
    format!("{ROOT}.log.*.*.{flight}.{}", waypoint.map_or("*", WaypointId::as_str))
}

/// What the subject of a live line says. The broker's permissions hold role and agent to the sender; flight and waypoint are
/// the sender's word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogSubject {
    /// The sender's role.
    pub role: RoleId,
    /// The sender.
    pub agent: AgentName,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
}

/// Reads the subject of a live line back; `None` if it is none.
#[must_use]
pub fn parse_log(subject: &str) -> Option<LogSubject> {
    let rest = subject.strip_prefix(ROOT)?.strip_prefix(".log.")?;
    let tokens: Vec<&str> = rest.split('.').collect();
    let [role, agent, flight, waypoint] = tokens.as_slice() else { return None };
    Some(LogSubject {
        role: role.parse().ok()?,
        agent: agent.parse().ok()?,
        flight: flight.parse().ok()?,
        waypoint: waypoint.parse().ok()?,
    })
}

/// An endpoint of the micro service `holdpoint`.
#[must_use]
pub fn api(endpoint: &str) -> String {
    format!("{ROOT}.api.{endpoint}")
}

/// What an orchestrator signs the end of an export under. Nothing is published there.
#[must_use]
pub fn seal(flight: &FlightId) -> String {
    format!("{ROOT}.seal.{flight}")
}

/// All handoffs of a role for a flight.
#[must_use]
pub fn handoffs_for(role: &RoleId, flight: &FlightId) -> String {
    format!("{ROOT}.handoff.{role}.{}.{flight}.>", partition(flight))
}

/// All handoffs for a flight, in the stream of any role.
#[must_use]
pub fn handoffs_of_flight(flight: &FlightId) -> String {
    format!("{ROOT}.handoff.*.{}.{flight}.>", partition(flight))
}

/// What the subject of a handoff on a waypoint says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffSubject {
    /// The role that published it; the broker's permissions hold it to that.
    pub role: RoleId,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The kind of artifact.
    pub kind: String,
}

/// What the subject of any handoff says: a person's act may concern a whole flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedSubject {
    /// The role that published it; the broker's permissions hold it to that.
    pub role: RoleId,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint; `None`: an act on the whole flight.
    pub waypoint: Option<WaypointId>,
    /// The kind of artifact.
    pub kind: String,
}

impl HandedSubject {
    /// The subject of a handoff on a waypoint; `None` for an act on a whole flight.
    #[must_use]
    pub fn on_waypoint(self) -> Option<HandoffSubject> {
        let Self { role, flight, waypoint, kind } = self;
        Some(HandoffSubject { role, flight, waypoint: waypoint?, kind })
    }
}

/// Reads a handoff's subject back; `None` if it is not one on a waypoint, or its partition is not the flight's.
#[must_use]
pub fn parse_handoff(subject: &str) -> Option<HandoffSubject> {
    parse_handed(subject)?.on_waypoint()
}

/// Reads the subject of any handoff back; `None` if it is none, or its partition is not the flight's.
#[must_use]
pub fn parse_handed(subject: &str) -> Option<HandedSubject> {
    let rest = subject.strip_prefix(ROOT)?.strip_prefix(".handoff.")?;
    let tokens: Vec<&str> = rest.split('.').collect();
    let [by, part, flight, waypoint, kind] = tokens.as_slice() else { return None };
    let flight: FlightId = flight.parse().ok()?;
    // As text: `+3` is the number, too, and no consumer's partition.
    if *part != partition(&flight).to_string() || kind.is_empty() {
        return None;
    }
    let waypoint = match *waypoint {
        // Only people act on whole flights.
        FLIGHT_TOKEN if *by == role::OPERATOR => None,
        id => Some(id.parse().ok()?),
    };
    Some(HandedSubject { role: by.parse().ok()?, flight, waypoint, kind: (*kind).to_owned() })
}

/// Reads the journal a journal subject belongs to.
#[must_use]
pub fn parse_journal(subject: &str) -> Option<JournalKey> {
    let rest = subject.strip_prefix(ROOT)?.strip_prefix(".journal.")?;
    let mut tokens = rest.splitn(3, '.');
    let flight = tokens.next()?.parse().ok()?;
    let waypoint = match tokens.next()? {
        FLIGHT_TOKEN => None,
        id => Some(id.parse().ok()?),
    };
    tokens.next()?;
    Some(JournalKey { flight, waypoint })
}

#[cfg(test)]
mod tests;
