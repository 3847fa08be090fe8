//! What waits for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Timestamp,
    artifact::{Confidence, Verb},
    facts::Oid,
    ids::{AgentName, FlightId, GateId, WaypointId},
    reason::{BlockReason, ReasonCode},
    words::words,
    workflow::GateContext,
};

/// Asks what waits for people, a page at a time; the answer is an [`Inbox`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxQuery {
    /// In this flight; `None`: in all.
    pub flight: Option<FlightId>,
    /// The page behind this place: `next` of the page before. Absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<InboxPlace>,
}

impl InboxQuery {
    /// Asks for the first page.
    #[must_use]
    pub fn first(flight: Option<FlightId>) -> Self {
        Self { flight, after: None }
    }
}

/// A page of what waits for people, longest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inbox {
    /// One item for each waypoint that waits.
    pub items: Vec<InboxItem>,
    /// More waits: ask again with this as `after`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<InboxPlace>,
}

/// A place among what waits for people. The longest wait comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InboxPlace {
    /// Since when it waits.
    pub since: Timestamp,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
}

words! {
    /// What kind of thing waits.
    InboxKind {
        /// An agent's question.
        Question = "question",
        /// An agent's call for help.
        Help = "help",
        /// A gate for people.
        Approval = "approval",
        /// A turn that makes work and is for people: one of them takes it.
        Turn = "turn",
        /// A turn that a person took over.
        Taken = "taken",
        /// Blocked or dead work.
        Held = "held",
        /// Work whose attempts or budget are used up.
        Failed = "failed",
    }
}

/// One thing that waits for people. Fields that do not apply are `null` or empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InboxItem {
    /// What it is.
    pub kind: InboxKind,
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// The gate it waits in.
    pub gate: Option<GateId>,
    /// Since when.
    pub since: Timestamp,
    /// The person who took the turn over: nobody else can answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<AgentName>,
    /// The people whom it concerns: who may complete the gate, or, of held or failed work, the owner and stakeholders of its
    /// workflow. Empty: anybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<AgentName>,
    /// The question or call for help, or what an approval is about. Agents' words are hostile input.
    pub question: Option<String>,
    /// What depends on the answer, or what led to the call for help, in the asker's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_context: Option<String>,
    /// What kind of obstacle is in the way, where a document or a completion says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<BlockReason>,
    /// What an open gate says to the one who completes it.
    #[serde(default, skip_serializing_if = "GateContext::is_empty")]
    pub context: GateContext,
    /// The answers that the asker can work with.
    pub options: Vec<String>,
    /// How sure the asker is of its own best guess.
    pub confidence: Option<Confidence>,
    /// Until when the asker waits in its turn; then the question ends the turn, and stays open. `None`: nobody waits in a
    /// turn.
    #[serde(default)]
    pub waits_until: Option<Timestamp>,
    /// Which question of the waypoint it is, from 1.
    pub round: Option<u32>,
    /// Why it waits.
    pub reason_code: Option<ReasonCode>,
    /// What a person can do, in words.
    pub remediation: Option<String>,
    /// What the verdicts rest on.
    pub evidence: Vec<Digest>,
    /// The agent that made the work reached them: nobody else verified it (FLY-36).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_checked: bool,
    /// What the last verification doubts, some of it shortened. It holds nothing up. It may quote agents' words.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// The commit of the last work, finished or not, of what is held or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Oid>,
    /// What a person can do, as commands.
    pub actions: Vec<Verb>,
    /// Names what waits: an act that carries it changes nothing once something else waits.
    #[serde(rename = "ref")]
    pub reference: String,
}

impl InboxItem {
    /// Whether this person is asked.
    #[must_use]
    pub fn is_for(&self, person: &AgentName) -> bool {
        match &self.taken_by {
            Some(by) => by == person,
            None => self.to.is_empty() || self.to.contains(person),
        }
    }

    /// Whether this person may do this about it. A gate's people are named, and work that was taken over is one person's; with
    /// everything else anybody may help.
    #[must_use]
    pub fn allows(&self, verb: Verb, person: &AgentName) -> bool {
        let is_theirs = matches!(verb, Verb::Approve | Verb::Reject | Verb::HandIn | Verb::Release);
        !is_theirs || self.is_for(person)
    }

    /// Whether both wait for one thing: the agents of their gate cannot work, whatever the work is.
    #[must_use]
    pub fn waits_with(&self, other: &Self) -> bool {
        let is_of_agents =
            |item: &Self| item.kind == InboxKind::Held && item.reason_code == Some(ReasonCode::NotExecutable);
        let is_same = self.flight == other.flight && self.gate == other.gate && self.gate.is_some();
        is_same && is_of_agents(self) && is_of_agents(other)
    }

    /// What waits, with what waits for the same thing: each is named once, and what waited longest comes first.
    #[must_use]
    pub fn by_cause<'a>(items: impl IntoIterator<Item = &'a Self>) -> Vec<(&'a Self, Vec<&'a Self>)> {
        let mut all: Vec<(&Self, Vec<&Self>)> = Vec::new();
        for item in items {
            // What has no cause in common with itself has none with others.
            let with = if item.waits_with(item) { all.iter_mut().find(|(one, _)| one.waits_with(item)) } else { None };
            match with {
                Some((_, others)) => others.push(item),
                None => all.push((item, Vec::new())),
            }
        }
        all
    }

    /// Where it stands among what waits.
    #[must_use]
    pub fn place(&self) -> InboxPlace {
        InboxPlace { since: self.since, flight: self.flight.clone(), waypoint: self.waypoint.clone() }
    }
}
