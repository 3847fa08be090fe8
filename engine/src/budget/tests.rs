mod random;

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    artifact::{Disposition, Metered, Verb},
    budget::{Allowance, Amounts, Limits, OnExceeded},
    facts::Verdict,
    ids::WaypointId,
    journal::{Cause, Entry, Fleet, Sequence},
    plan::Plan,
    reason::{BlockReason, ReasonCode},
    state::{Phase, Purpose, QuestionKind, Status, WaypointState},
    streams,
    time::Millis,
    turn::Turn,
};
use proptest::prelude::*;

use super::*;
use crate::{
    flight::{self, Due, FlightState, Waypoints, committed},
    testing::{
        account::Account,
        fixture::Fixture,
        parts::{
            build_request, bundle, criterion, failure, failure_with, fleet, guard, id, oid, plan, sound_report,
            waypoint,
        },
    },
    waypoint::{self, BuildOutcome, BundledCommit, EngineStep, Fresh, Handoff, Input, ReportInput, StepContext},
};

const DOLLAR: u64 = 1_000_000;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn cost(micro: u64) -> Limits {
    Limits { cost_micro_usd: Some(micro), ..Limits::default() }
}

fn spent(micro: u64) -> Option<Box<Metered>> {
    Some(Box::new(Metered { tokens: Some(0), tool_calls: Some(0), cost_micro_usd: Some(micro), ..Metered::default() }))
}

/// Four waypoints that are judged, under one budget.
fn four(dollars: f64) -> (Plan, Fleet) {
    let waypoints = NAMES.iter().map(|name| {
        let mut waypoint = waypoint(name, &[]);
        waypoint.criteria.push(criterion("read", None));
        waypoint
    });
    let mut plan = plan(waypoints.collect());
    plan.budget.cost_usd = Some(dollars);
    (plan, Fleet { judge: true, ..fleet() })
}

fn allowance(fixture: &Fixture, name: &str) -> Limits {
    fixture.turn(name).allowance.expect("the turn has an allowance").limits
}

#[test]
fn four_builders_share_what_the_flight_may_use_up() {
    let (plan, fleet) = four(4.0);
    let mut fixture = Fixture::new(plan, fleet);
    for name in NAMES {
        fixture.feed(name, Input::Open).turn();
    }
    for name in NAMES {
        assert_eq!(allowance(&fixture, name), cost(DOLLAR), "{name}");
    }
    assert_eq!(committed(&fixture.flight, &fixture.waypoints).cost_micro_usd, 4 * DOLLAR);
    // The judge's turn gets what its builder left.
    fixture.metered = spent(DOLLAR / 4);
    fixture.build_ok("a").turn();
    assert_eq!(allowance(&fixture, "a"), cost(DOLLAR * 3 / 4));
    assert_eq!(fixture.state("a").spent.used.cost_micro_usd, DOLLAR / 4);
    fixture.crash();
}

#[test]
fn a_used_up_budget_holds_work_until_a_person_raises_it() {
    let (mut plan, fleet) = four(1.0);
    plan.waypoints.truncate(1);
    let mut fixture = Fixture::new(plan, fleet);
    fixture.feed("a", Input::Open).turn();
    fixture.metered = spent(DOLLAR);
    let held = fixture.build_ok("a").decided();
    assert_eq!(held.decision.reason_code, ReasonCode::BudgetExhausted);
    assert_eq!(fixture.status("a"), Status::Blocked);
    let said = held.decision.remediation.expect("what a person can do");
    assert!(said.contains("holdpoint budget demo-1"), "{said}");
    fixture.raise(None, Amounts { cost_micro_usd: DOLLAR, ..Amounts::default() }).expect("it is limited");
    fixture.retry("a", |_| {}).turn();
    assert_eq!(allowance(&fixture, "a"), cost(DOLLAR));
}

#[test]
fn a_budget_that_is_used_up_when_the_flights_time_is_over_as_well_is_no_finding_of_an_audit() {
    let (mut plan, fleet) = four(1.0);
    plan.waypoints.truncate(1);
    plan.budget.wall = Some(Millis(3_600_000));
    let mut fixture = Fixture::new(plan, fleet);
    let turn = fixture.feed("a", Input::Open).turn();
    // The turn counts with all that it was allowed, and the next one has nothing left.
    fixture.now = fixture.now.after(Duration::from_secs(24 * 3_600));
    let held = fixture.feed("a", Input::DeadlinePassed(Box::new(turn))).decided();
    assert_eq!((held.decision.reason_code, fixture.status("a")), (ReasonCode::BudgetExhausted, Status::Blocked));
    assert_eq!(Account::of(&fixture).audit().findings, vec![]);
}

#[test]
fn work_that_broke_a_guard_stays_until_its_rollback_can_be_paid_for() {
    let (mut plan, fleet) = four(1.0);
    plan.waypoints.truncate(1);
    plan.guards.push(guard());
    let mut fixture = Fixture::new(plan, fleet);
    fixture.feed("a", Input::Open).turn();
    fixture.report("a", |_| {}).turn();
    fixture.metered = spent(DOLLAR / 2);
    fixture.build_ok("a").turn();
    let work = fixture.state("a").work;
    let held = fixture.report("a", |report| report.guards[0].result.verdict = Verdict::Fail).decided();
    assert_eq!(held.decision.reason_code, ReasonCode::BudgetExhausted);
    assert_eq!(fixture.state("a").work, work, "what a person looks at before they raise the budget");
    let feedback = held.feedback.expect("why the work goes back");
    assert_eq!((feedback.disposition, feedback.reason_code), (Disposition::Rework, ReasonCode::Regression));
    fixture.raise(None, Amounts { cost_micro_usd: DOLLAR, ..Amounts::default() }).expect("it is limited");
    let turn = fixture.retry("a", |_| {}).turn();
    assert_eq!(Some(build_request(&turn).start.clone()), work.and_then(|work| work.commit));
}

/// A flight of one waypoint that may cost four dollars, and whose builder called for help when it had used this much.
fn called(used: u64) -> Fixture {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.budget.cost_usd = Some(4.0);
    let mut fixture = Fixture::new(plan, Fleet { advisors: 1, ..fleet() });
    fixture.feed("w", Input::Open).turn();
    let Input::Asked(mut call) = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None) else { unreachable!() };
    call.metered = spent(used);
    fixture.feed("w", Input::Asked(call));
    fixture
}

#[test]
fn an_advisors_turn_counts_like_others_and_gets_a_part_of_what_the_flight_may_use_up() {
    let mut fixture = called(DOLLAR);
    assert_eq!(fixture.turn("w").role.as_str(), "advisor");
    assert_eq!(allowance(&fixture, "w"), cost(DOLLAR));
    fixture.metered = spent(DOLLAR / 2);
    let advice = fixture.advice("w", |_| {});
    fixture.feed("w", advice).turn();
    assert_eq!(fixture.state("w").spent.used.cost_micro_usd, DOLLAR * 3 / 2);
    assert_eq!(allowance(&fixture, "w"), cost(DOLLAR * 5 / 2), "whoever called has the rest");
    let audit = Account::of(&fixture).audit();
    assert!(audit.is_sound(), "{:?}", audit.findings);
}

#[test]
fn an_advisor_that_is_not_heard_of_counts_with_its_part_and_leaves_the_rest() {
    let mut fixture = called(DOLLAR);
    let turn = fixture.turn("w");
    fixture.now = turn.deadline;
    fixture.feed("w", Input::DeadlinePassed(Box::new(turn))).decided();
    assert_eq!(fixture.state("w").spent.used.cost_micro_usd, 2 * DOLLAR);
    let audit = Account::of(&fixture).audit();
    assert!(audit.is_sound(), "{:?}", audit.findings);
}

#[test]
fn a_person_is_asked_where_the_budget_has_nothing_left_for_advisors() {
    let fixture = called(4 * DOLLAR);
    assert_eq!(fixture.status("w"), Status::Waiting);
    let said = fixture.state("w").decision.unwrap().remediation.unwrap();
    assert!(said.starts_with("the budget has nothing left for advisors; "), "{said}");
    let audit = Account::of(&fixture).audit();
    assert!(audit.is_sound(), "{:?}", audit.findings);
}

#[test]
fn a_limit_that_a_turn_reached_is_decided_by_the_plans_policy() {
    let crossed = |policy: OnExceeded| {
        let mut plan = plan(vec![waypoint("w", &[])]);
        plan.waypoints[0].budget.tokens = Some(1_000);
        plan.budget.on_exceeded = policy;
        let mut fixture = Fixture::new(plan, fleet());
        fixture.feed("w", Input::Open).turn();
        fixture.build("w", failure(ReasonCode::BudgetExhausted));
        fixture
    };
    assert_eq!(crossed(OnExceeded::Ask).status("w"), Status::Blocked);
    assert_eq!(crossed(OnExceeded::Stop).status("w"), Status::Failed);
    let mut degraded = crossed(OnExceeded::Degrade);
    assert!(degraded.turn("w").allowance.unwrap().degraded);
    degraded.build("w", failure(ReasonCode::BudgetExhausted));
    assert_eq!(degraded.status("w"), Status::Blocked, "the cheaper command has reached it as well");
}

#[test]
fn what_was_there_when_a_limit_was_reached_is_where_the_next_turn_starts() {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.waypoints[0].budget.tokens = Some(1_000);
    plan.budget.on_exceeded = OnExceeded::Degrade;
    let mut fixture = Fixture::new(plan, fleet());
    fixture.feed("w", Input::Open).turn();
    let commit = fixture.commit();
    let next = fixture.build("w", failure_with(ReasonCode::BudgetExhausted, Some(commit.clone()))).turn();
    assert_eq!(crate::testing::parts::build_request(&next).start, commit.commit);
}

#[test]
fn all_turns_of_a_waypoint_keep_to_its_total() {
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.waypoints[0].budget.tokens = Some(1_000);
    plan.waypoints[0].budget.total = Limits { tokens: Some(1_500), ..Limits::default() };
    let mut fixture = Fixture::new(plan, fleet());
    fixture.feed("w", Input::Open).turn();
    assert_eq!(allowance(&fixture, "w").tokens, Some(1_000));
    fixture.metered = Some(Box::new(Metered { tokens: Some(900), ..Metered::default() }));
    fixture.build("w", failure(ReasonCode::AgentFailed)).turn();
    assert_eq!(allowance(&fixture, "w").tokens, Some(600));
    fixture.metered = Some(Box::new(Metered { tokens: Some(600), ..Metered::default() }));
    let held = fixture.build("w", failure(ReasonCode::AgentFailed)).decided();
    assert_eq!(held.decision.reason_code, ReasonCode::BudgetExhausted);
    let raise = Amounts { tokens: 100, ..Amounts::default() };
    fixture.raise(Some(id("w")), raise).expect("it is limited");
    fixture.retry("w", |_| {}).turn();
    assert_eq!(allowance(&fixture, "w").tokens, Some(100));
    let other = Amounts { cost_micro_usd: 1, ..Amounts::default() };
    assert!(fixture.raise(Some(id("w")), other).is_err(), "nothing limits its cost");
}

#[test]
fn a_turn_without_a_report_counts_as_all_that_it_was_allowed() {
    let allowed = Allowance { limits: cost(DOLLAR), ..Allowance::default() };
    let silent = Metered { output_bytes: 9, ..Metered::default() };
    assert_eq!(counted(&allowed, None), (cost(DOLLAR).amounts(), false));
    let all = Amounts { output_bytes: 9, ..cost(DOLLAR).amounts() };
    assert_eq!(counted(&allowed, Some(&silent)), (all, true));
    let known = |micro, incomplete| Metered { cost_micro_usd: Some(micro), incomplete, ..silent.clone() };
    assert_eq!(counted(&allowed, Some(&known(3, false))).0.cost_micro_usd, 3);
    assert_eq!(counted(&allowed, Some(&known(3, true))), (all, true), "the rest of it is not known");
    assert_eq!(counted(&allowed, Some(&known(2 * DOLLAR, true))).0.cost_micro_usd, 2 * DOLLAR);
    let free = Allowance::default();
    assert_eq!(counted(&free, Some(&known(3, true))).0.cost_micro_usd, 3, "nothing is limited");
}

#[test]
fn plans_without_budgets_neither_reserve_nor_count() {
    let mut fixture = Fixture::opened(|_, _| {});
    fixture.metered = spent(DOLLAR);
    fixture.build_ok("w").turn();
    assert_eq!(fixture.state("w").spent, Default::default());
    assert!(fixture.log.iter().all(|logged| !matches!(logged.entry, Entry::Reserved(_))));
}

impl Fixture {
    fn raise(&mut self, waypoint: Option<WaypointId>, add: Amounts) -> Result<(), waypoint::Refusal> {
        let (cause, origin) = self.act_of("a");
        let raise = holdpoint_protocol::budget::Raise { waypoint, add };
        let body = holdpoint_protocol::artifact::BudgetBody { agent: "human-ada".parse().unwrap(), raise };
        let act = holdpoint_protocol::artifact::Budget::new(origin, body);
        let steered = flight::raise(&self.flight, &self.waypoints, &act, &cause, self.now)?;
        assert_eq!(steered.verb, Verb::Budget);
        self.flight.take(&Entry::Steered(Box::new(steered.clone())));
        Ok(())
    }
}
