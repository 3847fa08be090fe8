//! Turns: how they open, whose they are and how long they may take. What they ask is [`super::requests`].

use std::time::Duration;

use holdpoint_evidence::checks::RUNS_PER_CHECK;
use holdpoint_planfile::gates::{Duty, Gate};
use holdpoint_protocol::{
    Timestamp,
    artifact::{Clarified, Conversation, Disposition, StatusMutation, VerificationPurpose},
    ids::role,
    journal::{Cause, Entry},
    plan::{Check, EvidenceLevel, Priority},
    reason::ReasonCode,
    state::{Delegated, OpenTurn, Phase, Purpose, Resume, TurnHolder, WaypointState},
    subjects,
    time::Millis,
    turn::{Feedback, Turn, TurnRequest},
    version,
};

use super::{
    EngineStep, Fresh, StepContext, checkpoints,
    funding::{self, Funded},
    holder, listing,
    purposes::{self, purpose},
    requests::{build_request, completion_request, guidance, start, verify_request},
    standing::phase_status,
    terms::{build_wall, completion_wall, environment},
    transition::{Ruled, Transition},
};
use crate::{
    feedback,
    policy::{Ruling, escalate, met},
};

/// The wall time a build turn may take unless the plan says otherwise (contract, "`command` backend").
const BUILD_WALL_DEFAULT: Duration = Duration::from_secs(30 * 60);
/// What a judge's program may take for one criterion: the same default as a build turn's.
const JUDGE_WALL: Duration = BUILD_WALL_DEFAULT;
/// What the setup of one tree's environment may take: it fetches what a whole project needs.
const SETUP_WALL: Duration = Duration::from_secs(30 * 60);
/// How often more with `evidence: strict`: canaries, the base's product, files of the work put back (together as long as one
/// run, and the last may take its own time), and a watched run.
const RUNS_MORE_IF_STRICT: u32 = 5;
/// What a turn's clone, checkout and upload may take besides its work.
pub(super) const OVERHEAD: Duration = Duration::from_secs(10 * 60);

/// What a turn that opens is to be.
#[derive(Debug, Clone)]
pub(super) struct Opening<'a> {
    pub(super) gate: &'a Gate,
    pub(super) purpose: Purpose,
    pub(super) feedback: Option<Feedback>,
    /// The role `repair` takes the turn in place of the gate's.
    pub(super) repair: bool,
    /// Which link of the gate's chain has the turn; 0: its own role.
    pub(super) link: u32,
    /// How often the same people were offered it before.
    pub(super) redeliveries: u32,
}

impl<'a> Opening<'a> {
    /// A turn as the gate's duty has it.
    pub(super) fn of(gate: &'a Gate) -> Self {
        Self { gate, purpose: purpose(gate), feedback: None, repair: false, link: 0, redeliveries: 0 }
    }
}

/// Opens a turn from a state whose base and work are settled.
pub(super) fn open(mut transition: Transition<'_>, opening: Opening<'_>, ruling: Option<&Ruling>) -> EngineStep {
    let (cx, fresh) = (transition.cx, transition.fresh);
    if opening.gate.duty == Duty::Delegate {
        return transition.delegate(opening.gate);
    }
    let mut open = open_turn(&opening, cx, fresh);
    open.allowance = match funding::fund(&transition, &open) {
        Funded::With(allowance) => allowance,
        Funded::Reserve(need) => return EngineStep::Reserve(Box::new(need)),
        Funded::UsedUp(ruling) => {
            let resume = Resume::Gate { gate: open.gate, purpose: open.purpose };
            return transition.hold(resume, Ruled { ruling, feedback: opening.feedback.map(feedback::on_kept_work) });
        }
    };
    transition.visit(&open.gate, &open.role);
    transition.forget_prose();
    if let Some(ruling) = ruling {
        transition.remember(ruling);
        // No entry rolls back work that decides something else, such as that a person has to raise a budget.
        if ruling.disposition == Disposition::Rollback {
            transition.forget_work();
        }
    }
    transition.go_to(Phase::InTurn(open.clone()));
    let whole = transition.cause.as_ref().map(Cause::reference);
    let feedback = opening.feedback.map(|told| feedback::bounded(told, whole.as_deref()));
    let (feedback, for_build) =
        if open.purpose == purposes::BASELINE { (None, feedback.map(Box::new)) } else { (feedback, None) };
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
        attempt: next.counters.attempt(),
        deadline: open.deadline,
        handoff_subject: subjects::handoff_prefix(&open.role, flight, &cx.waypoint.id),
        guidance: guidance(next, &open, cx, fresh),
        request: match open.purpose {
            Purpose::Build => TurnRequest::Build(Box::new(build_request(next, opening.gate, feedback, cx))),
            Purpose::Verify(purpose) => {
                TurnRequest::Verify(Box::new(verify_request(next, opening.gate, purpose, cx, fresh)))
            }
            // Advisors' turns are opened by `advising`, which has their words.
            Purpose::Complete | Purpose::Advise => {
                TurnRequest::Complete(Box::new(completion_request(next, opening.gate, open.link, feedback, cx)))
            }
        },
        decision,
        for_build,
        allowance: open.allowance,
        record: transition.record(),
    };
    EngineStep::Append(Box::new(Entry::Turn(Box::new(turn))))
}

/// In which of its role's queues a turn is. A builder waits for the base that is tried, and every landing for work that was
/// accepted before: these go first.
#[must_use]
pub fn queue(turn: &Turn, planned: Priority) -> Priority {
    match &turn.request {
        TurnRequest::Verify(request) if request.purpose != VerificationPurpose::Handoff => Priority::Critical,
        TurnRequest::Verify(_) | TurnRequest::Build(_) | TurnRequest::Complete(_) => planned,
    }
}

/// Opens the same turn again, with another token: what it asks stays as it was.
pub(super) fn open_again(mut transition: Transition<'_>, earlier: &OpenTurn, turn: Turn) -> EngineStep {
    let (cx, fresh) = (transition.cx, transition.fresh);
    let gate = cx.workflow.gate(&earlier.gate).unwrap_or_else(|| cx.workflow.first());
    let mut open = OpenTurn {
        allowance: None,
        turn: fresh.turn.clone(),
        opened_at: cx.now,
        deadline: holder::deadline(gate, earlier, cx)
            .unwrap_or_else(|| deadline(gate, earlier.purpose, earlier.is_peoples(), cx)),
        questions: Vec::new(),
        listed_by: listing::opens_by(&earlier.role, cx),
        ..earlier.clone()
    };
    open.allowance = match funding::fund(&transition, &open) {
        Funded::With(allowance) => allowance,
        Funded::Reserve(need) => return EngineStep::Reserve(Box::new(need)),
        Funded::UsedUp(ruling) => return transition.hold(Resume::Turn(earlier.clone()), ruling.into()),
    };
    transition.visit(&open.gate, &open.role);
    transition.forget_prose();
    transition.go_to(Phase::InTurn(open.clone()));
    let mut turn = turn;
    bound(&mut turn.request);
    let record = transition.record();
    let allowance = open.allowance;
    let turn = Turn { turn_id: open.turn, deadline: open.deadline, decision: None, allowance, record, ..turn };
    EngineStep::Append(Box::new(Entry::Turn(Box::new(turn))))
}

/// The additions to a turn may be too much with what it had.
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

/// An answer goes with the next turn of the role that asked, after earlier answers.
pub(super) fn clarify(turn: &mut Turn, answered: Clarified) {
    match &mut turn.request {
        TurnRequest::Build(request) => {
            let feedback = request.feedback.get_or_insert_with(only_answers);
            feedback.clarifications.push(answered);
        }
        TurnRequest::Verify(request) => request.clarifications.push(answered),
        TurnRequest::Complete(request) => {
            let feedback = request.feedback.get_or_insert_with(only_answers);
            feedback.clarifications.push(answered);
        }
    }
}

/// The conversation in which a turn's question was asked: its holder goes on with that one or with none.
pub(super) fn converse(turn: &mut Turn, conversation: Option<Conversation>) {
    if let TurnRequest::Build(request) = &mut turn.request {
        request.conversation = conversation.filter(|talk| talk.transcript.role == turn.role);
    }
}

/// What a person sets holds from now on.
pub(super) fn constrain(turn: &mut Turn, constraints: &[String]) {
    turn.guidance.constraints.extend(constraints.iter().cloned());
}

/// Work in progress: the next turn starts from it.
pub(super) fn start_from(turn: &mut Turn, next: &WaypointState, cx: &StepContext<'_>) {
    if let TurnRequest::Build(request) = &mut turn.request {
        (_, request.start, request.bundles) = start(next, cx);
    }
}

fn open_turn(opening: &Opening<'_>, cx: &StepContext<'_>, fresh: &Fresh) -> OpenTurn {
    let role = match opening.purpose {
        Purpose::Verify(_) => cx.workflow.judging_role(),
        Purpose::Build if opening.repair && opening.link == 0 => role::id(role::REPAIR),
        Purpose::Build | Purpose::Complete | Purpose::Advise => opening.gate.role_at(opening.link).clone(),
    };
    let people = !matches!(opening.purpose, Purpose::Verify(_)) && opening.gate.is_peoples_at(opening.link);
    let listed_by = listing::opens_by(&role, cx);
    OpenTurn {
        turn: fresh.turn.clone(),
        role,
        gate: opening.gate.id.clone(),
        purpose: opening.purpose,
        link: opening.link,
        holder: if people { TurnHolder::People } else { TurnHolder::Agents },
        judged: Vec::new(),
        listed_by,
        opened_at: cx.now,
        deadline: deadline(opening.gate, opening.purpose, people, cx),
        redeliveries: opening.redeliveries,
        questions: Vec::new(),
        allowance: None,
    }
}

/// When a turn is overdue. People's turns wait in no queue: they have the gate's time and no grace.
fn deadline(gate: &Gate, purpose: Purpose, people: bool, cx: &StepContext<'_>) -> Timestamp {
    let work = match purpose {
        Purpose::Build if people => return cx.now.after(gate.timeout.map_or(holder::TAKEN_TIME, Millis::duration)),
        Purpose::Build => build_wall(gate, cx).duration(),
        Purpose::Verify(purpose) => verification_time(gate, purpose, cx),
        Purpose::Complete if people => return cx.now.after(completion_wall(gate).duration()),
        Purpose::Complete | Purpose::Advise => completion_wall(gate).duration(),
    };
    cx.now.after(work + OVERHEAD + cx.flight.submitted.fleet.queue_grace.duration())
}

/// The longest that setups, checks and judge of a verification may take together.
fn verification_time(gate: &Gate, purpose: VerificationPurpose, cx: &StepContext<'_>) -> Duration {
    // No mutant begins after so many times the check's time as there are mutants, and the last one may take its own.
    let mutants = |check: &Check| check.mutants.map_or(0, |mutants| mutants.saturating_add(1));
    let strict = |check: &Check| if check.evidence == EvidenceLevel::Strict { RUNS_MORE_IF_STRICT } else { 0 };
    let runs = |check: &Check| (RUNS_PER_CHECK + strict(check)).saturating_add(mutants(check));
    let run = |check: &Check| check.timeout.duration().saturating_mul(runs(check));
    let criteria = cx.waypoint.criteria.iter().map(|c| c.check.as_ref().map_or(JUDGE_WALL, run));
    let guards = cx.flight.submitted.plan.guards.iter().map(|g| run(&g.check));
    let commands = checkpoints::might_be_run(gate, purpose, cx);
    let commands = commands.iter().map(|asked| run(&asked.command.check));
    let setup = environment(cx).setup.map(|_| SETUP_WALL * RUNS_PER_CHECK);
    criteria.chain(guards).chain(commands).chain(setup).sum()
}

impl<'a> Transition<'a> {
    /// The waypoint's part is done until its children are complete.
    fn delegate(mut self, gate: &Gate) -> EngineStep {
        let Some(proposal) = self.next.proposal.take() else { return self.unproposed(gate) };
        let generation = self.cx.flight.families.generations(&self.cx.waypoint.id) + 1;
        self.visit(&gate.id, &gate.role);
        let since = self.cx.now;
        let phase = Delegated { gate: gate.id.clone(), since, proposal, generation };
        self.decided(Phase::Delegated(Box::new(phase)), &met(), None)
    }

    /// Nothing was proposed since the last children, as where a condition left out the gate that proposes.
    pub(super) fn unproposed(self, gate: &Gate) -> EngineStep {
        let proposer = self.cx.workflow.proposer_before(&gate.id).unwrap_or_else(|| self.cx.workflow.first());
        let text = format!(
            "nothing is proposed that children could do at gate {}: `holdpoint retry` opens gate {} again",
            gate.id, proposer.id
        );
        let resume = Resume::Gate { gate: proposer.id.clone(), purpose: purposes::purpose(proposer) };
        self.hold(resume, escalate(ReasonCode::GateBlocked, &text).into())
    }
}

/// Feedback of a turn whose role only got answers.
pub(super) fn only_answers() -> Feedback {
    feedback::in_words(Disposition::Escalate, ReasonCode::ClarificationOpen, Vec::new())
}
