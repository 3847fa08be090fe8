//! A proposal as an agent writes it: `proposal` in the front matter of its document, or in the JSON of its completion. Both are read
//! as plans are.

use holdpoint_protocol::{
    checkpoint::DOCUMENT_BYTES_MAX,
    ids::WaypointId,
    plan::EvidenceLevel,
    proposal::{PROPOSED_REWORKS, PlanProposal, ProposedWaypoint},
};
use serde_json::Value;

use crate::{
    declared::checkpoint::PROPOSAL,
    plan::{criteria, limits::ROUNDS, waypoint},
    yaml::{
        error::{PlanErrors, Problems},
        fields::Fields,
        source::{self, FileBound},
        tree::{self, FileKind, Node},
    },
};

/// The keys of a proposed waypoint.
const KEYS: &[&str] =
    &["key", "title", "goal", "criteria", "scope", "depends_on", "priority", "estimate", "max_reworks"];
const LEAST: &str = "write `{waypoints: [{key: …, goal: …, estimate: 30m, criteria: […]}]}`";
const KIND: FileKind = FileKind { name: PROPOSAL, least: LEAST, depth: "a proposal needs seven levels" };
const BOUND: FileBound =
    FileBound { bytes: DOCUMENT_BYTES_MAX, what: "the proposal", hint: "propose fewer waypoints, or shorter goals" };

/// Reads the proposal of a document's front matter; `None`: it has none, or it cannot be read, which is reported.
pub(crate) fn read(front: &Fields<'_>, problems: &mut Problems) -> Option<PlanProposal> {
    if !front.has(PROPOSAL) {
        return None;
    }
    proposal(front.get(PROPOSAL, problems)?, problems)
}

/// Reads the proposal of a completion that is JSON.
///
/// # Errors
/// All problems, each with its place in the JSON text.
pub fn of_json(value: &Value) -> Result<PlanProposal, PlanErrors> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    source::read(text.as_bytes(), PROPOSAL, BOUND, |text, problems| {
        let root = tree::load(text, &KIND, problems)?;
        proposal(&root, problems)
    })
}

fn proposal(node: &Node, problems: &mut Problems) -> Option<PlanProposal> {
    let fields = Fields::open(node, "`proposal`", &["waypoints"], problems)?;
    fields.demand("waypoints", LEAST, problems);
    Some(PlanProposal { waypoints: fields.list("waypoints", problems, proposed) })
}

fn proposed(node: &Node, problems: &mut Problems) -> Option<ProposedWaypoint> {
    let fields = Fields::open(node, "a proposed waypoint", KEYS, problems)?;
    fields.demand("key", "give it a short name, such as `key: parser`", problems);
    let key = fields.id("key", WaypointId::try_new, problems);
    let read = ProposedWaypoint {
        title: fields.text("title", problems).unwrap_or_default(),
        goal: fields.text("goal", problems).unwrap_or_default(),
        criteria: criteria::criteria(&fields, EvidenceLevel::Fast, problems),
        scope: waypoint::scope(&fields, problems),
        depends_on: fields.ids("depends_on", WaypointId::try_new, problems),
        priority: waypoint::priority(&fields, problems),
        estimate: fields.duration("estimate", problems),
        max_reworks: fields.number("max_reworks", &ROUNDS, problems).unwrap_or(PROPOSED_REWORKS),
        // Only now: all problems of a waypoint are found, also of one without a key.
        key: key?,
    };
    let title = if read.title.is_empty() { read.key.to_string() } else { read.title.clone() };
    Some(ProposedWaypoint { title, ..read })
}
