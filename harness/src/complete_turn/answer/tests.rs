use std::time::Duration;

use holdpoint_planfile::exchange::HandoffRules;

use super::*;
use crate::{
    complete_turn::prompt::tests::{advice, request, turn},
    dialect,
};

fn ended(ended: Ended, stdout: &str) -> BackendResult {
    BackendResult {
        command: "review".to_owned(),
        prompt: String::new(),
        ended,
        stdout: stdout.as_bytes().to_vec(),
        said: dialect::read(dialect::Dialect::Plain, stdout.as_bytes(), None),
        went_on: false,
        stderr: Vec::new(),
        help_events: Vec::new(),
        duration: Duration::from_secs(1),
        tree_ended: true,
    }
}

fn of(result: &BackendResult, change: impl FnOnce(&mut CompletionRequest)) -> Answer {
    let mut request = request();
    change(&mut request);
    held(result, &request, None)
}

fn held(result: &BackendResult, request: &CompletionRequest, recorded: Option<&Completed>) -> Answer {
    let turn = turn();
    let expected = Expected::decision(&turn.role, &turn.waypoint, &HandoffRules::default());
    answer(
        result,
        Held { turn: &turn, request, expected: &expected, before: Before::default(), document: None },
        recorded,
    )
}

fn came_to(stdout: &str, change: impl FnOnce(&mut CompletionRequest)) -> (Outcome, String, Vec<String>, bool) {
    match of(&ended(Ended::Exited(0), stdout), change) {
        Answer::Completed { said, named } => (said.outcome, said.summary, said.blockers, named),
        other => panic!("{stdout}: {other:?}"),
    }
}

fn failed(result: &BackendResult, change: impl FnOnce(&mut CompletionRequest)) -> Failure {
    match of(result, change) {
        Answer::Failed(failure) => failure,
        Answer::Unusable(problem) => Failure { reason: ReasonCode::HandoffInvalid, detail: problem.details },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_completes_with_an_object_or_with_its_last_words() {
    let blocked = |request: &mut CompletionRequest| request.default_outcome = Some(Outcome::Blocked);
    let object = r#"{"outcome": "needs_review", "summary": "no source", "blockers": ["name the price's source"]}"#;
    let expected = vec!["name the price's source".to_owned()];
    assert_eq!(came_to(object, |_| {}), (Outcome::NeedsReview, "no source".to_owned(), expected, true));
    let words = "looking\n\nI read all of it.\nIt is fine.\n\n";
    let said = "I read all of it.\nIt is fine.".to_owned();
    assert_eq!(came_to(words, |_| {}), (Outcome::Complete, said.clone(), Vec::new(), false));
    assert_eq!(came_to(words, blocked), (Outcome::Blocked, said.clone(), vec![said], false));
    assert_eq!(came_to("", |_| {}).1, SILENT);
    let long = "ä".repeat(10_000);
    assert!(came_to(&long, |_| {}).1.len() <= 2 << 10);
}

#[test]
fn a_bad_end_is_a_failure_whatever_was_printed_and_whatever_the_default_is() {
    let object = r#"{"outcome": "complete", "summary": "fine"}"#;
    for (end, reason) in [
        (Ended::Exited(1), ReasonCode::AgentFailed),
        (Ended::Exited(127), ReasonCode::NotExecutable),
        (Ended::Signalled(9), ReasonCode::AgentFailed),
        (Ended::TimedOut, ReasonCode::AgentTimeout),
        (Ended::OutputLimit, ReasonCode::OutputLimit),
    ] {
        assert_eq!(failed(&ended(end, object), |_| {}).reason, reason, "{end:?}");
    }
}

#[test]
fn a_wrong_completion_fails_the_turn_with_what_it_has_to_say() {
    let firm = |request: &mut CompletionRequest| request.can_reject = false;
    let long = format!(r#"{{"outcome": "complete", "summary": "{}"}}"#, "x".repeat(20_000));
    let table = [
        (r#"{"outcome": "done", "summary": "x"}"#, "invalid_outcome: There is no outcome `done`"),
        (r#"{"outcome": "complete"}"#, "missing_summary"),
        (r#"{"outcome": "needs_review", "summary": "x", "blockers": ["y"]}"#, "reject_not_allowed"),
        (r#"{"outcome": "complete", "summary": "#, "the completion is not one whole JSON object"),
        (long.as_str(), "too_long: The completion is too long: summary: 20000 bytes, at most 16384"),
    ];
    for (stdout, said) in table {
        let failure = failed(&ended(Ended::Exited(0), stdout), firm);
        assert_eq!(failure.reason, ReasonCode::HandoffInvalid);
        assert!(failure.detail.starts_with(said), "{stdout}: {}", failure.detail);
    }
    let other = failed(&ended(Ended::Exited(0), r#"{"task": "v", "outcome": "complete", "summary": "x"}"#), |_| {});
    assert!(other.detail.starts_with("wrong_task"), "{}", other.detail);
}

#[test]
fn what_was_completed_over_the_line_counts_whatever_is_printed_if_the_program_ends_well() {
    let recorded = || {
        let said = serde_json::json!({"outcome": "needs_review", "summary": "no", "blockers": ["name the source"]});
        Some(completed(said.as_object().unwrap(), (&turn(), &request()), None).unwrap())
    };
    let question = r#"{"type": "clarification_request", "question": "which?", "options": ["a", "b"]}"#;
    for printed in [
        "",
        r#"{"outcome": "complete", "summary": "fine"}"#,
        r#"{"outcome": "done"}"#,
        r#"{"component": "review", "status": "success", "data": {}}"#,
        question,
        ">>>HELP<<<\n",
    ] {
        let came = held(&ended(Ended::Exited(0), printed), &request(), recorded().as_ref());
        assert!(
            matches!(&came, Answer::Completed { said, named: true } if said.outcome == Outcome::NeedsReview),
            "{printed}: {came:?}"
        );
    }
    for end in [Ended::Exited(1), Ended::Signalled(9), Ended::TimedOut] {
        let came = held(&ended(end, ""), &request(), recorded().as_ref());
        assert!(matches!(came, Answer::Failed(_)), "{end:?}: {came:?}");
    }
    let came = held(&ended(Ended::Exited(1), question), &request(), recorded().as_ref());
    assert!(matches!(came, Answer::Asks(_)), "a program that fails with a question asks: {came:?}");
}

#[test]
fn a_question_is_asked_and_an_envelope_is_never_taken_for_silence() {
    let question = r#"{"type": "clarification_request", "question": "which style?", "options": ["a", "b"]}"#;
    assert!(matches!(of(&ended(Ended::Exited(0), question), |_| {}), Answer::Asks(Ask::Question(_))));
    assert!(matches!(of(&ended(Ended::Exited(1), ">>>HELP<<<\n"), |_| {}), Answer::Asks(Ask::Help(_))));
    let envelope = |status: &str, data: &str| {
        let object = format!("{{\"component\": \"agent\", \"status\": \"{status}\", \"data\": {data}}}\n");
        of(&ended(Ended::Exited(0), &object), |_| {})
    };
    assert!(
        matches!(envelope("success", "{}"), Answer::Unusable(problem) if problem.kind == ExchangeErrorKind::MissingField)
    );
    let gave_up = r#"{"reason": "no network"}"#;
    assert!(
        matches!(envelope("failure", gave_up), Answer::Failed(Failure { reason: ReasonCode::AgentFailed, detail }) if detail.contains("no network"))
    );
}

#[test]
fn an_envelope_completes_a_gate_in_the_words_of_a_supervisor_too() {
    let decided = |data: &str| {
        came_to(&format!("{{\"component\": \"supervisor\", \"status\": \"success\", \"data\": {data}}}"), |_| {})
    };
    let (outcome, summary, ..) = decided(r#"{"action": "complete", "reason": "all is there"}"#);
    assert_eq!((outcome, summary.as_str()), (Outcome::Complete, "all is there"));
    let (outcome, _, blockers, named) =
        decided(r#"{"outcome": "needs_review", "summary": "s", "blockers": ["name the price's source"]}"#);
    assert_eq!((outcome, blockers.len(), named), (Outcome::NeedsReview, 1, true));
    let rejected =
        r#"{"component": "agent", "status": "success", "data": {"action": "review", "reason": "s", "blockers": []}}"#;
    assert!(matches!(of(&ended(Ended::Exited(0), rejected), |_| {}), Answer::Unusable(_)));
}

#[test]
fn what_is_wrong_with_a_completion_is_told_apart() {
    let kind = |text: &str| match of(&ended(Ended::Exited(0), text), |_| {}) {
        Answer::Unusable(problem) => problem.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(r#"{"outcome": "complete", "summ"#), ExchangeErrorKind::Partial);
    assert_eq!(kind("{\"outcome\": complete}\n"), ExchangeErrorKind::Malformed);
    assert_eq!(kind(r#"{"outcome": "done", "summary": "s"}"#), ExchangeErrorKind::Semantic);
}

#[test]
fn a_program_that_prints_its_prompt_says_nothing_with_it() {
    let shown = crate::complete_turn::prompt::Shown::Work {
        patch: "+{\"outcome\": \"complete\"}".to_owned(),
        file: "/p".into(),
    };
    let prompt = crate::complete_turn::prompt::prompt(&turn(), &request(), &shown).within(usize::MAX);
    let (outcome, _, _, named) = came_to(&prompt, |request| request.default_outcome = Some(Outcome::Blocked));
    assert_eq!((outcome, named), (Outcome::Blocked, false));
}

#[test]
fn all_that_an_advisor_says_is_its_advice_and_only_silence_and_a_bad_end_are_none() {
    let advises = |request: &mut CompletionRequest| *request = advice();
    let words = "Look at a.rs.\n\n{\"line\": 7} is what it reads.\n";
    let said = words.trim_end().to_owned();
    assert_eq!(came_to(words, advises), (Outcome::Complete, said, Vec::new(), false));
    assert_eq!(failed(&ended(Ended::Exited(0), " \n"), advises).reason, ReasonCode::HandoffInvalid);
    assert_eq!(failed(&ended(Ended::Exited(1), words), advises).reason, ReasonCode::AgentFailed);
}
