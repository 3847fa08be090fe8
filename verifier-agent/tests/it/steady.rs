//! Runs that do not agree, and trees that were judged before.

use holdpoint_harness::ask::Nobody;
use holdpoint_protocol::{
    artifact::{
        TreeTested::{Base, Handoff},
        VerificationPurpose, VerificationRequest,
    },
    facts::Verdict::{Fail, Pass},
    plan::{Check, EvidenceLevel},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::{Attempts, Findings, VerificationTerms};

use crate::support::{Rig, check, criterion, guard, of, only, tested};

/// Red in the first run on each tree, and green from then on.
const FLAKY: &str = "mkdir -p $CARGO_TARGET_DIR; echo run >> $CARGO_TARGET_DIR/runs; \
                     test $(wc -l < $CARGO_TARGET_DIR/runs) -ge 2";
const UNITTEST: &str = "python3 -m unittest discover -v -s tests";

async fn guarded(rig: &Rig, guards: Check) -> VerificationRequest {
    let commit = rig.change(&[("new.txt", Some("x\n"))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check("test -e new.txt"))]).await;
    request.guards = vec![guard("suite", guards)];
    request
}

fn doubts(findings: &Findings) -> Vec<(&str, bool)> {
    findings.doubts.iter().map(|doubt| (doubt.text.as_str(), doubt.blocking)).collect()
}

#[tokio::test]
async fn a_guard_that_is_red_and_then_green_on_the_same_tree_passes_and_is_called_flaky() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let findings = rig.verify(&guarded(&rig, check(FLAKY)).await).await;
    let report = &findings.guards[0];
    assert_eq!(of(report), (Pass, None), "{report:#?}");
    assert_eq!(tested(&findings), [Handoff, Handoff, Handoff, Base, Base]);
    let red = &findings.receipt.checks[1];
    assert!(red.verdict == Fail && report.result.evidence.contains(&red.output), "the red run is evidence");
    assert_eq!(
        doubts(&findings),
        [
            ("suite is flaky: it was red in 1 of 2 runs on the tree under review, and green in the last one", false),
            ("suite is flaky: it was red in 1 of 2 runs on the base, and green in the last one", false),
        ]
    );
    let strict = Check { evidence: EvidenceLevel::Strict, ..check(FLAKY) };
    let findings = rig.verify(&guarded(&rig, strict).await).await;
    let blocking: Vec<bool> = findings.doubts.iter().map(|doubt| doubt.blocking).collect();
    assert_eq!(blocking, [true, false], "only of the work: {:#?}", findings.doubts);
}

#[tokio::test]
async fn a_guard_is_red_once_no_run_on_the_tree_is_green_and_a_criterion_at_once() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let mut request = guarded(&rig, check("test ! -e new.txt")).await;
    let findings = rig.verify(&request).await;
    assert_eq!(of(&findings.guards[0]), (Fail, Some(Reason::ExitCode)));
    assert_eq!(tested(&findings), [Handoff; 4]);
    let note = findings.guards[0].note.as_deref().unwrap();
    assert_eq!(note, "the check was red in each of 3 runs on the same tree: exit 1");
    assert!(doubts(&findings).is_empty());
    request.criteria = vec![criterion("only", check("false"))];
    request.guards.clear();
    assert_eq!(tested(&rig.verify(&request).await), [Handoff]);
}

#[tokio::test]
async fn a_guard_that_was_green_on_the_base_is_not_run_there_for_the_next_waypoint() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let mut request = guarded(&rig, check("test -e a.txt")).await;
    request.purpose = VerificationPurpose::Baseline;
    (request.commit, request.tree) = {
        let of_base = rig.request(&rig.base, Vec::new()).await;
        (of_base.commit, of_base.tree)
    };
    request.criteria.clear();
    let first = rig.verify(&request).await;
    assert_eq!((of(&first.guards[0]), tested(&first)), ((Pass, None), vec![Base]));
    let next = rig.verify(&request).await;
    assert_eq!((of(&next.guards[0]), tested(&next)), ((Pass, None), vec![Base]));
    let run = &next.receipt.checks[0];
    assert_eq!((run.after, run.known_from.as_ref()), (None, Some(&first.report)), "a run of an earlier turn");
}

/// Tests of which one is named by an expression when they are collected.
fn suite(name: &str) -> String {
    format!(
        "import os, time, unittest
import calc

class Calc(unittest.TestCase):
    def test_one(self):
        self.assertEqual(calc.one(), 1)

setattr(Calc, 'test_' + str({name}), lambda self: self.assertEqual(calc.one(), 1))
"
    )
}

#[tokio::test]
async fn names_of_tests_that_differ_from_run_to_run_refuse_no_work() {
    let (path, clock) = ("os.path.abspath(__file__)", "time.time_ns()");
    for (name, runs) in [(path, vec![Handoff, Base]), (clock, vec![Handoff, Base, Base])] {
        let tests = suite(name);
        let rig = Rig::new(&[("calc.py", "def one():\n    return 1\n"), ("tests/test_calc.py", &tests)]).await;
        let commit = rig.change(&[("calc.py", Some("def one():\n    return 2 - 1\n"))]).await;
        let findings = rig.check(&commit, UNITTEST).await;
        assert_eq!((only(&findings), tested(&findings)), ((Pass, None), runs), "{name}: {:#?}", findings.criteria);
        let again = rig.check(&commit, UNITTEST).await;
        assert_eq!((only(&again), tested(&again)), ((Pass, None), vec![Handoff, Base]), "the base was looked at");
    }
}

#[tokio::test]
async fn an_attempt_that_hands_off_the_same_tree_gets_its_verdict_without_a_run() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let judged = async |request: &VerificationRequest, interventions: u32| {
        let attempts = Some(Attempts { flight: "f", interventions });
        let heard = std::sync::Mutex::new(Vec::new());
        let note = |text: &str| heard.lock().unwrap().push(text.to_owned());
        let terms = VerificationTerms { attempts, ..VerificationTerms::default() };
        let findings = rig.workbench.verify_within(terms, ("turn-1", request), &rig.mirror, &note, &Nobody);
        let findings = Box::pin(findings).await.unwrap();
        rig.workbench.reported(&findings);
        (findings, heard.into_inner().unwrap())
    };
    let red = rig.request(&rig.base, vec![criterion("only", check("grep -q b a.txt"))]).await;
    let (first, _) = judged(&red, 0).await;
    let (again, heard) = judged(&red, 0).await;
    assert_eq!(heard, ["the tree was judged before"]);
    assert_eq!((only(&again), &again.criteria), ((Fail, Some(Reason::ExitCode)), &first.criteria));
    assert!(doubts(&again)[0].0.starts_with("an earlier attempt handed off the same tree"), "{:?}", again.doubts);
    let run = &again.receipt.checks[0];
    assert_eq!((run.after, run.known_from.as_ref()), (None, Some(&first.report)), "a run of an earlier turn");
    assert_ne!(again.report, first.report);
    assert_eq!(again.evidence, first.evidence, "it is stored with this report as well");

    let (_, heard) = judged(&red, 1).await;
    assert_eq!(heard, ["criterion only, 1 of 1"], "a person had it tried again");
    let other = rig.request(&rig.change(&[("a.txt", Some("b\n"))]).await, red.criteria.clone()).await;
    assert_eq!(only(&judged(&other, 0).await.0), (Pass, None), "another tree");
    let killed = rig.request(&rig.base, vec![criterion("only", check("kill -9 $$"))]).await;
    let networked = vec![criterion("only", Check { network: true, ..check("false") })];
    let networked = rig.request(&rig.base, networked).await;
    for open in [killed, networked] {
        judged(&open, 0).await;
        assert_eq!(judged(&open, 0).await.1, ["criterion only, 1 of 1"], "another run may say more");
    }
}
