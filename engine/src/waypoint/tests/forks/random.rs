//! Whatever happens in a fork, in whatever order: the fold and the audit find nothing wrong, and nothing is accepted that
//! its verifier did not pass.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::waypoint::Died;

/// What may happen next, at one of the branches.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Everything due in the fork is done.
    Due,
    /// An agent answers, or a person completes the gate.
    Vote(Outcome),
    /// A verifier's report, which passes or does not.
    Report(bool),
    /// An agent asks, and a person answers.
    Ask,
    Answer,
    /// Nobody answers in time.
    Overdue,
    /// Its agents end again and again.
    Die,
    /// A person has held work tried again.
    Retry,
    /// The process that decides is killed.
    Crash,
    /// The last input comes again.
    Again,
    Cancel,
}

const BRANCHES: [&str; 4] = ["verify", "security", "docs", "approve"];

fn event() -> impl Strategy<Value = (Event, usize)> {
    let event = prop_oneof![
        6 => Just(Event::Due),
        4 => Just(Event::Vote(Outcome::Complete)),
        2 => Just(Event::Vote(Outcome::NeedsReview)),
        1 => Just(Event::Vote(Outcome::Blocked)),
        3 => any::<bool>().prop_map(Event::Report),
        1 => Just(Event::Ask),
        2 => Just(Event::Answer),
        1 => Just(Event::Overdue),
        1 => Just(Event::Die),
        2 => Just(Event::Retry),
        1 => Just(Event::Crash),
        2 => Just(Event::Again),
    ];
    (prop_oneof![60 => event, 1 => Just(Event::Cancel)], 0..BRANCHES.len())
}

struct Course {
    fixture: Fixture,
    last: Option<Input>,
}

impl Course {
    fn new(strategy: JoinStrategy) -> Self {
        let mut spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER)]);
        let branches = vec![verify(), review("security", "security"), review("docs", "writer"), approval()];
        spec.gates.push(fork(strategy, branches));
        let mut fixture = flown(spec);
        fixture.build_ok("w").turn();
        Self { fixture, last: None }
    }

    fn happen(&mut self, event: Event, at: &'static str) {
        let fixture = &mut self.fixture;
        (fixture.at, fixture.agent) = (Some(at), at);
        let open = fixture.open_turn("w");
        let held = matches!(fixture.state("w").phase, Phase::Held(_));
        let input = match (event, &open) {
            (Event::Due, _) => return fixture.fork("w"),
            (Event::Crash, _) => return fixture.crash(),
            (Event::Again, _) => match self.last.clone() {
                Some(again) => {
                    assert!(!matches!(fixture.feed("w", again), Fed::Appended(_)), "it was taken twice");
                    return;
                }
                None => return,
            },
            (Event::Cancel, _) => fixture.cancel_act("w"),
            (Event::Retry, _) if held => fixture.retry_act("w", |retry| retry.reworks = 1),
            (Event::Answer, None) if matches!(fixture.phase("w"), Phase::Waiting(_)) => {
                fixture.answer_act("w", ADA, |_| {})
            }
            (_, None) => return,
            (Event::Overdue, Some(open)) => {
                let turn = fixture.turn("w");
                fixture.now = fixture.now.max(open.deadline);
                Input::DeadlinePassed(Box::new(turn))
            }
            // A builder has nothing to say but work.
            (_, Some(open)) if open.purpose == Purpose::Build => {
                let work = fixture.work(Vec::new());
                Input::Built(fixture.handoff("w", work))
            }
            (Event::Report(passes), Some(open)) if matches!(open.purpose, Purpose::Verify(_)) => {
                let mut report = crate::testing::parts::sound_report(&fixture.turn("w"));
                if !passes {
                    report.criteria[0].result.verdict = Verdict::Fail;
                }
                fixture.reported("w", report)
            }
            (Event::Vote(outcome), Some(open)) if open.is_peoples() => fixture.completion("w", ADA, outcome),
            (Event::Vote(outcome), Some(open)) if open.purpose == Purpose::Complete => {
                fixture.fulfilment("w", |completion| says(completion, at, outcome))
            }
            (Event::Die, Some(open)) if !open.is_peoples() => {
                let (turn, cause) = (open.turn.clone(), fixture.cause(&open.role));
                let death = |delivery| holdpoint_protocol::journal::Death { delivery, agent: "a".parse().unwrap() };
                Input::Died(Died { turn, cause, deaths: (1..=5).map(death).collect() })
            }
            (Event::Ask, Some(open)) if !open.is_peoples() && open.asking().is_none() => {
                let kind = holdpoint_protocol::state::QuestionKind::Clarification;
                fixture.question("w", kind, "which one?", None)
            }
            _ => return,
        };
        if matches!(fixture.feed("w", input.clone()), Fed::Appended(_)) {
            self.last = Some(input);
        }
    }

    fn check(&self) {
        let state = self.fixture.state("w");
        let voters: Vec<_> = state.fork.iter().flat_map(|fork| fork.votes()).map(|(_, vote)| &vote.by).collect();
        assert_eq!(voters.iter().collect::<BTreeSet<_>>().len(), voters.len(), "one agent votes once");
        assert_eq!(state.fork.is_some(), matches!(state.phase, Phase::Forked) || is_held_in_fork(&state));
        if let Phase::Accepted { .. } = state.phase {
            assert!(state.verified.is_some(), "its verifier passed it");
        }
        let open: BTreeSet<_> = state.open_turns().map(|open| &open.gate).collect();
        let visited: BTreeSet<_> = state.history.iter().filter(|v| v.exited.is_none()).map(|v| &v.gate).collect();
        assert_eq!(open, visited, "an open turn is a visit that is open");
    }
}

fn is_held_in_fork(state: &holdpoint_protocol::state::WaypointState) -> bool {
    matches!(state.phase, Phase::Held(_)) && state.fork.is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_a_fork_is_sound(
        strategy in prop_oneof![Just(JoinStrategy::All), Just(JoinStrategy::Any), Just(JoinStrategy::Majority)],
        events in prop::collection::vec(event(), 1..60),
    ) {
        let mut course = Course::new(strategy);
        for (event, at) in events {
            course.happen(event, BRANCHES[at]);
            course.check();
        }
        course.fixture.at = None;
        is_sound(&mut course.fixture);
    }
}
