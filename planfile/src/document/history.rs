//! What the history of a waypoint says of each of its artifacts: the gate, when its turn began, how often it had been tried before, and
//! why that was not enough.

use std::collections::HashMap;

use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, CriterionReport, Revise, VerificationReport},
    checkpoint::{GateCheckpoints, GateDemands},
    ids::GateId,
    reason::ReasonCode,
};
use serde_json::Value;

use super::{ArtifactDocument, SettledCheckpoint, SettledCheckpoints, TurnPast};
use crate::checkpoints;

/// Criteria that a failure names.
const NAMED_MAX: usize = 3;
/// The longest kind in a file's name, in characters.
const KIND_CHARS_MAX: usize = 40;

/// What the lines before it say of each line of a history, in their order.
#[must_use]
pub fn pasts(history: &[HistoryLine]) -> Vec<TurnPast> {
    let mut gatherer = Gatherer::default();
    let settled = settled(history);
    let past = |line: &HistoryLine| {
        let past = gatherer.take(line);
        let id = Some(&line.artifact["artifact_id"]).filter(|_| line.kind == VerificationReport::KIND);
        let settled = id.and_then(Value::as_str).and_then(|id| settled.get(id).cloned());
        TurnPast { settled, ..past }
    };
    history.iter().map(past).collect()
}

/// What the decision on each report says of checkpoints, by the id of the report.
fn settled(history: &[HistoryLine]) -> HashMap<&str, SettledCheckpoints> {
    let of = |line: &'_ HistoryLine| -> Option<SettledCheckpoints> {
        let gates: Vec<GateCheckpoints> =
            serde_json::from_value(line.artifact["record"]["state"]["checkpoints"].clone()).ok()?;
        let score = gates.iter().find_map(|gate| gate.score);
        let each = gates.into_iter().flat_map(|GateCheckpoints { gate, checkpoints, .. }| {
            checkpoints.into_iter().map(move |result| SettledCheckpoint { gate: gate.clone(), result })
        });
        let let_on = line.artifact["decision"]["reason_code"] != ReasonCode::CheckpointsUnmet.as_str();
        Some(SettledCheckpoints { checkpoints: each.collect(), score, let_on })
    };
    let entries = history.iter().filter(|line| line.standing != Some(Standing::Unsigned));
    let decided = entries.filter_map(|line| {
        let report = line.artifact["record"]["cause"]["artifact"].as_str()?;
        Some((report, of(line)?))
    });
    decided.collect()
}

/// The name of the file that a document at this place of a history has, from 1: `NNN-GATE-KIND.md`.
#[must_use]
pub fn file_name(place: usize, document: &ArtifactDocument) -> String {
    let gate = document.gate().filter(|gate| GateId::try_new(*gate).is_ok()).unwrap_or("flight");
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    let kind = Some(document.kind.as_str()).filter(|kind| kind.chars().all(is_word));
    let kind = kind.filter(|kind| (1..=KIND_CHARS_MAX).contains(&kind.len())).unwrap_or("unknown");
    format!("{place:03}-{gate}-{kind}.md")
}

/// What a gate demands of its document, by the last turn that was opened there.
#[must_use]
pub fn demands(history: &[HistoryLine], gate: &str) -> GateDemands {
    let opens = |line: &&HistoryLine| {
        line.kind == "turn" && line.standing != Some(Standing::Unsigned) && line.artifact["gate"] == gate
    };
    let opened = history.iter().rev().find(opens);
    opened.map(|turn| demanded(&turn.artifact["request"]["context"])).unwrap_or_default()
}

/// The reference of the newest document of a gate that later turns get; `None`: they get none.
#[must_use]
pub fn newest<'h>(history: &'h [HistoryLine], gate: &str) -> Option<&'h str> {
    let signed = |line: &&HistoryLine| line.standing != Some(Standing::Unsigned);
    let states = history.iter().rev().filter(signed).map(|line| &line.artifact["record"]["state"]);
    let documents = states.into_iter().find(|state| state.is_object())?["documents"].as_array()?;
    documents.iter().find(|document| document["gate"] == gate)?["from"].as_str()
}

#[derive(Debug, Default)]
struct Gatherer {
    /// By the id of the turn.
    turns: HashMap<String, TurnPast>,
    /// By the gate: its turn that was opened last.
    gates: HashMap<String, TurnPast>,
    /// The turn that was opened last.
    last: TurnPast,
    /// The first attempt at each gate.
    first: HashMap<String, u64>,
    /// Why work was sent back or held last.
    failure: Option<String>,
}

impl Gatherer {
    fn take(&mut self, line: &HistoryLine) -> TurnPast {
        if line.standing == Some(Standing::Unsigned) {
            return TurnPast::default();
        }
        let artifact = &line.artifact;
        let decision = &artifact["decision"];
        match line.kind.as_str() {
            "turn" => return self.turn(artifact),
            Revise::KIND => {
                let gate = artifact["gate"].as_str().and_then(|gate| self.gates.get(gate));
                return gate.cloned().unwrap_or_default();
            }
            "decided" | "dead" => {
                let feedback = &artifact["feedback"];
                self.failure = failure(decision, feedback).or_else(|| self.failure.take());
            }
            _ => {}
        }
        match artifact["turn"].as_str() {
            Some(turn) => self.turns.get(turn).cloned().unwrap_or_default(),
            None => self.last.clone(),
        }
    }

    fn turn(&mut self, turn: &Value) -> TurnPast {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let request = &turn["request"];
        let feedback = if request["feedback"].is_object() { &request["feedback"] } else { &turn["for_build"] };
        self.failure = failure(&turn["decision"], feedback).or_else(|| self.failure.take());
        let gate = text(&turn["gate"]);
        let attempt = turn["attempt"].as_u64().unwrap_or(1);
        let retries = gate.as_ref().map(|gate| {
            let first = *self.first.entry(gate.clone()).or_insert(attempt);
            attempt.saturating_sub(first)
        });
        let past = TurnPast {
            waypoint: text(&turn["waypoint"]),
            gate,
            title: text(&request["title"]).or_else(|| self.last.title.clone()),
            started_at: serde_json::from_value::<Timestamp>(turn["record"]["at"].clone()).ok(),
            retry_count: retries,
            last_failure: self.failure.clone().filter(|_| retries > Some(0)),
            required: Some(required(&request["context"])),
            settled: None,
        };
        if let Some(id) = turn["turn_id"].as_str() {
            self.turns.insert(id.to_owned(), past.clone());
        }
        if let Some(gate) = &past.gate {
            self.gates.insert(gate.clone(), past.clone());
        }
        self.last = past.clone();
        past
    }
}

/// What the context of a gate demands.
fn demanded(context: &Value) -> GateDemands {
    serde_json::from_value(context.clone()).unwrap_or_default()
}

/// The checkpoints that a gate waits for.
fn required(context: &Value) -> Vec<String> {
    checkpoints::all(&demanded(context)).filter(|spec| spec.required).map(|spec| spec.name.to_string()).collect()
}

/// Why a decision sent work back or holds it, with what did not pass; `None`: it did neither.
fn failure(decision: &Value, feedback: &Value) -> Option<String> {
    let sent_back = matches!(decision["disposition"].as_str(), Some("rework" | "rollback"));
    let held = matches!(decision["status"]["to"].as_str(), Some("blocked" | "failed"));
    let reason = decision["reason_code"].as_str().filter(|_| sent_back || held)?;
    let failing = feedback["failing"].as_array().into_iter().flatten();
    let failing = failing.filter_map(|one| serde_json::from_value::<CriterionReport>(one.clone()).ok());
    let named: Vec<String> = failing
        .take(NAMED_MAX)
        .map(|report| match report.note {
            Some(note) => format!("{}: {note}", report.result.id),
            None => report.result.id.to_string(),
        })
        .collect();
    let notes = feedback["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let said = if named.is_empty() { notes.take(1).map(str::to_owned).collect() } else { named };
    Some(if said.is_empty() { reason.to_owned() } else { format!("{reason}: {}", said.join("; ")) })
}
