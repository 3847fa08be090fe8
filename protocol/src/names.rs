//! Everything that has a name on the wire, as data: what `holdpoint schema` prints and the AsyncAPI document is made of.
//!
//! Names are taken from [`crate::subjects`] and [`crate::streams`] with placeholders in the place of ids, so that they
//! cannot differ from what is sent.

mod endpoints;

use serde::Serialize;

pub use endpoints::{ENDPOINTS, Endpoint};

use crate::{
    Digest,
    artifact::ACT_KINDS,
    headers,
    ids::{AgentName, FlightId, PoolId, RoleId, WaypointId, role},
    journal::EntryKind,
    plan::Priority,
    streams,
    subjects::{self, JournalKey},
};

/// All names.
#[derive(Debug, Clone, Serialize)]
pub struct Names {
    /// The root of all subjects.
    pub root: &'static str,
    /// How many partitions the handoffs of a role are spread over.
    pub partitions: u32,
    /// Streams, in order.
    pub streams: Vec<Stream>,
    /// Durable consumers that agents of the whole fleet pull turns from.
    pub consumers: Vec<Consumer>,
    /// Subjects.
    pub subjects: Vec<Subject>,
    /// Headers.
    pub headers: Vec<Header>,
}

/// A stream.
#[derive(Debug, Clone, Serialize)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// What it stores.
    pub subjects: String,
}

/// A durable pull consumer.
#[derive(Debug, Clone, Serialize)]
pub struct Consumer {
    /// Its name: `<role>_<priority>_<pool>`.
    pub name: String,
    /// Its stream.
    pub stream: &'static str,
    /// Whose turns.
    pub role: String,
    /// Which of them.
    pub priority: &'static str,
    /// What it delivers.
    pub filter: String,
    /// Where a pull is requested.
    pub pull: String,
}

/// A subject, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// A word for it.
    pub name: &'static str,
    /// The subject; `{…}` stands for one token.
    pub address: String,
    /// Who publishes on it.
    pub by: &'static [&'static str],
    /// Who reads it.
    pub to: &'static [&'static str],
    /// The schemas of what is published; empty where it is no JSON.
    pub messages: Vec<&'static str>,
    /// The schema of the answer to a request.
    pub answer: Option<&'static str>,
    /// What it is.
    pub summary: &'static str,
}

/// A header.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub summary: &'static str,
}

/// Kinds by which an agent plans.
pub const PLAN_KINDS: [&str; 3] = ["build_plan", "verification_plan", "completion_plan"];
/// All kinds that agents hand off.
pub const HANDOFF_KINDS: [&str; 11] = [
    "build_plan",
    "build_artifact",
    "verification_plan",
    "verification_report",
    "completion_plan",
    "completion",
    "clarification_request",
    "help_request",
    "given_back",
    "status_update",
    "exchange_record",
];

/// Whether a handoff of this kind answers its turn: plans, turns that are given back, status updates and
/// records of exchanges do not.
#[must_use]
pub fn answers_turn(kind: &str) -> bool {
    !PLAN_KINDS.contains(&kind) && !["given_back", "status_update", "exchange_record"].contains(&kind)
}

/// Acts that may concern a whole flight.
pub const FLIGHT_ACT_KINDS: [&str; 5] = ["cancel", "pause", "resume", "reconfigure", "budget"];

const AGENTS: &[&str] = &role::AGENTS;
const ORCHESTRATOR: &[&str] = &[role::ORCHESTRATOR];
const OPERATOR: &[&str] = &[role::OPERATOR];
const ARCHIVIST: &[&str] = &[role::ARCHIVIST];
const EVERYBODY: &[&str] = &role::HANDING;
const BROKER: &[&str] = &["broker"];

/// All names of this build.
#[must_use]
pub fn all() -> Names {
    Names {
        root: subjects::ROOT,
        partitions: subjects::PARTITIONS,
        streams: all_streams(),
        consumers: consumers(&streams::fleet_pool()),
        subjects: all_subjects(),
        headers: HEADERS.to_vec(),
    }
}

/// All headers of messages that agents send or read.
pub const HEADERS: [Header; 7] = [
    Header { name: headers::CONTENT_TYPE, summary: "application/json, or application/msgpack; JSON if it is missing" },
    Header { name: headers::SCHEMA, summary: "kind and version of the payload: build_artifact/1.0" },
    Header {
        name: headers::MESSAGE_ID,
        summary: "<turn>.<delivery>.<agent>.<kind>.<n>: the broker stores one message of an id",
    },
    Header {
        name: headers::SIGNATURE,
        summary: "unpadded base64url of the ed25519 signature over subject, line feed, payload",
    },
    Header { name: headers::JWT, summary: "the sender's user JWT: on plans and API requests" },
    Header { name: headers::TRACEPARENT, summary: "W3C trace context: pass the turn's on" },
    Header { name: headers::SIZE, summary: "on chunk 0 of a blob: the whole length in bytes, decimal" },
];

fn all_streams() -> Vec<Stream> {
    let mut all = vec![Stream { name: streams::JOURNAL.to_owned(), subjects: subjects::journals() }];
    for name in role::HANDING {
        let role = role::id(name);
        all.push(Stream { name: streams::handoff(&role), subjects: subjects::handoffs_stored(&role) });
    }
    for name in role::STORING {
        let role = role::id(name);
        all.push(Stream { name: streams::blob(&role), subjects: subjects::blobs_stored(&role) });
    }
    all
}

/// The consumers of the agents of a pool, by role, most urgent first.
#[must_use]
pub fn consumers(pool: &PoolId) -> Vec<Consumer> {
    let of_role = |role: RoleId| {
        Priority::ALL.map(|priority| {
            let name = streams::turn_consumer(&role, pool, priority);
            Consumer {
                pull: pull_subject(&name),
                name,
                stream: streams::JOURNAL,
                role: role.to_string(),
                priority: priority.as_str(),
                filter: subjects::turns(None, &role, priority, pool),
            }
        })
    };
    role::AGENTS.into_iter().map(role::id).flat_map(of_role).collect()
}

fn pull_subject(consumer: &str) -> String {
    format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL)
}

/// Ids that stand where a placeholder belongs.
struct Stand {
    role: RoleId,
    flight: FlightId,
    waypoint: WaypointId,
    agent: AgentName,
}

impl Stand {
    fn new() -> Self {
        let id = "a literal id";
        Self {
            role: RoleId::try_new("ROLE").expect(id),
            flight: FlightId::try_new("FLIGHT").expect(id),
            waypoint: WaypointId::try_new("WAYPOINT").expect(id),
            agent: AgentName::try_new("AGENT").expect(id),
        }
    }

    /// Puts the placeholders in.
    fn address(&self, subject: &str) -> String {
        let partition = format!(".{}.FLIGHT", subjects::partition(&self.flight));
        subject
            .replace(&partition, ".{partition}.FLIGHT")
            .replace("ROLE", "{role}")
            .replace("FLIGHT", "{flight}")
            .replace("WAYPOINT", "{waypoint}")
            .replace("AGENT", "{agent}")
    }
}

/// All subjects, with placeholders.
#[must_use]
pub fn all_subjects() -> Vec<Subject> {
    let stand = Stand::new();
    let mut all = journal_subjects(&stand);
    all.extend(agent_subjects(&stand));
    all.extend(ENDPOINTS.iter().map(Endpoint::subject));
    all
}

fn journal_subjects(stand: &Stand) -> Vec<Subject> {
    let (flight, waypoint) = (JournalKey::flight(&stand.flight), JournalKey::waypoint(&stand.flight, &stand.waypoint));
    let turn = EntryKind::Turn { role: stand.role.clone(), priority: Priority::Medium, pool: streams::fleet_pool() };
    let queue = format!(".{}.{}", Priority::Medium.as_str(), streams::fleet_pool());
    let turn = waypoint.entry(&turn).replace(&queue, ".{priority}.{pool}");
    let entry = |name, address: String, to, summary| Subject {
        name,
        address: stand.address(&address),
        by: ORCHESTRATOR,
        to,
        messages: vec![name],
        answer: None,
        summary,
    };
    vec![
        entry("turn", turn, AGENTS, "a turn opens: what agents of its role and pool pull"),
        entry("decided", waypoint.entry(&EntryKind::Decided), ORCHESTRATOR, "a decision that opens no turn"),
        Subject {
            // Another name than the endpoint's.
            name: "turn_dead",
            ..entry("dead", waypoint.entry(&EntryKind::Dead), ORCHESTRATOR, "a turn is given up")
        },
        entry(
            "answered",
            waypoint.entry(&EntryKind::Answered),
            ORCHESTRATOR,
            "a question was answered in its turn, which stays open",
        ),
        entry(
            "revised",
            waypoint.entry(&EntryKind::Revised),
            ORCHESTRATOR,
            "a person edited the document of a gate: turns that open later get it",
        ),
        entry(
            "queued",
            waypoint.entry(&EntryKind::Queued),
            ORCHESTRATOR,
            "work waits to be integrated with what goes before it to the branch",
        ),
        entry("submitted", flight.entry(&EntryKind::Submitted), ORCHESTRATOR, "a flight begins"),
        entry("landed", flight.entry(&EntryKind::Landed), ORCHESTRATOR, "accepted work stands on the branch"),
        entry(
            "steered",
            flight.entry(&EntryKind::Steered),
            ORCHESTRATOR,
            "a person paused, resumed or ended the flight",
        ),
        entry(
            "reserved",
            flight.entry(&EntryKind::Reserved),
            ORCHESTRATOR,
            "a part of the flight's budget is reserved for a turn",
        ),
        entry(
            "added",
            flight.entry(&EntryKind::Added),
            ORCHESTRATOR,
            "waypoints are added to the flight, as the children of another one",
        ),
        entry(
            "retired",
            flight.entry(&EntryKind::Retired),
            ORCHESTRATOR,
            "the flight is exported, and its other entries and its handoffs are deleted",
        ),
    ]
}

fn agent_subjects(stand: &Stand) -> Vec<Subject> {
    let digest = Digest::of(b"");
    let chunk = stand.address(&subjects::blob_chunk(&stand.role, &digest, 0));
    let chunk = chunk.replace(&format!("{}.0", digest.hex()), "{sha256}.{n}");
    let handoff = subjects::handoff(&stand.role, &stand.flight, &stand.waypoint, "{kind}");
    let plain = |name, address: String, by, to, messages, summary| Subject {
        name,
        address: stand.address(&address),
        by,
        to,
        messages,
        answer: None,
        summary,
    };
    let get = subjects::direct_get(streams::BLOB_GETS, &chunk);
    let ack = format!("$JS.ACK.{}.{{consumer}}.>", streams::JOURNAL);
    vec![
        plain(
            "pull",
            pull_subject("{consumer}"),
            AGENTS,
            BROKER,
            vec![],
            "asks a consumer for one turn, without waiting",
        ),
        plain("acknowledge", ack, AGENTS, BROKER, vec![], "the reply subject of a delivery: +WPI, +ACK or -NAK"),
        plain("handoff", handoff, AGENTS, ORCHESTRATOR, HANDOFF_KINDS.to_vec(), "a plan, or what a turn came to"),
        plain(
            "act_on_waypoint",
            subjects::act(&stand.flight, Some(&stand.waypoint), "{kind}"),
            OPERATOR,
            ORCHESTRATOR,
            ACT_KINDS.to_vec(),
            "a person's act, signed with that person's key",
        ),
        plain(
            "act_on_flight",
            subjects::act(&stand.flight, None, "{kind}"),
            OPERATOR,
            ORCHESTRATOR,
            FLIGHT_ACT_KINDS.to_vec(),
            "a person's act on a whole flight",
        ),
        plain("blob", chunk, AGENTS, BROKER, vec![], "a chunk of bytes, written once"),
        plain("read_blob", get, AGENTS, BROKER, vec![], "asks for a chunk; the answer is the chunk"),
        plain(
            "wake",
            subjects::wake(&stand.role),
            ORCHESTRATOR,
            AGENTS,
            vec![],
            "a turn of this priority may be waiting",
        ),
        plain(
            "wake_one",
            format!("{}.{{pool}}", subjects::wake(&stand.role)),
            ORCHESTRATOR,
            AGENTS,
            vec![],
            "a turn of this priority is waiting, to one of the pool's agents: listen in the queue group `agents`",
        ),
        plain(
            "refused",
            subjects::refused(&stand.role, &stand.agent),
            ORCHESTRATOR,
            AGENTS,
            vec!["refused_handoff"],
            "what is wrong with a handoff of this agent",
        ),
        plain(
            "progress_notice",
            subjects::progress(&stand.role, &stand.agent),
            ORCHESTRATOR,
            AGENTS,
            vec!["progress_notice"],
            "whether the turn is open that this agent's plan asked about",
        ),
        plain(
            "presence",
            subjects::presence(&stand.role, &stand.agent),
            AGENTS,
            OPERATOR,
            vec!["presence"],
            "this agent is there, and holds this turn: every 10 s",
        ),
        plain(
            "log",
            subjects::log(&stand.role, &stand.agent, &stand.flight, &stand.waypoint),
            AGENTS,
            OPERATOR,
            vec!["live_line"],
            "what the program of a turn says while it runs; not stored",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_placeholders_and_nothing_of_the_ids_they_were_made_of() {
        let all = all_subjects();
        let address = |name| all.iter().find(|subject| subject.name == name).unwrap().address.as_str();
        assert_eq!(address("turn"), "hp.v1.journal.{flight}.{waypoint}.turn.{role}.{priority}.{pool}");
        assert_eq!(address("handoff"), "hp.v1.handoff.{role}.{partition}.{flight}.{waypoint}.{kind}");
        assert_eq!(address("blob"), "hp.v1.blob.{role}.{sha256}.{n}");
        assert_eq!(address("refused"), "hp.v1.refused.{role}.{agent}");
        assert_eq!(address("landed"), "hp.v1.journal.{flight}._.landed");
        let left =
            all.iter().filter(|subject| subject.address.replace("$JS.API.CONSUMER.MSG.NEXT", "").contains("AGENT"));
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn every_role_has_a_consumer_a_priority() {
        let names: Vec<String> = consumers(&streams::fleet_pool()).into_iter().map(|consumer| consumer.name).collect();
        assert_eq!(names.len(), role::AGENTS.len() * Priority::ALL.len());
        assert_eq!(names[0], "builder_critical_fleet");
        assert!(names.contains(&"verifier_low_fleet".to_owned()));
    }
}
