//! Runs that are taken from earlier reports, and runs that are made again.

use holdpoint_harness::ask::Nobody;
use holdpoint_protocol::{
    artifact::{
        CheckRun,
        TreeTested::{self, Base, Handoff, TestsAsOnBase},
        VerificationRequest,
    },
    facts::Verdict::{Fail, Pass},
    plan::Check,
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::{Attempts, Findings, VerificationTerms};
use holdpoint_workspace::ObjectId;

use crate::support::{Rig, check, criterion, guard, of, only, tested};

const PRODUCT: &str = "def one():\n    return 1\n";
const MORE: &str = "def one():\n    return 2 - 1\n";
const MOST: &str = "def one():\n    return 3 - 2\n";
const TESTS: &str = "import unittest
import calc

class Calc(unittest.TestCase):
    def test_one(self):
        self.assertEqual(calc.one(), 1)
";
const UNITTEST: &str = "python3 -m unittest discover -v -s tests";

async fn rig() -> Rig {
    Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", TESTS)]).await
}

/// A request to judge a commit that stands on another one than the rig's base.
async fn on(rig: &Rig, base: &ObjectId, commit: &ObjectId, check: Check) -> VerificationRequest {
    let mut request = rig.request(commit, vec![criterion("only", check)]).await;
    request.base = base.as_str().parse().unwrap();
    request
}

/// On which trees runs were made for a report itself.
fn made(findings: &Findings) -> Vec<TreeTested> {
    let made = findings.receipt.checks.iter().filter(|run| run.known_from.is_none());
    made.map(|run| run.tested).collect()
}

fn run_on(findings: &Findings, on: TreeTested) -> &CheckRun {
    findings.receipt.checks.iter().find(|run| run.tested == on).unwrap()
}

#[tokio::test]
async fn the_tree_of_a_landing_is_known_as_the_base_of_the_next_waypoint() {
    let rig = rig().await;
    let landed = rig.change(&[("calc.py", Some(MORE))]).await;
    let first = rig.check(&landed, UNITTEST).await;
    assert_eq!((only(&first), made(&first)), ((Pass, None), vec![Handoff, Base]));
    let next = rig.change_on(&landed, &[("calc.py", Some(MOST))]).await;
    let next = rig.verify(&on(&rig, &landed, &next, check(UNITTEST)).await).await;
    assert_eq!((only(&next), tested(&next), made(&next)), ((Pass, None), vec![Handoff, Base], vec![Handoff]));
    let (then, now) = (run_on(&first, Handoff), run_on(&next, Base));
    let cited = CheckRun { tested: Base, after: None, known_from: Some(first.report.clone()), ..then.clone() };
    assert_eq!(now, &cited);

    let broken = rig.change_on(&landed, &[("tests/test_calc.py", None)]).await;
    let broken = rig.verify(&on(&rig, &landed, &broken, check(UNITTEST)).await).await;
    assert_eq!(only(&broken).0, Fail, "a base that is known is compared with as any other");
}

#[tokio::test]
async fn a_report_of_known_runs_alone_has_their_evidence_and_what_the_sandbox_enforced() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(MORE))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    request.guards = vec![guard("suite", check(UNITTEST))];
    let first = rig.verify(&request).await;
    assert_eq!((tested(&first), made(&first)), (vec![Handoff, Base, Handoff, Base], vec![Handoff, Base]));
    let own: Vec<_> = first.receipt.checks[2..].iter().map(|run| run.known_from.as_ref()).collect();
    assert_eq!(own, [Some(&first.report); 2], "the guard has the runs of the criterion");
    let again = rig.verify(&request).await;
    assert_eq!((tested(&again), made(&again)), (tested(&first), vec![]));
    assert_eq!((&again.criteria, &again.guards), (&first.criteria, &first.guards));
    assert_eq!(again.receipt.properties, first.receipt.properties);
    assert!(again.receipt.checks.iter().all(|run| run.known_from.as_ref() == Some(&first.report)));
}

#[tokio::test]
async fn tests_that_are_put_back_to_a_tree_that_was_judged_before_are_not_run_again() {
    let rig = rig().await;
    let product = rig.change(&[("calc.py", Some(MORE))]).await;
    rig.check(&product, UNITTEST).await;
    let more = TESTS.replace("test_one", "test_other");
    let both = rig.change(&[("calc.py", Some(MORE)), ("tests/test_more.py", Some(&more))]).await;
    let found = rig.check(&both, UNITTEST).await;
    assert_eq!(tested(&found), [Handoff, Base, TestsAsOnBase]);
    assert_eq!((only(&found), made(&found)), ((Pass, None), vec![Handoff]));
}

#[tokio::test]
async fn a_red_of_the_work_or_of_a_guard_is_made_again() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(&MORE.replace('1', "5")))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    request.guards = vec![guard("suite", check("grep -q 'return 1' calc.py"))];
    for _ in 0..2 {
        let red = rig.verify(&request).await;
        let expected = (Fail, Some(Reason::ExitCode));
        assert_eq!((only(&red), of(&red.guards[0]), made(&red)), (expected, expected, vec![Handoff; 4]));
    }
}

/// Red in the first run on each tree, and green from then on.
const FLAKY: &str =
    "mkdir -p $CARGO_TARGET_DIR; echo run >> $CARGO_TARGET_DIR/runs; test $(wc -l < $CARGO_TARGET_DIR/runs) -ge 2";

#[tokio::test]
async fn what_may_follow_from_more_than_the_tree_and_what_is_flaky_is_made_again() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(MORE))]).await;
    let networked = Check { network: true, ..check("true") };
    let writing = Check { writes_tree: true, ..check("true") };
    for (check, runs) in [(networked, 1), (writing, 1), (check("kill -9 $$"), 3), (check(FLAKY), 2)] {
        let mut request = rig.request(&commit, vec![]).await;
        request.guards = vec![guard("suite", check.clone())];
        for _ in 0..2 {
            let found = rig.verify(&request).await;
            let on_work = made(&found).iter().filter(|tested| **tested == Handoff).count();
            assert_eq!(on_work, runs, "{}: {:#?}", check.command, found.receipt.checks);
        }
    }
}

#[tokio::test]
async fn a_run_under_other_ignore_files_or_with_other_new_modules_is_another_run() {
    let rig = Rig::new(&[("calc.py", PRODUCT), ("tests/test_calc.py", TESTS), (".gitignore", "out\n")]).await;
    let ignoring = rig.change(&[("calc.py", Some(MORE)), (".gitignore", Some(""))]).await;
    let bringing = rig.change(&[("calc.py", Some(MORE)), ("helper.py", Some("two = 2\n"))]).await;
    for landed in [ignoring, bringing] {
        rig.check(&landed, UNITTEST).await;
        let next = rig.change_on(&landed, &[("calc.py", Some(MOST))]).await;
        let next = rig.verify(&on(&rig, &landed, &next, check(UNITTEST)).await).await;
        assert_eq!((only(&next), made(&next)), ((Pass, None), vec![Handoff, Base]));
    }
}

#[tokio::test]
async fn a_fresh_verifier_and_one_whose_report_was_never_made_take_nothing() {
    let files = [("calc.py", PRODUCT), ("tests/test_calc.py", TESTS)];
    let fresh = Rig::with(&files, |settings| settings.fresh = true).await;
    let commit = fresh.change(&[("calc.py", Some(MORE))]).await;
    for _ in 0..2 {
        assert_eq!(made(&fresh.check(&commit, UNITTEST).await), [Handoff, Base]);
    }
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(MORE))]).await;
    let request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    let terms = VerificationTerms::default();
    let unreported = rig.workbench.verify_within(terms, ("turn-1", &request), &rig.mirror, &|_| {}, &Nobody);
    assert_eq!(made(&Box::pin(unreported).await.unwrap()), [Handoff, Base]);
    assert_eq!(made(&rig.verify(&request).await), [Handoff, Base]);
    assert_eq!(made(&rig.verify(&request).await), []);
}

#[tokio::test]
async fn findings_whose_report_was_never_made_are_those_of_the_next_delivery_and_of_no_earlier_attempt() {
    let rig = rig().await;
    let commit = rig.change(&[("calc.py", Some(MORE))]).await;
    let request = rig.request(&commit, vec![criterion("only", check(UNITTEST))]).await;
    let judged = async || {
        let attempts = Some(Attempts { flight: "f", interventions: 0 });
        let terms = VerificationTerms { attempts, ..VerificationTerms::default() };
        let findings = rig.workbench.verify_within(terms, ("turn-1", &request), &rig.mirror, &|_| {}, &Nobody);
        Box::pin(findings).await.unwrap()
    };
    let first = judged().await;
    let delivered = judged().await;
    assert_eq!((&delivered.report, &delivered.receipt), (&first.report, &first.receipt));
    assert_eq!(delivered.doubts, []);
    rig.workbench.reported(&delivered);
    let attempt = judged().await;
    assert!(attempt.report != first.report && attempt.doubts.len() == 1, "{attempt:#?}");
    assert!(attempt.receipt.checks.iter().all(|run| run.known_from.as_ref() == Some(&first.report)));
}
