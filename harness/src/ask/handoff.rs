//! What was asked as the final handoff of its turn.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        BuildPlan, BuildPlanBody, ClarificationRequest, ClarificationRequestBody, HelpEvent, HelpRequest,
        HelpRequestBody, Metered, Origin, WorkInProgress,
    },
    turn::TurnRequest,
};

use serde_json::Value;

use super::message::{Ask, DeclaredPlan};
use crate::{
    agent::{Final, Job},
    backend::{
        markers::{HelpCall, TEXT_BYTES_MAX, cut},
        question::ValidQuestion,
    },
};

/// The handoff of what was asked, with what there was then. `output` is the digest of the whole output of the program
/// that asked, `metered` what that used up.
#[must_use]
pub fn handoff(
    job: &Job,
    ask: Ask,
    work: Option<WorkInProgress>,
    (output, metered): (Digest, Option<Metered>),
) -> Final {
    match ask {
        Ask::Question(question) => {
            Final::Clarify(ClarificationRequest { metered, ..clarification(job, question, work, output) })
        }
        Ask::Help(call) => {
            if call.overruled {
                tracing::warn!(
                    event = "help_overruled",
                    "the program called for help, and its final object does not say so"
                );
            }
            Final::Help(HelpRequest { metered, ..help(job, call, work, origin_with(job, output)) })
        }
    }
}

/// A question that waits in its turn until then. No work goes with it: the turn goes on.
pub(super) fn waiting(job: &Job, asked: ValidQuestion, until: Timestamp) -> ClarificationRequest {
    let asked = question(job, asked, None, job.origin());
    ClarificationRequest { waits_until: Some(until), ..asked }
}

/// A call for help that was heard while its program runs.
pub(super) fn heard_help(job: &Job, call: HelpCall) -> HelpRequest {
    HelpRequest { running: true, ..help(job, call, None, job.origin()) }
}

/// What a program means to do, in place of the plan that its harness wrote (FLY-15); `None` in a turn that has none.
pub(super) fn planned(job: &Job, plan: &DeclaredPlan) -> Option<BuildPlan> {
    let TurnRequest::Build(request) = &job.turn.request else { return None };
    let coverage = plan.coverage.iter().filter_map(|id| id.parse().ok()).collect();
    let body = BuildPlanBody {
        turn: job.turn.turn_id.clone(),
        delivery: job.delivery,
        agent: job.agent.clone(),
        declared: true,
        file_targets: plan.targets.clone(),
        validation: plan.validation.clone(),
        coverage,
        budget: request.budget.clone(),
    };
    Some(BuildPlan::new(job.origin(), body))
}

fn clarification(
    job: &Job,
    asked: ValidQuestion,
    work: Option<WorkInProgress>,
    output: Digest,
) -> ClarificationRequest {
    let asked = question(job, asked, work, origin_with(job, output));
    ClarificationRequest { waited: job.talk().waited(&asked.words()), ..asked }
}

fn question(job: &Job, asked: ValidQuestion, work: Option<WorkInProgress>, origin: Origin) -> ClarificationRequest {
    let ValidQuestion { question, decision_context, confidence, options, block_reason } = asked;
    ClarificationRequest::new(
        origin,
        ClarificationRequestBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            question,
            decision_context,
            confidence,
            options,
            block_reason,
            work,
            waits_until: None,
            waited: false,
            metered: None,
            conversation: None,
        },
    )
}

fn help(job: &Job, call: HelpCall, work: Option<WorkInProgress>, origin: Origin) -> HelpRequest {
    let HelpCall { raw_line, context, events, overruled, ignored } = call;
    let event = |event: HelpEvent| HelpEvent { context: event.context.map(readable), ..event };
    HelpRequest::new(
        origin,
        HelpRequestBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            raw_line,
            context: context.map(readable),
            work,
            help_events: events.into_iter().map(event).collect(),
            overruled,
            running: false,
            markers_ignored: ignored,
            metered: None,
            conversation: None,
        },
    )
}

/// A longer context goes as its beginning, in words: it is there to be read.
fn readable(context: Value) -> Value {
    let text = context.to_string();
    if text.len() <= TEXT_BYTES_MAX { context } else { cut(&text).into() }
}

/// Questions and calls have no ledger: the output they are in is named here.
fn origin_with(job: &Job, output: Digest) -> Origin {
    let mut origin = job.origin();
    origin.source_refs.push(output.to_string());
    origin
}
