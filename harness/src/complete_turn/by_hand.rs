//! Completing a turn without a program: what was said of it comes from people, or from programs that are none of ours.

use bytes::Bytes;
use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_engine::completion::Lesson;
use holdpoint_protocol::{artifact::Confidence, reason::BlockReason, turn::CompletionRequest};
use serde_json::{Map, Value};

use super::{CompleteTurnOutcome, answer::completed, handoff};
use crate::{
    agent::{Final, Job},
    ask::{self, Ask, Completed},
    backend::question::{BadQuestion, ValidQuestion},
};

/// The handoff of a completion, as an agent's program would print it; in its place what is wrong with it, by the rule by which
/// orchestrators take one. `said` is kept as what it was made of.
///
/// # Errors
/// `said` is not stored.
pub async fn complete(
    job: &Job,
    request: &CompletionRequest,
    object: &Map<String, Value>,
    said: &str,
) -> Result<Result<Final, Lesson>, BlobError> {
    let Completed { said: valid, named } = match completed(object, (&job.turn, request), None) {
        Ok(completed) => completed,
        Err(lesson) => return Ok(Err(lesson)),
    };
    let output = blobs::put(&job.bus, &job.role, Bytes::copy_from_slice(said.as_bytes())).await?;
    let outcome = CompleteTurnOutcome::Completed { said: valid, named };
    Ok(Ok(handoff::of(job, (outcome, Vec::new()), (output, None))))
}

/// The handoff of a question that ends the turn; in its place, why it cannot be asked.
///
/// # Errors
/// The question is not stored.
pub async fn ask(job: &Job, question: &str) -> Result<Result<Final, BadQuestion>, BlobError> {
    let asked = ValidQuestion {
        question: question.to_owned(),
        decision_context: String::new(),
        confidence: Confidence::Low,
        options: Vec::new(),
        block_reason: BlockReason::NeedsHumanInput,
    };
    let asked = match asked.checked() {
        Ok(asked) => asked,
        Err(bad) => return Ok(Err(bad)),
    };
    let output = blobs::put(&job.bus, &job.role, Bytes::copy_from_slice(question.as_bytes())).await?;
    Ok(Ok(ask::handoff(job, Ask::Question(asked), None, (output, None))))
}
