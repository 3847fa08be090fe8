//! Turns of roles that the org chart binds to the agents whom it names (GATE-2, GATE-13).

use holdpoint_protocol::{
    ids::role,
    reason::ReasonCode,
    refusal::{RefusalAction, RefusalCode},
    state::{Outcome, Phase},
    workflow::{GateSpec, WorkflowSpec},
};

use crate::testing::{
    desk::ADA,
    fixture::Fixture,
    parts::{fleet, id, plan, waypoint},
};
use crate::{
    testing::account::Account,
    waypoint::{self, Input},
};

fn gate(name: &str, role_name: &str) -> GateSpec {
    GateSpec { can_reject: name != "build", ..GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap()) }
}

/// Build, verify, read; each of these roles is bound to these agents.
fn bound(roles: &[(&'static str, &[&str])]) -> WorkflowSpec {
    let gates = [gate("build", role::BUILDER), gate("verify", role::VERIFIER), gate("read", "reader")];
    let agents = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let listed = roles.iter().map(|(role, names)| (role.parse().unwrap(), agents(names))).collect();
    WorkflowSpec { listed, ..WorkflowSpec::new("own", gates) }
}

/// `w` is to be read.
fn reading(spec: WorkflowSpec) -> Fixture {
    let mut planned = plan(vec![waypoint("w", &[])]);
    planned.workflow = "own".to_owned();
    let mut fixture = Fixture::flown_by(planned, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture
}

/// Why the agent may not have the open turn; as it hears before it begins.
fn unlisted(fixture: &Fixture, agent: &str) -> Option<String> {
    let (state, turn) = (fixture.state("w"), fixture.open_turn("w").unwrap().turn);
    let planned = fixture.flight.planned(&id("w")).unwrap();
    waypoint::unlisted(&state, &turn, &agent.parse().unwrap(), &fixture.flight, planned)
}

fn is_refused(fixture: &mut Fixture, agent: &'static str) {
    fixture.agent = agent;
    let before = fixture.state("w");
    let refusal = fixture.fulfil("w", |_| {}).refusal();
    assert_eq!((refusal.code(), refusal.code().action()), (RefusalCode::NotListed, RefusalAction::Drop));
    let words = refusal.to_string();
    for part in ["role reader", agent, "org.yaml", "holdpoint org reload"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(fixture.state("w"), before, "nothing changed");
}

fn is_sound(fixture: &Fixture) {
    assert_eq!(Account::of(fixture).audit().findings, []);
}

#[test]
fn an_agent_whom_the_org_chart_does_not_name_is_refused_and_learns_what_to_do() {
    let mut fixture = reading(bound(&[("reader", &["r1", "r2"])]));
    let told = unlisted(&fixture, "stray").unwrap();
    let expected = "the org chart names r1, r2 for role reader, and not stray: start one of those, or add stray to the role's \
                    `agents` in org.yaml, then `holdpoint org reload`";
    assert_eq!(told, expected);
    is_refused(&mut fixture, "stray");
    assert_eq!(unlisted(&fixture, "r2"), None);
    fixture.agent = "r2";
    fixture.fulfil("w", |_| {}).decided();
    is_sound(&fixture);
}

#[test]
fn a_role_that_is_not_bound_is_whoever_has_its_key() {
    let mut fixture = reading(bound(&[("editor", &["e1"])]));
    assert_eq!(fixture.open_turn("w").unwrap().listed_by, None);
    assert_eq!(unlisted(&fixture, "anybody"), None);
    fixture.agent = "anybody";
    fixture.fulfil("w", |_| {}).decided();
}

#[test]
fn makers_and_verifiers_can_be_bound_too_also_of_a_base() {
    let mut planned = plan(vec![waypoint("w", &[])]);
    planned.workflow = "own".to_owned();
    let spec = bound(&[(role::BUILDER, &["b1"]), (role::VERIFIER, &["v1"])]);
    let mut fixture = Fixture::flown_by(planned, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    assert_eq!(fixture.build_ok("w").refusal().code(), RefusalCode::NotListed);
    fixture.maker = "b1";
    fixture.build_ok("w").turn();
    assert_eq!(fixture.report("w", |_| {}).refusal().code(), RefusalCode::NotListed);
    assert!(unlisted(&fixture, "v2").is_some() && unlisted(&fixture, "v1").is_none());
}

#[test]
fn turns_follow_the_new_chart_and_no_open_one_is_interrupted() {
    let mut fixture = reading(bound(&[("reader", &["r1"])]));
    let open = fixture.open_turn("w").unwrap();
    fixture.reload(ADA, &[bound(&[("reader", &["r2"])])]).unwrap();
    assert_eq!(fixture.open_turn("w").unwrap(), open, "its turn stays as it is");
    for agent in ["r1", "r2"] {
        assert_eq!(unlisted(&fixture, agent), None, "{agent} was or is named");
    }
    is_refused(&mut fixture, "stray");
    fixture.agent = "r1";
    let back = fixture.fulfil("w", |said| {
        said.outcome = Some(Outcome::NeedsReview);
        said.blockers = vec!["say what for".to_owned()];
    });
    assert_eq!(back.turn().gate.as_str(), "build", "who had the turn is heard");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    assert!(
        unlisted(&fixture, "r1").unwrap().contains("names r2 for role reader"),
        "the next turn is by the new chart"
    );
    is_refused(&mut fixture, "r1");
    fixture.agent = "r2";
    fixture.fulfil("w", |_| {}).decided();
    is_sound(&fixture);
}

#[test]
fn a_turn_that_opens_again_is_bound_by_the_chart_of_today() {
    let mut fixture = reading(bound(&[]));
    assert_eq!(fixture.open_turn("w").unwrap().listed_by, None);
    fixture.reload(ADA, &[bound(&[("reader", &["r1"])])]).unwrap();
    assert_eq!(unlisted(&fixture, "stray"), None, "it opened for whoever has the role");
    fixture.pass_deadline("w").turn();
    assert_eq!(fixture.open_turn("w").unwrap().listed_by, Some(1));
    is_refused(&mut fixture, "stray");
    fixture.reload(ADA, &[bound(&[])]).unwrap();
    assert_eq!(unlisted(&fixture, "stray"), None, "the chart binds the role no more");
    assert!(matches!(fixture.state("w").phase, Phase::InTurn(_)));
    is_sound(&fixture);
}

#[test]
fn a_long_list_is_shortened_and_an_empty_one_says_that_nobody_is_named() {
    let names: Vec<String> = (1..=7).map(|n| format!("r{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixture = reading(bound(&[("reader", &names)]));
    assert!(unlisted(&fixture, "stray").unwrap().starts_with("the org chart names r1, r2, r3, r4, r5, 2 more for"));
    let fixture = reading(bound(&[("reader", &[])]));
    assert!(unlisted(&fixture, "stray").unwrap().starts_with("the org chart names nobody for role reader"));
}

/// An agent has the reader's turn and says nothing; it has opened again as often as it may.
fn kept() -> Fixture {
    let mut fixture = reading(bound(&[("reader", &["r1"])]));
    for _ in 0..fixture.flight.submitted.fleet.dead_after {
        let kept = fixture.open_turn("w").unwrap().turn;
        assert_ne!(fixture.pass_deadline("w").turn().turn_id, kept, "the old one is worth nothing any more");
        is_refused(&mut fixture, "stray");
    }
    fixture
}

#[test]
fn a_turn_that_an_unlisted_key_keeps_opens_again_at_its_deadline_without_an_attempt_and_is_held_after_a_bound() {
    let mut answered = kept();
    answered.agent = "r1";
    answered.fulfil("w", |_| {}).decided();
    assert_eq!(answered.state("w").counters.attempts, 1, "that of its builder");
    is_sound(&answered);

    let mut silent = kept();
    silent.pass_deadline("w");
    let state = silent.state("w");
    assert!(matches!(state.phase, Phase::Held(_)), "{:?}", state.phase);
    assert_eq!(state.decision.map(|decision| decision.reason_code), Some(ReasonCode::TurnPoisoned));
    is_sound(&silent);
}
