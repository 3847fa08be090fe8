use holdpoint_harness::dialect::{self, Dialect};
use holdpoint_planfile::exchange::HandoffRules;
use holdpoint_protocol::{
    checkpoint::GateDemands,
    facts::CriterionResult,
    workflow::{ByOutcome, GateContext},
};

use super::*;

fn answered(text: &str) -> Judged {
    verdict(Ended::Exited(0), text.as_bytes())
}

#[test]
fn a_judge_asks_instead_of_judging_and_a_verdict_that_quotes_a_question_is_one() {
    let came = |code, stdout: &str, stderr: &str| {
        let said = dialect::read(Dialect::Plain, stdout.as_bytes(), None);
        let expected = Expected::judge(&HandoffRules::default());
        read(Ended::Exited(code), &said, stderr.as_bytes(), &expected, Before::default()).0
    };
    let question = r#"{"question": "Which policy?", "options": ["a", "b"]}"#;
    for code in [0, 75] {
        assert!(matches!(came(code, question, ""), Came::Asks(Ask::Question(asked)) if asked.options.len() == 2));
    }
    let object = r#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
    assert!(matches!(came(0, object, ">>>HELP<<<\n"), Came::Asks(Ask::Help(_))));
    let quotes =
        r#"{"verdict": "fail", "evidence": ["<clarification-request>q</clarification-request>"], "doubts": []}"#;
    assert!(matches!(came(0, quotes, ""), Came::Judged(judged) if judged.verdict == Verdict::Fail));
    let malformed = r#"{"question": "", "options": []}"#;
    assert!(
        matches!(came(0, malformed, ""), Came::Judged(judged) if judged.note.as_ref().unwrap().contains("no text"))
    );
}

#[test]
fn a_judge_reads_nothing_that_cannot_be_seen_or_that_moves_a_cursor() {
    const HOSTILE: &str = "pass\u{202e}it\u{200b}\u{1b}[2J\u{e0041}\r!\nnext";
    const SEEN: &str = "pass\\u{202e}it\\u{200b}\\u{1b}[2J\\u{e0041}\\r!\nnext";
    let hostile = || HOSTILE.to_owned();
    let criterion = Criterion { id: "read".parse().unwrap(), statement: hostile(), check: None };
    let (verdict, reason) = (Verdict::Fail, Some(CriterionReason::ExitCode));
    let report = CriterionReport {
        result: CriterionResult { id: "unit".parse().unwrap(), verdict, reason, evidence: Vec::new() },
        command: Some(hostile()),
        exit_code: Some(1),
        output_tail: hostile(),
        note: None,
    };
    let clarified = Clarified {
        question: hostile(),
        option: Some(hostile()),
        text: Some(hostile()),
        rationale: Some(hostile()),
        constraints: vec![hostile()],
        by: "p\u{202e}\n".to_owned(),
    };
    let (tree, answers) = ("a".repeat(40).parse().unwrap(), [clarified]);
    let specs = [serde_json::json!({"given": hostile(), "then": {"body_contains": [hostile()]}})];
    let context = GateContext {
        expectations: vec![hostile()],
        tips: vec![hostile()],
        outcome_help: ByOutcome { complete: Some(hostile()), ..ByOutcome::default() },
        demands: GateDemands::default(),
    };
    let gate = GateBrief { description: Some(hostile()), role_description: Some(hostile()), context };
    let about = About { clarifications: &answers, tests: &specs, gate: &gate, judged: &[] };
    let bytes = Question::new(&criterion, &tree, std::iter::once(&report), about).to_bytes(None);
    let asked: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let (evidence, clarified) = (&asked["evidence"][0], &asked["clarifications"][0]);
    let texts = [
        &asked["criterion"]["statement"],
        &evidence["command"],
        &evidence["output_tail"],
        &clarified["question"],
        &clarified["option"],
        &clarified["text"],
        &clarified["rationale"],
        &clarified["constraints"][0],
        &asked["tests"][0]["given"],
        &asked["tests"][0]["then"]["body_contains"][0],
        &asked["gate"]["description"],
        &asked["gate"]["role_description"],
        &asked["gate"]["expectations"][0],
        &asked["gate"]["tips"][0],
        &asked["gate"]["outcome_help"]["complete"],
    ];
    assert!(texts.iter().all(|text| **text == SEEN), "{asked:#}");
    assert_eq!(clarified["by"], "p\\u{202e}\\n");
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().find_map(shown::first_hidden), None, "{text}");
}

#[test]
fn a_question_that_is_too_long_loses_the_beginnings_of_outputs_first_and_says_so() {
    let criterion = Criterion { id: "read".parse().unwrap(), statement: "It reads well".to_owned(), check: None };
    let report = |id: &str, bytes: usize| CriterionReport {
        result: CriterionResult { id: id.parse().unwrap(), verdict: Verdict::Pass, reason: None, evidence: Vec::new() },
        command: Some(format!("make {}", "x".repeat(bytes / 40))),
        exit_code: Some(0),
        output_tail: format!("{}the end of {id}", "ä".repeat(bytes / 2)),
        note: None,
    };
    let reports = [report("long", 40_000), report("short", 200)];
    let tree = "a".repeat(40).parse().unwrap();
    let specs = [serde_json::json!({"given": "x".repeat(2_000)})];
    let gate = GateBrief { description: Some("g".repeat(2_000)), ..GateBrief::default() };
    let about = About { clarifications: &[], tests: &specs, gate: &gate, judged: &[] };
    let within = |bytes| {
        let bytes = Question::new(&criterion, &tree, reports.iter(), about).within(bytes).to_bytes(None);
        let asked: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        (bytes.len(), asked)
    };
    let (_, whole) = within(usize::MAX);
    assert!(whole.get("cut").is_none());
    let (length, cut) = within(16_000);
    assert!(length <= 16_000 && cut["evidence"][0]["output_tail"].as_str().unwrap().ends_with("the end of long"));
    assert_eq!((&cut["evidence"][1], &cut["tests"]), (&whole["evidence"][1], &whole["tests"]));
    assert_eq!(cut["cut"], serde_json::json!(["the beginning of output_tail of long"]));
    let (length, least) = within(2_000);
    assert!(length <= 2_000 && least["criterion"] == whole["criterion"], "{least:#}");
    assert_eq!(
        least["cut"],
        serde_json::json!(["gate", "tests", "the beginning of output_tail of long", "the end of command of long",])
    );
}

#[test]
fn of_questions_that_were_answered_the_last_is_kept_where_there_is_no_room() {
    let criterion = Criterion { id: "read".parse().unwrap(), statement: "It reads well".to_owned(), check: None };
    let tree = "a".repeat(40).parse().unwrap();
    let answered = |question: &str| Clarified {
        question: question.to_owned(),
        option: None,
        text: Some("y".repeat(2_000)),
        rationale: None,
        constraints: Vec::new(),
        by: "human-ann".to_owned(),
    };
    let clarifications = [answered("first"), answered("second"), answered("last")];
    let gate = GateBrief::default();
    let about = About { clarifications: &clarifications, tests: &[], gate: &gate, judged: &[] };
    let bytes = Question::new(&criterion, &tree, std::iter::empty(), about).within(3_000).to_bytes(None);
    let asked: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((asked["clarifications"].as_array().unwrap().len(), bytes.len() < 3_000), (1, true));
    assert_eq!(asked["clarifications"][0]["question"], "last");
    assert_eq!(asked["cut"], serde_json::json!(["all clarifications but the last"]));
}

#[test]
fn verdict_with_evidence_counts() {
    let judged = answered("{\"verdict\": \"pass\", \"evidence\": [\"src/retry.rs:10\"], \"doubts\": [\"names\"]}\n");
    assert_eq!((judged.verdict, judged.reason), (Verdict::Pass, None));
    assert_eq!(judged.doubts, ["names"]);
    let failed = answered(r#"{"verdict": "fail", "evidence": [], "doubts": []}"#);
    assert_eq!((failed.verdict, failed.reason), (Verdict::Fail, None));
}

fn handed_over(text: &str, asked: bool) -> (Judged, Option<ExchangeErrorKind>) {
    let said = dialect::read(Dialect::Plain, text.as_bytes(), None);
    let expected = Expected::judge(&HandoffRules::default());
    let (came, problem) = read(Ended::Exited(0), &said, b"", &expected, Before { asked, kept: None });
    let Came::Judged(judged) = came else { panic!("{text}") };
    (judged, problem.map(|problem| problem.kind))
}

#[test]
fn what_is_wrong_with_a_verdict_is_told_apart_and_an_envelope_may_hold_it() {
    let pass = r#""verdict": "pass", "evidence": ["src/a.rs:3"], "doubts": ["names"]"#;
    let envelope = format!(r#"{{"component": "judge", "status": "success", "data": {{{pass}}}}}"#);
    for text in [format!("{{{pass}}}"), format!("I looked.\n{envelope}\n")] {
        let (judged, problem) = handed_over(&text, false);
        assert_eq!((judged.verdict, judged.doubts.len(), problem), (Verdict::Pass, 1, None), "{text}");
    }
    for (text, kind) in [
        ("no JSON", ExchangeErrorKind::Malformed),
        ("{\"verdict\": \"pass\", \"evid", ExchangeErrorKind::Partial),
        ("{\"verdict\": \"pass\"}", ExchangeErrorKind::MissingField),
        ("{\"verdict\": \"maybe\", \"evidence\": [], \"doubts\": []}", ExchangeErrorKind::Semantic),
        ("{\"verdict\": \"pass\", \"evidence\": [], \"doubts\": []}", ExchangeErrorKind::Semantic),
        ("{\"component\": \"judge\", \"status\": \"success\", \"data\": {}}", ExchangeErrorKind::MissingField),
    ] {
        let (judged, problem) = handed_over(text, false);
        assert_eq!((judged.verdict, problem), (Verdict::Inconclusive, Some(kind)), "{text}");
    }
    // Only who was asked again may put words around it.
    let block = format!("Here it is:\n```json\n{{{pass}}}\n```\n");
    assert_eq!(handed_over(&block, false).0.verdict, Verdict::Inconclusive);
    assert_eq!(handed_over(&block, true).0.verdict, Verdict::Pass);
}

#[test]
fn pass_without_evidence_settles_nothing() {
    for evidence in ["[]", "[\"\", \"  \"]"] {
        let judged = answered(&format!(r#"{{"verdict": "pass", "evidence": {evidence}, "doubts": []}}"#));
        assert_eq!(judged.reason, Some(CriterionReason::JudgeWithoutEvidence));
        assert_eq!(judged.verdict, Verdict::Inconclusive);
    }
}

#[test]
fn anything_but_one_verdict_object_settles_nothing() {
    let object = r#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
    for text in [
        "",
        "pass",
        "{\"verdict\": \"pass\"}",
        r#"{"verdict": "Pass", "evidence": ["x"], "doubts": []}"#,
        r#"{"verdict": "pass", "evidence": "x", "doubts": []}"#,
        &format!("I think: {object}"),
        &format!("{object}{object}"),
    ] {
        assert_eq!(answered(text).verdict, Verdict::Inconclusive, "{text}");
    }
}

#[test]
fn judge_that_did_not_end_well_settles_nothing_whatever_it_printed() {
    let object = br#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
    for (ended, reason) in [
        (Ended::Exited(1), CriterionReason::ExitCode),
        (Ended::Exited(126), CriterionReason::NotExecutable),
        (Ended::Exited(127), CriterionReason::NotExecutable),
        (Ended::Signalled(9), CriterionReason::Signal),
        (Ended::TimedOut, CriterionReason::Timeout),
        (Ended::OutputLimit, CriterionReason::Limit),
        (Ended::MemoryLimit, CriterionReason::Limit),
        (Ended::DiskLimit, CriterionReason::Limit),
    ] {
        let judged = verdict(ended, object);
        assert_eq!((judged.verdict, judged.reason), (Verdict::Inconclusive, Some(reason)));
    }
}
