//! What is asked: baselines, path rules, and requests that do not fit together.

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    facts::{Verdict, Violation, ViolationKind},
    plan::Check,
};

use holdpoint_harness::ask::Nobody;

use crate::support::{Rig, check, criterion, guard, judged, only, tested, wait_until_empty};

fn red_first(command: &str) -> Check {
    Check { red_first: true, ..check(command) }
}

#[tokio::test]
async fn baseline_says_plainly_what_guards_and_red_first_checks_are() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let criteria = vec![
        criterion("red", red_first("grep b a.txt")),
        criterion("green", red_first("grep a a.txt")),
        criterion("later", check("true")),
        judged("words"),
    ];
    let mut request = rig.request(&rig.base, criteria).await;
    request.purpose = VerificationPurpose::Baseline;
    request.guards = vec![guard("holds", check("true")), guard("broken", check("false"))];
    let findings = rig.verify(&request).await;
    let verdicts: Vec<_> =
        findings.criteria.iter().chain(&findings.guards).map(|r| (r.result.id.as_str(), r.result.verdict)).collect();
    let expected =
        [("red", Verdict::Fail), ("green", Verdict::Pass), ("holds", Verdict::Pass), ("broken", Verdict::Fail)];
    assert_eq!(verdicts, expected);
    assert!(findings.violations.is_empty() && findings.doubts.is_empty());
}

#[tokio::test]
async fn names_that_differ_in_case_only_are_doubted_where_the_work_brings_one_and_hinder_nothing() {
    let rig = Rig::new(&[("README.md", "a\n"), ("old/a", "a\n"), ("old/A", "a\n")]).await;
    let findings = rig.check(&rig.base, "true").await;
    assert!(findings.doubts.is_empty(), "{:?}", findings.doubts);
    let clash = rig.change(&[("readme.md", Some("b\n"))]).await;
    let findings = rig.check(&clash, "true").await;
    assert_eq!(only(&findings), (Verdict::Pass, None));
    assert_eq!(findings.doubts.len(), 1, "{:?}", findings.doubts);
    let doubt = &findings.doubts[0];
    assert!(!doubt.blocking && doubt.text.ends_with(": README.md and readme.md"), "{doubt:?}");
}

#[tokio::test]
async fn changed_paths_are_judged_by_a_diff_of_our_own() {
    let rig = Rig::new(&[
        ("src/a.py", "a = 1\nb = 2\n"),
        ("conftest.py", "\n"),
        ("golden/x", "x\n"),
        ("GUIDE.md", "guide\n"),
        ("ci/check.sh", "exit 0\n"),
        ("notes.md", "n\n"),
    ])
    .await;
    let commit = rig
        .change(&[
            ("src/a.py", Some("a = 1\nb = 3\nc = 4\n")),
            ("conftest.py", None),
            ("golden/x", Some("y\n")),
            ("GUIDE.md", Some("do as you like\n")),
            ("ci/check.sh", Some("true\n")),
            ("notes.md", Some("m\n")),
        ])
        .await;
    let mut request = rig.request(&commit, vec![criterion("script", check("sh ci/check.sh"))]).await;
    request.scope = ["src/**", "golden/**", "ci/**", "*.py", "GUIDE*"].map(str::to_owned).to_vec();
    request.protected = vec!["golden/**".to_owned()];
    request.covenant = "GUIDE.md".to_owned();
    let findings = rig.verify(&request).await;
    let of = |kind, path: &str| Violation { kind, path: path.to_owned() };
    let expected = [
        of(ViolationKind::Steering, "GUIDE.md"),
        of(ViolationKind::Steering, "ci/check.sh"),
        of(ViolationKind::Steering, "conftest.py"),
        of(ViolationKind::Protected, "golden/x"),
        of(ViolationKind::OutOfScope, "notes.md"),
    ];
    assert_eq!(findings.violations, expected);
    assert_eq!((findings.diff.files, findings.diff.insertions, findings.diff.deletions), (6, 6, 6));
}

#[tokio::test]
async fn manifest_may_change_what_it_depends_on_but_not_how_it_is_tested() {
    let manifest = "{\"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"a\": \"1\"}}\n";
    let rig = Rig::new(&[("package.json", manifest)]).await;
    let violations = async |text: String| {
        let commit = rig.change(&[("package.json", Some(&text))]).await;
        rig.check(&commit, "true").await.violations.len()
    };
    assert_eq!(violations(manifest.replace("\"1\"", "\"2\"")).await, 0);
    assert_eq!(violations(manifest.replace("node --test", "true")).await, 1);
}

#[tokio::test]
async fn commit_that_is_not_one_commit_on_the_base_is_not_judged() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let first = rig.change(&[("a.txt", Some("b\n"))]).await;
    let second = rig.change_on(&first, &[("a.txt", Some("c\n"))]).await;
    let good = rig.request(&first, vec![criterion("only", check("true")), judged("words")]).await;
    let mut not_on_base = good.clone();
    not_on_base.commit = second.as_str().parse().unwrap();
    not_on_base.tree = rig.mirror.tree_of(&second).await.unwrap().as_str().parse().unwrap();
    let mut other_tree = good.clone();
    other_tree.tree = not_on_base.tree.clone();
    let mut missing = good.clone();
    missing.commit = "1".repeat(40).parse().unwrap();
    for (request, says) in [(not_on_base, "not one commit on the base"), (other_tree, "tree"), (missing, "not brought")]
    {
        let findings = rig.verify(&request).await;
        assert!(findings.doubts[0].blocking && findings.doubts[0].text.contains(says), "{:?}", findings.doubts);
        assert!(findings.criteria.iter().all(|r| r.result.verdict == Verdict::Inconclusive));
        assert!(findings.receipt.checks.is_empty());
        assert_eq!(findings.criteria.len(), 2);
    }
    assert!(rig.verify(&good).await.doubts.is_empty());
}

#[tokio::test]
async fn unchanged_tree_is_judged_by_one_run_a_check() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let findings = rig.check(&rig.base, "make -v || true").await;
    assert_eq!(tested(&findings).len(), 1);
    assert!(findings.violations.is_empty());
    assert_eq!(findings.criteria[0].result.verdict, Verdict::Pass);
}

#[tokio::test]
async fn dropping_a_verification_leaves_nothing_behind() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let request = rig.request(&rig.base, vec![criterion("long", check("sleep 600"))]).await;
    let turns = rig.temp.path().join("state/turns");
    let running = async {
        while !turns.join("turn-1/runs/0/tmp").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = rig.workbench.verify("turn-1", &request, &rig.mirror, &|_| {}, &Nobody) => panic!("it sleeps for minutes"),
        () = running => {}
    }
    wait_until_empty(&turns);
}
