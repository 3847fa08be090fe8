//! Documents: an artifact as people read it, Markdown behind YAML front matter, and back without loss.
//!
//! The keys of the front matter come first that every handoff document has (`id`, `stage`, `title`, …), then `artifact` with
//! every other field, then one text of the artifact as the body, byte for byte. Some keys are fields of the artifact
//! (`home`), some are what the journal says of the turn that it was made in ([`TurnPast`]), and some follow from both
//! (`status`): these are written for readers, and never believed when a document is read.

mod differ;
mod emit;
mod history;
mod read;
mod revise;
mod status;

use holdpoint_protocol::{
    Timestamp,
    api::{HistoryLine, Standing},
    artifact::{
        Artifact as _, BuildArtifact, Cancel, ClarificationRequest, ClarificationResponse, Completion, GivenBack,
        HelpRequest, OrchestratorDecision, Retry, Revise, StatusUpdate, VerificationReport,
    },
    checkpoint::CheckpointResult,
    ids::GateId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use differ::unified_diff;
pub use history::{demands, file_name, newest, pasts};
pub use read::parse;
pub use revise::{EditedDocument, edited};
pub use status::ArtifactStatus;

use crate::yaml::tree;

/// The largest document, in bytes: an answer of the API has 7 MiB of an artifact at most, and hidden characters are written out.
pub const RENDERED_BYTES_MAX: usize = 16 << 20;
/// The deepest nesting of an artifact: as deep as messages are.
const DEPTH_MAX: usize = holdpoint_protocol::codec::DEPTH_MAX;
/// The most keys and values of an artifact. The rest of what a file may have is for the front matter itself.
const NODES_MAX: usize = tree::NODES_MAX - 100;

/// The keys that every handoff document has, in order, then those that make it whole.
const KEYS: [&str; 19] = [
    "id",
    "stage",
    "title",
    "started_at",
    "completed_at",
    "status",
    "handoff_ready",
    "checkpoints",
    "score",
    "retry_count",
    "last_failure",
    "block_reason",
    "block_details",
    "ref",
    "kind",
    "standing",
    "required",
    "body",
    "artifact",
];

/// The texts of each kind that may be the body: the first one that is there is. Written with dots in the front matter.
const BODIES: [(&str, &[&[&str]]); 11] = [
    (BuildArtifact::KIND, &[&["document", "text"], &["last_words"], &["failure", "detail"]]),
    (Completion::KIND, &[&["document", "text"], &["summary"], &["failure", "detail"]]),
    (Revise::KIND, &[&["document", "text"]]),
    (ClarificationRequest::KIND, &[&["question"]]),
    (ClarificationResponse::KIND, &[&["text"]]),
    (HelpRequest::KIND, &[&["raw_line"]]),
    (GivenBack::KIND, &[&["reason"]]),
    (StatusUpdate::KIND, &[&["summary"]]),
    (Retry::KIND, &[&["note"]]),
    (Cancel::KIND, &[&["reason"]]),
    (OrchestratorDecision::KIND, &[&["remediation"]]),
];

/// What a waypoint's journal says of the turn that an artifact was made in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPast {
    /// The waypoint.
    pub waypoint: Option<String>,
    /// The gate of the turn.
    pub gate: Option<String>,
    /// The title of the work.
    pub title: Option<String>,
    /// When the turn was opened.
    pub started_at: Option<Timestamp>,
    /// How often its gate had been tried before.
    pub retry_count: Option<u64>,
    /// Why it had to be tried again.
    pub last_failure: Option<String>,
    /// The checkpoints that its gate waits for; `None`: that is not known, or it waits for none and there are none.
    pub required: Option<Vec<String>>,
    /// Of a verifier's report: what the decision on it says of checkpoints.
    pub settled: Option<SettledCheckpoints>,
}

/// What a decision on a report says of the checkpoints of its gate, and of those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledCheckpoints {
    /// Each of them.
    pub checkpoints: Vec<SettledCheckpoint>,
    /// Of 100, where the gate waits for a score.
    pub score: Option<u8>,
    /// Whether they let the work on.
    pub let_on: bool,
}

/// What came of a checkpoint of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledCheckpoint {
    /// The gate.
    pub gate: GateId,
    /// What came of it.
    #[serde(flatten)]
    pub result: CheckpointResult,
}

/// An artifact or journal entry, with what a reader has to know of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactDocument {
    /// How it is found: `STREAM/SEQUENCE`.
    pub reference: String,
    /// Its kind, as its sender named it.
    pub kind: String,
    /// What became of it.
    pub standing: Option<Standing>,
    /// What the journal says of its turn, without what the artifact says itself.
    past: TurnPast,
    /// It, whole.
    artifact: Value,
}

/// Why an artifact has no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoDocument {
    /// It is nested too deep.
    #[error("the artifact is nested deeper than {DEPTH_MAX} levels")]
    Deep,
    /// It has too many parts.
    #[error("the artifact has more than {NODES_MAX} keys and values")]
    Many,
    /// It is too long.
    #[error("the document would be larger than {} MiB", RENDERED_BYTES_MAX >> 20)]
    Long,
}

impl ArtifactDocument {
    /// The document of a line of a waypoint's history.
    #[must_use]
    pub fn of(line: &HistoryLine, past: TurnPast) -> Self {
        Self::new(line.reference.clone(), (line.kind.clone(), line.artifact.clone()), line.standing, past)
    }

    fn new(reference: String, (kind, artifact): (String, Value), standing: Option<Standing>, past: TurnPast) -> Self {
        let own = |key| home(key, &kind, &artifact).is_some();
        let past = TurnPast {
            waypoint: past.waypoint.filter(|_| !own("id")),
            title: past.title.filter(|_| !own("title")),
            retry_count: past.retry_count.filter(|_| !own("retry_count")),
            last_failure: past.last_failure.filter(|_| !own("last_failure")),
            required: past.required.filter(|names| !names.is_empty() || artifact["document"].is_object()),
            settled: past.settled.filter(|settled| !own("checkpoints") && !settled.checkpoints.is_empty()),
            ..past
        };
        let mut document = Self { reference, kind, standing, past, artifact };
        let is_ready = document.is_ready();
        if let Some(settled) = &mut document.past.settled {
            settled.let_on = is_ready;
        }
        document
    }

    /// The artifact, whole.
    #[must_use]
    pub fn artifact(&self) -> &Value {
        &self.artifact
    }

    /// Its gate, as far as the journal says it.
    #[must_use]
    pub fn gate(&self) -> Option<&str> {
        self.past.gate.as_deref()
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> ArtifactStatus {
        status::of(&self.kind, &self.artifact)
    }

    /// Whether its gate may hand it on: it is complete, was not refused, and each checkpoint that the gate waits for passed.
    /// Where it is not known which these are, each that the document has is one.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let hands_on = [BuildArtifact::KIND, Completion::KIND, Revise::KIND, VerificationReport::KIND]
            .contains(&self.kind.as_str());
        let refused = matches!(self.standing, Some(Standing::Conflict | Standing::Unsigned));
        let whole = self.status() == ArtifactStatus::Complete;
        let kept_back = self.past.settled.as_ref().is_some_and(|settled| !settled.let_on);
        hands_on && whole && !refused && !kept_back && status::are_passed(&self.artifact, self.past.required.as_deref())
    }

    /// The document. [`parse`] reads it back whole.
    ///
    /// # Errors
    /// [`NoDocument`]: a bound was passed.
    pub fn render(&self) -> Result<String, NoDocument> {
        within(&self.artifact, DEPTH_MAX, &mut 0)?;
        let (front, body) = self.parts();
        let mut out = emit::front_matter(&front);
        out.push_str(&body);
        if out.len() > RENDERED_BYTES_MAX { Err(NoDocument::Long) } else { Ok(out) }
    }

    /// The document with another text, as a person would write it. [`edited`] reads it.
    #[must_use]
    pub fn with_text(&self, text: &str) -> String {
        let mut out = emit::front_matter(&self.parts().0);
        out.push_str(text);
        out
    }

    /// The one mapping of an artifact to the keys of its front matter, in order, and its body. [`read`] has the way back.
    fn parts(&self) -> (Vec<(&'static str, Value)>, String) {
        let mut rest = self.artifact.clone();
        let body = take_body(&self.kind, &mut rest);
        let mut front = Vec::with_capacity(KEYS.len());
        for key in KEYS {
            let value = match home(key, &self.kind, &self.artifact) {
                Some(path) => take(&mut rest, path),
                None => self.derived(key),
            };
            front.extend(value.map(|value| (key, value)));
        }
        let (path, text) = body.unwrap_or_default();
        front.extend((!path.is_empty()).then(|| ("body", Value::String(path.join(".")))));
        front.push(("artifact", rest));
        (front, text)
    }

    /// The value of a key that is no field of the artifact.
    fn derived(&self, key: &str) -> Option<Value> {
        let TurnPast { waypoint, gate, title, started_at, retry_count, last_failure, required, settled } = &self.past;
        let text = |text: &Option<String>| text.clone().map(Value::String);
        let status = self.status();
        match key {
            "id" => text(waypoint),
            "stage" => text(gate),
            "title" => text(title),
            "started_at" => started_at.map(|at| Value::String(at.to_string())),
            "completed_at" if status == ArtifactStatus::InProgress => started_at.map(|_| Value::Null),
            "completed_at" => status::made_at(&self.artifact).map(|at| Value::String(at.to_string())),
            "status" => Some(status.as_str().into()),
            "handoff_ready" => Some(self.is_ready().into()),
            "checkpoints" => settled.as_ref().and_then(|settled| serde_json::to_value(&settled.checkpoints).ok()),
            "score" => settled.as_ref().and_then(|settled| settled.score).map(Value::from),
            "retry_count" => retry_count.map(Value::from),
            "last_failure" => text(last_failure),
            "block_reason" => status::block_reason(&self.kind, &self.artifact, status).map(Value::from),
            "block_details" => status::block_details(&self.kind, &self.artifact, status).map(Value::String),
            "ref" => Some(self.reference.as_str().into()),
            "kind" => Some(self.kind.as_str().into()),
            "standing" => self.standing.and_then(|standing| serde_json::to_value(standing).ok()),
            "required" => required.as_deref().map(Value::from),
            _ => None,
        }
    }
}

/// Where a key of the front matter is in an artifact of this kind; `None`: it is no field of the artifact.
fn home(key: &str, kind: &str, artifact: &Value) -> Option<&'static [&'static str]> {
    if !artifact.is_object() {
        return None;
    }
    let of_document = |path: &'static [&'static str]| artifact["document"].is_object().then_some(path);
    match key {
        "id" => match kind {
            "turn" | "landed" | "reserved" => Some(&["waypoint"]),
            // These entries name no waypoint.
            "submitted" | "decided" | "dead" | "steered" | "answered" | "queued" | "retired" => None,
            _ => Some(&["waypoint_id"]),
        },
        "title" => of_document(&["document", "title"]),
        "checkpoints" => of_document(&["document", "checkpoints"]),
        "retry_count" => of_document(&["document", "retry_count"]),
        "last_failure" => of_document(&["document", "last_failure"]),
        "block_reason" if kind == ClarificationRequest::KIND => Some(&["block_reason"]),
        "block_reason" if kind == Completion::KIND && !status::is_unmet(artifact) => Some(&["block_reason"]),
        _ => None,
    }
}

/// The texts that may be the body of an artifact of this kind.
fn bodies(kind: &str) -> &'static [&'static [&'static str]] {
    BODIES.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, paths)| paths)
}

/// Takes the body out of an artifact, with the path of its field.
fn take_body(kind: &str, artifact: &mut Value) -> Option<(&'static [&'static str], String)> {
    let path = bodies(kind).iter().find(|path| {
        let text = path.iter().try_fold(&*artifact, |value, step| value.get(step)).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    })?;
    match take(artifact, path)? {
        Value::String(text) => Some((path, text)),
        _ => None,
    }
}

/// Takes a field out of an artifact.
fn take(artifact: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    parent(artifact, parents)?.remove(*last)
}

/// The mapping that a path leads to.
fn parent<'a>(artifact: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    path.iter().try_fold(artifact, |value, step| value.get_mut(step))?.as_object_mut()
}

/// Whether a value keeps to the bounds of depth and count.
fn within(value: &Value, levels: usize, nodes: &mut usize) -> Result<(), NoDocument> {
    *nodes += 1;
    if *nodes > NODES_MAX {
        return Err(NoDocument::Many);
    }
    let inside = || levels.checked_sub(1).ok_or(NoDocument::Deep);
    match value {
        Value::Array(items) => {
            let levels = inside()?;
            items.iter().try_for_each(|item| within(item, levels, nodes))
        }
        Value::Object(entries) => {
            let levels = inside()?;
            *nodes += entries.len();
            entries.values().try_for_each(|value| within(value, levels, nodes))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
