//! What events come to: gate by gate, by agent, and delivery.

use std::{collections::BTreeSet, ops::Range};

use holdpoint_engine::{
    testing::{
        fixture::Fixture,
        parts::{fleet, plan, waypoint},
    },
    waypoint::Input,
};
use holdpoint_protocol::{
    facts::Verdict,
    journal::{Entry, Sequence},
    state::Outcome,
    time::Millis,
    workflow::WorkflowSpec,
};

use super::parts::{build, flown_by, handed, people, read, verify, when};
use crate::events::{
    AgentReport, Agents, DeliveryReport, DeliveryTally, EntryEffect, FlightReader, GateReport, Gates, Trend,
    TrendDirection, TrendReport,
};

/// Builds for a minute, is sent back once after ten seconds, lands, in all 140 s.
fn landed() -> Fixture {
    let mut fixture = flown_by([build(), verify(), when(people("docs"))]);
    fixture.conditions.left_out = vec!["docs"];
    fixture.feed("w", Input::Open);
    fixture.wait(60);
    fixture.build_ok("w").turn();
    fixture.wait(10);
    fixture.report("w", |report| report.criteria[0].result.verdict = Verdict::Fail).turn();
    fixture.wait(60);
    fixture.build_ok("w").turn();
    fixture.wait(10);
    fixture.report("w", |_| {}).decided();
    fixture.land("w");
    fixture
}

/// Reads a flight and shows each entry, with what the reader made of it.
fn each(fixture: &Fixture, mut look: impl FnMut(&FlightReader, &EntryEffect, &Entry)) -> FlightReader {
    let mut reader = FlightReader::default();
    for (logged, n) in fixture.log.iter().zip(1..) {
        let told = reader.entry(logged.waypoint.as_ref(), Sequence(n), &logged.entry);
        look(&reader, &told, &logged.entry);
    }
    reader
}

fn gates(fixture: &Fixture) -> Vec<GateReport> {
    let mut gates = Gates::default();
    let reader = each(fixture, |reader, told, _| gates.take(reader, told));
    gates.end(&fixture.flight.submitted.flight, &reader);
    gates.finish().0
}

fn agents(fixture: &Fixture) -> Vec<AgentReport> {
    let mut agents = Agents::default();
    each(fixture, |reader, told, entry| agents.take(reader, told, entry));
    agents.finish()
}

fn delivery(fixture: &Fixture) -> DeliveryReport {
    let mut delivery = DeliveryTally::default();
    let flight = &fixture.flight.submitted.flight;
    each(fixture, |reader, told, entry| delivery.take(flight, reader, told, entry));
    delivery.finish(fixture.now)
}

#[test]
fn gates_sum_up_what_went_through_and_one_that_nothing_came_to_is_there_as_well() {
    let gates = gates(&landed());
    let names: Vec<_> = gates.iter().map(|gate| gate.gate.as_ref().unwrap().to_string()).collect();
    assert_eq!(names, ["build", "verify", "docs"], "in the workflow's order");
    let [build, verify, docs] = gates.as_slice() else { panic!() };
    assert_eq!((build.complete, build.dwell.count(), build.dwell.total()), (2, 2, Millis(120_000)));
    assert_eq!((verify.complete, verify.needs_review, verify.rejections), (1, 1, 1));
    assert_eq!((verify.rejection_percent(), verify.dwell.max()), (Some(50), Some(Millis(10_000))));
    assert_eq!((docs.skips, docs.left(), docs.rejection_percent()), (1, 0, None));
    assert!(gates.iter().all(|gate| gate.now.is_empty()));
}

#[test]
fn work_goes_through_once_and_once_more_for_each_time_it_was_sent_back() {
    let fixture = landed();
    let mut gates = Gates::default();
    let reader = each(&fixture, |_, _, _| {});
    gates.end(&fixture.flight.submitted.flight, &reader);
    let (_, passes) = gates.finish();
    assert_eq!((passes.waypoints, passes.total, passes.max, passes.mean()), (1, 2, 2, Some(2.0)));
}

#[test]
fn what_is_at_a_gate_says_for_whom_it_waits_and_since_when() {
    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    let at = |fixture: &Fixture| {
        let gates = gates(fixture);
        let mut now = gates.iter().flat_map(|gate| gate.now.iter().map(move |standing| (gate, standing.clone())));
        let (gate, standing) = now.next().expect("it is somewhere");
        assert_eq!(now.next(), None, "and nowhere else");
        (gate.gate.as_ref().unwrap().to_string(), standing.waits_for.as_str(), standing.role, standing.since)
    };
    let begun = fixture.now;
    fixture.wait(60);
    assert_eq!(at(&fixture), ("build".to_owned(), "agent", Some("builder".parse().unwrap()), begun));
    fixture.pass_deadline("w").turn();
    assert_eq!(at(&fixture).3, begun, "it is open again, and there since it came");
    fixture.ask("w", "which?");
    assert_eq!((at(&fixture).1, at(&fixture).3), ("answer", fixture.now));
    fixture.answer("w");
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    let entered = fixture.now;
    assert_eq!(at(&fixture), ("sign".to_owned(), "person", Some("reviewer".parse().unwrap()), entered));
    fixture.pass_deadline("w").turn();
    assert_eq!(at(&fixture), ("sign".to_owned(), "person", Some("reviewer".parse().unwrap()), entered));
    fixture.pass_deadline("w").decided();
    assert_eq!(at(&fixture), ("sign".to_owned(), "held", None, fixture.now));
}

#[test]
fn an_agent_is_known_by_its_turns_and_by_what_became_of_its_work() {
    let found = agents(&landed());
    let [agent] = found.as_slice() else { panic!("{found:?}") };
    let roles: BTreeSet<_> = ["builder", "verifier"].map(|role| role.parse().unwrap()).into();
    assert_eq!((agent.agent.as_str(), &agent.roles), ("agent-1", &roles));
    assert_eq!((agent.turns, agent.complete, agent.needs_review, agent.rejected, agent.landed), (4, 3, 1, 1, 1));
    assert_eq!(agent.time.total(), Millis(140_000));

    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    let turn = fixture.open_turn("w").unwrap().turn;
    fixture.build_ok("w").turn();
    let (mut reader, _) = read(&fixture, &[handed(&fixture, "builder", "agent-2", &turn, 2)]);
    let mut lost = Agents::default();
    reader.conflicts().iter().for_each(|event| lost.event(event));
    assert_eq!(
        lost.finish().first().map(|agent| (agent.agent.to_string(), agent.conflicts)),
        Some(("agent-2".to_owned(), 1))
    );
    let mut fixture = flown_by([build(), verify()]);
    fixture.feed("w", Input::Open);
    fixture.die("w", 3);
    assert_eq!(agents(&fixture)[0].deaths, 3);
}

#[test]
fn delivery_counts_landings_how_long_they_took_and_what_people_had_to_help_with() {
    let report = delivery(&landed());
    assert_eq!((report.flights, report.changes, report.landed, report.failed), (1, 1, 1, 0));
    assert_eq!((report.lead_time.max(), report.failure_rate, report.sent_back), (Some(Millis(140_000)), Some(0.0), 1));
    assert!((report.landings_per_day - 1.0).abs() < 1e-9, "less than a day counts as one: {report:?}");

    let mut fixture = flown_by([build(), verify(), people("sign")]);
    fixture.feed("w", Input::Open);
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).turn();
    fixture.complete("w", Outcome::Blocked).decided();
    fixture.wait(3_600);
    let held = delivery(&fixture);
    assert_eq!((held.failed, held.held_now, held.failure_rate, held.time_to_restore.count()), (1, 1, Some(1.0), 0));
    fixture.retry("w", |_| {}).turn();
    fixture.complete("w", Outcome::Complete).decided();
    fixture.land("w");
    fixture.wait(2 * 86_400 - 3_600);
    let report = delivery(&fixture);
    assert_eq!((report.landed, report.failed, report.held_now), (1, 1, 0));
    assert_eq!(report.time_to_restore.max(), Some(Millis(3_600_000)));
    assert!((report.landings_per_day - 0.5).abs() < 1e-9, "{report:?}");
}

const DAY: u64 = 86_400;

/// Twenty waypoints, `w0` and so on, that are built and verified.
fn twenty() -> Fixture {
    let waypoints = (0..20).map(|n| waypoint(&format!("w{n}"), &[]));
    let mut plan = plan(waypoints.collect());
    plan.workflow = "declared".to_owned();
    Fixture::flown_by(plan, fleet(), &[WorkflowSpec::new("declared", [build(), verify()])])
}

/// These waypoints are built and verified; so many of them are sent back.
fn verified(fixture: &mut Fixture, waypoints: Range<u32>, sent_back: u32) {
    let from = waypoints.start;
    for n in waypoints {
        let name = format!("w{n}");
        fixture.feed(&name, Input::Open).turn();
        fixture.build_ok(&name).turn();
        fixture.wait(10);
        let verdict = if n - from < sent_back { Verdict::Fail } else { Verdict::Pass };
        fixture.report(&name, |report| report.criteria[0].result.verdict = verdict);
    }
}

fn trend(fixture: &Fixture, days: u32) -> TrendReport {
    let mut trend = Trend::new(days, fixture.now);
    each(fixture, |reader, told, _| trend.take(reader, told));
    trend.finish()
}

/// Of the gate `verify`: how often it was left, and how often it sent work back, in percent as well; before, and now.
fn verify_in(report: &TrendReport) -> [(u32, u32, Option<u32>); 2] {
    let verify = report.gates.iter().find(|found| found.gate.as_str() == "verify").unwrap();
    [&verify.before, &verify.now].map(|span| (span.left, span.rejections, span.rejection_percent))
}

#[test]
fn a_gate_that_sends_back_more_than_in_the_days_before_got_worse() {
    let mut fixture = twenty();
    verified(&mut fixture, 0..5, 0);
    fixture.wait(8 * DAY);
    verified(&mut fixture, 5..11, 1);
    fixture.wait(7 * DAY);
    verified(&mut fixture, 11..16, 3);
    let report = trend(&fixture, 7);
    assert_eq!(report.gates.iter().map(|gate| gate.gate.as_str()).collect::<Vec<_>>(), ["build", "verify"]);
    assert_eq!(verify_in(&report), [(6, 1, Some(16)), (5, 3, Some(60))], "what was there before is too old");
    let courses: Vec<TrendDirection> = report.gates.iter().map(|gate| gate.rejections).collect();
    assert_eq!(
        (courses, report.gates[1].now.dwell.max()),
        (vec![TrendDirection::Steady, TrendDirection::Worse], Some(Millis(10_000)))
    );
    let fortnights = trend(&fixture, 14);
    assert_eq!(verify_in(&fortnights), [(5, 0, Some(0)), (11, 4, Some(36))]);
    fixture.wait(30 * DAY);
    assert_eq!(trend(&fixture, 7).gates, [], "nothing was left in these days");
}

#[test]
fn a_gate_that_sends_back_less_than_in_the_days_before_got_better_unless_too_few_turns_say_so() {
    let mut fixture = twenty();
    verified(&mut fixture, 0..5, 4);
    fixture.wait(DAY);
    verified(&mut fixture, 5..9, 0);
    assert_eq!(verify_in(&trend(&fixture, 1)), [(5, 4, Some(80)), (4, 0, Some(0))]);
    assert_eq!(trend(&fixture, 1).gates[1].rejections, TrendDirection::TooFew);
    verified(&mut fixture, 9..10, 0);
    let gates = trend(&fixture, 1).gates;
    assert_eq!((gates[1].now.left, gates[1].rejections), (5, TrendDirection::Better));
}
