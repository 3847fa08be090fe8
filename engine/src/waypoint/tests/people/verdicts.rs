//! People take over verifiers' turns: what they judge, and that no report says anything else.

use holdpoint_protocol::{
    artifact::{ActCode, Verb},
    facts::Verdict,
    ids::role,
    state::Status,
    turn::{Turn, TurnRequest},
};

use super::code;
use crate::{
    flight::{self, Due},
    testing::{
        desk::{ADA, BOB},
        fixture::Fixture,
        parts::{criterion, id, sound_report},
    },
    waypoint::{Input, queued_for},
};

/// Work that is being verified, with one criterion that has no check: `read`.
fn verifying() -> Fixture {
    let mut fixture = Fixture::opened(|plan, fleet| {
        fleet.judge = true;
        plan.waypoints[0].criteria.push(criterion("read", None));
    });
    fixture.build_ok("w").turn();
    fixture
}

fn taken(fixture: &mut Fixture) -> Turn {
    let act = fixture.take_act("w", ADA);
    fixture.feed("w", act).turn()
}

/// Ada judges, and the turn is a verifier's again.
fn judged(verdict: Verdict) -> (Fixture, Turn) {
    let mut fixture = verifying();
    taken(&mut fixture);
    let act = fixture.judge_act("w", ADA, &["read"], verdict);
    let turn = fixture.feed("w", act).turn();
    (fixture, turn)
}

#[test]
fn a_person_judges_what_has_no_check_and_the_turn_is_a_verifiers_again() {
    let (mut fixture, turn) = judged(Verdict::Pass);
    assert_eq!((queued_for(&turn).as_str(), fixture.status("w")), (role::VERIFIER, Status::Running));
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    let [given] = &request.judged[..] else { panic!("{request:?}") };
    assert_eq!((given.criterion.as_str(), given.verdict, given.by.as_str()), ("read", Verdict::Pass, ADA));
    let state = serde_json::to_string(&fixture.state("w")).unwrap();
    assert!(!state.contains(&given.note), "the state rides in every turn, and keeps no words: {state}");
    let again = fixture.take_act("w", BOB);
    assert_eq!(code(fixture.feed("w", again)), ActCode::NotAllowed, "it is judged");
    fixture.report("w", |_| {}).decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id("w"))]);
}

#[test]
fn no_report_says_anything_else_than_the_person_who_judged() {
    for (said, other) in [(Verdict::Fail, Verdict::Pass), (Verdict::Pass, Verdict::Fail)] {
        let (mut fixture, turn) = judged(said);
        let mut report = sound_report(&turn);
        report.criteria[1].result.verdict = other;
        let input = fixture.reported("w", report);
        let refusal = fixture.feed("w", input).refusal();
        assert!(refusal.to_string().contains("was judged by a person"), "{refusal}");
    }
    let (mut fixture, _) = judged(Verdict::Fail);
    let again = fixture.report("w", |_| {}).turn();
    assert_eq!(again.role.as_str(), role::BUILDER, "it is sent back");
    fixture.build_ok("w").turn();
    assert!(fixture.open_turn("w").unwrap().judged.is_empty(), "it is other work");
}

#[test]
fn a_checks_criterion_is_not_a_persons_to_judge() {
    let mut fixture = verifying();
    taken(&mut fixture);
    let actions = flight::actions(&fixture.flight, &id("w"), Some(&fixture.state("w")));
    assert_eq!(actions, [Verb::HandIn, Verb::Release, Verb::Cancel]);
    for ids in [&["unit"][..], &["read", "unit"], &["read", "read"], &[]] {
        let act = fixture.judge_act("w", ADA, ids, Verdict::Pass);
        assert_eq!(code(fixture.feed("w", act)), ActCode::Invalid, "{ids:?}");
    }
    let unsure = fixture.judge_act("w", ADA, &["read"], Verdict::Inconclusive);
    assert_eq!(code(fixture.feed("w", unsure)), ActCode::Invalid);
    let wordless = match fixture.judge_act("w", ADA, &["read"], Verdict::Pass) {
        Input::HandedIn(mut act) => {
            act.body.verdicts[0].note = " ".to_owned();
            Input::HandedIn(act)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(code(fixture.feed("w", wordless)), ActCode::Invalid);
    let release = fixture.release_act("w", ADA);
    assert_eq!(queued_for(&fixture.feed("w", release).turn()).as_str(), role::VERIFIER);
}

#[test]
fn who_made_the_work_does_not_judge_it() {
    let mut fixture = Fixture::opened(|plan, fleet| {
        fleet.judge = true;
        plan.waypoints[0].criteria.push(criterion("read", None));
    });
    taken(&mut fixture);
    let verdict = fixture.judge_act("w", ADA, &["read"], Verdict::Pass);
    assert_eq!(code(fixture.feed("w", verdict)), ActCode::Invalid, "there is nothing to judge yet");
    let work = fixture.work(Vec::new());
    let work = fixture.hand_in_act("w", ADA, work);
    fixture.feed("w", work).turn();
    let own = fixture.take_act("w", ADA);
    assert_eq!(code(fixture.feed("w", own)), ActCode::NotAllowed);
    let other = fixture.take_act("w", BOB);
    fixture.feed("w", other).turn();
}
