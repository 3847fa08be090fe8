//! What follows from a verifier's report.

use holdpoint_protocol::{
    artifact::{Disposition, Doubt, VerificationReport},
    facts::{Verdict, Violation, ViolationKind},
    journal::Entry,
    reason::{CriterionReason, ReasonCode},
    state::{Outcome, Phase, Status},
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{build_request, guard, oid},
};
use crate::waypoint::BuildOutcome;

type Change = fn(&mut VerificationReport);

fn fail(report: &mut VerificationReport) {
    report.criteria[0].result.verdict = Verdict::Fail;
}

fn built(change: impl FnOnce(&mut holdpoint_protocol::plan::Plan)) -> Fixture {
    let mut fixture = Fixture::opened(|plan, _| change(plan));
    if fixture.state("w").base.is_some() && fixture.turn("w").role.as_str() == "verifier" {
        fixture.report("w", |_| {}).turn();
    }
    fixture.build_ok("w").turn();
    fixture
}

#[test]
fn all_pass_is_accepted_and_waits_to_land() {
    let mut fixture = built(|plan| plan.guards.push(guard()));
    let decided = fixture.report("w", |_| {}).decided();
    assert_eq!(
        (decided.decision.disposition, decided.decision.reason_code),
        (Disposition::Accept, ReasonCode::CriteriaMet)
    );
    let cause = decided.record.cause.clone().unwrap();
    assert_eq!(decided.decision.source_refs, [cause.reference()]);
    let state = fixture.state("w");
    assert_eq!(state.phase, Phase::Accepted { at: fixture.now });
    assert_eq!(state.verified.as_ref().map(|verified| verified.report), Some(cause.digest));
    assert_eq!((state.counters.attempts, state.criteria.len(), state.guards.len()), (1, 1, 1));
    assert_eq!(state.history.last().unwrap().outcome, Some(Outcome::Complete));
    assert_eq!(fixture.status("w"), Status::Running, "it has not landed");
    fixture.land("w");
    assert_eq!(fixture.status("w"), Status::Complete);
}

#[test]
fn a_decision_names_the_artifacts_that_it_rests_on_since_the_work_was_made() {
    let mut fixture = built(|_| {});
    let cause = |entry: &Entry| entry.record().cause.clone().map(|cause| cause.artifact);
    let causes = |fixture: &Fixture| fixture.trace.iter().filter_map(|step| cause(&step.entry)).collect::<Vec<_>>();
    let rework = fixture.report("w", fail).turn().decision.unwrap();
    let [first, report] = &causes(&fixture)[..] else { panic!("a build and a report") };
    assert_eq!(rework.artifacts, [report.clone(), first.clone()]);
    fixture.build_ok("w").turn();
    let accepted = fixture.report("w", |_| {}).decided().decision;
    let [_, _, second, passed] = &causes(&fixture)[..] else { panic!("another build and report") };
    assert_eq!(accepted.artifacts, [passed.clone(), second.clone()], "nothing of the work that was sent back");
}

#[test]
fn each_kind_of_report_leads_to_its_decision() {
    let table: &[(&str, Change, Disposition, ReasonCode)] = &[
        ("a criterion failed", fail, Disposition::Rework, ReasonCode::CriteriaFailed),
        (
            "an inconclusive criterion",
            |r| r.criteria[0].result.verdict = Verdict::Inconclusive,
            Disposition::Rework,
            ReasonCode::EvidenceMissing,
        ),
        (
            "a pass without evidence",
            |r| r.criteria[0].result.evidence.clear(),
            Disposition::Rework,
            ReasonCode::EvidenceMissing,
        ),
        ("no verdict", |r| r.criteria.clear(), Disposition::Rework, ReasonCode::EvidenceMissing),
        ("no verdict on a guard", |r| r.guards.clear(), Disposition::Rework, ReasonCode::EvidenceMissing),
        (
            "a blocking doubt",
            |r| r.doubts.push(Doubt::blocking("which?".to_owned())),
            Disposition::Rework,
            ReasonCode::EvidenceMissing,
        ),
        ("a doubt", |r| r.doubts.push(Doubt::note("which?".to_owned())), Disposition::Accept, ReasonCode::CriteriaMet),
        ("a red guard", |r| r.guards[0].result.verdict = Verdict::Fail, Disposition::Rollback, ReasonCode::Regression),
        (
            "a violation that only the verifier saw",
            |r| r.violations.push(Violation { kind: ViolationKind::Protected, path: "golden/a".to_owned() }),
            Disposition::Rework,
            ReasonCode::ProtectedChanged,
        ),
        (
            "no judge after all",
            |r| r.criteria[0].result.reason = Some(CriterionReason::NoJudge),
            Disposition::Escalate,
            ReasonCode::JudgeMissing,
        ),
    ];
    for (name, change, disposition, reason) in table {
        let mut fixture = built(|plan| plan.guards.push(guard()));
        let Fed::Appended(entry) = fixture.report("w", change) else { panic!("{name}: refused") };
        let decision = match *entry {
            Entry::Turn(turn) => turn.decision.unwrap(),
            Entry::Decided(decided) => decided.decision,
            other => panic!("{other:?}"),
        };
        assert_eq!((decision.disposition, decision.reason_code), (*disposition, *reason), "{name}");
        assert_eq!(fixture.state("w").counters.attempts, 1, "{name}");
        assert_eq!(fixture.state("w").decision.unwrap().reason_code, *reason, "{name}");
    }
}

#[test]
fn broken_path_rules_are_a_rework_that_names_the_paths() {
    for (kind, reason) in [
        (ViolationKind::OutOfScope, ReasonCode::ScopeViolation),
        (ViolationKind::Protected, ReasonCode::ProtectedChanged),
        (ViolationKind::Steering, ReasonCode::ProtectedChanged),
    ] {
        let mut fixture = Fixture::opened(|_, _| {});
        let work = fixture.work(vec![Violation { kind, path: "docs/a.md".to_owned() }]);
        fixture.build("w", work);
        let turn = fixture.report("w", |_| {}).turn();
        assert_eq!(turn.decision.as_ref().unwrap().reason_code, reason);
        assert!(build_request(&turn).feedback.as_ref().unwrap().notes[0].contains("docs/a.md"));
    }
}

#[test]
fn what_only_the_verifier_saw_is_told_too() {
    let mut fixture = built(|_| {});
    let turn = fixture.report("w", |r| {
        fail(r);
        r.violations.push(Violation { kind: ViolationKind::Steering, path: "Makefile".to_owned() });
        r.doubts.push(Doubt::blocking("two readings".to_owned()));
    });
    let turn = turn.turn();
    let feedback = build_request(&turn).feedback.as_ref().unwrap();
    assert_eq!(feedback.failing.len(), 1);
    assert!(feedback.notes[0].contains("Makefile") && feedback.notes[1].contains("two readings"), "{feedback:?}");
}

#[test]
fn a_rework_starts_from_the_last_handoff_and_a_rollback_from_the_base() {
    for (rollback, change) in [(false, fail as Change), (true, |r| r.guards[0].result.verdict = Verdict::Fail)] {
        let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
        fixture.report("w", |_| {});
        let commit = fixture.commit();
        fixture.build("w", BuildOutcome::Work { commit: Some(commit.clone()), violations: Vec::new() });
        let turn = fixture.report("w", change).turn();
        let request = build_request(&turn);
        assert_eq!(request.base, oid(0xa));
        assert_eq!(request.start, if rollback { oid(0xa) } else { commit.commit });
        assert_eq!(request.bundles.len(), if rollback { 1 } else { 2 });
        assert_eq!(fixture.state("w").counters.reworks, 1, "a rollback uses up a rework like any other");
    }
}

#[test]
fn reworks_are_bounded_and_the_end_is_failed_with_remediation() {
    let table: &[(Change, ReasonCode)] = &[
        (fail, ReasonCode::AttemptsExhausted),
        (|r| r.guards[0].result.verdict = Verdict::Fail, ReasonCode::Regression),
        (
            |r| r.violations.push(Violation { kind: ViolationKind::OutOfScope, path: "a".to_owned() }),
            ReasonCode::ScopeViolation,
        ),
    ];
    for (change, reason) in table {
        let mut fixture = built(|plan| plan.guards.push(guard()));
        for _ in 0..3 {
            fixture.report("w", change).turn();
            fixture.build_ok("w").turn();
        }
        let decided = fixture.report("w", change).decided();
        assert_eq!((decided.decision.disposition, decided.decision.reason_code), (Disposition::Escalate, *reason));
        assert!(decided.decision.remediation.is_some());
        let state = fixture.state("w");
        assert_eq!((fixture.status("w"), state.counters.attempts, state.counters.reworks), (Status::Failed, 4, 3));
    }
}
