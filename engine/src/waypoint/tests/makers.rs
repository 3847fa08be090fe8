//! Who made a part of the work completes no gate that looks at it, however many made it after them (GATE-30).

use holdpoint_protocol::{
    facts::Verdict,
    ids::role,
    refusal::RefusalCode,
    state::{EARLIER_MAKERS_MAX, Outcome, Work},
    time::Millis,
    workflow::{GateKind, GateSpec, WorkflowSpec},
};

use crate::testing::{
    desk::{ADA, BOB},
    fixture::Fixture,
    parts::{fleet, plan, waypoint},
};
use crate::waypoint::{Input, handoff::earlier_makers};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap())
}

fn verify() -> GateSpec {
    GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) }
}

fn look() -> GateSpec {
    let (kind, timeout) = (Some(GateKind::Inspection), Some(Millis(60_000)));
    GateSpec { kind, timeout, can_reject: true, ..gate("look", role::BUILDER) }
}

fn flown(gates: Vec<GateSpec>) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[WorkflowSpec::new("declared", gates)]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

/// Work that `builder-1` made and `builder-3` sent back, and that `builder-2` went on with: it waits for a look.
fn made_by_two() -> Fixture {
    let mut fixture = flown(vec![gate("build", role::BUILDER), look(), verify()]);
    fixture.maker = "builder-1";
    fixture.build_ok("w").turn();
    fixture.agent = "builder-3";
    sent_back(&mut fixture);
    fixture.maker = "builder-2";
    fixture.build_ok("w").turn();
    fixture
}

fn sent_back(fixture: &mut Fixture) {
    let back = fixture.fulfil("w", |said| {
        said.outcome = Some(Outcome::NeedsReview);
        said.blockers = vec!["split the second function".to_owned()];
    });
    assert_eq!(back.turn().gate.as_str(), "build");
}

#[test]
fn nobody_who_made_a_part_of_the_work_looks_at_it_after_a_rework_by_another_agent() {
    let mut fixture = made_by_two();
    for maker in ["builder-1", "builder-2"] {
        fixture.agent = maker;
        assert_eq!(fixture.fulfil("w", |_| {}).refusal().code(), RefusalCode::OwnWork, "{maker}");
        let turn = fixture.open_turn("w").unwrap().turn;
        assert!(fixture.for_others("w", &turn, maker).unwrap().contains("made a part"), "{maker}");
    }
    fixture.agent = "builder-3";
    assert_eq!(fixture.fulfil("w", |_| {}).turn().gate.as_str(), "verify");
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
}

#[test]
fn whoever_looked_at_the_work_leaves_the_rework_to_others_so_that_somebody_is_left_to_look_again() {
    let mut fixture = made_by_two();
    fixture.agent = "builder-3";
    sent_back(&mut fixture);
    let turn = fixture.open_turn("w").unwrap().turn;
    assert!(fixture.for_others("w", &turn, "builder-3").unwrap().contains("you looked at the work"));
    for other in ["builder-1", "builder-2", "builder-4"] {
        assert_eq!(fixture.for_others("w", &turn, other), None, "{other}");
    }
}

#[test]
fn a_person_who_made_a_part_of_the_work_does_not_approve_what_an_agent_made_of_it() {
    let timeout = Some(Millis(60_000));
    let approve = GateSpec { require_human: true, can_reject: true, timeout, ..gate("approve", "lead") };
    let mut fixture = flown(vec![gate("build", role::BUILDER), verify(), approve]);
    let taken = fixture.take_act("w", ADA);
    fixture.feed("w", taken).turn();
    let work = fixture.work(Vec::new());
    let handed_in = fixture.hand_in_act("w", ADA, work);
    fixture.feed("w", handed_in).turn();
    let back = fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail);
    assert_eq!(back.turn().gate.as_str(), "build");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let own = fixture.completion("w", ADA, Outcome::Complete);
    let refusal = fixture.feed("w", own).refusal();
    assert!(refusal.to_string().contains("made the work"), "{refusal}");
    let other = fixture.completion("w", BOB, Outcome::Complete);
    fixture.feed("w", other).decided();
}

#[test]
fn work_that_goes_on_from_nothing_has_one_maker_and_the_list_of_makers_is_bounded() {
    let mut fixture = flown(vec![gate("build", role::BUILDER), look(), verify()]);
    fixture.build_ok("w").turn();
    let work = fixture.state("w").work.unwrap();
    assert_eq!(work.makers().collect::<Vec<_>>(), [&work.agent]);
    assert_eq!(earlier_makers(None, &work.agent), []);
    assert_eq!(earlier_makers(Some(&work), &work.agent), [], "an agent that goes on with its own");
    let name = |n: usize| format!("builder-{n}").parse().unwrap();
    let many = Work { earlier_makers: (0..EARLIER_MAKERS_MAX).map(name).collect(), ..work };
    let next = earlier_makers(Some(&many), &name(3));
    assert_eq!(next.len(), EARLIER_MAKERS_MAX);
    assert!(!next.contains(&name(3)) && next.last() == Some(&many.agent));
    let more = earlier_makers(Some(&many), &name(900));
    assert_eq!((more.len(), more.first()), (EARLIER_MAKERS_MAX, Some(&name(1))), "the oldest is left out");
}
