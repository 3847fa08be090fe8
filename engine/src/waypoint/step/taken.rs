//! A person takes over a turn that agents have, or that waits for people to make the work (`Input::Taken`).

use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, Verb},
    ids::AgentName,
    state::{OpenTurn, Phase, Purpose, TurnHolder, WaypointState},
    workflow::is_human,
};
use serde_json::json;

use super::super::{
    EngineStep, Fresh, PersonAct, Refusal, StepContext,
    acted::{self, own_work},
    holder::waits_to_be_taken,
    input::Taking,
    taking::{answers, lost},
    transition::Transition,
    turns, verdicts,
};

/// A person takes over the open turn.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Taking>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, overtaken, body } = act;
    let Taking { on, turn } = *body;
    let Phase::InTurn(open) = &state.phase else { return acted::unopened(state, Verb::Take, cx) };
    if let Some(refusal) = cannot_be_taken(state, open, &by, cx) {
        return EngineStep::Refuse(refusal);
    }
    if !acted::is_about(on.as_ref(), open.turn.as_str(), overtaken) {
        return EngineStep::Refuse(acted::late(state, "the turn that you looked at is not open any more", cx));
    }
    let Some(turn) = turn.filter(|turn| turn.turn_id == open.turn) else { return EngineStep::Refuse(lost(open)) };
    let transition = Transition::new(state, cx, fresh).acted(by.clone(), Verb::Take, cause);
    let theirs = OpenTurn { holder: TurnHolder::Person { name: by }, redeliveries: 0, ..open.clone() };
    turns::open_again(transition, &theirs, *turn)
}

/// Why this person cannot take over this turn.
fn cannot_be_taken(state: &WaypointState, open: &OpenTurn, by: &AgentName, cx: &StepContext<'_>) -> Option<Refusal> {
    let (waypoint, gate) = (&cx.waypoint.id, &open.gate);
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    if !is_human(by) {
        let message = format!("only people take over turns; {by} is no person's key");
        let hint = "use the key of a person: its name begins with `human-` (--as, --creds)";
        return refuse(ActCode::HumanRequired, message, hint);
    }
    if let Some(holder) = open.taken_by() {
        return Some(held_by(holder, by, open, cx));
    }
    if waits_to_be_taken(open) {
        let gate = cx.workflow.gate(gate);
        return gate.and_then(|gate| acted::not_among(gate, open, by, "take the turn of"));
    }
    if open.is_peoples() {
        // The hint below would lead who made the work to another refusal.
        if let Some(refusal) = own_work(state, open, by) {
            return Some(refusal);
        }
        let message =
            format!("gate {gate} of waypoint {waypoint} waits for people already: there is nothing to take over");
        return refuse(ActCode::Invalid, message, "complete it with `holdpoint approve` or `holdpoint reject`");
    }
    match open.purpose {
        Purpose::Verify(_) => verdicts::cannot_judge(state, open, by, cx),
        Purpose::Complete => own_work(state, open, by),
        Purpose::Build => None,
        Purpose::Advise => {
            let message = format!("an advisor has the turn at gate {gate}, and the work waits for its advice");
            refuse(
                ActCode::NotAllowed,
                message,
                "wait: the turn of the agent that called for help opens again, or you are asked",
            )
        }
    }
}

/// Another person has it already.
fn held_by(holder: &AgentName, by: &AgentName, open: &OpenTurn, cx: &StepContext<'_>) -> Refusal {
    let (waypoint, since) = (&cx.waypoint.id, open.opened_at);
    let (message, hint) = if holder == by {
        (format!("you took over the turn of {waypoint} at {since}: it is yours"), answers(open))
    } else {
        let hint = "ask them for `holdpoint release`, or wait: it goes back to its role when their time is over";
        (format!("{holder} took over the turn of {waypoint} at {since}"), hint)
    };
    let details = json!({"by": holder, "verb": Verb::Take, "at": since});
    Refusal::Act(Box::new(ActRefused { code: ActCode::AnswerLate, message, hint: hint.to_owned(), details }))
}
