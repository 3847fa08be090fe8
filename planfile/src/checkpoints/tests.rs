use holdpoint_protocol::{
    artifact::{CheckpointReport, Doubt, VerificationReport},
    checkpoint::{CheckpointCommand, DOCUMENT_BYTES_MAX, DocumentSpec, ReportPart},
    facts::Verdict,
    ids::GateId,
    plan::{Check, Guard, Plan},
    reason::{BlockReason, CriterionReason},
    testing::{check, criterion, criterion_report, plan},
    time::Millis,
};

use super::in_plan::shown_by;
use super::*;
use crate::yaml::error::PlanError;

fn named(name: &str, rule: Option<CheckpointRule>) -> CheckpointSpec {
    CheckpointSpec { name: name.parse().unwrap(), rule, required: true }
}

fn demanding(checkpoints: Vec<CheckpointSpec>) -> GateDemands {
    GateDemands { checkpoints, ..GateDemands::default() }
}

fn result(name: &str, by: EstablishedBy, status: CheckpointStatus) -> CheckpointResult {
    CheckpointResult { name: name.parse().unwrap(), by, status, message: String::new() }
}

/// What comes of one predicate on a document: nothing, or why it does not hold.
fn looked_at(rule: CheckpointRule, text: &str) -> Option<String> {
    let over = HandedOver { text, ..HandedOver::default() };
    let validation = validate(&demanding(vec![named("one", Some(rule))]), &over, 0);
    let [CheckpointResult { by: EstablishedBy::Predicate, status, message, .. }] = &validation.checkpoints[..] else {
        panic!("{validation:?}")
    };
    assert_eq!(*status == CheckpointStatus::Pass, validation.handoff_ready);
    (*status == CheckpointStatus::Fail).then(|| message.clone())
}

#[test]
fn a_section_needs_its_heading_and_text_below_it() {
    let section = || CheckpointRule::Section("Impact".to_owned());
    let good = [
        "# Impact\nAll of it.\n",
        "## impact ##\r\n\r\nAll of it.\r\n",
        "# Impact\n\n## Callers\n\nTwo.\n\n# Next\n",
        "```\n# Impact\n```\n\n# Impact\n\nAll.\n",
    ];
    for text in good {
        assert_eq!(looked_at(section(), text), None, "{text:?}");
    }
    let bad = [
        ("", "there is no document"),
        (" \n\t", "there is no document"),
        ("# Design\nImpact: none\n", "there is no section `Impact`"),
        ("#Impact\ntext\n", "there is no section `Impact`"),
        ("```\n# Impact\ntext\n```\n", "there is no section `Impact`"),
        ("# Impact\n\n# Next\ntext\n", "section `Impact` has no text"),
        ("# Impact\n## Callers\n### Of them\n", "section `Impact` has no text"),
        ("# Impact", "section `Impact` has no text"),
    ];
    for (text, why) in bad {
        assert_eq!(looked_at(section(), text).as_deref(), Some(why), "{text:?}");
    }
}

#[test]
fn a_document_matches_what_it_has_to_and_lacks_what_it_must_not_have() {
    let matches = |pattern: &str, text: &str| looked_at(CheckpointRule::Matches(pattern.to_owned()), text);
    let lacks = |pattern: &str, text: &str| looked_at(CheckpointRule::Lacks(pattern.to_owned()), text);
    let criteria = r"(?m)^- AC-\d+:";
    assert_eq!(matches(criteria, "Text\n- AC-1: it answers in 5 ms\n"), None);
    assert_eq!(
        matches(criteria, "AC-1: no item").as_deref(),
        Some(r"nothing in the document matches `(?m)^- AC-\d+:`")
    );
    assert_eq!(lacks("(?im)^- blocker:", "no blocker: none\n"), None);
    assert_eq!(
        lacks("(?im)^- blocker:", "one\ntwo\n- Blocker: a key is missing\n").as_deref(),
        Some("line 3 of the document matches `(?im)^- blocker:`, and nothing may")
    );
    assert!(matches("(", "x").unwrap().contains("is no regular expression"));
    assert!(lacks("(", "x").unwrap().contains("is no regular expression"));
}

#[test]
fn work_touches_paths_of_a_kind_or_of_a_glob() {
    let touches = |paths: TouchedPaths, touched: &str| {
        let demands = demanding(vec![named("one", Some(CheckpointRule::Touches(paths)))]);
        let touched = touching(&demands, &[touched.to_owned()]);
        validate(&demands, &HandedOver { touched: &touched, ..HandedOver::default() }, 0).handoff_ready
    };
    let kind = TouchedPaths::Kind;
    for (paths, path, expected) in [
        (kind(PathKind::Tests), "tests/it/api.rs", true),
        (kind(PathKind::Tests), "src/api.rs", false),
        (kind(PathKind::Docs), "docs/setup.txt", true),
        (kind(PathKind::Docs), "README.md", true),
        (kind(PathKind::Docs), "src/docs.rs", false),
        (TouchedPaths::Globs(vec!["api/**".to_owned(), "web/*.ts".to_owned()]), "web/a.ts", true),
        (TouchedPaths::Globs(vec!["api/**".to_owned()]), "web/a.ts", false),
    ] {
        assert_eq!(touches(paths.clone(), path), expected, "{paths:?} {path}");
    }
}

#[test]
fn a_gate_is_ready_exactly_when_each_required_checkpoint_passes() {
    use CheckpointStatus::{Fail, Pass, Skip};
    let optional = CheckpointSpec { required: false, ..named("optional", None) };
    let demands = demanding(vec![named("design_complete", None), optional]);
    let says = |name, status| result(name, EstablishedBy::Statement, status);
    let ready = |said: &[CheckpointResult]| {
        let over = HandedOver { said, ..HandedOver::default() };
        validate(&demands, &over, 0).handoff_ready
    };
    assert!(ready(&[says("design_complete", Pass)]));
    assert!(ready(&[says("design_complete", Pass), says("optional", Fail)]));
    assert!(ready(&[says("design_complete", Fail), says("design_complete", Pass)]), "the last word counts");
    assert!(!ready(&[]), "of nothing that was said");
    assert!(!ready(&[says("design_complete", Skip)]), "a required one that was skipped");
    assert!(!ready(&[says("design_complete", Fail)]));
    assert!(!ready(&[says("optional", Pass)]));
    assert!(!ready(&[result("design_complete", EstablishedBy::Command, Pass)]), "of a command that nobody asked for");
}

#[test]
fn a_statement_establishes_neither_a_predicate_nor_a_command() {
    let command = CheckpointRule::Command(CheckpointCommand { check: check(false), needs: Vec::new() });
    for rule in [CheckpointRule::Section("Impact".to_owned()), command] {
        let said = [result("one", EstablishedBy::Statement, CheckpointStatus::Pass)];
        let over = HandedOver { said: &said, text: "no heading", ..HandedOver::default() };
        assert!(!validate(&demanding(vec![named("one", Some(rule.clone()))]), &over, 0).handoff_ready, "{rule:?}");
    }
}

#[test]
fn a_gate_with_a_document_waits_for_all_of_its_sections() {
    let sections = vec!["Design".to_owned(), "Tests".to_owned()];
    let demands = GateDemands { document: Some(DocumentSpec { sections }), ..GateDemands::default() };
    let of = |text| validate(&demands, &HandedOver { text, ..HandedOver::default() }, 0);
    assert!(of("# Design\nx\n# Tests\ny\n").handoff_ready);
    let validation = of("# Design\n");
    assert_eq!(
        in_one_line(&demands, &validation.checkpoints),
        "document (fail): section `Design` has no text; there is no section `Tests`"
    );
}

#[test]
fn retries_and_escalation_follow_from_their_count() {
    let demands = demanding(vec![named("one", None)]);
    let pass = [result("one", EstablishedBy::Statement, CheckpointStatus::Pass)];
    for (said, retry_count, expected) in [
        (&[][..], 0, (false, true, false)),
        (&[], 2, (false, true, false)),
        (&[], 3, (false, false, true)),
        (&[], 4, (false, false, true)),
        (&pass, 0, (true, false, false)),
        (&pass, 3, (true, false, false)),
    ] {
        let validation = validate(&demands, &HandedOver { said, ..HandedOver::default() }, retry_count);
        let found = (validation.handoff_ready, validation.retry_needed, validation.escalate);
        assert_eq!(found, expected, "{said:?} {retry_count}");
    }
    let fewer = GateDemands { checkpoint_retries: Some(0), ..demands };
    assert!(validate(&fewer, &HandedOver::default(), 0).escalate);
}

#[test]
fn the_feedback_names_each_checkpoint_why_it_fails_and_which_try_comes() {
    let demands = demanding(vec![
        named("acceptance_criteria_defined", Some(CheckpointRule::Matches(r"AC-\d".to_owned()))),
        named("requirements_addressed", None),
        named("design_complete", None),
    ]);
    let said = [
        CheckpointResult {
            message: "AC-1 is\nnot measurable".to_owned(),
            ..result("requirements_addressed", EstablishedBy::Statement, CheckpointStatus::Fail)
        },
        result("design_complete", EstablishedBy::Statement, CheckpointStatus::Skip),
    ];
    let validation = validate(&demands, &HandedOver { said: &said, ..HandedOver::default() }, 1);
    let expected = r"## Validation Failed

### Checkpoint: acceptance_criteria_defined
**Status**: FAIL
**Reason**: nothing in the document matches `AC-\d`

### Checkpoint: requirements_addressed
**Status**: FAIL
**Reason**: AC-1 is not measurable

### Checkpoint: design_complete
**Status**: SKIP
**Reason**: it was skipped, and this gate requires it

### What to Fix
1. acceptance_criteria_defined: nothing in the document matches `AC-\d`
2. requirements_addressed: AC-1 is not measurable
3. design_complete: it was skipped, and this gate requires it

### Retry Attempt: 2 of 3
";
    assert_eq!(feedback(&demands, &validation.checkpoints, (2, 3)), expected);
}

#[test]
fn a_written_document_states_its_title_its_checkpoints_and_what_blocks_it() {
    let text = "---\nid: F001\nstatus: blocked\nhandoff_ready: true\ntitle: \"A: plan\"\nblock_reason: needs_human_input\n\
                block_details: Which region?\ncheckpoints:\n  - {name: design_complete, status: pass, message: all}\n  \
                - name: tests_planned\n    status: skip\nretry_count: 2\n---\n\n# Heading\n\ntext\n---\nmore\n";
    let document = read_document(text.as_bytes(), "d.md").unwrap();
    let statement = |name: &str, status, message: &str| CheckpointStatement {
        name: name.parse().unwrap(),
        status,
        message: message.to_owned(),
    };
    let statements = vec![
        statement("design_complete", CheckpointStatus::Pass, "all"),
        statement("tests_planned", CheckpointStatus::Skip, ""),
    ];
    let block = Block { reason: BlockReason::NeedsHumanInput, details: "Which region?".to_owned() };
    let expected = WrittenDocument {
        proposal: None,
        title: Some("A: plan".to_owned()),
        statements,
        block: Some(block),
        text: "# Heading\n\ntext\n---\nmore\n".to_owned(),
    };
    assert_eq!(document, expected);
    let plain = read_document(b"\n# A plan\n\nx\n", "d.md").unwrap();
    assert_eq!((plain.title.as_deref(), plain.text.as_str()), (Some("A plan"), "\n# A plan\n\nx\n"));
}

#[test]
fn a_document_that_cannot_be_read_says_where_and_what_to_do() {
    let wrong = |text: &[u8]| {
        let errors = read_document(text, "d.md").unwrap_err().errors;
        errors.iter().map(PlanError::in_a_line).collect::<Vec<_>>().join("\n")
    };
    let statement = wrong(b"---\ncheckpoints: [{name: a b, status: passed}]\n---\nx");
    assert!(
        statement.contains("d.md:2:22") && statement.contains("passed") && statement.contains("a b"),
        "{statement}"
    );
    let blocked = wrong(b"---\nstatus: blocked\n---\nx");
    assert!(blocked.contains("block_reason: needs_human_input"), "{blocked}");
    assert!(wrong(b"---\nstatus: blocked\nblock_reason: bored\n---\n").contains("scope_change"));
    assert!(wrong(&vec![b'x'; DOCUMENT_BYTES_MAX + 1]).contains("larger than 128 KiB"));
    assert!(wrong(b"# \xff\n").contains("d.md:1:3"));
    assert!(
        read_document(b"---\nnot closed: [\n", "d.md").unwrap().statements.is_empty(),
        "that is a rule of Markdown"
    );
}

#[test]
fn a_checkpoint_that_names_a_guard_is_its_check_with_what_it_expects_and_a_statement_without_one() {
    let guard = |name: &str| named(name, Some(CheckpointRule::Guard(name.parse().unwrap())));
    let demands = demanding(vec![guard("suite"), guard("lint"), named("code_complete", None)]);
    let suite = Check { timeout: Millis(60_000), expect: Some("ok".to_owned()), ..check(false) };
    let guards = vec![Guard { id: "suite".parse().unwrap(), check: suite.clone() }];
    let of_plan = vec![named("lint-all", None)];
    let plan = Plan { guards, checks: of_plan, ..plan(Vec::new()) };
    let command = CheckpointCommand { check: suite, needs: Vec::new() };
    let rules = |demands: &GateDemands| -> Vec<_> {
        in_plan(demands, &plan).checkpoints.into_iter().map(|spec| spec.rule).collect()
    };
    assert_eq!(rules(&demands), [Some(CheckpointRule::Command(command)), None, None]);
    let auto = GateDemands { plan_checks: true, ..GateDemands::default() };
    assert_eq!(in_plan(&auto, &plan).checkpoints, plan.checks, "`checks: auto` is what the plan checks");
    assert!(!in_plan(&auto, &plan).plan_checks, "once");
}

fn found(part: ReportPart, judged: Judged<'_>) -> (CheckpointStatus, String) {
    let demands = demanding(vec![named("one", Some(CheckpointRule::Report(part)))]);
    let over = HandedOver { judged: Some(judged), ..HandedOver::default() };
    let result = validate(&demands, &over, 0).checkpoints.remove(0);
    assert_eq!(result.by, EstablishedBy::Predicate);
    (result.status, result.message)
}

#[test]
fn a_score_is_of_what_was_tried_and_a_gate_waits_for_it() {
    use CheckpointStatus::{Fail, Pass, Skip};
    let score = |statuses: &[CheckpointStatus]| {
        let results: Vec<_> = statuses.iter().map(|status| result("one", EstablishedBy::Command, *status)).collect();
        Score::of(&results).of_100()
    };
    assert_eq!(score(&[]), 0);
    assert_eq!(score(&[Skip, Skip]), 0, "nothing was tried");
    assert_eq!(score(&[Pass, Skip]), 100);
    assert_eq!(score(&[Pass, Pass, Fail]), 67);
    assert_eq!(score(&[Pass, Fail, Fail]), 33);
    assert_eq!(score(&[Pass; 12]), 100);
    let names = ["syntax", "lint", "docs", "perf"];
    let optional = |name: &&str| CheckpointSpec { required: *name == "syntax", ..named(name, None) };
    let demands = GateDemands { threshold: Some(67), ..demanding(names.iter().map(optional).collect()) };
    let validated = |statuses: [CheckpointStatus; 4]| {
        let said: Vec<_> =
            names.iter().zip(statuses).map(|(name, status)| result(name, EstablishedBy::Statement, status)).collect();
        validate(&demands, &HandedOver { said: &said, ..HandedOver::default() }, 0)
    };
    assert!(validated([Pass, Pass, Fail, Skip]).handoff_ready, "67 of 67");
    let short = validated([Pass, Fail, Fail, Skip]);
    assert!(!short.handoff_ready);
    let line = in_one_line(&demands, &short.checkpoints);
    assert!(
        line.starts_with("the score is 33 and has to be 67: 1 of 3 checkpoints that ran pass; lint (fail)"),
        "{line}"
    );
    assert!(feedback(&demands, &short.checkpoints, (1, 3)).contains("### Score\nthe score is 33"), "{line}");
    assert!(!are_untried(&demands, &short.checkpoints));
    let unmet = validated([Skip, Pass, Pass, Pass]);
    assert!(!unmet.handoff_ready, "a required one that was skipped, whatever the score");
    assert!(are_untried(&demands, &unmet.checkpoints));
    let kept = gate_checkpoints(&"audit".parse().unwrap(), &demands, &short);
    assert_eq!(lines(&kept)[0], "score 33 at gate audit: 1 of 3 that ran pass");
    assert_eq!(lines(&kept)[4], "skip perf");
}

#[test]
fn a_plan_shows_what_it_checks_by_its_guards_and_criteria_each_name_once() {
    let plan = "plan: p\nguards:\n  - {id: suite, check: make test}\nwaypoints:\n  - id: w\n    goal: g\n    scope: [a]\n    criteria:\n      \
                - {id: suite, check: make other}\n      - {id: works, check: ./works}\n      - {id: reads-well, statement: it reads well}\n";
    let plan = crate::plan::read(plan, "plan.yaml", crate::plan::workflows::BUILT_IN_WORKFLOWS).unwrap();
    let shown: Vec<(String, String)> = shown_by(&plan, std::iter::empty())
        .into_iter()
        .map(|one| match one.rule {
            Some(CheckpointRule::Command(command)) if one.required => (one.name.to_string(), command.check.command),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, [("suite".into(), "make test".into()), ("works".into(), "./works".into())]);
}

/// A report that shows `unit`.
fn sound_report() -> VerificationReport {
    let golden = include_str!("../../../protocol/golden/verification_report.json");
    let mut report: VerificationReport = serde_json::from_str(golden).unwrap();
    report.criteria = vec![criterion_report("unit", Verdict::Pass)];
    report.guards.clear();
    report.doubts.clear();
    report
}

#[test]
fn a_verifiers_report_shows_criteria_guards_doubts_review_and_the_commit() {
    use CheckpointStatus::{Fail, Pass, Skip};
    use ReportPart::{Criteria, Guards, NoBlockingDoubts, OneCommit, Review};
    let mut sound = sound_report();
    let shown = |id: &str| {
        let mut one = sound.criteria[0].clone();
        one.result.id = id.parse().unwrap();
        one
    };
    let (readable, suite) = (shown("readable"), shown("suite"));
    sound.criteria.push(readable);
    sound.guards.push(suite);
    let criteria = [criterion("unit", Some(check(false))), criterion("readable", None)];
    let guards: Vec<CriterionId> = vec!["suite".parse().unwrap()];
    type Row = (ReportPart, fn(&mut VerificationReport), CheckpointStatus, &'static str);
    let table: [Row; 8] = [
        (Criteria, |_| {}, Pass, ""),
        (Criteria, |r| r.criteria[0].result.verdict = Verdict::Fail, Fail, "criteria that are not shown: unit"),
        (Criteria, |r| r.criteria[0].result.evidence.clear(), Fail, "criteria that are not shown: unit"),
        (Criteria, |r| drop(r.criteria.remove(0)), Fail, "criteria that are not shown: unit"),
        (Guards, |r| r.guards.clear(), Fail, "guards that are not shown: suite"),
        (
            NoBlockingDoubts,
            |r| r.doubts.push(Doubt::blocking("two readings".to_owned())),
            Fail,
            "a doubt blocks: two readings",
        ),
        (Review, |r| r.criteria[0].result.verdict = Verdict::Fail, Pass, ""),
        (
            Review,
            |r| r.criteria[1].result.verdict = Verdict::Fail,
            Fail,
            "judged criteria that are not shown: readable",
        ),
    ];
    for (part, change, status, why) in table {
        let mut report = sound.clone();
        change(&mut report);
        let judged = Judged { report: &report, criteria: &criteria, guards: &guards, has_judge: true, changed: true };
        assert_eq!(found(part, judged), (status, why.to_owned()), "{part:?}");
    }
    let judged = Judged { report: &sound, criteria: &criteria, guards: &guards, has_judge: true, changed: true };
    assert_eq!(found(OneCommit, judged).0, Pass);
    assert_eq!(found(OneCommit, Judged { changed: false, ..judged }).0, Fail);
    assert_eq!(found(Review, Judged { has_judge: false, ..judged }).0, Skip);
    assert_eq!(found(Review, Judged { criteria: &criteria[..1], ..judged }).0, Skip);
    let nobody = demanding(vec![named("one", Some(CheckpointRule::Report(Guards)))]);
    assert!(!validate(&nobody, &HandedOver::default(), 0).handoff_ready, "without a report nothing is shown");
}

#[test]
fn what_a_verifier_ran_is_a_pass_only_with_evidence_and_a_missing_tool_a_skip_that_names_it() {
    let mut report = sound_report();
    let sound = report.criteria[0].clone();
    let ran_as = |verdict, reason, evidence: bool, note: Option<&str>| {
        let mut one = sound.clone();
        (one.result.verdict, one.result.reason, one.note) = (verdict, reason, note.map(str::to_owned));
        one.result.evidence.truncate(usize::from(evidence));
        one
    };
    let gate: GateId = "audit".parse().unwrap();
    for (one, status, message) in [
        (ran_as(Verdict::Pass, None, true, None), CheckpointStatus::Pass, ""),
        (ran_as(Verdict::Pass, None, false, None), CheckpointStatus::Fail, "the verifier brings no evidence for it"),
        (ran_as(Verdict::Fail, Some(CriterionReason::ExitCode), true, Some("no")), CheckpointStatus::Fail, "no"),
        (
            ran_as(Verdict::Inconclusive, Some(CriterionReason::Timeout), true, None),
            CheckpointStatus::Fail,
            "its check did not end in time",
        ),
        (
            ran_as(Verdict::Inconclusive, Some(CriterionReason::ToolMissing), true, Some("`ruff` is missing")),
            CheckpointStatus::Skip,
            "`ruff` is missing",
        ),
    ] {
        report.checkpoints = vec![CheckpointReport { gate: gate.clone(), report: one }];
        let result = ran(&report, &gate).remove(0);
        assert_eq!((result.status, result.message.as_str()), (status, message));
        assert!(ran(&report, &"other".parse().unwrap()).is_empty());
    }
}
