//! Building turns: everything an agent is told, from the flight's and the waypoint's state.

use std::time::Duration;

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        Clarified, GuidancePacket, GuidancePacketBody, Origin, StatusMutation, VerificationPurpose,
        VerificationRequest, VerificationRequestBody,
    },
    facts::{BundleRef, Oid},
    ids::{RoleId, role},
    journal::{Cause, Entry},
    plan::{Check, Criterion, EvidenceLevel, Plan, Priority, TurnBudget},
    state::{OpenTurn, Outcome, Phase, Purpose, WaypointState},
    subjects,
    time::Millis,
    turn::{BuildRequest, CompletionRequest, Feedback, Turn, TurnRequest},
    version,
    workflow::GateBrief,
};

use super::{
    Context, Fresh, Step, opening,
    transition::{Transition, phase_status},
};
use crate::{
    feedback,
    gates::{Duty, Gate},
    policy::Ruling,
};

/// The wall time a build turn may take unless the plan says otherwise (contract, "`command` backend").
const BUILD_WALL_DEFAULT: Duration = Duration::from_secs(30 * 60);
/// What a judge's program may take for one criterion: the same default as a build turn's.
const JUDGE_WALL: Duration = BUILD_WALL_DEFAULT;
/// What `prepare` may take on one tree: it fetches what a whole project needs.
const PREPARE_WALL: Duration = Duration::from_secs(30 * 60);
/// How often one check may run for one verdict: on the tree, on the base, with the tests as on the base.
const RUNS_PER_CHECK: u32 = 3;
/// How often more with `evidence: strict`: canaries, the base's product, files of the work put back (together as long as one
/// run, and the last may take its own time), and a watched run.
const RUNS_MORE_IF_STRICT: u32 = 5;
/// What a gate that declares no time gives a completion (GATE-15).
const COMPLETION_TIMEOUT: Millis = Millis(3_600_000);
/// What a turn's clone, checkout and upload may take beside its work.
const OVERHEAD: Duration = Duration::from_secs(10 * 60);

/// What a turn that opens is to be.
#[derive(Debug, Clone)]
pub(super) struct Opening<'a> {
    pub(super) gate: &'a Gate,
    pub(super) purpose: Purpose,
    pub(super) feedback: Option<Feedback>,
    /// The role `repair` takes the turn in place of the gate's.
    pub(super) repair: bool,
    /// The role to which the gate escalates has the turn.
    pub(super) escalated: bool,
}

impl<'a> Opening<'a> {
    /// A turn as the gate's duty has it.
    pub(super) fn of(gate: &'a Gate) -> Self {
        Self { gate, purpose: purpose(gate), feedback: None, repair: false, escalated: false }
    }
}

/// Whether the role `repair` takes turns of this gate that opens again.
pub(super) fn is_repaired(gate: &Gate, cx: &Context<'_>) -> bool {
    gate.role.as_str() == role::BUILDER && cx.flight.submitted.fleet.repair
}

/// What an ordinary turn of a gate is for.
pub(super) fn purpose(gate: &Gate) -> Purpose {
    match gate.duty {
        Duty::Make => Purpose::Build,
        Duty::Judge => Purpose::Verify(VerificationPurpose::Handoff),
        Duty::Complete => Purpose::Complete,
    }
}

/// Opens a turn from a state whose base and work are settled.
pub(super) fn open(mut transition: Transition<'_>, opening: Opening<'_>, ruling: Option<&Ruling>) -> Step {
    let (cx, fresh) = (transition.cx, transition.fresh);
    let open = open_turn(&opening, cx, fresh);
    transition.visit(&open);
    transition.forget_prose();
    if let Some(ruling) = ruling {
        transition.remember(ruling);
    }
    transition.next.phase = Phase::InTurn(open.clone());
    let whole = transition.cause.as_ref().map(Cause::reference);
    let feedback = opening.feedback.map(|told| feedback::bounded(told, whole.as_deref()));
    let (feedback, for_build) =
        if open.purpose == opening::BASELINE { (None, feedback.map(Box::new)) } else { (feedback, None) };
    let (from, to) = (phase_status(transition.before), phase_status(&transition.next));
    let status = (from != to).then_some(StatusMutation { from, to });
    let decision = ruling.map(|ruling| transition.decision(ruling, status));
    let (next, flight) = (&transition.next, &cx.flight.submitted.flight);
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
        guidance: guidance(next, &open, cx, fresh),
        request: match open.purpose {
            Purpose::Build => TurnRequest::Build(Box::new(build_request(next, opening.gate, feedback, cx))),
            Purpose::Verify(purpose) => {
                TurnRequest::Verify(Box::new(verify_request(next, opening.gate, purpose, cx, fresh)))
            }
            Purpose::Complete => {
                TurnRequest::Complete(Box::new(completion_request(next, opening.gate, &open.role, feedback, cx)))
            }
        },
        decision,
        for_build,
        record: transition.record(),
    };
    Step::Append(Box::new(Entry::Turn(Box::new(turn))))
}

/// In which of its role's queues a turn stands. Every landing waits for the merge that is being verified, also that of
/// the most urgent work: it goes first.
#[must_use]
pub fn queue(turn: &Turn, planned: Priority) -> Priority {
    match &turn.request {
        TurnRequest::Verify(request) if request.purpose == VerificationPurpose::Merge => Priority::Critical,
        TurnRequest::Verify(_) | TurnRequest::Build(_) | TurnRequest::Complete(_) => planned,
    }
}

/// Opens the same turn again, with another token: what it asks stays as it was.
pub(super) fn open_again(mut transition: Transition<'_>, earlier: &OpenTurn, turn: Turn) -> Step {
    let (cx, fresh) = (transition.cx, transition.fresh);
    let gate = cx.workflow.gate(&earlier.gate).unwrap_or_else(|| cx.workflow.first());
    let open = OpenTurn {
        turn: fresh.turn.clone(),
        opened_at: cx.now,
        deadline: deadline(gate, earlier.purpose, earlier.people, cx),
        questions: Vec::new(),
        ..earlier.clone()
    };
    transition.visit(&open);
    transition.forget_prose();
    transition.next.phase = Phase::InTurn(open.clone());
    let mut turn = turn;
    bound(&mut turn.request);
    let record = transition.record();
    let turn = Turn { turn_id: open.turn, deadline: open.deadline, decision: None, record, ..turn };
    Step::Append(Box::new(Entry::Turn(Box::new(turn))))
}

/// What was added to a turn may be too much with what it had.
fn bound(request: &mut TurnRequest) {
    let feedback = match request {
        TurnRequest::Build(request) => &mut request.feedback,
        TurnRequest::Complete(request) => &mut request.feedback,
        TurnRequest::Verify(request) => {
            request.clarifications = feedback::answers(std::mem::take(&mut request.clarifications));
            return;
        }
    };
    *feedback = feedback.take().map(|told| feedback::bounded(told, None));
}

/// A turn as it stands has every answer that was given since it was opened: each agent that takes it gets them.
pub fn reply(turn: &mut Turn, answer: &Clarified) {
    constrain(turn, &answer.constraints);
    clarify(turn, answer.clone());
}

/// What was answered goes with the next turn of the role that asked, after what was answered before.
pub(super) fn clarify(turn: &mut Turn, answered: Clarified) {
    match &mut turn.request {
        TurnRequest::Build(request) => {
            let feedback = request.feedback.get_or_insert_with(super::questions::only_answers);
            feedback.clarifications.push(answered);
        }
        TurnRequest::Verify(request) => request.clarifications.push(answered),
        TurnRequest::Complete(request) => {
            let feedback = request.feedback.get_or_insert_with(super::questions::only_answers);
            feedback.clarifications.push(answered);
        }
    }
}

/// What a person sets holds from now on.
pub(super) fn constrain(turn: &mut Turn, constraints: &[String]) {
    turn.guidance.constraints.extend(constraints.iter().cloned());
}

/// Work in progress: the next turn starts from it.
pub(super) fn start_from(turn: &mut Turn, next: &WaypointState, cx: &Context<'_>) {
    if let TurnRequest::Build(request) = &mut turn.request {
        (_, request.start, request.bundles) = start(next, cx);
    }
}

fn open_turn(opening: &Opening<'_>, cx: &Context<'_>, fresh: &Fresh) -> OpenTurn {
    let role = match opening.purpose {
        Purpose::Verify(_) => role::id(role::VERIFIER),
        Purpose::Build if opening.repair => role::id(role::REPAIR),
        Purpose::Build => opening.gate.role.clone(),
        Purpose::Complete => {
            let escalated = opening.gate.escalate_to.as_ref().filter(|_| opening.escalated);
            escalated.unwrap_or(&opening.gate.role).clone()
        }
    };
    let people = opening.purpose == Purpose::Complete && opening.gate.is_peoples(&role);
    OpenTurn {
        turn: fresh.turn.clone(),
        role,
        gate: opening.gate.id.clone(),
        purpose: opening.purpose,
        people,
        opened_at: cx.now,
        deadline: deadline(opening.gate, opening.purpose, people, cx),
        questions: Vec::new(),
    }
}

/// When a turn is overdue. What people do waits in no queue: it has the gate's time and no grace.
fn deadline(gate: &Gate, purpose: Purpose, people: bool, cx: &Context<'_>) -> Timestamp {
    let work = match purpose {
        Purpose::Build => build_wall(gate, cx).duration(),
        Purpose::Verify(_) => verification_time(cx),
        Purpose::Complete if people => return cx.now.after(completion_wall(gate).duration()),
        Purpose::Complete => completion_wall(gate).duration(),
    };
    cx.now.after(work + OVERHEAD + cx.flight.submitted.fleet.queue_grace.duration())
}

/// The wall time of a build turn's program: the plan's, the gate's, or the fleet's.
fn build_wall(gate: &Gate, cx: &Context<'_>) -> Millis {
    cx.waypoint.budget.wall.or(gate.timeout).unwrap_or(cx.flight.submitted.fleet.build_wall)
}

/// How long a completion may take.
fn completion_wall(gate: &Gate) -> Millis {
    gate.timeout.unwrap_or(COMPLETION_TIMEOUT)
}

/// The longest that preparing, checks and judge of a verification may take together.
fn verification_time(cx: &Context<'_>) -> Duration {
    // No mutant begins after so many times the check's time as there are mutants, and the last one may take its own.
    let mutants = |check: &Check| check.mutants.map_or(0, |mutants| mutants.saturating_add(1));
    let strict = |check: &Check| if check.evidence == EvidenceLevel::Strict { RUNS_MORE_IF_STRICT } else { 0 };
    let runs = |check: &Check| (RUNS_PER_CHECK + strict(check)).saturating_add(mutants(check));
    let run = |check: &Check| check.timeout.duration().saturating_mul(runs(check));
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

fn guidance(next: &WaypointState, open: &OpenTurn, cx: &Context<'_>, fresh: &Fresh) -> GuidancePacket {
    let (constraints, stops): (&[&str], &[&str]) = match open.role.as_str() {
        _ if open.purpose == Purpose::Complete => (
            &["decide by what the gate is for", "change nothing", "name what has to change when you send it back"],
            &["the gate is completed, sent back or blocked", "the deadline passes"],
        ),
        role::VERIFIER => (
            &["judge by evidence only", "change nothing", "name evidence for every verdict"],
            &["every criterion and guard has a verdict", "the deadline passes"],
        ),
        role::REPAIR => (
            &["fix what failed, nothing else", "stay inside the scope", "weaken no test"],
            &["the failing criteria are met", "the budget is used up"],
        ),
        _ => (
            &["stay inside the scope", "weaken no test", "change no protected or steering file"],
            &["the criteria are met", "the budget is used up"],
        ),
    };
    let words = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let mut constraints = words(constraints);
    // What people set holds for everybody, the verifier included; what a builder wrote is not in it (FLY-18).
    constraints.extend(next.constraints.iter().cloned());
    GuidancePacket::new(
        origin(&fresh.guidance, cx),
        GuidancePacketBody {
            covenant_version: cx.flight.submitted.covenant_version,
            policy_hash: policy_hash(&cx.flight.submitted.plan),
            constraints,
            stop_conditions: words(stops),
        },
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

fn build_request(next: &WaypointState, gate: &Gate, feedback: Option<Feedback>, cx: &Context<'_>) -> BuildRequest {
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
        budget: TurnBudget { wall: Some(build_wall(gate, cx)), ..cx.waypoint.budget.clone() },
        tests: cx.waypoint.tests.clone(),
        ask_below: cx.flight.submitted.plan.ask_below,
        description: gate.description.clone(),
        role_description: gate.role_description.clone(),
        context: gate.context.clone(),
    }
}

fn completion_request(
    next: &WaypointState,
    gate: &Gate,
    role: &RoleId,
    feedback: Option<Feedback>,
    cx: &Context<'_>,
) -> CompletionRequest {
    let (base, commit, bundles) = start(next, cx);
    let base_tree = cx.flight.tree_of(&base).unwrap_or_else(|| cx.flight.head_tree()).clone();
    let is_agents = !gate.is_peoples(role);
    let default_outcome = Some(cx.workflow.default_outcome).filter(|outcome| *outcome != Outcome::Complete);
    let budget = || TurnBudget { wall: Some(completion_wall(gate)), ..cx.waypoint.budget.clone() };
    CompletionRequest {
        title: cx.waypoint.title.clone(),
        goal: is_agents.then(|| cx.waypoint.goal.clone()),
        criteria: if is_agents { cx.waypoint.criteria.clone() } else { Vec::new() },
        tests: if is_agents { cx.waypoint.tests.clone() } else { Vec::new() },
        description: gate.description.clone(),
        role_description: gate.role_description.clone().filter(|_| *role == gate.role),
        default_outcome: default_outcome.filter(|_| is_agents),
        budget: is_agents.then(budget),
        context: gate.context.clone(),
        can_reject: gate.can_reject,
        people: gate.people_of(role).to_vec(),
        base,
        commit,
        tree: next.work.as_ref().map_or(base_tree, |work| work.tree.clone()),
        bundles,
        report: next.verified.as_ref().map(|verified| verified.report),
        feedback,
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
    gate: &Gate,
    purpose: VerificationPurpose,
    cx: &Context<'_>,
    fresh: &Fresh,
) -> VerificationRequest {
    let (base, mut commit, mut bundles) = start(next, cx);
    let base_tree = cx.flight.tree_of(&base).unwrap_or_else(|| cx.flight.head_tree()).clone();
    let mut tree = next.work.as_ref().map_or_else(|| base_tree.clone(), |w| w.tree.clone());
    // Of the base alone, also where work is kept that a build turn goes on from.
    if purpose == VerificationPurpose::Baseline {
        (commit, tree, bundles) = (base.clone(), base_tree, cx.flight.bundles_up_to(&base));
    }
    VerificationRequest::new(
        origin(&fresh.request, cx),
        VerificationRequestBody {
            purpose,
            base,
            commit,
            tree,
            bundles,
            criteria: criteria(purpose, cx),
            guards: cx.flight.submitted.plan.guards.clone(),
            prepare: cx.flight.submitted.plan.prepare.clone(),
            scope: cx.waypoint.scope.clone(),
            protected: protected(cx),
            covenant: cx.flight.submitted.covenant.clone(),
            clarifications: Vec::new(),
            tests: cx.waypoint.tests.clone(),
            // A base is tried for a gate that makes work, which says nothing to verifiers.
            gate: if gate.duty == Duty::Judge { brief(gate) } else { GateBrief::default() },
        },
    )
}

/// What a gate says to its judge.
fn brief(gate: &Gate) -> GateBrief {
    let (description, role_description) = (gate.description.clone(), gate.role_description.clone());
    GateBrief { description, role_description, context: gate.context.clone() }
}
