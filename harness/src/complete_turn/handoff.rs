//! Handoffs of a turn that is completed.

use holdpoint_engine::completion::{self, ValidCompletion};
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Act, Completion, CompletionBody, CompletionPlan, CompletionPlanBody, IgnoredMarker, Metered, Origin},
    turn::Turn,
};

use super::workbench::CompleteTurnOutcome;
use crate::{
    agent::{Final, Job},
    ask,
};

/// The plan: who has the turn.
#[must_use]
pub fn plan(job: &Job) -> CompletionPlan {
    let (turn, agent) = (job.turn.turn_id.clone(), job.agent.clone());
    CompletionPlan::new(job.origin(), CompletionPlanBody { turn, delivery: job.delivery, agent })
}

/// The final handoff. `output` is the digest of the program's whole output, `metered` what it used up.
#[must_use]
pub fn of(
    job: &Job,
    (outcome, markers_ignored): (CompleteTurnOutcome, Vec<IgnoredMarker>),
    (output, metered): (Digest, Option<Metered>),
) -> Final {
    let of_agent = CompletionBody::of_agent(job.agent.clone(), job.turn.turn_id.clone(), job.delivery);
    let body = CompletionBody { metered: metered.clone(), markers_ignored, ..of_agent };
    let body = match outcome {
        CompleteTurnOutcome::Asks(ask) => return ask::handoff(job, ask, None, (output, metered)),
        CompleteTurnOutcome::Failed(failure, document) => CompletionBody { failure: Some(failure), document, ..body },
        CompleteTurnOutcome::Completed { said, named } => {
            if let Some(warning) = completion::warning(&said.blockers) {
                tracing::warn!(%warning, "blockers are vague");
            }
            with(body, said, named)
        }
    };
    let mut origin = job.origin();
    origin.source_refs.push(output.to_string());
    Final::Complete(Box::new(Completion::new(origin, body)))
}

fn with(body: CompletionBody, said: ValidCompletion, named: bool) -> CompletionBody {
    let ValidCompletion { outcome, summary, blockers, block_reason, rejection_notes, document, metadata } = said;
    let outcome = named.then_some(outcome);
    CompletionBody {
        outcome,
        summary,
        blockers,
        block_reason,
        rejection_notes,
        document: document.map(Box::new),
        metadata,
        ..body
    }
}

/// The completion as it would be handed off, to be measured.
pub(super) fn sized(turn: &Turn, said: &ValidCompletion) -> Act {
    let origin = Origin {
        artifact_id: turn.guidance.artifact_id.clone(),
        waypoint_id: turn.waypoint.clone(),
        produced_by_role: turn.role.clone(),
        produced_at: Timestamp::from_millis(0),
        source_refs: Vec::new(),
    };
    let agent = "measured".parse().expect("a literal name");
    let body = CompletionBody::of_agent(agent, turn.turn_id.clone(), 1);
    Act::Complete(Box::new(Completion::new(origin, with(body, said.clone(), true))))
}
