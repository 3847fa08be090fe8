//! The conversation of a program that asked goes along with its question, and is taken up with the answer, on any machine.
//!
//! What fails here costs a conversation and no turn: a program that has none gets question, answer and patch in its prompt.

use holdpoint_bus::blobs;
use holdpoint_protocol::{
    artifact::{Conversation, TRANSCRIPT_BYTES_MAX},
    facts::BlobRef,
};
use holdpoint_runtime::telemetry::ErrorChain;

use crate::{
    agent::Job,
    backend::{Backend, Transcript},
    dialect::{Continuation, is_session},
};

/// Stores the transcript where the role's own keys alone read it.
pub(super) async fn store(job: &Job, talk: Option<&(Continuation, Transcript)>) -> Option<Conversation> {
    let (Continuation { session, used, cost_micro_usd }, Transcript { path, bytes }) = talk?;
    let (size, bytes) = (bytes.len() as u64, bytes.clone().into());
    let stored = blobs::put_talk(&job.bus, &job.role, bytes).await;
    let stored = stored.inspect_err(
        |error| tracing::warn!(error = %ErrorChain(error), "cannot store a conversation, which stays on this machine"),
    );
    Some(Conversation {
        session: session.clone(),
        path: path.clone(),
        transcript: BlobRef { role: job.role.clone(), digest: stored.ok()?, bytes: size },
        used: used.map(Into::into),
        cost_micro_usd: *cost_micro_usd,
    })
}

/// Has the turn's program go on with a conversation of its own role.
pub(super) async fn take_up(job: &Job, talk: &Conversation, backend: &impl Backend) {
    let Conversation { session, path, transcript, used, cost_micro_usd } = talk;
    if transcript.role != job.role || !is_session(session) {
        tracing::warn!("a conversation is of another role, or its session has no usable id: it is not gone on with");
        return;
    }
    let got = blobs::get_talk(&job.bus, transcript.digest, &job.role, TRANSCRIPT_BYTES_MAX).await;
    let bytes = match got {
        Ok(bytes) => bytes.to_vec(),
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "a conversation cannot be fetched: a new one begins");
            return;
        }
    };
    let known = Continuation { session: session.clone(), used: used.map(Into::into), cost_micro_usd: *cost_micro_usd };
    let transcript = Transcript { path: path.clone(), bytes };
    if let Err(error) = backend.take_up((&job.turn.flight, &job.turn.waypoint), &known, &transcript) {
        tracing::warn!(error = %ErrorChain(&error), "a conversation cannot be laid out: a new one begins");
    }
}
