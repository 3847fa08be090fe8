//! Random histories of a flight: agents that answer well, badly, late, twice and on each other's behalf, in any order,
//! while memory is lost and time passes.

mod random;

use std::{collections::BTreeMap, time::Duration};

use super::{
    desk::{ADA, BOB},
    fixture::{Fed, Fixture},
    parts::{NARRATIVE, failure, failure_with, id, oid, sound_report},
};
use crate::{
    flight::{self, Due, QueueContext},
    waypoint::{
        BuildOutcome, Died, Ends, Handoff, Input, MergeResult, MergesAlone, Oversize, can_be_taken, waits_to_be_taken,
    },
};
use holdpoint_protocol::{
    artifact::{Completion, Doubt, Failure, Metered, Verb, VerificationReport},
    facts::{Verdict, Violation, ViolationKind},
    ids::{WaypointId, role},
    journal::{Death, Entry},
    reason::ReasonCode,
    state::{OpenTurn, Outcome, Phase, Purpose, QuestionKind, Status, TurnHolder},
};
pub use random::{HistoryEvent, NAMES, Setup, events, setup};
use random::{POLISH, declared_later, flown, reviewed};

/// A history as it went.
pub struct Story {
    pub fixture: Fixture,
    /// Every handoff that was sent.
    pub sent: Vec<(&'static str, Input)>,
    /// How long the merge queue may be.
    depth: usize,
    /// What could not be merged behind the queue since the head moved last.
    aside: BTreeMap<WaypointId, MergesAlone>,
}

impl Story {
    /// Lets everything happen in turn.
    pub fn tell(setup: &Setup, events: &[HistoryEvent]) -> Self {
        let (plan, fleet) = flown(setup);
        let mut fixture = Fixture::flown_by(plan, fleet, &[reviewed()]);
        fixture.queues = true;
        // A third of the orchestrators make one merge at a time.
        let depth = 1 + setup.max_reworks as usize % 3;
        let mut story = Self { fixture, sent: Vec::new(), depth, aside: BTreeMap::new() };
        for event in events {
            story.happen(event);
        }
        story
    }

    /// From now on agents answer well, until nothing is left to do.
    pub fn calm_down(&mut self) {
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
        let context =
            QueueContext { depth: self.depth, is_taken: &|_, _| true, aside: &self.aside, is_put_off: &|_| false };
        flight::due_in(&self.fixture.flight, &self.fixture.waypoints, self.fixture.now, &context)
    }

    fn in_turn(&self) -> Vec<&'static str> {
        let of_agents = |name: &&str| self.fixture.open_turn(name).is_some_and(|open| !open.is_peoples());
        NAMES.into_iter().filter(of_agents).collect()
    }

    /// What only waits for an answer or an approval.
    fn waiting(&self) -> Vec<&'static str> {
        NAMES.into_iter().filter(|name| self.fixture.status(name) == Status::Waiting).collect()
    }

    fn happen(&mut self, event: &HistoryEvent) {
        match event {
            HistoryEvent::Due(n, how) => {
                let due = self.due();
                if let Some(due) = pick(&due, *n) {
                    self.act(due, *how);
                }
            }
            HistoryEvent::Reload(how) => self.reload(*how),
            HistoryEvent::Wait(minutes) => {
                self.fixture.now = self.fixture.now.after(Duration::from_secs(60 * u64::from(*minutes)));
            }
            HistoryEvent::Overdue(n) => self.overdue(*n),
            HistoryEvent::Crash => {
                self.aside.clear();
                self.fixture.crash();
            }
            HistoryEvent::Again(n) => {
                if let Some((name, input)) = pick(&self.sent, *n).cloned() {
                    let taken = self.fixture.feed(name, input);
                    assert!(!matches!(taken, Fed::Appended(_)), "a handoff that came before was taken again");
                }
            }
            HistoryEvent::Late(n) => self.late(*n),
            HistoryEvent::Die(n, count) => {
                let Some(name) = pick(&self.in_turn(), *n).copied() else { return };
                if *count > 210 {
                    let taken = self.fixture.feed(name, Input::TooLarge(Oversize { bytes: 9 << 20, most: 8 << 20 }));
                    assert!(matches!(taken, Fed::Appended(_)), "{taken:?}");
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
                assert_eq!(matches!(taken, Fed::Appended(_)), is_held, "{taken:?}");
            }
            HistoryEvent::Person(n, how) => {
                let Some(name) = pick(&NAMES, *n).copied() else { return };
                self.person(name, *how);
            }
            HistoryEvent::Cancel(n) => {
                let Some(name) = pick(&NAMES, *n).copied() else { return };
                let act = self.fixture.cancel_act(name);
                self.send(name, act);
            }
            HistoryEvent::Steer(how) => {
                let verb = match how % 16 {
                    0 => Verb::Cancel,
                    1..8 => Verb::Pause,
                    _ => Verb::Resume,
                };
                // A flight in this state already refuses.
                let _ = self.fixture.steer(verb);
            }
            HistoryEvent::Answer(n, _) | HistoryEvent::Ask(n, _) | HistoryEvent::Impostor(n) => {
                // A turn's result is kept until a paused flight goes on.
                if self.fixture.flight.steering.is_paused() {
                    return;
                }
                let Some(name) = pick(&self.in_turn(), *n).copied() else { return };
                match event {
                    HistoryEvent::Answer(_, how) => self.answer(name, *how),
                    HistoryEvent::Ask(_, how) => self.ask(name, *how),
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
                let aside = if how & 16 == 0 { MergesAlone::Passed } else { MergesAlone::First };
                self.aside.insert(name.clone(), aside);
                return;
            }
            Due::Stack(name) => fixture.stack(name.as_str()),
            Due::Judge(name) => fixture.judge(name.as_str()),
            Due::Merge(name) if how % 8 == 1 => fixture.merged(name.as_str(), MergeResult::Contained),
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
            Due::Delegate(name) => return fixture.add_children(name.as_str()),
            Due::Gather(name) => fixture.feed(name.as_str(), Input::Gathered),
            Due::Recall(name) => fixture.feed(name.as_str(), Input::Recalled),
            Due::Cancel(name) => fixture.end_with_flight(name.as_str()),
        };
        assert!(matches!(taken, Fed::Appended(_)), "{due:?} was due and came to {taken:?}");
    }

    fn send(&mut self, name: &'static str, input: Input) -> Fed {
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
            2 => failure_with(ReasonCode::AgentFailed, (how & 64 == 0).then(|| self.fixture.commit())),
            3 => self.fixture.work(vec![Violation { kind: ViolationKind::OutOfScope, path: "x".to_owned() }]),
            4 if how > 128 => failure(ReasonCode::NotExecutable),
            5 if limited && how > 128 => failure(ReasonCode::BudgetExhausted),
            6 if limited && how > 128 => failure_with(ReasonCode::BudgetExhausted, Some(self.fixture.commit())),
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
            left_out: Vec::new(),
            body,
        };
        let taken = self.send(name, Input::Built(handoff));
        assert!(is_open || matches!(taken, Fed::Refused(_)), "a closed turn took {taken:?}");
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
            Phase::InTurn(OpenTurn {
                purpose: Purpose::Build, holder: TurnHolder::Person { name: holder }, ..
            }) => self.taken(name, holder.as_str(), how),
            Phase::InTurn(OpenTurn {
                purpose: Purpose::Verify(_),
                holder: TurnHolder::Person { name: holder },
                ..
            }) => {
                let verdict = if how % 8 == 1 { Verdict::Fail } else { Verdict::Pass };
                (
                    how != 2,
                    self.fixture.judge_act(name, holder.as_str(), if how == 2 { &[] } else { &["read"] }, verdict),
                )
            }
            Phase::InTurn(OpenTurn { holder: TurnHolder::Person { name: holder }, gate, .. }) => {
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
            Phase::InTurn(open) if open.is_peoples() => (true, self.fixture.completion(name, by, outcome)),
            Phase::Held(_) => (true, self.fixture.retry_act(name, |retry| retry.reworks = u32::from(how % 2))),
            _ => (false, self.fixture.completion(name, ADA, outcome)),
        };
        let over = self.fixture.flight.wall_end(self.fixture.now).is_some_and(|end| end <= self.fixture.now);
        let taken = self.send(name, act);
        let is_taken = matches!(taken, Fed::Appended(_));
        assert!(is_taken == fits || over && !is_taken, "{taken:?}");
    }

    fn can_be_taken(&self, name: &str, open: &OpenTurn) -> bool {
        self.fixture.flight.planned(&id(name)).is_some_and(|planned| can_be_taken(open, planned))
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
            assert!(matches!(taken, Fed::Refused(_)), "an impostor's handoff came to {taken:?}");
        }
    }

    /// The public status of every waypoint.
    pub fn statuses(&self) -> Vec<(&'static str, Status)> {
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
        7 => report.doubts.push(Doubt::blocking("which?".to_owned())),
        8 => report.tree = oid(0xdead),
        9 => drop(report.criteria.pop()),
        10 => report.criteria.extend(report.criteria.clone()),
        11 => report.guards.clear(),
        12 => report.doubts.push(Doubt::suspicious("who calls?".to_owned())),
        _ => {}
    }
}
