//! Random histories of a flight: agents that answer well, badly, late, twice and on each other's behalf, in any order,
//! while memory is lost and time passes.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    artifact::{Completion, Doubt, Failure, Metered, Verb, VerificationReport},
    budget::OnExceeded,
    facts::{Verdict, Violation, ViolationKind},
    ids::{WaypointId, role},
    journal::{Death, Entry, Fleet},
    org::Plane,
    plan::{Answer, Plan},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, QuestionKind, Status},
    time::Millis,
    workflow::{Escalation, GateOrFork, GateSpec, WorkflowSpec},
};
use proptest::prelude::*;

use super::{
    desk::{ADA, BOB},
    fixture::{Fixture, Taken},
    parts::{NARRATIVE, check, criterion, failure, fleet, guard, id, oid, plan, sound_report, to, to_people, waypoint},
};
use crate::{
    engine::{Aside, BuildOutcome, Died, Ends, Handoff, Input, Merge, Oversize, can_be_taken, waits_to_be_taken},
    flight::{self, Due, Yard},
};

/// The waypoints of every history: `c` and `d` wait for others.
pub(crate) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// How long a question waits in every history.
const ANSWER_WITHIN: Millis = Millis(3 * 3_600_000);

/// What may differ between flights.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    guarded: bool,
    red_first: bool,
    repair: bool,
    parallel: Option<u32>,
    max_reworks: u32,
    wall: Option<Millis>,
    /// People approve what was verified.
    approved: bool,
    /// Agents of a role of the org chart look at what was verified.
    reviewed: bool,
    /// Policy answers questions that ask for it.
    answers: bool,
    /// What the flight may cost, in millionths of a dollar, and what happens then.
    cost: Option<(u16, OnExceeded)>,
    /// How many advisors a round asks, of questions as well.
    advisors: u32,
}

/// One thing that happens. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Something that is due is done; a merge comes to one of what it may come to.
    Due(usize, u8),
    /// The agent of an open turn answers: a builder or a verifier, in one of several ways.
    Answer(usize, u8),
    /// The agent of an open turn asks, or calls for help.
    Ask(usize, u8),
    /// A handoff comes again, however long ago it was sent.
    Again(usize),
    /// Another answer to a turn that was once open.
    Late(usize),
    /// An agent answers an open turn of another role.
    Impostor(usize),
    /// So many agents died of an open turn, and one more has it; or what follows the turn is too large for a message.
    Die(usize, u8),
    /// A person does what a waypoint waits for, in one of several ways, or something that does not fit.
    Person(usize, u8),
    /// A person ends a waypoint.
    Cancel(usize),
    /// A person pauses the flight, lets it go on, or ends it.
    Steer(u8),
    /// A person has the flight go on by other workflows.
    Reload(u8),
    /// Minutes pass.
    Wait(u16),
    /// Nobody answers an open turn until its deadline.
    Overdue(usize),
    /// All memory is lost.
    Crash,
}

/// A history as it went.
pub(crate) struct Story {
    pub(crate) fixture: Fixture,
    /// Every handoff that was sent.
    pub(crate) sent: Vec<(&'static str, Input)>,
    /// How long the merge train may be.
    depth: usize,
    /// What could not be merged behind the train since the head moved last.
    aside: BTreeMap<WaypointId, Aside>,
}

pub(crate) fn setup() -> impl Strategy<Value = Setup> {
    let parallel = prop_oneof![Just(None), (1..3_u32).prop_map(Some)];
    let people = || prop::bool::weighted(0.4);
    let wall = prop_oneof![3 => Just(None), 1 => (0..48_u64).prop_map(|hours| Some(Millis(hours * 3_600_000)))];
    let reviewed = prop::bool::weighted(0.3);
    let policy = prop_oneof![Just(OnExceeded::Ask), Just(OnExceeded::Stop), Just(OnExceeded::Degrade)];
    let cost = prop::option::weighted(0.2, (1..2_000_u16, policy));
    (any::<bool>(), any::<bool>(), any::<bool>(), parallel, 0..4_u32, wall, people(), people(), (reviewed, cost))
        .prop_map(|(guarded, red_first, repair, parallel, max_reworks, wall, approved, answers, (reviewed, cost))| {
            // A quarter of the fleets has advisors.
            let advisors = if guarded && repair { 1 + u32::from(red_first) } else { 0 };
            Setup {
                advisors,
                cost,
                approved,
                reviewed,
                answers,
                guarded,
                red_first,
                repair,
                parallel,
                max_reworks,
                wall,
            }
        })
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let any_one = any::<usize>;
    let event = prop_oneof![
        12 => (any_one(), any::<u8>()).prop_map(|(n, how)| Event::Due(n, how)),
        16 => (any_one(), any::<u8>()).prop_map(|(n, how)| Event::Answer(n, how)),
        4 => (any_one(), any::<u8>()).prop_map(|(n, how)| Event::Ask(n, how)),
        3 => any_one().prop_map(Event::Again),
        2 => any_one().prop_map(Event::Late),
        2 => any_one().prop_map(Event::Impostor),
        1 => (any_one(), any::<u8>()).prop_map(|(n, count)| Event::Die(n, count)),
        7 => (any_one(), any::<u8>()).prop_map(|(n, how)| Event::Person(n, how)),
        1 => prop::bool::weighted(0.2).prop_flat_map(move |it_is| {
            let n = any::<usize>();
            if it_is { n.prop_map(Event::Cancel).boxed() } else { Just(Event::Crash).boxed() }
        }),
        1 => any::<u8>().prop_map(Event::Steer),
        1 => any::<u8>().prop_map(Event::Reload),
        2 => (1..400_u16).prop_map(Event::Wait),
        3 => any_one().prop_map(Event::Overdue),
        2 => Just(Event::Crash),
    ];
    prop::collection::vec(event, 0..70)
}

fn flown(setup: &Setup) -> (Plan, Fleet) {
    let depends: [&[&str]; 4] = [&[], &[], &["a"], &["b", "c"]];
    let waypoints = NAMES.iter().zip(depends).map(|(name, on)| {
        let mut waypoint = waypoint(name, on);
        waypoint.criteria.push(criterion("new", Some(check(setup.red_first))));
        waypoint.criteria.extend(setup.reviewed.then(|| criterion("read", None)));
        waypoint
    });
    let mut plan = plan(waypoints.collect());
    plan.guards.extend(setup.guarded.then(guard));
    plan.policy.max_reworks = setup.max_reworks;
    plan.budget.wall = setup.wall;
    if let Some((micro, policy)) = setup.cost {
        plan.budget.cost_usd = Some(f64::from(micro) / 1e6);
        plan.budget.on_exceeded = policy;
    }
    plan.answer_within = Some(ANSWER_WITHIN);
    if setup.reviewed {
        plan.workflow = REVIEWED.to_owned();
    } else if setup.approved {
        plan.workflow = "fly-approved".to_owned();
    }
    if setup.answers {
        let answer = Answer { matches: "(?i)by policy".to_owned(), option: "red".to_owned(), rationale: None };
        plan.answers.push(answer);
    }
    plan.policy.advise_questions = setup.advisors > 0;
    (plan, Fleet { repair: setup.repair, judge: true, advisors: setup.advisors, parallel: setup.parallel, ..fleet() })
}

/// The name of a workflow in which agents look at what was verified.
const REVIEWED: &str = "reviewed";

/// The gate that it may get later, which sends no work back.
const POLISH: &str = "polish";

/// Build, verify, and an agent's look at it, each with a chain for turns that nobody answers in time.
fn reviewed() -> WorkflowSpec {
    let gate = |name: &str, role_name: &str| GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap());
    let senior = Escalation { plane: Some(Plane::Build), ..to("senior") };
    let build = GateSpec { escalations: vec![senior, to_people("boss", &[ADA, BOB])], ..gate("build", role::BUILDER) };
    let escalations = vec![to_people("lead", &[ADA])];
    let verify = GateSpec { can_reject: true, escalations, ..gate("verify", role::VERIFIER) };
    let review = GateSpec {
        can_reject: true,
        escalations: vec![to("chief"), to_people("lead", &[ADA, BOB])],
        ..gate("review", "reviewer")
    };
    WorkflowSpec::new(REVIEWED, [build, verify, review])
}

/// The same workflow as it may be declared later.
fn declared_later(how: u8) -> WorkflowSpec {
    let WorkflowSpec { gates, .. } = reviewed();
    let mut gates: Vec<GateSpec> = gates
        .into_iter()
        .filter_map(|item| match item {
            GateOrFork::Gate(gate) => Some(gate),
            GateOrFork::Fork(_) => None,
        })
        .collect();
    let polish = GateSpec::new(POLISH.parse().unwrap(), "writer".parse().unwrap());
    match how % 8 {
        7 => gates.iter_mut().for_each(|gate| drop(gate.escalations.pop())),
        0 => drop(gates.pop()),
        1 => gates[2].role = "critic".parse().unwrap(),
        2 => gates[0].id = "make".parse().unwrap(),
        3 => gates[1].id = "judge".parse().unwrap(),
        4 => gates.insert(1, polish),
        5 => gates.insert(0, polish),
        _ => {}
    }
    WorkflowSpec::new(REVIEWED, gates)
}

impl Story {
    /// Lets everything happen in turn.
    pub(crate) fn tell(setup: &Setup, events: &[Event]) -> Self {
        let (plan, fleet) = flown(setup);
        let fixture = Fixture::flown_by(plan, fleet, &[reviewed()]);
        // A third of the orchestrators make one merge at a time.
        let depth = 1 + setup.max_reworks as usize % 3;
        let mut story = Self { fixture, sent: Vec::new(), depth, aside: BTreeMap::new() };
        for event in events {
            story.happen(event);
        }
        story
    }

    /// From now on agents answer well, until nothing is left to do.
    pub(crate) fn calm_down(&mut self) {
        let steering = &self.fixture.flight.steering;
        if steering.is_paused() && steering.cancelled.is_none() {
            self.fixture.steer(Verb::Resume).expect("it is paused");
        }
        // 10 conflicts and 4 attempts a waypoint, with a few steps each.
        for _ in 0..NAMES.len() * 14 * 8 {
            if let Some(due) = self.due().first().cloned() {
                self.act(&due, 0);
            } else if let Some(name) = self.in_turn().first() {
                self.answer(name, 0);
            } else if let Some(name) = self.waiting().first() {
                self.person(name, 0);
            } else {
                return;
            }
        }
        let phases: Vec<_> = NAMES.map(|name| (name, self.fixture.state(name).phase)).into();
        let (due, last) = (self.due(), self.fixture.trace.iter().rev().take(3).collect::<Vec<_>>());
        panic!(
            "the flight does not come to an end: {due:?} {:?} {:?} {phases:#?} {last:#?}",
            self.in_turn(),
            self.waiting()
        );
    }

    fn due(&self) -> Vec<Due> {
        let yard = Yard { depth: self.depth, is_taken: &|_, _| true, aside: &self.aside };
        flight::due_in(&self.fixture.flight, &self.fixture.waypoints, self.fixture.now, &yard)
    }

    fn in_turn(&self) -> Vec<&'static str> {
        let of_agents = |name: &&str| self.fixture.open_turn(name).is_some_and(|open| !open.people);
        NAMES.into_iter().filter(of_agents).collect()
    }

    /// What only waits for an answer or an approval.
    fn waiting(&self) -> Vec<&'static str> {
        NAMES.into_iter().filter(|name| self.fixture.status(name) == Status::Waiting).collect()
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Due(n, how) => {
                let due = self.due();
                if let Some(due) = pick(&due, *n) {
                    self.act(due, *how);
                }
            }
            Event::Reload(how) => self.reload(*how),
            Event::Wait(minutes) => {
                self.fixture.now = self.fixture.now.after(Duration::from_secs(60 * u64::from(*minutes)));
            }
            Event::Overdue(n) => self.overdue(*n),
            Event::Crash => {
                self.aside.clear();
                self.fixture.crash();
            }
            Event::Again(n) => {
                if let Some((name, input)) = pick(&self.sent, *n).cloned() {
                    let taken = self.fixture.feed(name, input);
                    assert!(!matches!(taken, Taken::Appended(_)), "a handoff that came before was taken again");
                }
            }
            Event::Late(n) => self.late(*n),
            Event::Die(n, count) => {
                let Some(name) = pick(&self.in_turn(), *n).copied() else { return };
                if *count > 210 {
                    let taken = self.fixture.feed(name, Input::TooLarge(Oversize { bytes: 9 << 20, most: 8 << 20 }));
                    assert!(matches!(taken, Taken::Appended(_)), "{taken:?}");
                    return;
                }
                let turn = self.fixture.turn(name);
                let cause = self.fixture.cause(&turn.role);
                let agent = |delivery: u32| format!("agent-{delivery}").parse().expect("an id");
                let deaths = (1..=u32::from(*count % 5)).map(|delivery| Death { delivery, agent: agent(delivery) });
                let died = Died { turn: turn.turn_id, cause, deaths: deaths.collect() };
                let taken = self.fixture.feed(name, Input::Died(died));
                // Work is not held when advisors die: after the deadline a person is asked.
                let is_held = count % 5 >= 3 && turn.role.as_str() != role::ADVISOR;
                assert_eq!(matches!(taken, Taken::Appended(_)), is_held, "{taken:?}");
            }
            Event::Person(n, how) => {
                let Some(name) = pick(&NAMES, *n).copied() else { return };
                self.person(name, *how);
            }
            Event::Cancel(n) => {
                let Some(name) = pick(&NAMES, *n).copied() else { return };
                let act = self.fixture.cancel_act(name);
                self.send(name, act);
            }
            Event::Steer(how) => {
                let verb = match how % 16 {
                    0 => Verb::Cancel,
                    1..8 => Verb::Pause,
                    _ => Verb::Resume,
                };
                // A flight in this state already refuses.
                let _ = self.fixture.steer(verb);
            }
            Event::Answer(n, _) | Event::Ask(n, _) | Event::Impostor(n) => {
                // A turn's result is kept until a paused flight goes on.
                if self.fixture.flight.steering.is_paused() {
                    return;
                }
                let Some(name) = pick(&self.in_turn(), *n).copied() else { return };
                match event {
                    Event::Answer(_, how) => self.answer(name, *how),
                    Event::Ask(_, how) => self.ask(name, *how),
                    _ => self.impostor(name),
                }
            }
        }
    }

    /// Time passes until a turn is overdue that agents or people have.
    fn overdue(&mut self, n: usize) {
        let steering = &self.fixture.flight.steering;
        let open: Vec<&str> = NAMES.into_iter().filter(|name| self.fixture.open_turn(name).is_some()).collect();
        let Some(name) = pick(&open, n).filter(|_| !steering.is_paused() && steering.cancelled.is_none()) else {
            return;
        };
        let open = self.fixture.open_turn(name).expect("a turn is open");
        let deadline = self.fixture.flight.deadline_of(&open, self.fixture.now);
        self.fixture.now = self.fixture.now.max(deadline);
        self.act(&Due::Deadline(id(name), open.turn), 0);
    }

    /// A flight by workflows of its own goes on by others; what they move is moved before anything else happens.
    fn reload(&mut self, how: u8) {
        if self.fixture.flight.steering.is_paused() || self.fixture.reload(ADA, &[declared_later(how)]).is_err() {
            return;
        }
        while let Some(due) = self.due().into_iter().find(|due| matches!(due, Due::Migrate(_))) {
            self.act(&due, 0);
        }
    }

    /// Does something that is due; it always gets further, or the shell would do it for ever.
    fn act(&mut self, due: &Due, how: u8) {
        let fixture = &mut self.fixture;
        let taken = match due {
            Due::Land(name) if how % 4 == 3 => fixture.feed(name.as_str(), Input::LandingFailed("no room".to_owned())),
            Due::Land(name) => {
                self.aside.clear();
                return fixture.land(name.as_str());
            }
            Due::Stack(name) if how % 4 == 3 => {
                let aside = if how & 16 == 0 { Aside::Passed } else { Aside::First };
                self.aside.insert(name.clone(), aside);
                return;
            }
            Due::Stack(name) => fixture.stack(name.as_str()),
            Due::Merge(name) if how % 8 == 1 => fixture.merged(name.as_str(), Merge::Contained),
            Due::Merge(name) => fixture.merge(name.as_str(), how & 1 == 0),
            Due::Deadline(name, turn) => {
                let last = fixture.turn(name.as_str());
                assert_eq!(&last.turn_id, turn);
                fixture.feed(name.as_str(), Input::DeadlinePassed(Box::new(last)))
            }
            Due::Budget(name) => fixture.feed(name.as_str(), Input::BudgetExhausted),
            Due::Migrate(name) => fixture.migrate(name.as_str()),
            Due::Open(name) => fixture.feed(name.as_str(), Input::Open),
            Due::Join(name) => return fixture.fork(name.as_str()),
            Due::Unanswered(name) => fixture.feed(name.as_str(), Input::AnswerOverdue),
            Due::Cancel(name) => fixture.end_with_flight(name.as_str()),
        };
        assert!(matches!(taken, Taken::Appended(_)), "{due:?} was due and came to {taken:?}");
    }

    fn send(&mut self, name: &'static str, input: Input) -> Taken {
        self.sent.push((name, input.clone()));
        self.fixture.feed(name, input)
    }

    fn answer(&mut self, name: &'static str, how: u8) {
        let open = self.fixture.open_turn(name).expect("a turn is open");
        self.fixture.metered = (how & 32 == 0).then(|| {
            Box::new(Metered { cost_micro_usd: (how & 64 == 0).then_some(u64::from(how)), ..Metered::default() })
        });
        let input = match open.purpose {
            Purpose::Build => {
                // A build artifact always says what was metered, if only that it was not.
                self.fixture.metered.get_or_insert_default();
                let outcome = self.outcome(how, open.allowance.is_some());
                Input::Built(self.fixture.handoff(name, outcome))
            }
            Purpose::Verify(_) => {
                let mut report = sound_report(&self.fixture.turn(name));
                spoil(&mut report, how);
                self.fixture.reported(name, report)
            }
            Purpose::Complete => self.fixture.fulfilment(name, |completion| vary(completion, how)),
            // An advisor can help, fail, or say that it cannot; it sends nothing back.
            Purpose::Advise => {
                self.fixture.advice(name, |completion| vary(completion, if how % 8 < 3 { 5 } else { how }))
            }
        };
        self.send(name, input);
    }

    fn outcome(&mut self, how: u8, limited: bool) -> BuildOutcome {
        match how % 8 {
            1 => BuildOutcome::Work { commit: None, violations: Vec::new() },
            2 => failure(ReasonCode::AgentFailed),
            3 => self.fixture.work(vec![Violation { kind: ViolationKind::OutOfScope, path: "x".to_owned() }]),
            4 if how > 128 => failure(ReasonCode::NotExecutable),
            5 if limited && how > 128 => failure(ReasonCode::BudgetExhausted),
            6 if limited && how > 128 => match failure(ReasonCode::BudgetExhausted) {
                BuildOutcome::Failed(reached) => BuildOutcome::Stopped(reached, self.fixture.commit()),
                other => other,
            },
            _ => self.fixture.work(Vec::new()),
        }
    }

    /// Another answer to some turn that was opened once, open or not.
    fn late(&mut self, n: usize) {
        let turns: Vec<_> = self.fixture.trace.iter().filter(|t| matches!(t.entry, Entry::Turn(_))).collect();
        let Some(once) = pick(&turns, n) else { return };
        let Entry::Turn(turn) = once.entry.clone() else { return };
        let name = NAMES.into_iter().find(|n| id(n) == once.waypoint).expect("one of the flight's");
        let is_open = self.fixture.open_turn(name).is_some_and(|open| open.turn == turn.turn_id);
        let body = self.fixture.work(Vec::new());
        let agent = "agent-1".parse().unwrap();
        let cause = self.fixture.cause(&turn.role);
        let handoff = Handoff {
            turn: turn.turn_id,
            role: turn.role,
            agent,
            cause,
            told: None,
            metered: Some(Box::default()),
            body,
        };
        let taken = self.send(name, Input::Built(handoff));
        assert!(is_open || matches!(taken, Taken::Refused(_)), "a closed turn took {taken:?}");
    }

    /// The agent of an open turn asks; a builder may hand its work in progress along.
    fn ask(&mut self, name: &'static str, how: u8) {
        let kind = if how.is_multiple_of(4) { QuestionKind::Help } else { QuestionKind::Clarification };
        if how & 1 == 1 && self.end_with_what_waited(name) {
            return;
        }
        let work = (how & 8 == 8).then(|| self.fixture.commit());
        let builds = self.fixture.open_turn(name).is_some_and(|open| open.purpose == Purpose::Build);
        let words = match (how & 2, builds) {
            (2, _) => "by policy?",
            (_, true) => NARRATIVE,
            (_, false) => "which evidence?",
        };
        let input = self.fixture.question(name, kind, words, work);
        let Input::Asked(mut asked) = input else { unreachable!("a question is asked") };
        if kind == QuestionKind::Clarification {
            asked.body.ends = match how / 16 % 4 {
                0 | 1 => Ends::NotBefore(self.fixture.now.after(Duration::from_secs(60))),
                2 => Ends::TurnAfterAll,
                _ => Ends::Turn,
            };
        }
        self.send(name, Input::Asked(asked));
    }

    /// The turn ends with the last question that waited in it, answered or not; whether there is one.
    fn end_with_what_waited(&mut self, name: &'static str) -> bool {
        let last = self.fixture.open_turn(name).and_then(|open| open.questions.last().cloned());
        let asked = self.fixture.trace.iter().rev().find_map(|transition| match &transition.input {
            Input::Asked(asked) => last.as_ref().filter(|last| last.asked == asked.cause).map(|_| &asked.body),
            _ => None,
        });
        let Some(question) = asked.map(|asked| asked.question.clone()) else { return false };
        let input = self.fixture.question_that(name, &question, Ends::TurnAfterAll);
        self.send(name, input);
        true
    }

    /// A person does what a waypoint waits for; what does not fit changes nothing.
    fn person(&mut self, name: &'static str, how: u8) {
        let outcome = match how % 8 {
            1 | 2 => Outcome::NeedsReview,
            3 => Outcome::Blocked,
            _ => Outcome::Complete,
        };
        let by = self.judge(name);
        let (fits, act) = match &self.fixture.state(name).phase {
            Phase::InTurn(OpenTurn { purpose: Purpose::Build, taken_by: Some(holder), .. }) => {
                self.taken(name, holder.as_str(), how)
            }
            Phase::InTurn(OpenTurn { purpose: Purpose::Verify(_), taken_by: Some(holder), .. }) => {
                let verdict = if how % 8 == 1 { Verdict::Fail } else { Verdict::Pass };
                (
                    how != 2,
                    self.fixture.judge_act(name, holder.as_str(), if how == 2 { &[] } else { &["read"] }, verdict),
                )
            }
            Phase::InTurn(OpenTurn { taken_by: Some(holder), gate, .. }) => {
                let sends_back = outcome == Outcome::NeedsReview && gate.as_str() == POLISH;
                (!sends_back, self.fixture.completion(name, holder.as_str(), outcome))
            }
            Phase::InTurn(open) if waits_to_be_taken(open) => (true, self.fixture.take_act(name, by)),
            Phase::InTurn(open) if how % 4 == 3 && self.can_be_taken(name, open) => {
                (true, self.fixture.take_act(name, by))
            }
            Phase::Waiting(_) => (
                true,
                self.fixture.answer_act(name, ADA, |answer| {
                    answer.updated_constraints.extend((how & 4 == 4).then(|| "keep it small".to_owned()));
                }),
            ),
            Phase::InTurn(open) if open.asking().is_some() => (true, self.fixture.answer_act(name, ADA, |_| {})),
            Phase::InTurn(open) if open.people => (true, self.fixture.completion(name, by, outcome)),
            Phase::Held(_) => (true, self.fixture.retry_act(name, |retry| retry.reworks = u32::from(how % 2))),
            _ => (false, self.fixture.completion(name, ADA, outcome)),
        };
        let over = self.fixture.flight.wall_end(self.fixture.now).is_some_and(|end| end <= self.fixture.now);
        let taken = self.send(name, act);
        let is_taken = matches!(taken, Taken::Appended(_));
        assert!(is_taken == fits || over && !is_taken, "{taken:?}");
    }

    fn can_be_taken(&self, name: &str, open: &OpenTurn) -> bool {
        self.fixture.flight.submitted.plan.waypoint(&id(name)).is_some_and(|planned| can_be_taken(open, planned))
    }

    /// A person who may judge the work.
    fn judge(&self, name: &str) -> &'static str {
        let made = self.fixture.state(name).work.is_some_and(|work| work.makers().any(|maker| maker.as_str() == ADA));
        if made { BOB } else { ADA }
    }

    /// A person answers a build turn that was taken over; whether it is an answer.
    fn taken(&mut self, name: &str, holder: &str, how: u8) -> (bool, Input) {
        match how % 8 {
            1 => (true, self.fixture.release_act(name, holder)),
            2 => (false, self.fixture.release_act(name, "human-eve")),
            3 => (false, self.fixture.hand_in_act(name, holder, failure(ReasonCode::HandoffInvalid))),
            4 => (false, self.fixture.take_act(name, holder)),
            _ => {
                let work = self.outcome(if how == 0 { 0 } else { 3 }, false);
                (true, self.fixture.hand_in_act(name, holder, work))
            }
        }
    }

    /// A role answers that the turn does not belong to.
    fn impostor(&mut self, name: &'static str) {
        let own = self.fixture.open_turn(name).expect("a turn is open").role;
        for other in role::AGENTS.into_iter().map(role::id).filter(|r| *r != own) {
            let work = self.fixture.work(Vec::new());
            let built = Handoff { role: other, ..self.fixture.handoff(name, work) };
            let taken = self.send(name, Input::Built(built));
            assert!(matches!(taken, Taken::Refused(_)), "an impostor's handoff came to {taken:?}");
        }
    }

    /// The public status of every waypoint.
    pub(crate) fn statuses(&self) -> Vec<(&'static str, Status)> {
        NAMES.into_iter().map(|name| (name, self.fixture.status(name))).collect()
    }
}

/// Half of all completions let the work go on, and each is one that is taken.
fn vary(completion: &mut Completion, how: u8) {
    let mut say = |outcome, blockers: &[&str]| {
        completion.outcome = outcome;
        completion.blockers = blockers.iter().map(|&blocker| blocker.to_owned()).collect();
    };
    match how % 8 {
        1 | 2 => say(Some(Outcome::NeedsReview), &["name it better"]),
        3 => say(Some(Outcome::Blocked), &["nobody knows"]),
        4 => say(None, &[]),
        5 => {
            let reason = if how > 128 { ReasonCode::NotExecutable } else { ReasonCode::AgentTimeout };
            completion.failure = Some(Failure { reason, detail: "it slept".to_owned() });
        }
        _ => {}
    }
}

fn pick<T>(items: &[T], n: usize) -> Option<&T> {
    items.get(n.checked_rem(items.len())?)
}

/// Half of all reports are sound.
fn spoil(report: &mut VerificationReport, how: u8) {
    let violation = || Violation { kind: ViolationKind::Steering, path: "Makefile".to_owned() };
    match how % 16 {
        1 => report.criteria.iter_mut().for_each(|c| c.result.verdict = Verdict::Fail),
        2 => report.criteria.iter_mut().for_each(|c| c.result.verdict = Verdict::Pass),
        3 => report.criteria.iter_mut().for_each(|c| c.result.verdict = Verdict::Inconclusive),
        4 => report.criteria.iter_mut().for_each(|c| c.result.evidence.clear()),
        5 => report.guards.iter_mut().for_each(|g| g.result.verdict = Verdict::Fail),
        6 => report.violations.push(violation()),
        7 => report.doubts.push(Doubt { blocking: true, text: "which?".to_owned() }),
        8 => report.tree = oid(0xdead),
        9 => drop(report.criteria.pop()),
        10 => report.criteria.extend(report.criteria.clone()),
        11 => report.guards.clear(),
        _ => {}
    }
}
