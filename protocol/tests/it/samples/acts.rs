//! What people do, and what they are shown (FLY-12, GATE-21).

use holdpoint_protocol::{
    api::{ActQuery, ActRefused, ActStanding, Inbox, InboxItem, InboxKind, InboxQuery},
    artifact::{
        ActCode, Budget, BudgetBody, Cancel, CancelBody, ClarificationResponse, ClarificationResponseBody, Completion,
        CompletionBody, Confidence, GivenVerdict, HandIn, HandInBody, Pause, PauseBody, Reconfigure, ReconfigureBody,
        Release, ReleaseBody, Resume, ResumeBody, Retry, RetryBody, Revise, ReviseBody, Take, TakeBody, Verb,
    },
    budget::{Amounts, Raise},
    facts::Verdict,
    ids::role,
    journal::Sequence,
    reason::{BlockReason, ReasonCode},
    state::Outcome,
};

use super::{Kinds, another, parts::*, published};

/// What the inbox calls a thing that waits.
const LOOKED_AT: &str = "turn-0a1b";

fn acts() -> Kinds {
    let origin = |id: &str| origin(id, role::OPERATOR);
    let answer = ClarificationResponseBody {
        agent: person(),
        request: Some("question-1".parse().unwrap()),
        option: Some("anyhow".to_owned()),
        text: Some("as everywhere else".to_owned()),
        rationale: Some("the crate already uses it".to_owned()),
        updated_constraints: vec!["use anyhow".to_owned()],
    };
    let completion = CompletionBody {
        summary: "The limit is missing.".to_owned(),
        blockers: vec!["bound the retries".to_owned()],
        ..CompletionBody::of_person(person(), Some(LOOKED_AT.to_owned()), Outcome::NeedsReview)
    };
    let retry = RetryBody {
        agent: person(),
        on: Some(LOOKED_AT.to_owned()),
        from: Some("build".parse().unwrap()),
        reworks: 2,
        note: Some("the server is up again".to_owned()),
    };
    let looked_at = || Some(LOOKED_AT.to_owned());
    let brought = bundle('c');
    let hand_in = HandInBody {
        agent: person(),
        on: looked_at(),
        commit: Some(brought.tip.clone()),
        bundle: Some(brought),
        verdicts: Vec::new(),
    };
    let verdict =
        GivenVerdict { criterion: "readable".parse().unwrap(), verdict: Verdict::Pass, note: "read it".to_owned() };
    let judged = HandInBody { commit: None, bundle: None, verdicts: vec![verdict], ..hand_in.clone() };
    let cancel = CancelBody { agent: person(), reason: Some("not needed any more".to_owned()) };
    let reconfigure = ReconfigureBody { agent: person(), workflows: vec![workflow()], watched: true };
    let add = Amounts { tokens: 100_000, cost_micro_usd: 5_000_000, wall_ms: 60_000, ..Amounts::default() };
    let budget = BudgetBody { agent: person(), raise: Raise { waypoint: Some("retry-backoff".parse().unwrap()), add } };
    let document = Box::new(gate_document());
    let body = ReviseBody { agent: person(), gate: "requirements".parse().unwrap(), document };
    let revise =
        Revise { source_refs: vec!["HP_HANDOFF_ANALYST/41".to_owned()], ..Revise::new(origin("revise-1"), body) };
    vec![
        published("clarification_response", ClarificationResponse::new(origin("answer-1"), answer)),
        published("completion", Completion::new(origin("completion-1"), completion)),
        published("retry", Retry::new(origin("retry-1"), retry)),
        published("cancel", Cancel::new(origin("cancel-1"), cancel)),
        published("pause", Pause::new(origin("pause-1"), PauseBody { agent: person() })),
        published("resume", Resume::new(origin("resume-1"), ResumeBody { agent: person() })),
        published("take", Take::new(origin("take-1"), TakeBody { agent: person(), on: looked_at() })),
        published("release", Release::new(origin("release-1"), ReleaseBody { agent: person(), on: looked_at() })),
        published("hand_in", HandIn::new(origin("hand-in-1"), hand_in)),
        published("reconfigure", Reconfigure::new(origin("reconfigure-1"), reconfigure)),
        published("budget", Budget::new(origin("budget-1"), budget)),
        published("revise", revise),
        another("hand_in_verdicts", "hand_in", HandIn::new(origin("hand-in-2"), judged)),
    ]
}

fn standings() -> Kinds {
    let query = ActQuery {
        flight: "demo-1".parse().unwrap(),
        waypoint: Some("retry-backoff".parse().unwrap()),
        sequence: Sequence(44),
    };
    let refused = ActRefused {
        code: ActCode::AnswerLate,
        message: "human-bob answered first".to_owned(),
        hint: "look at the inbox again".to_owned(),
        details: serde_json::json!({"by": "human-bob"}),
    };
    let bare = ActRefused { details: serde_json::Value::Null, ..refused.clone() };
    vec![
        published("act_query", query),
        published("act_standing", ActStanding::Refused(refused)),
        another("act_standing_refused", "act_standing", ActStanding::Refused(bare)),
        another("act_standing_pending", "act_standing", ActStanding::Pending),
        another("act_standing_taken", "act_standing", ActStanding::Taken),
    ]
}

fn inbox() -> Inbox {
    let question = InboxItem {
        kind: InboxKind::Question,
        flight: "demo-1".parse().unwrap(),
        waypoint: "retry-backoff".parse().unwrap(),
        gate: Some("build".parse().unwrap()),
        since: at(4),
        taken_by: None,
        to: Vec::new(),
        context: gate_context(),
        block_reason: Some(BlockReason::ExternalDependency),
        question: Some("Which error type?".to_owned()),
        decision_context: Some("the public API".to_owned()),
        options: vec!["anyhow".to_owned(), "thiserror".to_owned()],
        confidence: Some(Confidence::Low),
        waits_until: Some(at(64)),
        round: Some(1),
        reason_code: None,
        remediation: None,
        evidence: Vec::new(),
        self_checked: false,
        doubts: Vec::new(),
        work: None,
        actions: vec![Verb::Answer, Verb::Cancel],
        reference: LOOKED_AT.to_owned(),
    };
    let failed = InboxItem {
        kind: InboxKind::Failed,
        block_reason: None,
        to: vec![person()],
        question: None,
        decision_context: None,
        options: Vec::new(),
        confidence: None,
        waits_until: None,
        round: None,
        reason_code: Some(ReasonCode::AttemptsExhausted),
        remediation: Some("read the failing criteria".to_owned()),
        evidence: vec![digest("output")],
        self_checked: true,
        doubts: vec!["no test notices src/retry.rs".to_owned()],
        work: Some(oid('c')),
        actions: vec![Verb::Retry, Verb::Cancel],
        ..question.clone()
    };
    let taken = InboxItem {
        kind: InboxKind::Taken,
        taken_by: Some(person()),
        work: None,
        question: Some("Retry with backoff".to_owned()),
        actions: vec![Verb::HandIn, Verb::Release, Verb::Cancel],
        ..failed.clone()
    };
    let turn =
        InboxItem { kind: InboxKind::Turn, taken_by: None, actions: vec![Verb::Take, Verb::Cancel], ..taken.clone() };
    let next = Some(failed.place());
    Inbox { items: vec![question, taken, turn, failed], next }
}

pub(super) fn all() -> Kinds {
    let mut all = acts();
    all.extend(standings());
    all.push(published("inbox", inbox()));
    all.push(published("inbox_query", InboxQuery { flight: Some("demo-1".parse().unwrap()), after: inbox().next }));
    all
}
