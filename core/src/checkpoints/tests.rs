use holdpoint_protocol::{
    checkpoint::{DOCUMENT_BYTES_MAX, DocumentSpec},
    plan::Check,
    reason::BlockReason,
    time::Millis,
};

use super::*;
use crate::{engine::tests::parts::check, plan::PlanError};

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
        let touched = [touched.to_owned()];
        let over = HandedOver { touched: &touched, ..HandedOver::default() };
        validate(&demanding(vec![named("one", Some(CheckpointRule::Touches(paths)))]), &over, 0).handoff_ready
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
    let command = CheckpointRule::Command(CheckpointCommand { run: "make test".to_owned(), timeout: None });
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
    assert_eq!(feedback(&demands, &validation.checkpoints, 2), expected);
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
fn a_checkpoint_that_names_a_guard_is_its_command_and_a_statement_without_one() {
    let guard = |name: &str| named(name, Some(CheckpointRule::Guard(name.parse().unwrap())));
    let demands = demanding(vec![guard("suite"), guard("lint"), named("code_complete", None)]);
    let guards = [Guard { id: "suite".parse().unwrap(), check: Check { timeout: Millis(60_000), ..check(false) } }];
    let command = CheckpointCommand { run: "true".to_owned(), timeout: Some(Millis(60_000)) };
    let rules: Vec<_> = in_plan(&demands, &guards).checkpoints.into_iter().map(|spec| spec.rule).collect();
    assert_eq!(rules, [Some(CheckpointRule::Command(command)), None, None]);
}
