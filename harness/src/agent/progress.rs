//! Asking the orchestrator whether a turn is still wanted.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::api::{self, ApiError, Call};
use holdpoint_protocol::api::{PROGRESS, Progress, ProgressAnswer, ProgressNotice};

use super::job::Job;

/// How often it is asked: what a cancelled turn goes on working for.
pub(super) const EVERY: Duration = Duration::from_secs(3);
/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no answer. Work that has begun goes on without: the orchestrator may be away, and the turn has a deadline.
#[derive(Debug, thiserror::Error)]
pub enum ProgressError {
    /// Nobody answered.
    #[error("no answer on the progress of a turn")]
    Api(#[source] ApiError),
    /// The answer has another shape.
    #[error("the answer on the progress of a turn is not understood")]
    Shape(#[source] serde_json::Error),
}

impl ProgressError {
    /// Whether the same question may have an answer a moment later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Api(ApiError::Refused { failure, .. }) => failure.is_passing(),
            Self::Api(_) => true,
            Self::Shape(_) => false,
        }
    }
}

/// Asks for everything that is journalled by now.
///
/// # Errors
/// [`ProgressError`].
pub async fn newest(job: &Job) -> Result<ProgressAnswer, ProgressError> {
    ask(job, None, true).await
}

/// Why a turn is over that this agent does not have any more; `None`: it is open.
///
/// # Errors
/// [`ProgressError`].
pub async fn why_over(job: &Job) -> Result<Option<String>, ProgressError> {
    let progress = Progress { delivery: 0, ..of(job) };
    Ok(match request(job, &progress).await? {
        ProgressAnswer::Stop { reason, give_back: false } => Some(reason),
        ProgressAnswer::Stop { give_back: true, .. } | ProgressAnswer::Continue(_) => None,
    })
}

/// Asks; with `trouble`, says why the turn is given back. Answers in the turn are taken in.
pub(super) async fn ask(job: &Job, trouble: Option<String>, newest: bool) -> Result<ProgressAnswer, ProgressError> {
    let known = job.talk().known();
    let answer = request(job, &Progress { trouble, answers: known, newest, ..of(job) }).await?;
    if let ProgressAnswer::Continue(going) = &answer {
        job.talk().heard(known, going);
    }
    Ok(answer)
}

fn of(job: &Job) -> Progress {
    Progress {
        flight: job.turn.flight.clone(),
        waypoint: job.turn.waypoint.clone(),
        turn: job.turn.turn_id.clone(),
        delivery: job.delivery,
        note: Some(job.current_note()).filter(|note| !note.is_empty()),
        trouble: None,
        answers: 0,
        newest: false,
    }
}

async fn request(job: &Job, progress: &Progress) -> Result<ProgressAnswer, ProgressError> {
    let payload = Bytes::from(serde_json::to_vec(progress).expect("plain data with text keys"));
    let call = Call { endpoint: PROGRESS, payload, timeout: TIMEOUT, traceparent: job.traceparent.as_deref() };
    let answer = api::request(&job.bus, call).await.map_err(ProgressError::Api)?;
    serde_json::from_slice(&answer).map_err(ProgressError::Shape)
}

/// The answer to this turn's plan; `None` for anything else. Answers in the turn are taken in.
pub(super) fn noticed(job: &Job, nonce: &str, notice: ProgressNotice) -> Option<ProgressAnswer> {
    if notice.turn != job.turn.turn_id || notice.nonce != nonce {
        return None;
    }
    if let ProgressAnswer::Continue(going) = &notice.answer {
        job.talk().heard(0, going);
    }
    Some(notice.answer)
}
