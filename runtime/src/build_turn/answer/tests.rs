use std::time::Duration;

use super::*;

fn ended(ended: Ended, stdout: &str) -> BackendResult {
    BackendResult {
        command: "agent".to_owned(),
        ended,
        stdout: stdout.as_bytes().to_vec(),
        stderr: b"a warning\n".to_vec(),
        duration: Duration::from_secs(2),
        tree_ended: true,
    }
}

fn of(result: &BackendResult) -> Answer {
    of_turn(result, None)
}

fn of_turn(result: &BackendResult, ask_below: Option<Confidence>) -> Answer {
    let criteria = ["unit", "lint"].map(|id| id.parse().unwrap());
    answer(result, &Wanted { waypoint: &"w1".parse().unwrap(), criteria: criteria.into(), ask_below })
}

fn failure(result: &BackendResult) -> Failure {
    match of(result) {
        Answer::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exit_0_without_structured_output_is_ready() {
    assert_eq!(of(&ended(Ended::Exited(0), "all done\n")), Answer::Ready(Said::default()));
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
        (127, "env A=1 no-such-agent --fast", "the program `no-such-agent` is not there (exit code 127)"),
        (126, "/srv/notes.txt", "the program `/srv/notes.txt` cannot be executed (exit code 126)"),
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
    let Answer::Ready(said) = of(&ended(Ended::Exited(0), text)) else { panic!("not ready") };
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
        "<acceptance-criterion id=\"other\">ok</acceptance-criterion><waypoint-complete>w1</waypoint-complete>",
    ] {
        assert_eq!(failure(&ended(Ended::Exited(0), text)).reason, ReasonCode::HandoffInvalid, "{text}");
    }
}

#[test]
fn a_quoted_completion_is_as_if_it_were_not_there() {
    let text = "```\n<waypoint-complete>w1</waypoint-complete>\n```\n";
    assert_eq!(of(&ended(Ended::Exited(0), text)), Answer::Ready(Said::default()));
    assert_eq!(failure(&ended(Ended::Exited(1), text)).reason, ReasonCode::AgentFailed);
}

#[test]
fn an_envelope_is_unsupported_and_never_ignored() {
    let text = "{\"component\":\"builder\",\"status\":\"success\",\"data\":{}}\n";
    for code in [0, 1] {
        assert_eq!(failure(&ended(Ended::Exited(code), text)).reason, ReasonCode::Unsupported);
    }
    assert_eq!(failure(&ended(Ended::TimedOut, text)).reason, ReasonCode::AgentTimeout);
}

#[test]
fn a_question_and_a_call_for_help_rule_over_the_exit_code() {
    let question = "{\"type\":\"ClarificationRequest\",\"question\":\"Which?\"}\n";
    assert!(matches!(of(&ended(Ended::Exited(1), question)), Answer::Clarify(asked) if asked.question == "Which?"));
    for end in [Ended::Exited(0), Ended::Signalled(9), Ended::TimedOut] {
        assert!(matches!(of(&ended(end, ">>>HELP<<<\n")), Answer::Help(_)));
    }
}

#[test]
fn a_malformed_question_fails_the_turn_and_says_why() {
    for (text, why) in [
        ("{\"type\":\"ClarificationRequest\"}", "no text"),
        ("{\"ClarificationRequest\": [1]}", "has to be an object"),
        ("{\"question\":\"Which?\",\"options\":\"a\"}", "`options` has to be a list"),
        ("{\"question\":\"Which?\",\"options\":[\"a\",\"a\"]}", "there twice"),
        ("{\"question\":\"Which?\",\"confidence\":\"sure\"}", "`confidence` has to be"),
        ("{\"type\":\"clarification_request\", \"question\": \"Wh", "not one whole"),
        ("<clarification-request>Which?", "not one whole"),
        ("<clarification-request options=\"a||b\">Which?</clarification-request>", "empty"),
        (
            "{\"component\":\"b\",\"status\":\"s\",\"data\":{\"question\":3,\"options\":[]}}",
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
        "{\"question\":\"Which?\",\"options\":[\"a\",\"b\"],\"confidence\":\"medium\",\"context\":\"c\"}",
        "{\"component\":\"b\",\"status\":\"partial\",\"data\":{\"ClarificationRequest\":{\"question\":\"Which?\",\
          \"options\":[\"a\",\"b\"],\"confidence\":0.6,\"context\":\"c\"}}}",
        "so <clarification-request options=\"a|b\" confidence='medium' context=\"c\">Which?</clarification-request>",
    ] {
        let Answer::Clarify(question) = of(&ended(Ended::Exited(0), text)) else { panic!("{text}") };
        assert_eq!((question.question.as_str(), question.decision_context.as_str()), ("Which?", "c"), "{text}");
        assert_eq!((question.options, question.confidence), (vec!["a".to_owned(), "b".to_owned()], Confidence::Medium));
    }
}

#[test]
fn an_answer_that_its_author_doubts_becomes_a_question_where_the_plan_asks() {
    let envelope = "{\"component\":\"b\",\"status\":\"success\",\"data\":{\"confidence\":0.3,\"summary\":\"a guess\"}}";
    let completion = "<waypoint-complete confidence=\"low\">w1 a guess</waypoint-complete>";
    for text in [envelope, completion] {
        let asked = of_turn(&ended(Ended::Exited(0), text), Some(Confidence::Medium));
        let Answer::Clarify(question) = asked else { panic!("{asked:?}") };
        assert!(question.question.contains("low") && question.decision_context.contains("a guess"), "{question:?}");
    }
    assert_eq!(failure(&ended(Ended::Exited(0), envelope)).reason, ReasonCode::Unsupported);
    assert!(matches!(of(&ended(Ended::Exited(0), completion)), Answer::Ready(_)));
    let odd = "<waypoint-complete confidence=\"sure\">w1</waypoint-complete>";
    assert_eq!(failure(&ended(Ended::Exited(0), odd)).reason, ReasonCode::HandoffInvalid);
}
