//! How an artifact stands, in the words of handoff documents: this follows from the artifact alone.

use std::fmt;

use holdpoint_protocol::{
    Timestamp,
    artifact::{
        ACT_KINDS, Artifact as _, BuildArtifact, ClarificationRequest, Completion, HelpRequest, OrchestratorDecision,
        VerificationReport,
    },
    reason::{BlockReason, ReasonCode},
};
use holdpoint_text::shown;
use serde_json::Value;

/// The longest `block_details` in characters; the artifact has the whole.
const DETAILS_CHARS_MAX: usize = 300;

/// How the work of a document stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactStatus {
    /// Something is still to come of its turn.
    InProgress,
    /// It is whole.
    Complete,
    /// It came to nothing, or was found wrong.
    Failed,
    /// A person has to act first.
    Blocked,
}

impl ArtifactStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::InProgress, Self::Complete, Self::Failed, Self::Blocked];

    /// The word in the front matter.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for ArtifactStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an artifact of this kind stands.
pub(super) fn of(kind: &str, artifact: &Value) -> ArtifactStatus {
    let failed_or = |failed: bool, other| if failed { ArtifactStatus::Failed } else { other };
    match kind {
        // Its maker used up its retries: a person has to look.
        BuildArtifact::KIND | Completion::KIND if is_unmet(artifact) => ArtifactStatus::Blocked,
        BuildArtifact::KIND => failed_or(artifact["status"] != "ok", ArtifactStatus::Complete),
        Completion::KIND => {
            let came_to = match artifact["outcome"].as_str() {
                Some("blocked") => ArtifactStatus::Blocked,
                Some("needs_review") => ArtifactStatus::Failed,
                _ => ArtifactStatus::Complete,
            };
            failed_or(artifact["failure"].is_object(), came_to)
        }
        VerificationReport::KIND => failed_or(is_red(artifact), ArtifactStatus::Complete),
        ClarificationRequest::KIND => ArtifactStatus::Blocked,
        HelpRequest::KIND if artifact["running"] != true => ArtifactStatus::Blocked,
        OrchestratorDecision::KIND => of_decision(artifact),
        "decided" | "dead" => of_decision(&artifact["decision"]),
        "landed" | "submitted" | "steered" | "retired" => ArtifactStatus::Complete,
        act if ACT_KINDS.contains(&act) => ArtifactStatus::Complete,
        _ => ArtifactStatus::InProgress,
    }
}

/// Whether it is of a turn whose maker used up its retries for checkpoints.
pub(super) fn is_unmet(artifact: &Value) -> bool {
    artifact["failure"]["reason"] == ReasonCode::CheckpointsUnmet.as_str()
}

fn of_decision(decision: &Value) -> ArtifactStatus {
    match (decision["status"]["to"].as_str(), decision["disposition"].as_str()) {
        (Some("complete"), _) | (None, Some("accept")) => ArtifactStatus::Complete,
        (Some("failed" | "cancelled"), _) | (None, Some("rework" | "rollback")) => ArtifactStatus::Failed,
        (Some("blocked" | "waiting"), _) | (None, Some("escalate")) => ArtifactStatus::Blocked,
        _ => ArtifactStatus::InProgress,
    }
}

/// Whether a report found something wrong. On the base criteria may be red.
fn is_red(report: &Value) -> bool {
    let all = |list: &str| report[list].as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
    let is_green = |one: &Value| one["result"]["verdict"] == "pass";
    let is_base = report["purpose"] == "baseline";
    let red_criteria = !is_base && !all("criteria").iter().all(is_green);
    let blocking = all("doubts").iter().any(|doubt| doubt["blocking"] == true);
    red_criteria || blocking || !all("guards").iter().all(is_green) || !all("violations").is_empty()
}

/// Whether the checkpoints of a document passed: of those that its gate waits for each one, of which nothing is known does not; where
/// nobody says which these are, each that is there.
pub(super) fn are_passed(artifact: &Value, required: Option<&[String]>) -> bool {
    let results = &artifact["document"]["checkpoints"];
    let is_passed = |result: &Value| result["status"] == "pass";
    match (results, required) {
        (Value::Array(results), Some(required)) => {
            required.iter().all(|name| results.iter().any(|result| result["name"] == **name && is_passed(result)))
        }
        (Value::Array(results), None) => results.iter().all(is_passed),
        (other, required) => other.is_null() && required.is_none_or(<[String]>::is_empty),
    }
}

/// When it was made, or written to the journal.
pub(super) fn made_at(artifact: &Value) -> Option<Timestamp> {
    let places = [&artifact["produced_at"], &artifact["record"]["at"]];
    places.into_iter().find_map(|at| serde_json::from_value(at.clone()).ok())
}

/// Why work is blocked that no completion says it of.
pub(super) fn block_reason(kind: &str, artifact: &Value, status: ArtifactStatus) -> Option<&'static str> {
    let waits = status == ArtifactStatus::Blocked && (kind != Completion::KIND || is_unmet(artifact));
    waits.then(|| BlockReason::NeedsHumanInput.as_str())
}

/// What blocks the work, in a line.
pub(super) fn block_details(kind: &str, artifact: &Value, status: ArtifactStatus) -> Option<String> {
    if status != ArtifactStatus::Blocked {
        return None;
    }
    let said = match kind {
        BuildArtifact::KIND | Completion::KIND if is_unmet(artifact) => text(&artifact["failure"]["detail"]),
        Completion::KIND => {
            let blockers = artifact["blockers"].as_array().into_iter().flatten().filter_map(Value::as_str);
            blockers.collect::<Vec<_>>().join("; ")
        }
        ClarificationRequest::KIND => text(&artifact["question"]),
        HelpRequest::KIND => text(&artifact["raw_line"]),
        OrchestratorDecision::KIND => text(&artifact["remediation"]),
        _ => text(&artifact["decision"]["remediation"]),
    };
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shown::line(line).chars().take(DETAILS_CHARS_MAX).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
