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
    audit::tests::account::Account,
    engine::{
        self, BuildOutcome, BundledCommit, EngineStep, Fresh, Handoff, Input, ReportInput, StepContext,
        tests::{
            fixture::Fixture,
            parts::{
                build_request, bundle, criterion, failure, failure_with, fleet, guard, id, oid, plan, sound_report,
                waypoint,
            },
        },
    },
    flight::{self, Due},
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
    assert_eq!(engine::tests::parts::build_request(&next).start, commit.commit);
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
    fn raise(&mut self, waypoint: Option<WaypointId>, add: Amounts) -> Result<(), engine::Refusal> {
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

/// One step of a random history: which orchestrator, which waypoint, and what happens.
#[derive(Debug, Clone, Copy)]
struct Happening {
    who: usize,
    waypoint: usize,
    /// What part of its allowance a turn uses up, in percent.
    percent: u64,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Does the next thing.
    Go,
    /// The same, and dies between the reservation and the turn.
    GoAndDie,
    /// Reads what others wrote.
    Read,
    /// Dies, and knows nothing.
    Die,
}

/// All journals, in the order of their stream.
#[derive(Default)]
struct Stream(Vec<(Option<WaypointId>, Entry)>);

/// What an orchestrator has read: the entries before a place, and its own.
struct Orchestrator {
    seen: Vec<bool>,
    flight: FlightState,
    waypoints: Waypoints,
}

impl Orchestrator {
    fn new(submitted: &FlightState) -> Self {
        Self { seen: Vec::new(), flight: submitted.clone(), waypoints: Waypoints::new() }
    }

    fn take(&mut self, at: usize, (waypoint, entry): &(Option<WaypointId>, Entry)) {
        self.seen.resize(self.seen.len().max(at + 1), false);
        self.seen[at] = true;
        match (waypoint, entry) {
            (Some(waypoint), entry) => {
                self.waypoints.insert(waypoint.clone(), entry.record().state.clone().unwrap());
            }
            (None, Entry::Reserved(reserved)) => self.flight.budget.reserve(reserved),
            _ => {}
        }
    }

    fn read(&mut self, stream: &Stream) {
        for (at, entry) in stream.0.iter().enumerate() {
            if !self.seen.get(at).copied().unwrap_or_default() {
                self.take(at, entry);
            }
        }
    }

    /// The broker's check: whether it has read all of this journal.
    fn append(&mut self, stream: &mut Stream, journal: Option<WaypointId>, entry: Entry) -> bool {
        let unread = |(at, (of, _)): (usize, &(Option<WaypointId>, Entry))| {
            *of == journal && !self.seen.get(at).copied().unwrap_or_default()
        };
        if stream.0.iter().enumerate().any(unread) {
            return false;
        }
        stream.0.push((journal, entry));
        self.take(stream.0.len() - 1, &stream.0[stream.0.len() - 1]);
        true
    }

    fn go(&mut self, stream: &mut Stream, name: &WaypointId, happening: Happening, number: u64) {
        let state = self.waypoints.get(name).cloned().unwrap_or_default();
        let Some(input) = self.input(&state, name, stream, happening.percent, number) else { return };
        let artifact = |kind: &str| format!("{kind}-{number}").parse().unwrap();
        let turn = format!("turn-{number}").parse().unwrap();
        let fresh = Fresh {
            turn,
            decision: artifact("decision"),
            guidance: artifact("guidance"),
            request: artifact("request"),
        };
        let now = Timestamp::from_millis(1_790_000_000_000);
        loop {
            let planned = self.flight.planned(name).unwrap();
            let workflow = self.flight.workflow_of(planned, &state).unwrap();
            let cx = StepContext { flight: &self.flight, waypoint: planned, workflow, now, conditions: &[] };
            match engine::step(&state, input.clone(), &cx, &fresh) {
                EngineStep::Reserve(need) => {
                    let reserved = flight::reserve(&self.flight, &self.waypoints, name, &need, now);
                    let appended = self.append(stream, None, Entry::Reserved(Box::new(reserved)));
                    if !appended || happening.what == What::GoAndDie {
                        return;
                    }
                }
                EngineStep::Append(entry) => {
                    self.append(stream, Some(name.clone()), *entry);
                    return;
                }
                // It has asked too often.
                EngineStep::Refuse(_) => return,
                other => panic!("{other:?}"),
            }
        }
    }

    /// What comes next for a waypoint: it opens, or its agent answers and says what it used up.
    fn input(
        &self,
        state: &WaypointState,
        name: &WaypointId,
        stream: &Stream,
        percent: u64,
        number: u64,
    ) -> Option<Input> {
        let now = Timestamp::from_millis(1_790_000_000_000);
        if state.phase == Phase::Pending {
            let due = flight::due(&self.flight, &self.waypoints, now);
            return due.contains(&Due::Open(name.clone())).then_some(Input::Open);
        }
        let Phase::InTurn(open) = &state.phase else { return None };
        let allowed = open.allowance.and_then(|allowance| allowance.limits.cost_micro_usd);
        let metered = spent(allowed.unwrap_or_default() * percent / 100);
        let cause = Cause {
            stream: streams::handoff(&open.role),
            sequence: Sequence(number),
            digest: holdpoint_protocol::Digest::of(&number.to_be_bytes()),
            artifact: format!("artifact-{number}").parse().unwrap(),
        };
        let handoff = Handoff {
            turn: open.turn.clone(),
            role: open.role.clone(),
            agent: "agent-1".parse().unwrap(),
            cause,
            told: None,
            metered,
            left_out: Vec::new(),
            body: (),
        };
        if percent % 7 == 5 {
            // An entry that opens no turn: nothing is reserved for it.
            let turn = Box::new(turn_of(stream, &open.turn)?);
            let words = holdpoint_protocol::Digest::of(&number.to_le_bytes());
            let ends = engine::Ends::NotBefore(now);
            let (kind, question, options) = (QuestionKind::Clarification, "which?".to_owned(), Vec::new());
            let asked = engine::AgentQuestion {
                kind,
                question,
                context: String::new(),
                options,
                block_reason: BlockReason::default(),
                words,
                ends,
                work: None,
                conversation: None,
                turn,
            };
            return Some(Input::Asked(handoff.with(Box::new(asked))));
        }
        Some(match open.purpose {
            Purpose::Build if percent.is_multiple_of(3) => Input::Built(handoff.with(failure(ReasonCode::AgentFailed))),
            Purpose::Build => {
                let (tip, tree) = (oid(number * 2), oid(number * 2 + 1));
                let commit = Some(BundledCommit { bundle: bundle(tip.clone()), commit: tip, tree });
                Input::Built(handoff.with(BuildOutcome::Work { commit, violations: Vec::new() }))
            }
            _ => {
                let report = sound_report(&turn_of(stream, &open.turn)?);
                Input::Reported(handoff.with(Box::new(ReportInput { report, for_build: None, touched: Vec::new() })))
            }
        })
    }
}

fn turn_of(stream: &Stream, turn: &holdpoint_protocol::ids::TurnId) -> Option<Turn> {
    stream.0.iter().find_map(|(_, entry)| match entry {
        Entry::Turn(opened) if opened.turn_id == *turn => Some(opened.as_ref().clone()),
        _ => None,
    })
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let what = prop_oneof![6 => Just(What::Go), 2 => Just(What::GoAndDie), 2 => Just(What::Read), 1 => Just(What::Die)];
    let one = (0..3_usize, 0..4_usize, 0..=100_u64, what);
    let one = one.prop_map(|(who, waypoint, percent, what)| Happening { who, waypoint, percent, what });
    prop::collection::vec(one, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_more_is_spent_and_reserved_than_the_budget_whichever_orchestrator_dies_when(all in happenings()) {
        let (plan, fleet) = four(0.000_400);
        let submitted = Fixture::new(plan, fleet).flight;
        let limit = limits(&submitted).cost_micro_usd.unwrap();
        let mut stream = Stream::default();
        let mut orchestrators: BTreeMap<usize, Orchestrator> =
            (0..3).map(|who| (who, Orchestrator::new(&submitted))).collect();
        for (number, happening) in all.iter().enumerate() {
            let orchestrator = orchestrators.get_mut(&happening.who).unwrap();
            match happening.what {
                What::Read => orchestrator.read(&stream),
                What::Die => {
                    *orchestrator = Orchestrator::new(&submitted);
                    orchestrator.read(&stream);
                }
                What::Go | What::GoAndDie => {
                    let name = id(NAMES[happening.waypoint]);
                    orchestrator.go(&mut stream, &name, *happening, number as u64 + 100);
                    if happening.what == What::GoAndDie {
                        *orchestrator = Orchestrator::new(&submitted);
                        orchestrator.read(&stream);
                    }
                }
            }
            let mut truth = Orchestrator::new(&submitted);
            truth.read(&stream);
            let committed = committed(&truth.flight, &truth.waypoints).cost_micro_usd;
            prop_assert!(committed <= limit, "{committed} of {limit} after {number} steps");
        }
        // What dead orchestrators left is not lost: one alone flies on until the work is done or the budget is spent.
        let mut last = Orchestrator::new(&submitted);
        last.read(&stream);
        for number in 1_000..1_200_u64 {
            let name = id(NAMES[number as usize % 4]);
            let happening = Happening { who: 0, waypoint: 0, percent: 10, what: What::Go };
            last.go(&mut stream, &name, happening, number);
        }
        let reserved: u64 = NAMES.iter().map(|name| {
            let step = last.waypoints.get(&id(name)).map_or(0, |state| state.spent.step);
            last.flight.budget.waiting(&id(name), step).cost_micro_usd
        }).sum();
        prop_assert_eq!(reserved, 0, "a reservation that nobody uses");
        let is_over = |state: &WaypointState| matches!(state.phase, Phase::Accepted { .. } | Phase::Held(_));
        prop_assert!(NAMES.iter().all(|name| last.waypoints.get(&id(name)).is_some_and(is_over)));
    }
}
