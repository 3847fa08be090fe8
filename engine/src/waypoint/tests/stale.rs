//! Handoffs that are late, double, from the wrong role, of the wrong kind or about something else.

use holdpoint_protocol::{
    Digest,
    artifact::{VerificationPurpose, VerificationReport},
    ids::role,
    reason::ReasonCode,
    state::QuestionKind,
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{failure, oid, sound_report},
};
use crate::waypoint::{Handoff, Input, Refusal};

#[test]
fn the_redelivery_of_the_winning_handoff_is_no_conflict_and_changes_nothing() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let won = fixture.handoff("w", work);
    fixture.feed("w", Input::Built(won.clone())).turn();
    assert_eq!(fixture.feed("w", Input::Built(won.clone())), Fed::Nothing);

    let other = Handoff { cause: fixture.cause(&won.role), ..won };
    let turn = other.turn.clone();
    assert_eq!(fixture.feed("w", Input::Built(other)).refusal(), Refusal::NotOpen { turn });
}

#[test]
fn a_handoff_on_a_superseded_or_unknown_turn_is_refused() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let late = fixture.handoff("w", work);
    let expired = fixture.turn("w");
    fixture.now = expired.deadline;
    fixture.feed("w", Input::DeadlinePassed(Box::new(expired))).turn();
    let before = fixture.state("w");
    let turn = late.turn.clone();
    assert_eq!(fixture.feed("w", Input::Built(late.clone())).refusal(), Refusal::NotOpen { turn });
    let forged = Handoff { turn: "turn-guessed".parse().unwrap(), ..late };
    assert!(matches!(fixture.feed("w", Input::Built(forged)), Fed::Refused(Refusal::NotOpen { .. })));
    assert_eq!(fixture.state("w"), before);
}

#[test]
fn a_handoff_after_the_end_is_refused() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let late = fixture.handoff("w", work);
    fixture.feed("w", Input::BudgetExhausted).decided();
    assert!(matches!(fixture.feed("w", Input::Built(late)), Fed::Refused(Refusal::NotOpen { .. })));
}

#[test]
fn only_the_turns_own_role_can_answer_it() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    for wrong in [role::VERIFIER, role::REPAIR, role::OPERATOR] {
        let handoff = Handoff { role: role::id(wrong), ..fixture.handoff("w", work.clone()) };
        let question = fixture.question("w", QuestionKind::Help, "HELP", None);
        let Input::Asked(asked) = question else { panic!() };
        let asked = Handoff { role: role::id(wrong), ..asked };
        assert!(matches!(fixture.feed("w", Input::Built(handoff)), Fed::Refused(Refusal::WrongRole { .. })));
        assert!(matches!(fixture.feed("w", Input::Asked(asked)), Fed::Refused(Refusal::WrongRole { .. })));
    }
    fixture.build_ok("w").turn();
    let report = sound_report(&fixture.turn("w"));
    let Input::Reported(reported) = fixture.reported("w", report) else { panic!() };
    let handoff = Handoff { role: role::id(role::BUILDER), ..reported };
    let refusal = fixture.feed("w", Input::Reported(handoff)).refusal();
    assert!(refusal.to_string().contains("belongs to role verifier, not to builder"), "{refusal}");
}

#[test]
fn a_handoff_of_another_kind_than_wanted_is_refused() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    let report = sound_report(&fixture.turn("w"));
    let work = fixture.work(Vec::new());
    let built = fixture.handoff("w", work);
    let refusal = fixture.feed("w", Input::Built(built)).refusal();
    assert!(refusal.to_string().ends_with("wants a verification report"), "{refusal}");

    let mut fixture = Fixture::opened(|_, _| {});
    let reported = fixture.reported("w", report);
    let refusal = fixture.feed("w", reported).refusal();
    assert!(refusal.to_string().ends_with("wants a build artifact"), "{refusal}");
}

#[test]
fn a_report_about_something_else_is_refused_and_the_turn_stays_open() {
    type Change = fn(&mut VerificationReport);
    let table: &[(&str, Change)] = &[
        ("purpose Merge", |r| r.purpose = VerificationPurpose::Merge),
        ("is not the tree under review", |r| r.tree = oid(0xb)),
        ("is not the commit under review", |r| r.commit = oid(0xa)),
        ("criterion other was not asked", |r| r.criteria[0].result.id = "other".parse().unwrap()),
        ("criterion unit was not asked, or is there twice", |r| r.criteria.push(r.criteria[0].clone())),
        ("criterion unit was not asked", |r| r.guards.push(r.criteria[0].clone())),
    ];
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.build_ok("w").turn();
    let before = fixture.state("w");
    for (expected, change) in table {
        let refusal = fixture.report("w", change).refusal();
        assert!(refusal.to_string().contains(expected), "{refusal}");
        assert_eq!(fixture.state("w"), before);
    }
    fixture.report("w", |_| {}).decided();
}

#[test]
fn a_program_cannot_fail_for_a_reason_that_is_the_orchestrators_to_give() {
    let allowed = [
        "agent_failed",
        "agent_timeout",
        "output_limit",
        "budget_exhausted",
        "handoff_invalid",
        "not_executable",
        "unsupported",
        "checkpoints_unmet",
    ];
    for reason in ReasonCode::ALL {
        let mut fixture = Fixture::opened(|_, _| {});
        let taken = fixture.build("w", failure(reason));
        assert_eq!(matches!(taken, Fed::Appended(_)), allowed.contains(&reason.as_str()), "{reason}");
    }
}

#[test]
fn another_answer_with_the_winners_bytes_on_another_turn_is_still_refused() {
    let mut fixture = Fixture::opened(|_, _| {});
    let work = fixture.work(Vec::new());
    let won = fixture.handoff("w", work);
    fixture.feed("w", Input::Built(won.clone())).turn();
    let replayed = Handoff { turn: "turn-other".parse().unwrap(), ..won };
    assert_ne!(replayed.cause.digest, Digest::of(b""));
    assert!(matches!(fixture.feed("w", Input::Built(replayed)), Fed::Refused(Refusal::NotOpen { .. })));
}
