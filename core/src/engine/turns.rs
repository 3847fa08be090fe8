//! Building turns: everything an agent is told, from the flight's and the waypoint's state.

use std::time::Duration;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{GuidancePacket, Origin, VerificationPurpose, VerificationRequest},
    facts::{BundleRef, Oid},
    ids::{RoleId, role},
    journal::{Cause, Entry, Record},
    plan::{Check, Criterion, Plan, Priority, TurnBudget},
    state::{OpenTurn, Phase, Purpose, WaypointState},
    subjects,
    time::Millis,
    turn::{BuildRequest, Feedback, Turn, TurnRequest},
    version,
};

use super::{
    Context, Fresh, Step,
    draft::{decision, enter_gate, remember},
};
use crate::{gates::Gate, policy::Ruling};

/// The wall time a build turn may take unless the plan says otherwise (contract, "`command` backend").
const BUILD_WALL_DEFAULT: Duration = Duration::from_secs(30 * 60);
/// What a judge's program may take for one criterion: the same default as a build turn's.
const JUDGE_WALL: Duration = BUILD_WALL_DEFAULT;
/// What `prepare` may take on one tree: it fetches what a whole project needs.
const PREPARE_WALL: Duration = Duration::from_secs(30 * 60);
/// How often one check may run for one verdict: on the tree, on the base, with the tests as on the base.
const RUNS_PER_CHECK: u32 = 3;
/// What a turn's clone, checkout and upload may take beside its work.
const OVERHEAD: Duration = Duration::from_secs(10 * 60);

/// How a turn is opened.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) purpose: Purpose,
    /// The gate; `None`: the first.
    pub(super) gate: Option<Gate>,
    /// The handoff that led here.
    pub(super) cause: Option<Cause>,
    /// The decision that led here.
    pub(super) ruling: Option<Ruling>,
    pub(super) feedback: Option<Feedback>,
    /// The role `repair` takes the turn in place of the gate's.
    pub(super) repair: bool,
}

impl Opening {
    pub(super) fn first(purpose: Purpose) -> Self {
        Self { purpose, gate: None, cause: None, ruling: None, feedback: None, repair: false }
    }
}

/// Opens a turn from the state `next`, whose base and work are settled.
pub(super) fn open(mut next: WaypointState, opening: Opening, cx: &Context<'_>, fresh: &Fresh) -> Step {
    let open = open_turn(&opening, cx, fresh);
    enter_gate(&mut next, &open, cx);
    if let Some(ruling) = &opening.ruling {
        remember(&mut next, ruling, fresh);
    }
    next.phase = Phase::InTurn(open.clone());
    let flight = &cx.flight.submitted.flight;
    let turn = Turn {
        schema_version: version::CURRENT,
        turn_id: open.turn.clone(),
        flight: flight.clone(),
        waypoint: cx.waypoint.id.clone(),
        gate: open.gate.clone(),
        role: open.role.clone(),
        attempt: next.counters.attempts + 1,
        deadline: open.deadline,
        handoff_subject: subjects::handoff_prefix(&open.role, flight, &cx.waypoint.id),
        guidance: guidance(&open.role, cx, fresh),
        request: match open.purpose {
            Purpose::Build => TurnRequest::Build(Box::new(build_request(&next, opening.feedback, cx))),
            Purpose::Verify(purpose) => TurnRequest::Verify(Box::new(verify_request(&next, purpose, cx, fresh))),
        },
        decision: opening.ruling.as_ref().map(|r| decision(r, opening.cause.as_ref(), None, cx, fresh)),
        record: Record { at: cx.now, previous: None, cause: opening.cause, state: Some(next), asked_by: None },
    };
    Step::Append(Box::new(Entry::Turn(Box::new(turn))))
}

/// In which of its role's queues a turn stands. Every landing waits for the merge that is being verified, also that of
/// the most urgent work: it goes first.
#[must_use]
pub fn queue(turn: &Turn, planned: Priority) -> Priority {
    match &turn.request {
        TurnRequest::Verify(request) if request.purpose == VerificationPurpose::Merge => Priority::Critical,
        TurnRequest::Verify(_) | TurnRequest::Build(_) => planned,
    }
}

/// Opens the same turn anew, with another token, after its deadline: what it asks stays as it was.
pub(super) fn open_anew(
    mut next: WaypointState,
    expired: &OpenTurn,
    turn: Turn,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> Step {
    let open = OpenTurn {
        turn: fresh.turn.clone(),
        opened_at: cx.now,
        deadline: deadline(expired.purpose, cx),
        ..expired.clone()
    };
    enter_gate(&mut next, &open, cx);
    next.phase = Phase::InTurn(open.clone());
    let record = Record { at: cx.now, previous: None, cause: None, state: Some(next), asked_by: None };
    let turn = Turn { turn_id: open.turn, deadline: open.deadline, decision: None, record, ..turn };
    Step::Append(Box::new(Entry::Turn(Box::new(turn))))
}

fn open_turn(opening: &Opening, cx: &Context<'_>, fresh: &Fresh) -> OpenTurn {
    let first = cx.workflow.first();
    let role = match opening.purpose {
        Purpose::Verify(_) => role::id(role::VERIFIER),
        Purpose::Build if opening.repair => role::id(role::REPAIR),
        Purpose::Build => first.role.clone(),
    };
    OpenTurn {
        turn: fresh.turn.clone(),
        role,
        gate: opening.gate.as_ref().unwrap_or(first).id.clone(),
        purpose: opening.purpose,
        opened_at: cx.now,
        deadline: deadline(opening.purpose, cx),
    }
}

fn deadline(purpose: Purpose, cx: &Context<'_>) -> Timestamp {
    let work = match purpose {
        Purpose::Build => build_wall(cx).duration(),
        Purpose::Verify(_) => verification_time(cx),
    };
    cx.now.after(work + OVERHEAD + cx.flight.submitted.fleet.queue_grace.duration())
}

/// The wall time of a build turn's program: the plan's, or the fleet's.
fn build_wall(cx: &Context<'_>) -> Millis {
    cx.waypoint.budget.wall.unwrap_or(cx.flight.submitted.fleet.build_wall)
}

/// The longest that preparing, checks and judge of a verification may take together.
fn verification_time(cx: &Context<'_>) -> Duration {
    let run = |check: &Check| check.timeout.duration() * RUNS_PER_CHECK;
    let criteria = cx.waypoint.criteria.iter().map(|c| c.check.as_ref().map_or(JUDGE_WALL, run));
    let guards = cx.flight.submitted.plan.guards.iter().map(|g| run(&g.check));
    let prepare = cx.flight.submitted.plan.prepare.as_ref().map(|_| PREPARE_WALL * RUNS_PER_CHECK);
    criteria.chain(guards).chain(prepare).sum()
}

fn origin(id: &holdpoint_protocol::ids::ArtifactId, cx: &Context<'_>) -> Origin {
    Origin {
        artifact_id: id.clone(),
        waypoint_id: cx.waypoint.id.clone(),
        produced_by_role: role::id(role::ORCHESTRATOR),
        produced_at: cx.now,
        source_refs: vec![cx.flight.submitted.covenant_version.to_string()],
    }
}

/// The digest of the rules that a plan is flown by.
#[must_use]
pub fn policy_hash(plan: &Plan) -> Digest {
    let rules = serde_json::to_vec(&(&plan.policy, &plan.protected, &plan.guards, &plan.sources))
        .expect("plain data with string keys has a JSON form");
    Digest::of(&rules)
}

fn guidance(to: &RoleId, cx: &Context<'_>, fresh: &Fresh) -> GuidancePacket {
    let (constraints, stops): (&[&str], &[&str]) = match to.as_str() {
        role::VERIFIER => (
            &["judge by evidence only", "change nothing", "name evidence for every verdict"],
            &["every criterion and guard has a verdict", "the deadline passes"],
        ),
        role::REPAIR => (
            &["mend what failed, nothing else", "stay inside the scope", "weaken no test"],
            &["the failing criteria are mended", "the budget is used up"],
        ),
        _ => (
            &["stay inside the scope", "weaken no test", "change no protected or steering file"],
            &["the criteria are met", "the budget is used up"],
        ),
    };
    let words = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    GuidancePacket::new(
        origin(&fresh.guidance, cx),
        cx.flight.submitted.covenant_version,
        policy_hash(&cx.flight.submitted.plan),
        words(constraints),
        words(stops),
    )
}

/// The commit and the bundles of what was last handed off, or of the base.
fn start(next: &WaypointState, cx: &Context<'_>) -> (Oid, Oid, Vec<BundleRef>) {
    let base = next.base.clone().unwrap_or_else(|| cx.flight.head().clone());
    let mut bundles = cx.flight.bundles_up_to(&base);
    let handed_off = next.work.as_ref().and_then(|w| Some((w.commit.clone()?, w.bundle.clone()?)));
    let Some((commit, bundle)) = handed_off else { return (base.clone(), base, bundles) };
    bundles.push(bundle);
    (base, commit, bundles)
}

fn protected(cx: &Context<'_>) -> Vec<String> {
    cx.flight.submitted.plan.protected.iter().chain(&cx.waypoint.protected).cloned().collect()
}

fn build_request(next: &WaypointState, feedback: Option<Feedback>, cx: &Context<'_>) -> BuildRequest {
    let (base, start, bundles) = start(next, cx);
    BuildRequest {
        title: cx.waypoint.title.clone(),
        goal: cx.waypoint.goal.clone(),
        criteria: cx.waypoint.criteria.clone(),
        scope: cx.waypoint.scope.clone(),
        protected: protected(cx),
        sources: cx.flight.submitted.plan.sources.clone(),
        covenant: cx.flight.submitted.covenant.clone(),
        base,
        start,
        bundles,
        feedback,
        budget: TurnBudget { wall: Some(build_wall(cx)), ..cx.waypoint.budget.clone() },
        tests: cx.waypoint.tests.clone(),
    }
}

/// The criteria that a verification is about: on the base those that must be red there, else all.
pub(super) fn criteria(purpose: VerificationPurpose, cx: &Context<'_>) -> Vec<Criterion> {
    let red_first = |c: &&Criterion| c.check.as_ref().is_some_and(|k| k.red_first);
    match purpose {
        VerificationPurpose::Baseline => cx.waypoint.criteria.iter().filter(red_first).cloned().collect(),
        VerificationPurpose::Handoff | VerificationPurpose::Merge => cx.waypoint.criteria.clone(),
    }
}

fn verify_request(
    next: &WaypointState,
    purpose: VerificationPurpose,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> VerificationRequest {
    let (base, commit, bundles) = start(next, cx);
    let base_tree = cx.flight.tree_of(&base).unwrap_or_else(|| cx.flight.head_tree()).clone();
    let baseline = purpose == VerificationPurpose::Baseline;
    let tree = next.work.as_ref().filter(|_| !baseline).map_or(base_tree, |w| w.tree.clone());
    VerificationRequest::new(
        origin(&fresh.request, cx),
        purpose,
        base,
        commit,
        tree,
        bundles,
        criteria(purpose, cx),
        cx.flight.submitted.plan.guards.clone(),
        cx.flight.submitted.plan.prepare.clone(),
        cx.waypoint.scope.clone(),
        protected(cx),
        cx.flight.submitted.covenant.clone(),
    )
}
