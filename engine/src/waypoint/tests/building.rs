//! How build and repair turns end.

use holdpoint_protocol::{
    artifact::{Disposition, EvidenceSource, VerificationPurpose},
    facts::{LeftOut, LeftOutKind, Verdict},
    ids::role,
    plan::{Criterion, EvidenceLevel},
    reason::ReasonCode,
    state::{Outcome, Purpose, Status},
    turn::TurnRequest,
};

use crate::testing::{
    fixture::Fixture,
    parts::{build_request, failure, failure_with, guard, oid},
};
use crate::waypoint::{BuildOutcome, handoff::FAILURES};

#[test]
fn a_build_goes_to_the_verifier_with_its_commit_on_the_base() {
    let mut fixture = Fixture::opened(|_, _| {});
    let commit = fixture.commit();
    let outcome = BuildOutcome::Work { commit: Some(commit.clone()), violations: Vec::new() };
    let turn = fixture.build("w", outcome).turn();
    assert_eq!((turn.role.as_str(), turn.gate.as_str()), (role::VERIFIER, "verify"));
    assert!(turn.record.cause.is_some());
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!(request.purpose, VerificationPurpose::Handoff);
    assert_eq!((&request.base, &request.commit, &request.tree), (&oid(0xa), &commit.commit, &commit.tree));
    let tips: Vec<_> = request.bundles.iter().map(|b| b.tip.clone()).collect();
    assert_eq!(tips, [oid(0xa), commit.commit]);
    let [expected] = &request.evidence[..] else { panic!("{:?}", request.evidence) };
    assert_eq!((&expected.criterion, expected.by), (&request.criteria[0].id, EvidenceSource::Check));
    let history = fixture.state("w").history;
    assert_eq!(history[0].outcome, Some(Outcome::Complete));
    assert_eq!((history[1].gate.as_str(), history[1].exited), ("verify", None));
    assert_eq!(fixture.state("w").counters.attempts, 0, "it is not decided yet");
}

#[test]
fn a_verifier_learns_which_evidence_is_expected_and_which_checks_may_use_the_network() {
    let mut fixture = Fixture::opened(|plan, fleet| {
        fleet.judge = true;
        plan.guards.push(guard());
        let [criterion] = &mut plan.waypoints[0].criteria[..] else { panic!("one criterion") };
        let judged = Criterion { id: "tone".parse().unwrap(), check: None, ..criterion.clone() };
        let check = criterion.check.as_mut().unwrap();
        (check.network, check.evidence) = (true, EvidenceLevel::Strict);
        plan.waypoints[0].criteria.push(judged);
    });
    fixture.report("w", |_| {}).turn();
    let turn = fixture.build_ok("w").turn();
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    let expected: Vec<_> = request.evidence.iter().map(|e| (e.criterion.as_str(), e.by, e.level)).collect();
    let named = request.criteria[0].id.as_str();
    assert_eq!(
        expected,
        [
            (named, EvidenceSource::Check, EvidenceLevel::Strict),
            ("tone", EvidenceSource::Judge, EvidenceLevel::Fast),
            (request.guards[0].id.as_str(), EvidenceSource::Check, EvidenceLevel::Fast),
        ]
    );
    let only = format!("run no check with a network but {named}");
    assert!(turn.guidance.constraints.contains(&only), "{:?}", turn.guidance.constraints);
}

#[test]
fn a_build_without_a_change_is_verified_on_the_base() {
    let mut fixture = Fixture::opened(|_, _| {});
    let turn = fixture.build("w", BuildOutcome::Work { commit: None, violations: Vec::new() }).turn();
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!((&request.commit, &request.tree), (&oid(0xa), &oid(0xb)));
    let decided = fixture.report("w", |_| {}).decided();
    assert_eq!(decided.decision.disposition, Disposition::Accept);
    assert_eq!(fixture.status("w"), Status::Complete, "there is nothing to land");
    assert_eq!(fixture.state("w").work.unwrap().commit, None);

    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build("w", BuildOutcome::Work { commit: None, violations: Vec::new() });
    let turn = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(turn.decision.unwrap().reason_code, ReasonCode::NoChange);
}

#[test]
fn what_a_clone_had_besides_reaches_the_next_attempt_and_the_person_behind_it() {
    let left_out = |kind, what: &str, why: &str| LeftOut { kind, what: what.to_owned(), why: why.to_owned() };
    let mut fixture = Fixture::opened(|plan, _| plan.policy.max_reworks = 1);
    fixture.left_out = vec![
        left_out(LeftOutKind::Ignored, "notes.log", "ignored by .gitignore:3 `*.log`"),
        left_out(LeftOutKind::Dropping, "src/__pycache__/", "compiled Python"),
    ];
    fixture.build("w", BuildOutcome::Work { commit: None, violations: Vec::new() });
    let turn = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    let told = build_request(&turn).feedback.clone().unwrap();
    assert_eq!(told.reason_code, ReasonCode::NoChange);
    assert_eq!(told.notes[0], "not handed off: notes.log (ignored by .gitignore:3 `*.log`)");
    assert!(!told.notes.iter().any(|note| note.contains("pycache")), "{:?}", told.notes);
    fixture.build("w", BuildOutcome::Work { commit: None, violations: Vec::new() });
    let held = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).decided();
    let remedy = held.decision.remediation.clone().unwrap();
    assert!(remedy.contains("notes.log (ignored by .gitignore:3 `*.log`)"), "{remedy}");
}

#[test]
fn what_a_failed_attempt_could_not_keep_reaches_the_next_one_and_the_person_behind_it_by_path_and_rule() {
    let mut fixture = Fixture::opened(|plan, _| plan.policy.max_reworks = 1);
    let nested = ("vendor/lib", "a git repository inside the working tree");
    fixture.left_out = vec![LeftOut { kind: LeftOutKind::Unfit, what: nested.0.into(), why: nested.1.into() }];
    let named = format!("{} ({})", nested.0, nested.1);
    let turn = fixture.build("w", failure(ReasonCode::AgentTimeout)).turn();
    let told = build_request(&turn).feedback.clone().unwrap();
    assert!(told.notes.contains(&format!("not handed off: {named}")), "{:?}", told.notes);
    let held = fixture.build("w", failure(ReasonCode::AgentTimeout)).decided();
    let remedy = held.decision.remediation.clone().unwrap();
    assert!(remedy.contains(&named), "{remedy}");
    let notes = held.feedback.unwrap().notes;
    assert_eq!(notes.iter().filter(|note| note.contains(&named)).count(), 1, "the same is named once: {notes:?}");
}

#[test]
fn a_turn_that_fails_passes_on_what_it_was_told() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    let rejected = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    let told = build_request(&rejected).feedback.clone().unwrap();
    for _ in 0..2 {
        let turn = fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
        let again = build_request(&turn).feedback.clone().unwrap();
        assert_eq!((again.reason_code, &again.failing), (ReasonCode::AgentFailed, &told.failing));
        assert_eq!(again.notes, [crate::testing::parts::NARRATIVE], "the same failure is named once");
    }
    fixture.build_ok("w").turn();
    let fresh = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).decided();
    assert_eq!(fresh.feedback.unwrap().notes, told.notes, "what failed before is over");
}

#[test]
fn a_failed_turn_is_an_attempt_and_another_follows_until_they_are_used_up() {
    let mut fixture = Fixture::opened(|plan, _| plan.policy.max_reworks = 2);
    for attempt in 1..=2 {
        let turn = fixture.build("w", failure(ReasonCode::AgentTimeout)).turn();
        assert_eq!(turn.attempt, attempt + 1);
        let decision = turn.decision.clone().unwrap();
        assert_eq!((decision.disposition, decision.reason_code), (Disposition::Rework, ReasonCode::AgentTimeout));
        let feedback = build_request(&turn).feedback.as_ref().unwrap();
        assert_eq!(feedback.notes, [crate::testing::parts::NARRATIVE]);
        assert_eq!(fixture.state("w").counters.attempts, attempt);
    }
    let decided = fixture.build("w", failure(ReasonCode::AgentFailed)).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::AttemptsExhausted);
    assert!(decided.decision.remediation.is_some());
    assert_eq!((fixture.status("w"), fixture.state("w").counters.attempts), (Status::Failed, 3));
}

#[test]
fn a_failed_turn_after_a_handoff_goes_on_from_that_handoff() {
    let mut fixture = Fixture::opened(|_, _| {});
    let commit = fixture.commit();
    fixture.build("w", BuildOutcome::Work { commit: Some(commit.clone()), violations: Vec::new() });
    fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail);
    let turn = fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(build_request(&turn).start, commit.commit);
}

#[test]
fn the_next_turn_starts_from_the_files_of_a_turn_that_failed_for_whatever_reason() {
    for reason in FAILURES {
        let mut fixture = Fixture::opened(|_, _| {});
        let commit = fixture.commit();
        let taken = fixture.build("w", failure_with(reason, Some(commit.clone())));
        let is_held = matches!(fixture.status("w"), Status::Blocked | Status::Failed);
        let turn = if is_held { fixture.retry("w", |_| {}).turn() } else { taken.turn() };
        let request = build_request(&turn);
        assert_eq!((&request.base, &request.start), (&oid(0xa), &commit.commit), "{reason}");
        assert_eq!(request.bundles.last(), Some(&commit.bundle), "{reason}");
        let attempts = u32::from(reason != ReasonCode::NotExecutable);
        assert_eq!(fixture.state("w").counters.attempts, attempts, "{reason}");
    }
}

#[test]
fn a_rollback_forgets_the_files_of_the_turns_before_it() {
    let mut fixture = Fixture::opened(|plan, _| plan.guards.push(guard()));
    fixture.report("w", |_| {}).turn();
    let left = fixture.commit();
    let turn = fixture.build("w", failure_with(ReasonCode::AgentTimeout, Some(left.clone()))).turn();
    assert_eq!(build_request(&turn).start, left.commit);
    fixture.build_ok("w").turn();
    let turn = fixture.report("w", |report| report.guards[0].result.verdict = Verdict::Fail).turn();
    assert_eq!(turn.decision.clone().unwrap().disposition, Disposition::Rollback);
    assert_eq!(build_request(&turn).start, oid(0xa));
}

#[test]
fn what_is_not_supported_is_a_persons_matter_at_once() {
    let mut fixture = Fixture::opened(|_, _| {});
    let decided = fixture.build("w", failure(ReasonCode::Unsupported)).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::Unsupported);
    assert_eq!((fixture.status("w"), fixture.state("w").counters.attempts), (Status::Blocked, 1));
}

#[test]
fn a_program_that_cannot_be_run_holds_the_waypoint_without_an_attempt() {
    let mut fixture = Fixture::opened(|_, _| {});
    let decided = fixture.build("w", failure(ReasonCode::NotExecutable)).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::NotExecutable);
    assert_eq!((fixture.status("w"), fixture.state("w").counters.attempts), (Status::Blocked, 0));
    let again = fixture.retry("w", |_| {}).turn();
    assert_eq!((again.gate.as_str(), again.attempt), ("build", 1), "tried again where it is held");
}

#[test]
fn a_rework_goes_to_repair_where_the_fleet_has_it() {
    for (repair, expected) in [(false, role::BUILDER), (true, role::REPAIR)] {
        let mut fixture = Fixture::opened(|_, fleet| fleet.repair = repair);
        assert_eq!(fixture.turn("w").role.as_str(), role::BUILDER, "the first turn is the builder's");
        fixture.build_ok("w");
        let turn = fixture.report("w", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
        assert_eq!((turn.role.as_str(), turn.gate.as_str()), (expected, "build"));
        assert!(turn.handoff_subject.contains(&format!(".handoff.{expected}.")));
        fixture.build_ok("w");
        assert_eq!(fixture.state("w").work.unwrap().role.as_str(), expected);
        assert_eq!(fixture.open_turn("w").unwrap().purpose, Purpose::Verify(VerificationPurpose::Handoff));
    }
}
