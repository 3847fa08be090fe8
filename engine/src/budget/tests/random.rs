//! Whatever orchestrators do, and whenever they die, a flight uses up no more than it may.

use super::*;

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
            let cx =
                StepContext { flight: &self.flight, waypoint: planned, workflow, now, conditions: &[], is_first: true };
            match waypoint::step(&state, input.clone(), &cx, &fresh) {
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
            let ends = waypoint::Ends::NotBefore(now);
            let (kind, question, options) = (QuestionKind::Clarification, "which?".to_owned(), Vec::new());
            let asked = waypoint::AgentQuestion {
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
        let limit = submitted.budget.limits(&submitted.submitted.plan.budget).cost_micro_usd.unwrap();
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
