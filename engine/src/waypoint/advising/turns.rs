//! The turns of advice: the next advisor's, and the asker's when it opens again.

use std::time::Duration;

use holdpoint_protocol::{
    artifact::Clarified,
    ids::role,
    journal::{Entry, Record},
    plan::TurnBudget,
    state::{OpenAdvice, OpenTurn, Phase, Purpose, TurnHolder},
    subjects,
    time::Millis,
    turn::{Advice, AdviceRequest, BuildRequest, Turn, TurnRequest},
    version,
    workflow::GateContext,
};

use super::super::{
    EngineStep, answers,
    funding::{self, Funded},
    listing,
    requests::{completion_request, guidance},
    transition::Transition,
    turns::{self, OVERHEAD},
};

/// How long an advisor's program may run.
const ADVICE_WALL: Duration = Duration::from_secs(15 * 60);

/// Opens the turn of the next advisor. Where nothing is left that it could use up, what was said so far is all.
pub(super) fn ask(mut transition: Transition<'_>, advice: OpenAdvice, request: AdviceRequest) -> EngineStep {
    let cx = transition.cx;
    let mut open = open_turn(&advice, &request, &transition);
    open.allowance = match funding::fund(&transition, &open) {
        Funded::With(allowance) => allowance,
        Funded::Reserve(need) => return EngineStep::Reserve(Box::new(need)),
        Funded::UsedUp(_) => return end(transition, advice, request, "the budget has nothing left for advisors"),
    };
    transition.forget_prose();
    transition.go_to(Phase::InTurn(open.clone()));
    let gate = cx.workflow.gate(&open.gate).unwrap_or_else(|| cx.workflow.first());
    let mut wanted = completion_request(&transition.next, gate, open.link, None, cx);
    // The asker's instructions are in `asked`: its gate's words are not the advisor's.
    (wanted.goal, wanted.criteria, wanted.tests) = (None, Vec::new(), Vec::new());
    (wanted.description, wanted.role_description, wanted.context) = (None, None, GateContext::default());
    (wanted.can_reject, wanted.default_outcome, wanted.people) = (false, None, Vec::new());
    wanted.budget = Some(TurnBudget { wall: Some(Millis::from(ADVICE_WALL)), ..cx.waypoint.budget.clone() });
    wanted.advice = Some(Box::new(request));
    let turn = envelope(&transition, &open, TurnRequest::Complete(Box::new(wanted)));
    EngineStep::Append(Box::new(Entry::Turn(Box::new(Turn { record: transition.record(), ..turn }))))
}

/// No advisor is asked any more. What was said opens the asker's turn again; if nobody helped a person is asked.
pub(super) fn end(transition: Transition<'_>, advice: OpenAdvice, request: AdviceRequest, why: &str) -> EngineStep {
    let OpenAdvice { question, .. } = advice;
    if request.given.iter().any(|advice| advice.success) {
        let turn = envelope(&transition, &question.turn, TurnRequest::Build(guided(request)));
        return answers::again(transition, &question.turn, turn);
    }
    let mut ruling = answers::opens(question.kind, &question.turn, transition.cx);
    ruling.remediation = ruling.remediation.map(|text| format!("{why}; {text}"));
    transition.decided(Phase::Waiting(question), &ruling, None)
}

/// What the asker is asked once more, with what advisors said.
fn guided(AdviceRequest { question, given, asked: mut build, .. }: AdviceRequest) -> Box<BuildRequest> {
    let feedback = build.feedback.get_or_insert_with(turns::only_answers);
    let clarified = |advice: Advice| Clarified {
        question: question.clone(),
        option: None,
        text: Some(advice.content),
        rationale: None,
        constraints: Vec::new(),
        by: advice.advisor.map_or_else(|| role::ADVISOR.to_owned(), |advisor| advisor.to_string()),
    };
    feedback.clarifications.extend(given.into_iter().filter(|advice| advice.success).map(clarified));
    build
}

/// A turn of the role `advisor`, at the asker's gate. It waits in its queue no longer than its work may take: a person
/// could answer meanwhile.
fn open_turn(advice: &OpenAdvice, request: &AdviceRequest, transition: &Transition<'_>) -> OpenTurn {
    let (cx, role, asker) = (transition.cx, role::id(role::ADVISOR), &advice.question.turn);
    OpenTurn {
        turn: transition.fresh.turn.clone(),
        listed_by: listing::opens_by(&role, cx),
        role,
        gate: asker.gate.clone(),
        purpose: Purpose::Advise,
        link: asker.link,
        holder: TurnHolder::Advisor(Box::new(OpenAdvice { asked: advice.asked + 1, ..advice.clone() })),
        judged: Vec::new(),
        opened_at: cx.now,
        deadline: request.not_before.unwrap_or(cx.now).after(ADVICE_WALL + OVERHEAD),
        redeliveries: 0,
        questions: Vec::new(),
        allowance: None,
    }
}

/// A turn but for its record.
fn envelope(transition: &Transition<'_>, open: &OpenTurn, request: TurnRequest) -> Turn {
    let (cx, next) = (transition.cx, &transition.next);
    let flight = &cx.flight.submitted.flight;
    Turn {
        schema_version: version::CURRENT,
        turn_id: open.turn.clone(),
        flight: flight.clone(),
        waypoint: cx.waypoint.id.clone(),
        gate: open.gate.clone(),
        role: open.role.clone(),
        attempt: next.counters.attempt(),
        deadline: open.deadline,
        handoff_subject: subjects::handoff_prefix(&open.role, flight, &cx.waypoint.id),
        guidance: guidance(next, open, cx, transition.fresh),
        request,
        decision: None,
        for_build: None,
        allowance: open.allowance,
        record: Record::at(cx.now),
    }
}
