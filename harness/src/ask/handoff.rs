//! What was asked as the final handoff of its turn.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{ClarificationRequest, ClarificationRequestBody, HelpRequest, HelpRequestBody, Origin, WorkInProgress},
};

use super::message::Ask;
use crate::{
    agent::{Final, Job},
    backend::{
        markers::{HelpCall, TEXT_BYTES_MAX, cut},
        question::Question,
    },
};

/// The handoff of what was asked, with what there was then. `output` is the digest of the whole output of the program
/// that asked.
#[must_use]
pub fn handoff(job: &Job, ask: Ask, work: Option<WorkInProgress>, output: Digest) -> Final {
    match ask {
        Ask::Question(question) => Final::Clarify(clarification(job, question, work, output)),
        Ask::Help(call) => Final::Help(help(job, call, work, output)),
    }
}

/// A question that waits in its turn until then. No work goes with it: the turn goes on.
pub(super) fn waiting(job: &Job, asked: Question, until: Timestamp) -> ClarificationRequest {
    let asked = question(job, asked, None, job.origin());
    ClarificationRequest { waits_until: Some(until), ..asked }
}

fn clarification(job: &Job, asked: Question, work: Option<WorkInProgress>, output: Digest) -> ClarificationRequest {
    let asked = question(job, asked, work, origin_with(job, output));
    ClarificationRequest { waited: job.talk().waited(&asked.words()), ..asked }
}

fn question(job: &Job, asked: Question, work: Option<WorkInProgress>, origin: Origin) -> ClarificationRequest {
    let Question { question, decision_context, confidence, options } = asked;
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
            work,
            waits_until: None,
            waited: false,
        },
    )
}

fn help(job: &Job, call: HelpCall, work: Option<WorkInProgress>, output: Digest) -> HelpRequest {
    // A longer context goes as its beginning, in words: it is there to be read.
    let context = call.context.map(|context| {
        let text = context.to_string();
        if text.len() <= TEXT_BYTES_MAX { context } else { cut(&text).into() }
    });
    HelpRequest::new(
        origin_with(job, output),
        HelpRequestBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            raw_line: call.raw_line,
            context,
            work,
        },
    )
}

/// Questions and calls have no ledger: the output they stand in is named here.
fn origin_with(job: &Job, output: Digest) -> Origin {
    let mut origin = job.origin();
    origin.source_refs.push(output.to_string());
    origin
}
