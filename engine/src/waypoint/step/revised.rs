//! A person edits the document of a gate (`Input::Revised`): the edited one is the gate's newest, and each turn that opens from then on
//! gets it (DOC-9).
//!
//! Nothing else moves: an open turn stays open, with the document that it began with. What a gate demands of its document it demands of
//! an edited one too, by the same rule.

use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    api::ActRefused,
    artifact::{ActCode, Revise, Verb},
    checkpoint::{DOCUMENT_BYTES_MAX, GateDocument},
    ids::AgentName,
    journal::{Entry, Revised},
    state::{Phase, WaypointState},
    version,
    workflow::is_human,
};
use serde_json::json;

use super::super::{EngineStep, Fresh, PersonAct, Refusal, StepContext, transition::Transition};
use crate::completion;

/// A person edits a document.
pub(super) fn take(
    state: &WaypointState,
    act: PersonAct<Box<Revise>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let PersonAct { by, cause, body, .. } = act;
    if let Some(refusal) = cannot(state, &body, &by, cx) {
        return EngineStep::Refuse(refusal);
    }
    let mut transition = Transition::new(state, cx, fresh).acted(by, Verb::Revise, cause);
    let document = transition.documented(&body.gate, &body.document);
    let record = transition.record();
    let schema_version = version::CURRENT;
    EngineStep::Append(Box::new(Entry::Revised(Box::new(Revised { schema_version, document, record }))))
}

/// Why a document cannot be edited like this.
fn cannot(state: &WaypointState, revise: &Revise, by: &AgentName, cx: &StepContext<'_>) -> Option<Refusal> {
    let refuse = |code, message: String, hint: &str| Some(Refusal::act(code, message, hint));
    let (waypoint, gate) = (&cx.waypoint.id, &revise.gate);
    if !is_human(by) {
        let message = format!("documents are edited by people; {by} is no person's key");
        return refuse(
            ActCode::HumanRequired,
            message,
            "use the key of a person: its name begins with `human-` (--as, --creds)",
        );
    }
    if matches!(state.phase, Phase::Accepted { .. } | Phase::Cancelled) {
        let message = format!("no turn of waypoint {waypoint} is to come that could read the document");
        return refuse(ActCode::Over, message, "what was decided by it stays");
    }
    let Some(newest) = state.documents.iter().find(|document| document.gate == *gate) else {
        let message = format!("no later turn of waypoint {waypoint} gets a document of gate {gate}");
        let hint =
            "documents of gates that look at work can be revised; those of work and of verdicts stay as they are";
        return refuse(ActCode::NothingOpen, message, hint);
    };
    if revise.source_refs != [newest.from.clone()] {
        let message = format!("the newest document of gate {gate} is {}, and another one was revised", newest.from);
        let hint = format!("read `holdpoint artifact {} --markdown`, and revise that one", newest.from);
        let details = json!({"newest": newest.from, "revised": revise.source_refs});
        return Some(Refusal::Act(Box::new(ActRefused { code: ActCode::AnswerLate, message, hint, details })));
    }
    if revise.document.text.trim().is_empty() {
        return refuse(ActCode::Invalid, "the document is empty".to_owned(), "write what the next reader needs");
    }
    let bytes = revise.document.text.len();
    if bytes > DOCUMENT_BYTES_MAX {
        let message = format!("the document has {bytes} bytes, and at most {DOCUMENT_BYTES_MAX} are taken");
        return refuse(ActCode::Invalid, message, "keep to what the next reader needs, and name files for the rest");
    }
    let demands = cx.workflow.gate(gate).map(|gate| gate.context.demands.clone()).unwrap_or_default();
    let validation = checkpoints::validate_document(&demands, &revise.document, &[]);
    if validation.handoff_ready {
        return None;
    }
    let message =
        format!("the document does not meet its gate: {}", checkpoints::in_one_line(&demands, &validation.checkpoints));
    let unready = GateDocument { checkpoints: validation.checkpoints, ..revise.document.as_ref().clone() };
    let details = completion::not_ready(&demands, unready).to_json();
    let hint = "put that right, and revise it again".to_owned();
    Some(Refusal::Act(Box::new(ActRefused { code: ActCode::Invalid, message, hint, details })))
}
