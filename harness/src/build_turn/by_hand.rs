//! The work of people and programs that edit a clone themselves: the same reading of files as after an agent's program.

use std::path::Path;

use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_protocol::{
    artifact::BuildPlan,
    ids::AgentName,
    turn::{BuildRequest, Turn},
};
use holdpoint_workspace::{Mirror, WorkspaceError};

use super::{
    answer::WorkClaims,
    capture::{Capture, CapturedWork, Files},
    handoff,
};
use crate::agent::{Final, Job};

/// Why a clone is not handed in.
#[derive(Debug, thiserror::Error)]
pub enum HandInError {
    /// Git failed us.
    #[error("read the files of the clone")]
    Read(#[from] WorkspaceError),
    /// The work is not stored.
    #[error("store the work")]
    Store(#[from] BlobError),
}

/// What is in a person's clone of a turn, as one commit on the turn's base, in a bundle that is written to this file.
/// `None`: nothing differs from the base. In place of the work, why the files cannot be handed in.
///
/// # Errors
/// Git failed us.
pub async fn capture(
    (turn, request): (&Turn, &BuildRequest),
    person: &AgentName,
    mirror: &Mirror,
    clone: &Path,
    bundle: &Path,
) -> Result<Result<Option<CapturedWork>, String>, WorkspaceError> {
    let files = Files::Copy(clone.to_owned());
    let capture = Capture { turn, request, agent: person, mirror, bundle: bundle.to_owned(), files };
    Ok(capture.finished(WorkClaims::default()).await?.map(|ready| ready.work))
}

/// The plan of an agent whose work is done by hand.
#[must_use]
pub fn plan(job: &Job, request: &BuildRequest) -> BuildPlan {
    handoff::plan(job, request)
}

/// Stores what is in the clone of an agent's turn, and makes the handoff of it. In its place, why the files cannot be handed in.
///
/// # Errors
/// [`HandInError`].
pub async fn hand_in(
    job: &Job,
    request: &BuildRequest,
    mirror: &Mirror,
    clone: &Path,
    bundle: &Path,
) -> Result<Result<Final, String>, HandInError> {
    let files = Files::Copy(clone.to_owned());
    let capture = Capture { turn: &job.turn, request, agent: &job.agent, mirror, bundle: bundle.to_owned(), files };
    let ready = match capture.finished(WorkClaims::default()).await? {
        Ok(ready) => ready,
        Err(why) => return Ok(Err(why)),
    };
    let digest = match &ready.work {
        Some((_, bundle)) => Some(blobs::put_file(&job.bus, &job.role, &bundle.path).await?),
        None => None,
    };
    Ok(Ok(handoff::by_hand(job, ready, digest)))
}
