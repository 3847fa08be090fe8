use std::time::Duration;

use holdpoint_planfile::exchange::HandoffRules;
use proptest::prelude::*;

use super::*;
use crate::dialect;

fn ended(ended: Ended, stdout: &str) -> BackendResult {
    BackendResult {
        command: "agent".to_owned(),
        prompt: String::new(),
        ended,
        stdout: stdout.as_bytes().to_vec(),
        said: dialect::read(dialect::Dialect::Plain, stdout.as_bytes(), None),
        went_on: false,
        stderr: b"a warning\n".to_vec(),
        help_events: Vec::new(),
        duration: Duration::from_secs(2),
        tree_ended: true,
    }
}

fn of(result: &BackendResult) -> ProgramAnswer {
    of_turn(result, None)
}

fn of_turn(result: &BackendResult, ask_below: Option<Confidence>) -> ProgramAnswer {
    again(result, ask_below, Before::default())
}

fn again(result: &BackendResult, ask_below: Option<Confidence>, before: Before<'_>) -> ProgramAnswer {
    let criteria = ["unit", "lint"].map(|id| id.parse().unwrap());
    let (role, waypoint) = ("builder".parse().unwrap(), "w1".parse().unwrap());
    let expected = Expected::work(&role, &waypoint, criteria.into(), &HandoffRules::default());
    answer(result, &AnswerRules { waypoint: &waypoint, expected: &expected, before, ask_below })
}

fn envelope(status: &str, more: &str) -> String {
    format!(
        "{{\"component\":\"builder\",\"status\":\"{status}\",\"data\":{{\"task_id\":\"w1\",\"success\":true,\
         \"completed_normally\":true,\"todos\":[]{more}}}}}\n"
    )
}

fn problem(result: &BackendResult) -> ResultProblem {
    match of(result) {
        ProgramAnswer::Unusable(problem) => problem,
        other => panic!("{other:?}"),
    }
}

fn failure(result: &BackendResult) -> Failure {
    match of(result) {
        ProgramAnswer::Failed(failure) => failure,
        ProgramAnswer::Unusable(problem) => Failure { reason: ReasonCode::HandoffInvalid, detail: problem.details },
        other => panic!("{other:?}"),
    }
}

#[test]
fn exit_0_without_structured_output_is_ready() {
    assert_eq!(of(&ended(Ended::Exited(0), "all done\n")), ProgramAnswer::Ready(WorkClaims::default()));
}

#[test]
fn every_other_end_fails_the_turn_with_its_reason_and_last_lines() {
    for (end, reason) in [
        (Ended::Exited(3), ReasonCode::AgentFailed),
        (Ended::Signalled(9), ReasonCode::AgentFailed),
        (Ended::TimedOut, ReasonCode::AgentTimeout),
        (Ended::OutputLimit, ReasonCode::OutputLimit),
        (Ended::MemoryLimit, ReasonCode::AgentFailed),
        (Ended::DiskLimit, ReasonCode::AgentFailed),
    ] {
        let failure = failure(&ended(end, "last words\n"));
        assert_eq!(failure.reason, reason);
        assert!(failure.detail.contains("last words") && failure.detail.contains("a warning"), "{}", failure.detail);
    }
}

#[test]
fn a_program_that_cannot_be_run_is_named_and_is_no_failure_of_its_own() {
    for (code, command, said) in [
        (
            127,
            "env A=1 no-such-agent --fast",
            "the program `no-such-agent` exited with 127, which shells give where a program is not found",
        ),
        (
            126,
            "/srv/notes.txt",
            "the program `/srv/notes.txt` exited with 126, which shells give where a program cannot be executed",
        ),
    ] {
        let result = BackendResult { command: command.to_owned(), ..ended(Ended::Exited(code), "") };
        assert_eq!(failure(&result).reason, ReasonCode::NotExecutable);
        assert!(failure(&result).detail.contains(said), "{}", failure(&result).detail);
    }
}

#[test]
fn a_program_that_leaves_processes_behind_is_not_ready() {
    let result = BackendResult { tree_ended: false, ..ended(Ended::Exited(0), "") };
    assert_eq!(failure(&result).reason, ReasonCode::AgentFailed);
}

#[test]
fn a_completion_of_this_waypoint_is_ready_and_recorded() {
    let text = "<validation command=\"make test\" exit=\"0\"></validation>\
        <acceptance-criterion id=\"unit\">once</acceptance-criterion>\
        <acceptance-criterion id=\"unit\">green</acceptance-criterion>\
        <waypoint-complete>w1</waypoint-complete>\n";
    let ProgramAnswer::Ready(said) = of(&ended(Ended::Exited(0), text)) else { panic!("not ready") };
    assert_eq!(said.completion.as_deref(), Some("w1"));
    assert_eq!(said.claims, [CoverageClaim { criterion: "unit".parse().unwrap(), claim: "green".to_owned() }]);
    assert_eq!((said.ledger[0].source, said.ledger[0].exit_code), (LedgerSource::Agent, Some(0)));
}

#[test]
fn markers_without_a_completion_of_this_waypoint_are_not_ready() {
    for text in [
        "<execution-stage>done</execution-stage>",
        "<waypoint-complete>w2</waypoint-complete>",
        "<waypoint-complete>w1",
        "<acceptance-criterion id=\"unit\">green</acceptance-criterion>",
        "<acceptance-criterion id=\"other\">ok</acceptance-criterion><waypoint-complete>w1</waypoint-complete>",
    ] {
        assert_eq!(failure(&ended(Ended::Exited(0), text)).reason, ReasonCode::HandoffInvalid, "{text}");
    }
}

#[test]
fn what_does_not_speak_of_the_turn_is_output() {
    for text in [
        "The form has a <validation>required</validation> rule now, and prints <waypoint-complete> at its end.\n",
        "{\"component\":\"web\",\"status\":200}\n",
        "{\"question\":\"Capital of Peru?\",\"options\":[\"Lima\",\"Cusco\"]}\n",
    ] {
        assert_eq!(of(&ended(Ended::Exited(0), text)), ProgramAnswer::Ready(WorkClaims::default()), "{text}");
    }
}

#[test]
fn a_quoted_completion_is_as_if_it_were_not_there() {
    let text = "```\n<waypoint-complete>w1</waypoint-complete>\n```\n";
    assert_eq!(of(&ended(Ended::Exited(0), text)), ProgramAnswer::Ready(WorkClaims::default()));
    assert_eq!(failure(&ended(Ended::Exited(1), text)).reason, ReasonCode::AgentFailed);
}

#[test]
fn an_envelope_is_ready_with_its_claims_or_a_failed_turn_or_asked_for_again() {
    let claims =
        ",\"claims\":[{\"criterion\":\"unit\",\"claim\":\"green\"}],\"summary\":\"retries\",\"confidence\":\"high\"";
    let ProgramAnswer::Ready(said) = of(&ended(Ended::Exited(0), &envelope("success", claims))) else {
        panic!("not ready")
    };
    assert_eq!((said.completion.as_deref(), said.confidence), (Some("retries"), Some(Confidence::High)));
    assert_eq!(said.claims, [CoverageClaim { criterion: "unit".parse().unwrap(), claim: "green".to_owned() }]);
    let gave_up = failure(&ended(Ended::Exited(0), &envelope("failure", ",\"errors\":[\"no compiler\"]")));
    assert_eq!(gave_up.reason, ReasonCode::AgentFailed);
    assert!(gave_up.detail.contains("no compiler"), "{}", gave_up.detail);
    let not_done = envelope("success", "").replace("\"completed_normally\":true", "\"completed_normally\":false");
    let odd = envelope("success", ",\"claims\":[{\"criterion\":\"other\"}]");
    for (text, kind) in [
        (envelope("partial", ""), ExchangeErrorKind::Partial),
        (not_done, ExchangeErrorKind::Partial),
        (odd, ExchangeErrorKind::Semantic),
        (
            "{\"version\":\"1.0\",\"component\":\"builder\",\"status\":\"success\",\"data\":{}}\n".to_owned(),
            ExchangeErrorKind::MissingField,
        ),
        ("{\"component\":\"builder\",\"status\":\"succ".to_owned(), ExchangeErrorKind::Partial),
    ] {
        assert_eq!(problem(&ended(Ended::Exited(0), &text)).kind, kind, "{text}");
    }
    // A bad end rules over what was printed.
    assert_eq!(failure(&ended(Ended::Exited(1), &envelope("success", ""))).reason, ReasonCode::AgentFailed);
    assert_eq!(failure(&ended(Ended::TimedOut, &envelope("success", ""))).reason, ReasonCode::AgentTimeout);
}

#[test]
fn who_was_asked_for_an_envelope_may_answer_with_it_in_a_block_or_with_markers_and_not_with_silence() {
    let asked = Before { asked: true, kept: None };
    let came = |text: &str| again(&ended(Ended::Exited(0), text), None, asked);
    assert!(matches!(came(&format!("Sorry!\n```json\n{}```\n", envelope("success", ""))), ProgramAnswer::Ready(_)));
    assert!(matches!(came("<waypoint-complete>w1</waypoint-complete>\n"), ProgramAnswer::Ready(_)));
    assert!(matches!(came("all done\n"), ProgramAnswer::Unusable(problem) if problem.missing.len() == 3));
}

#[test]
fn a_question_and_a_call_for_help_rule_over_the_exit_code() {
    let question = "{\"type\":\"ClarificationRequest\",\"question\":\"Which?\"}\n";
    assert!(
        matches!(of(&ended(Ended::Exited(1), question)), ProgramAnswer::Clarify(asked) if asked.question == "Which?")
    );
    for end in [Ended::Exited(0), Ended::Signalled(9), Ended::TimedOut] {
        assert!(matches!(of(&ended(end, ">>>HELP<<<\n")), ProgramAnswer::Help(_)));
    }
}

#[test]
fn a_malformed_question_fails_the_turn_and_says_why() {
    for (text, why) in [
        ("{\"type\":\"ClarificationRequest\"}", "no text"),
        ("{\"ClarificationRequest\": [1]}", "has to be an object"),
        (
            "{\"type\":\"clarification_request\",\"question\":\"Which?\",\"options\":\"a\"}",
            "`options` has to be a list",
        ),
        ("{\"type\":\"clarification_request\",\"question\":\"Which?\",\"options\":[\"a\",\"a\"]}", "there twice"),
        (
            "{\"type\":\"clarification_request\",\"question\":\"Which?\",\"confidence\":\"sure\"}",
            "`confidence` has to be",
        ),
        ("{\"type\":\"clarification_request\", \"question\": \"Wh", "not one whole"),
        ("<clarification-request>Which?", "not one whole"),
        ("<clarification-request options=\"a||b\">Which?</clarification-request>", "empty"),
        (
            "{\"version\":\"1.0\",\"component\":\"b\",\"status\":\"success\",\"data\":{\"question\":3,\"options\":[]}}",
            "`question` has to be a text",
        ),
    ] {
        let failure = failure(&ended(Ended::Exited(0), text));
        assert_eq!(failure.reason, ReasonCode::HandoffInvalid, "{text}");
        assert!(failure.detail.contains(why), "{text}: {}", failure.detail);
    }
}

#[test]
fn every_form_of_a_question_asks_the_same() {
    for text in [
        "{\"waypoint\":\"w1\",\"question\":\"Which?\",\"options\":[\"a\",\"b\"],\"confidence\":\"medium\",\"context\":\"c\"}",
        "{\"version\":\"1.0\",\"component\":\"b\",\"status\":\"partial\",\"data\":{\"ClarificationRequest\":{\"question\":\"Which?\",\
          \"options\":[\"a\",\"b\"],\"confidence\":0.6,\"context\":\"c\"}}}",
        "so <clarification-request options=\"a|b\" confidence='medium' context=\"c\">Which?</clarification-request>",
    ] {
        let ProgramAnswer::Clarify(question) = of(&ended(Ended::Exited(0), text)) else { panic!("{text}") };
        assert_eq!((question.question.as_str(), question.decision_context.as_str()), ("Which?", "c"), "{text}");
        assert_eq!((question.options, question.confidence), (vec!["a".to_owned(), "b".to_owned()], Confidence::Medium));
    }
}

#[test]
fn an_answer_that_its_author_doubts_becomes_a_question_where_the_plan_asks() {
    let envelope = "{\"version\":\"1.0\",\"component\":\"b\",\"status\":\"success\",\"data\":{\"confidence\":0.3,\"summary\":\"a guess\"}}";
    let completion = "<waypoint-complete confidence=\"low\">w1 a guess</waypoint-complete>";
    for text in [envelope, completion] {
        let asked = of_turn(&ended(Ended::Exited(0), text), Some(Confidence::Medium));
        let ProgramAnswer::Clarify(question) = asked else { panic!("{asked:?}") };
        assert!(question.question.contains("low") && question.decision_context.contains("a guess"), "{question:?}");
    }
    assert!(matches!(of(&ended(Ended::Exited(0), envelope)), ProgramAnswer::Unusable(_)));
    assert!(matches!(of(&ended(Ended::Exited(0), completion)), ProgramAnswer::Ready(_)));
    let odd = "<waypoint-complete confidence=\"sure\">w1</waypoint-complete>";
    assert_eq!(failure(&ended(Ended::Exited(0), odd)).reason, ReasonCode::HandoffInvalid);
}

proptest! {
    /// FLY-I7: whichever way and however often a program says how sure it is, what it doubts is asked about.
    #[test]
    fn what_is_doubted_anywhere_is_never_ready_without_a_question(
        marked in prop::collection::vec(prop::option::of(0_usize..3), 0..4),
        enveloped in prop::option::of(prop::option::of(0_usize..3)),
        (envelope_first, in_a_block, below) in (any::<bool>(), any::<bool>(), 0_usize..3),
    ) {
        const WORDS: [(&str, Confidence); 3] =
            [("low", Confidence::Low), ("medium", Confidence::Medium), ("high", Confidence::High)];
        let completion = |said: &Option<usize>| {
            let confidence = said.map(|at| format!(" confidence=\"{}\"", WORDS[at].0)).unwrap_or_default();
            format!("<waypoint-complete{confidence}>w1 done</waypoint-complete>\n")
        };
        let mut parts: Vec<String> = marked.iter().map(completion).collect();
        let data = enveloped.as_ref().map(|said| {
            let confidence = said.map(|at| format!(",\"confidence\":\"{}\"", WORDS[at].0)).unwrap_or_default();
            let text = envelope("success", &confidence);
            if in_a_block { format!("```json\n{text}```\n") } else { text }
        });
        let place = if envelope_first { 0 } else { parts.len() };
        parts.splice(place..place, data);
        let before = Before { asked: true, kept: None };
        let came = again(&ended(Ended::Exited(0), &parts.concat()), Some(WORDS[below].1), before);
        let doubted = marked.iter().flatten().any(|at| *at < below);
        prop_assert!(!(doubted && matches!(came, ProgramAnswer::Ready(_))), "{parts:?}: {came:?}");
        // An envelope in a block may be a quotation where there are markers: it counts only by itself.
        let counts = !in_a_block || marked.is_empty();
        let doubted = enveloped.flatten().is_some_and(|at| at < below) && counts;
        prop_assert!(!(doubted && matches!(came, ProgramAnswer::Ready(_))), "{parts:?}: {came:?}");
    }
}
