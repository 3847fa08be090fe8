//! The flights that histories are of, and what may happen in them: strategies.

use holdpoint_protocol::{
    budget::OnExceeded,
    ids::role,
    journal::Fleet,
    org::Plane,
    plan::{Answer, Plan},
    time::Millis,
    workflow::{Escalation, GateOrFork, GateSpec, WorkflowSpec},
};
use proptest::prelude::*;

use crate::testing::{
    desk::{ADA, BOB},
    parts::{check, criterion, fleet, guard, plan, to, to_people, waypoint},
};

/// The waypoints of every history: `c` and `d` wait for others.
pub const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// How long a question waits in every history.
const ANSWER_WITHIN: Millis = Millis(3 * 3_600_000);

/// What may differ between flights.
#[derive(Debug, Clone)]
pub struct Setup {
    pub guarded: bool,
    pub red_first: bool,
    pub repair: bool,
    pub parallel: Option<u32>,
    pub max_reworks: u32,
    pub wall: Option<Millis>,
    /// People approve what was verified.
    pub approved: bool,
    /// Agents of a role of the org chart look at what was verified.
    pub reviewed: bool,
    /// Policy answers questions that ask for it.
    pub answers: bool,
    /// What the flight may cost, in millionths of a dollar, and what happens then.
    pub cost: Option<(u16, OnExceeded)>,
    /// How many advisors a round asks, of questions as well.
    pub advisors: u32,
}

/// One thing that happens. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub enum HistoryEvent {
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

pub fn setup() -> impl Strategy<Value = Setup> {
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

pub fn events() -> impl Strategy<Value = Vec<HistoryEvent>> {
    let any_one = any::<usize>;
    let event = prop_oneof![
        12 => (any_one(), any::<u8>()).prop_map(|(n, how)| HistoryEvent::Due(n, how)),
        16 => (any_one(), any::<u8>()).prop_map(|(n, how)| HistoryEvent::Answer(n, how)),
        4 => (any_one(), any::<u8>()).prop_map(|(n, how)| HistoryEvent::Ask(n, how)),
        3 => any_one().prop_map(HistoryEvent::Again),
        2 => any_one().prop_map(HistoryEvent::Late),
        2 => any_one().prop_map(HistoryEvent::Impostor),
        1 => (any_one(), any::<u8>()).prop_map(|(n, count)| HistoryEvent::Die(n, count)),
        7 => (any_one(), any::<u8>()).prop_map(|(n, how)| HistoryEvent::Person(n, how)),
        1 => prop::bool::weighted(0.2).prop_flat_map(move |it_is| {
            let n = any::<usize>();
            if it_is { n.prop_map(HistoryEvent::Cancel).boxed() } else { Just(HistoryEvent::Crash).boxed() }
        }),
        1 => any::<u8>().prop_map(HistoryEvent::Steer),
        1 => any::<u8>().prop_map(HistoryEvent::Reload),
        2 => (1..400_u16).prop_map(HistoryEvent::Wait),
        3 => any_one().prop_map(HistoryEvent::Overdue),
        2 => Just(HistoryEvent::Crash),
    ];
    prop::collection::vec(event, 0..70)
}

pub(super) fn flown(setup: &Setup) -> (Plan, Fleet) {
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
pub(super) const POLISH: &str = "polish";

/// Build, verify, and an agent's look at it, each with a chain for turns that nobody answers in time.
pub(super) fn reviewed() -> WorkflowSpec {
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
pub(super) fn declared_later(how: u8) -> WorkflowSpec {
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
