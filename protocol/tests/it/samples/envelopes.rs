//! What programs hand to their harness (RETRY-1).

use holdpoint_protocol::{
    artifact::Confidence,
    envelope::{
        DecisionData, ENVELOPE_VERSION, EnvelopeMetadata, EnvelopeStatus, HandoffEnvelope, JudgeData, WorkClaim,
        WorkData,
    },
    facts::Verdict,
    state::Outcome,
};
use serde_json::json;

use super::{Kinds, published};

pub(super) fn all() -> Kinds {
    let envelope = HandoffEnvelope {
        version: ENVELOPE_VERSION,
        component: "builder".to_owned(),
        session_id: Some("session-1".to_owned()),
        timestamp: Some("2026-01-01T00:00:00Z".to_owned()),
        status: EnvelopeStatus::Success,
        data: [("task_id".to_owned(), json!("retry-backoff"))].into(),
        metadata: EnvelopeMetadata { retry_count: 1, previous_errors: vec!["it was cut off".to_owned()] },
    };
    let work = WorkData {
        task_id: "retry-backoff".parse().unwrap(),
        success: true,
        completed_normally: true,
        todos: vec!["measure it".to_owned()],
        summary: Some("fetch retries".to_owned()),
        errors: vec!["the first try did not compile".to_owned()],
        confidence: Some(Confidence::High),
        claims: vec![WorkClaim { criterion: "unit".parse().unwrap(), claim: "three retries are tested".to_owned() }],
        requested_help: Some(false),
    };
    let judge = JudgeData {
        verdict: Verdict::Pass,
        evidence: vec!["src/retry.rs:10".to_owned()],
        doubts: vec!["names".to_owned()],
        findings: Some("the policy is in one place".to_owned()),
        issues_found: vec!["a long function".to_owned()],
    };
    let decision = DecisionData {
        outcome: Some(Outcome::NeedsReview),
        action: Some("review".to_owned()),
        summary: "a claim has no source".to_owned(),
        blockers: vec!["name the source in section 2".to_owned()],
        block_reason: None,
        guidance: Some("the price list is in docs/".to_owned()),
    };
    vec![
        published("handoff_envelope", envelope),
        published("handoff_work", work),
        published("handoff_judge", judge),
        published("handoff_decision", decision),
    ]
}
