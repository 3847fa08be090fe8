//! How artifacts stand, what a history says of their turns, how files are named, and what differs between documents.

use super::*;

fn golden(name: &str) -> Value {
    let found = goldens().into_iter().find(|(of, _)| of == name);
    found.map_or_else(|| panic!("there is no golden {name}"), |(_, value)| value)
}

#[test]
fn status_and_readiness_follow_from_the_artifact() {
    use ArtifactStatus::{Blocked, Complete, Failed, InProgress};
    for (kind, artifact, status, ready) in [
        ("build_artifact", json!({"status": "ok"}), Complete, true),
        ("build_artifact", golden("build_artifact_failed"), Failed, false),
        ("build_plan", golden("build_plan"), InProgress, false),
        ("completion", golden("completion_agent"), Failed, false),
        ("completion", json!({"outcome": "complete"}), Complete, true),
        ("completion", json!({}), Complete, true),
        ("completion", golden("completion_blocked"), Blocked, false),
        ("completion", golden("completion_failed"), Failed, false),
        ("completion", json!({"failure": {"reason": "checkpoints_unmet", "detail": "x"}}), Blocked, false),
        ("build_artifact", json!({"status": "failed", "failure": {"reason": "checkpoints_unmet"}}), Blocked, false),
        (
            "completion",
            json!({"outcome": "complete", "document": {"checkpoints": [{"status": "skip"}]}}),
            Complete,
            false,
        ),
        ("verification_report", json!({"criteria": [{"result": {"verdict": "pass"}}]}), Complete, true),
        ("verification_report", json!({"criteria": [{"result": {"verdict": "inconclusive"}}]}), Failed, false),
        (
            "verification_report",
            json!({"purpose": "baseline", "criteria": [{"result": {"verdict": "fail"}}]}),
            Complete,
            true,
        ),
        (
            "verification_report",
            json!({"purpose": "baseline", "guards": [{"result": {"verdict": "fail"}}]}),
            Failed,
            false,
        ),
        ("verification_report", json!({"violations": [{}]}), Failed, false),
        ("verification_report", json!({"doubts": [{"blocking": true}]}), Failed, false),
        ("verification_report", json!({"doubts": [{"blocking": false}]}), Complete, true),
        ("clarification_request", golden("clarification_request"), Blocked, false),
        ("help_request", json!({"running": true}), InProgress, false),
        ("help_request", json!({}), Blocked, false),
        ("turn", golden("turn_build"), InProgress, false),
        ("decided", json!({"decision": {"disposition": "accept"}}), Complete, false),
        ("decided", json!({"decision": {"disposition": "rework"}}), Failed, false),
        ("decided", json!({"decision": {"disposition": "escalate", "status": {"to": "failed"}}}), Failed, false),
        ("dead", golden("dead"), Failed, false),
        ("dead", json!({"decision": {"disposition": "escalate", "status": {"to": "blocked"}}}), Blocked, false),
        ("landed", golden("landed"), Complete, false),
        ("retry", golden("retry"), Complete, false),
        ("no such kind", json!("text"), InProgress, false),
    ] {
        let document = ArtifactDocument::of(&line(kind, artifact.clone()), TurnPast::default());
        assert_eq!((document.status(), document.is_ready()), (status, ready), "{kind}: {artifact}");
        let late = HistoryLine { standing: Some(Standing::Conflict), ..line(kind, artifact) };
        assert!(!ArtifactDocument::of(&late, TurnPast::default()).is_ready(), "{kind} came too late");
    }
}

#[test]
fn what_blocks_work_is_said_with_its_reason_in_a_line() {
    let shown =
        |kind: &str, artifact: Value| returns(&ArtifactDocument::of(&line(kind, artifact), TurnPast::default()));
    let asked = shown(
        "clarification_request",
        json!({"question": "\nWhich auth?\nLong story", "block_reason": "scope_change"}),
    );
    assert!(
        asked.contains(
            "status: blocked\nhandoff_ready: false\nblock_reason: scope_change\nblock_details: \"Which auth?\"\n"
        ),
        "{asked}"
    );
    let said =
        shown("completion", json!({"outcome": "blocked", "block_reason": "scope_change", "blockers": ["a", "b"]}));
    assert!(said.contains("block_reason: scope_change\nblock_details: \"a; b\"\n"), "{said}");
    let unmet = json!({"failure": {"reason": "checkpoints_unmet", "detail": "Impact is missing\nmore"}});
    for kind in ["completion", "build_artifact"] {
        let exhausted = shown(kind, unmet.clone());
        let expected = "block_reason: needs_human_input\nblock_details: \"Impact is missing\"\n";
        assert!(exhausted.contains(expected), "{exhausted}");
    }
    let long = shown("completion", json!({"outcome": "blocked", "blockers": ["x".repeat(5_000)]}));
    assert!(long.contains(&format!("block_details: {}\n", "x".repeat(300))), "{long}");
    let held = shown("decided", json!({"decision": {"disposition": "escalate", "remediation": "look at it"}}));
    assert!(held.contains("block_details: \"look at it\"\n"), "{held}");
    assert!(!shown("completion", json!({"outcome": "complete", "blockers": ["a"]})).contains("block_"));
}

#[test]
fn a_document_is_ready_if_each_checkpoint_that_its_gate_waits_for_passed() {
    let mut opened = turn("t1", "design", 1, Value::Null, &[]);
    opened.artifact["request"]["context"] = json!({
        "document": {}, "checkpoints": [{"name": "design_complete"}, {"name": "reviewed", "required": false}],
    });
    let passed = |name: &str| json!({"name": name, "status": "pass"});
    let skipped = json!({"name": "reviewed", "status": "skip"});
    for (results, ready) in [
        (json!([passed("document"), passed("design_complete")]), true),
        (json!([passed("document"), passed("design_complete"), skipped]), true),
        (json!([passed("document"), skipped]), false),
        (json!([passed("design_complete")]), false),
        (json!([passed("document"), {"name": "design_complete", "status": "skip"}]), false),
        (Value::Null, false),
    ] {
        let said = json!({"turn": "t1", "outcome": "complete", "document": {"checkpoints": results}});
        let history = [opened.clone(), line("completion", said), line("completion", json!({"turn": "t1"}))];
        let pasts = pasts(&history);
        let document = ArtifactDocument::of(&history[1], pasts[1].clone());
        let shown = returns(&document);
        assert_eq!(document.is_ready(), ready, "{shown}");
        assert!(!ArtifactDocument::of(&history[2], pasts[2].clone()).is_ready(), "there is no document");
    }
}

fn turn(id: &str, gate: &str, attempt: u32, decision: Value, failing: &[&str]) -> HistoryLine {
    let report = |criterion: &&str| {
        json!({
            "result": {"id": criterion, "verdict": "fail", "reason": null, "evidence": []}, "command": null, "exit_code": 1,
            "output_tail": "", "note": "447 tests ran",
        })
    };
    let failing: Vec<Value> = failing.iter().map(report).collect();
    let feedback = json!({"failing": failing, "notes": ["look again"]});
    line(
        "turn",
        json!({
            "turn_id": id, "waypoint": "w", "gate": gate, "attempt": attempt, "decision": decision,
            "request": {"title": "Read fares", "feedback": feedback}, "record": {"at": "2026-01-16T10:00:00Z"},
        }),
    )
}

#[test]
fn a_report_shows_what_the_decision_on_it_says_of_checkpoints() {
    let report =
        line("verification_report", json!({"artifact_id": "r1", "criteria": [{"result": {"verdict": "pass"}}]}));
    let decided = |reason: &str| {
        let gates =
            json!([{"gate": "qa", "score": 67, "checkpoints": [{"name": "lint", "by": "command", "status": "fail"}]}]);
        let record = json!({"cause": {"artifact": "r1"}, "state": {"checkpoints": gates}});
        line("turn", json!({"turn_id": "t2", "decision": {"reason_code": reason}, "record": record}))
    };
    for (reason, ready) in [("checkpoints_unmet", false), ("criteria_met", true)] {
        let history = [report.clone(), decided(reason)];
        let document = ArtifactDocument::of(&history[0], pasts(&history)[0].clone());
        assert_eq!(document.is_ready(), ready, "{reason}");
        let shown = returns(&document);
        assert!(shown.contains("score: 67") && shown.contains("lint"), "{shown}");
        assert!(shown.contains(&format!("handoff_ready: {ready}")), "{shown}");
    }
}

#[test]
fn the_history_says_how_often_a_gate_was_tried_and_why_it_failed_last() {
    let rework = |why: &str| json!({"disposition": "rework", "reason_code": why});
    let built = |turn: &str| line("build_artifact", json!({"turn": turn, "waypoint_id": "w"}));
    let held =
        json!({"decision": {"disposition": "escalate", "reason_code": "criteria_failed", "status": {"to": "failed"}}});
    let history = [
        turn("t1", "build", 1, Value::Null, &[]),
        built("t1"),
        turn("t2", "verify", 1, Value::Null, &[]),
        line("verification_report", json!({"turn": "t2"})),
        turn("t3", "build", 2, rework("criteria_failed"), &["unit"]),
        built("t3"),
        HistoryLine { standing: Some(Standing::Unsigned), ..turn("t3", "forged", 9, rework("forged"), &[]) },
        turn("t4", "build", 3, rework("agent_failed"), &[]),
        built("t1"),
        built("t4"),
        built("of another waypoint"),
        line("decided", held),
        line("retry", json!({"note": "again"})),
        turn("t5", "build", 4, json!({"disposition": "escalate", "reason_code": "retried"}), &["x"]),
    ];
    let pasts = pasts(&history);
    let tried = |at: usize| {
        let past: &TurnPast = &pasts[at];
        (past.gate.as_deref(), past.retry_count, past.last_failure.as_deref())
    };
    assert_eq!(tried(1), (Some("build"), Some(0), None));
    assert_eq!(tried(3), (Some("verify"), Some(0), None));
    assert_eq!(tried(5), (Some("build"), Some(1), Some("criteria_failed: unit: 447 tests ran")));
    assert_eq!(tried(6), (None, None, None), "a forged turn says nothing");
    assert_eq!(tried(9), (Some("build"), Some(2), Some("agent_failed: look again")));
    assert_eq!(tried(8), tried(1), "a late handoff is of its own turn");
    assert_eq!(pasts[10], TurnPast::default());
    assert_eq!(tried(12), tried(9), "an act is of the turn before it");
    assert_eq!(tried(13), (Some("build"), Some(3), Some("criteria_failed")));
    assert_eq!(pasts[5].title.as_deref(), Some("Read fares"));
    assert!(pasts[5].started_at.is_some());
}

#[test]
fn files_are_named_by_place_gate_and_kind_whatever_senders_say() {
    let named = |place, kind: &str, gate: Option<&str>| {
        let past = TurnPast { gate: gate.map(str::to_owned), ..TurnPast::default() };
        file_name(place, &ArtifactDocument::of(&line(kind, json!({})), past))
    };
    assert_eq!(named(7, "build_artifact", Some("build")), "007-build-build_artifact.md");
    assert_eq!(named(1234, "cancel", None), "1234-flight-cancel.md");
    for hostile in ["../../x", "", "a/b", "A", "x.md", "\u{202e}", &"k".repeat(300)] {
        assert_eq!(named(1, hostile, Some("../g")), "001-flight-unknown.md");
    }
}

/// What a reader of a difference makes of the old text.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    for line in diff.lines().skip(3) {
        if let Some(span) = line.strip_prefix("@@ -") {
            let (from, count) = span.split_once(' ').unwrap().0.split_once(',').unwrap();
            let from: usize = from.parse().unwrap();
            let begin = if count == "0" { from } else { from - 1 };
            out.extend(old[at..begin].iter().copied());
            at = begin;
        } else if let Some(line) = line.strip_prefix('+') {
            out.push_str(line);
            out.push('\n');
        } else if line.starts_with('\\') {
            out.pop();
        } else {
            out.push_str(if line.starts_with(' ') { old[at] } else { "" });
            at += 1;
        }
    }
    out.extend(old[at..].iter().copied());
    out
}

#[test]
fn a_difference_is_as_git_writes_one() {
    let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
    let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nK\nl\nm\n";
    let expected = "diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/x.md\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n\
        @@ -8,5 +8,6 @@\n h\n i\n j\n-k\n+K\n l\n+m\n";
    assert_eq!(unified_diff("x.md", old, new), expected);
    assert_eq!(unified_diff("x.md", old, old), "");
    assert!(unified_diff("x.md", "", "a").ends_with("@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"));
    let large = |line: &str| line.repeat(3_000);
    let whole = unified_diff("x.md", &format!("a\n{}", large("x\n")), &format!("b\n{}", large("y\n")));
    assert_eq!(whole.lines().filter(|line| line.starts_with('-')).count(), 3_002, "too many pairs to compare");
}

proptest! {
    #[test]
    fn a_difference_leads_from_the_one_text_to_the_other(old in "([a-c]\n){0,30}", new in "([a-c]\n){0,30}") {
        prop_assert_eq!(patched(&old, &unified_diff("x", &old, &new)), new);
    }
}
