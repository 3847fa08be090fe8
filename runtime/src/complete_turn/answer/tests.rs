use std::time::Duration;

use super::*;
use crate::complete_turn::prompt::tests::{request, turn};

fn ended(ended: Ended, stdout: &str) -> BackendResult {
    BackendResult {
        command: "review".to_owned(),
        ended,
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
        duration: Duration::from_secs(1),
        tree_ended: true,
    }
}

fn of(result: &BackendResult, change: impl FnOnce(&mut CompletionRequest)) -> Answer {
    let mut request = request();
    change(&mut request);
    answer(result, &turn(), &request)
}

fn completed(stdout: &str, change: impl FnOnce(&mut CompletionRequest)) -> (Outcome, String, Vec<String>, bool) {
    match of(&ended(Ended::Exited(0), stdout), change) {
        Answer::Completed { said, named } => (said.outcome, said.summary, said.blockers, named),
        other => panic!("{stdout}: {other:?}"),
    }
}

fn failed(result: &BackendResult, change: impl FnOnce(&mut CompletionRequest)) -> Failure {
    match of(result, change) {
        Answer::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_completes_with_an_object_or_with_its_last_words() {
    let blocked = |request: &mut CompletionRequest| request.default_outcome = Some(Outcome::Blocked);
    let object = r#"{"outcome": "needs_review", "summary": "no source", "blockers": ["name the price's source"]}"#;
    let expected = vec!["name the price's source".to_owned()];
    assert_eq!(completed(object, |_| {}), (Outcome::NeedsReview, "no source".to_owned(), expected, true));
    let words = "looking\n\nI read all of it.\nIt is fine.\n\n";
    let said = "I read all of it.\nIt is fine.".to_owned();
    assert_eq!(completed(words, |_| {}), (Outcome::Complete, said.clone(), Vec::new(), false));
    assert_eq!(completed(words, blocked), (Outcome::Blocked, said.clone(), vec![said], false));
    assert_eq!(completed("", |_| {}).1, SILENT);
    let long = "ä".repeat(10_000);
    assert!(completed(&long, |_| {}).1.len() <= SUMMARY_BYTES_MAX);
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
        (long.as_str(), "the completion is too long: summary: 20000 bytes, at most 16384"),
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
fn a_question_is_asked_and_an_envelope_is_never_taken_for_silence() {
    let question = r#"{"type": "clarification_request", "question": "which style?", "options": ["a", "b"]}"#;
    assert!(matches!(of(&ended(Ended::Exited(0), question), |_| {}), Answer::Asks(Ask::Question(_))));
    assert!(matches!(of(&ended(Ended::Exited(1), ">>>HELP<<<\n"), |_| {}), Answer::Asks(Ask::Help(_))));
    let envelope = r#"{"component": "review", "status": "success", "data": {}}"#;
    assert_eq!(failed(&ended(Ended::Exited(0), envelope), |_| {}).reason, ReasonCode::Unsupported);
}

#[test]
fn a_program_that_prints_its_prompt_says_nothing_with_it() {
    let shown = crate::complete_turn::prompt::Shown::Work {
        patch: "+{\"outcome\": \"complete\"}".to_owned(),
        file: "/p".into(),
    };
    let prompt = crate::complete_turn::prompt::prompt(&turn(), &request(), &shown);
    let (outcome, _, _, named) = completed(&prompt, |request| request.default_outcome = Some(Outcome::Blocked));
    assert_eq!((outcome, named), (Outcome::Blocked, false));
}
