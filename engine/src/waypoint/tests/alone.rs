//! One agent alone: its turns, and what its own report has to show (FLY-36).

use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, TreeTested, VerificationReport},
    facts::Verdict,
    ids::{CriterionId, role},
    plan::Mode,
    reason::ReasonCode,
    time::Millis,
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::guard,
};
use crate::waypoint::Refusal;

fn alone() -> Fixture {
    Fixture::opened(|plan, fleet| {
        plan.policy.mode = Mode::Single;
        plan.guards.push(guard());
        fleet.repair = true;
    })
}

/// One whose work is to be checked.
fn built() -> Fixture {
    let mut fixture = alone();
    fixture.report("w", self_checked).turn();
    fixture.build_ok("w").turn();
    fixture
}

fn run(criterion: &CriterionId, report: &VerificationReport) -> CheckRun {
    CheckRun {
        criterion: Some(criterion.clone()),
        command: "true".to_owned(),
        tested: TreeTested::Handoff,
        tree: report.tree.clone(),
        exit_code: Some(0),
        signal: None,
        duration: Millis(1),
        after: None,
        output: Digest::of(b"output"),
        output_bytes: 6,
        verdict: Verdict::Pass,
        reason: None,
        known_from: None,
    }
}

/// A report as our own harness makes it of work that its agent made.
fn self_checked(report: &mut VerificationReport) {
    report.self_checked = true;
    let asked = report.criteria.iter().chain(&report.guards).map(|one| run(&one.result.id, report));
    report.receipt.checks = asked.collect();
}

#[test]
fn one_agent_has_every_turn_and_a_rework_is_its_own() {
    let mut fixture = alone();
    let mut roles = vec![fixture.turn("w").role];
    roles.push(fixture.report("w", self_checked).turn().role);
    roles.push(fixture.build_ok("w").turn().role);
    let again = fixture.report("w", |report| {
        self_checked(report);
        report.criteria[0].result.verdict = Verdict::Fail;
    });
    roles.push(again.turn().role);
    assert_eq!(roles, vec![role::id(role::SOLO); 4]);
    fixture.build_ok("w").turn();
    let decided = fixture.report("w", self_checked).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::CriteriaMet);
    assert_eq!(fixture.state("w").work.unwrap().role.as_str(), role::SOLO);
}

#[test]
fn an_agent_alone_is_accepted_only_by_a_receipt_in_which_everything_ran_and_passed() {
    let red = |tested| {
        move |report: &mut VerificationReport| {
            let id = report.criteria[0].result.id.clone();
            let run = CheckRun { tested, verdict: Verdict::Fail, ..run(&id, report) };
            report.receipt.checks.push(run);
        }
    };
    type Change = Box<dyn FnOnce(&mut VerificationReport)>;
    let changes: [(Change, ReasonCode); 5] = [
        (Box::new(|report| report.receipt.checks.clear()), ReasonCode::EvidenceMissing),
        // That of the guard.
        (Box::new(|report| drop(report.receipt.checks.pop())), ReasonCode::EvidenceMissing),
        (Box::new(red(TreeTested::Handoff)), ReasonCode::EvidenceMissing),
        // What has to be red says nothing against the work.
        (Box::new(red(TreeTested::Canaries)), ReasonCode::CriteriaMet),
        (
            Box::new(|report| {
                report.receipt.checks.iter_mut().for_each(|run| run.tree = "b".repeat(40).parse().unwrap());
            }),
            ReasonCode::EvidenceMissing,
        ),
    ];
    for (change, reason) in changes {
        let mut fixture = built();
        let taken = fixture.report("w", |report| {
            self_checked(report);
            change(report);
        });
        let Fed::Appended(entry) = taken else { panic!("{taken:?}") };
        assert_eq!(entry.decision().unwrap().reason_code, reason);
    }
}

#[test]
fn a_report_that_is_not_of_the_flights_mode_is_refused() {
    let mut single = built();
    let mut team = Fixture::opened(|_, _| {});
    team.build_ok("w").turn();
    let foreign = |report: &mut VerificationReport| {
        self_checked(report);
        report.receipt.foreign = true;
    };
    for (refusal, word) in [
        (single.report("w", |_| {}).refusal(), "self_checked false"),
        (single.report("w", foreign).refusal(), "keys add"),
        (team.report("w", self_checked).refusal(), "self_checked true"),
    ] {
        let Refusal::Mismatch { what, .. } = &refusal else { panic!("{refusal:?}") };
        assert!(what.contains(word), "{what}");
    }
}
