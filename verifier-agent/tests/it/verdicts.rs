//! How a check's end becomes a verdict.

use holdpoint_protocol::{
    facts::Verdict::{Fail, Inconclusive, Pass},
    plan::Check,
    reason::CriterionReason as Reason,
    time::Millis,
};

use crate::support::{Rig, check, criterion, of, only, shown};

#[tokio::test]
async fn check_is_judged_by_how_it_ends() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    for (command, expected) in [
        ("true", (Pass, None)),
        ("grep -q b a.txt", (Fail, Some(Reason::ExitCode))),
        ("exit 125", (Fail, Some(Reason::ExitCode))),
        ("./a.txt", (Inconclusive, Some(Reason::NotExecutable))),
        ("no-such-program-here", (Inconclusive, Some(Reason::NotExecutable))),
        ("kill -9 $$", (Inconclusive, Some(Reason::Signal))),
        ("yes", (Inconclusive, Some(Reason::Limit))),
    ] {
        let report = rig.check_base(check(command)).await;
        assert_eq!(of(&report), expected, "{command}");
        assert_eq!(report.command.as_deref(), Some(command));
        assert_eq!(report.note.is_some(), expected.0 != Pass, "{command}");
    }
}

#[tokio::test]
async fn green_check_needs_its_expected_output() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let of_expect = |expect: &str| Check { expect: Some(expect.to_owned()), ..check("echo 3 passed; echo ok >&2") };
    assert_eq!(of(&rig.check_base(of_expect(r"^\d+ passed")).await), (Pass, None));
    assert_eq!(of(&rig.check_base(of_expect("ok")).await), (Pass, None));
    let report = rig.check_base(of_expect("4 passed")).await;
    assert_eq!(of(&report), (Fail, Some(Reason::ExpectUnmatched)));
    assert!(report.note.unwrap().contains("4 passed"));
    assert_eq!(report.exit_code, Some(0));
    // Both streams are shown; which came first is up to the scheduler.
    assert!(report.output_tail.contains("3 passed") && report.output_tail.contains("ok"));
}

#[tokio::test]
async fn check_that_does_not_end_is_ended_with_all_it_started() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let report = rig.check_base(Check { timeout: Millis(3_000), ..check("echo begun; sleep 600 & wait") }).await;
    assert_eq!(of(&report), (Inconclusive, Some(Reason::Timeout)));
    assert_eq!(report.output_tail, "begun");
}

#[tokio::test]
async fn evidence_names_command_tree_end_and_output() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let findings = rig.check(&rig.base, "echo out; echo err >&2; exit 3").await;
    let run = &findings.receipt.checks[0];
    let text = shown(&findings, run);
    assert!(text.starts_with(&format!("$ echo out; echo err >&2; exit 3\ntree: {}\nended: exit 3 after ", run.tree)));
    assert!(text.ends_with("--- standard output: 4 bytes\nout\n--- standard error: 4 bytes\nerr\n"), "{text}");
    assert_eq!((run.exit_code, run.output_bytes), (Some(3), text.len() as u64));
    assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)));
    assert!(findings.receipt.properties.iter().any(|p| p.property == "no_network" && p.mechanism.is_some()));
}

#[tokio::test]
async fn criteria_and_guards_are_judged_one_by_one_in_their_order() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let criteria = vec![criterion("second", check("false")), criterion("first", check("true"))];
    let mut request = rig.request(&rig.base, criteria).await;
    request.guards = vec![crate::support::guard("suite", check("true"))];
    let findings = rig.verify(&request).await;
    let ids: Vec<_> = findings.criteria.iter().chain(&findings.guards).map(|r| r.result.id.as_str()).collect();
    assert_eq!(ids, ["second", "first", "suite"]);
    let verdicts: Vec<_> = findings.criteria.iter().chain(&findings.guards).map(|r| r.result.verdict).collect();
    assert_eq!(verdicts, [Fail, Pass, Pass]);
}
