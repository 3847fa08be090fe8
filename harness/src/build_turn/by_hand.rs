//! The work of a person who took over a turn: the same reading of files as after an agent's program.

use std::path::Path;

use holdpoint_protocol::{
    ids::AgentName,
    turn::{BuildRequest, Turn},
};
use holdpoint_workspace::{Mirror, WorkspaceError};

use super::capture::{Capture, CapturedWork, Files};

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
    Capture { turn, request, agent: person, mirror, bundle: bundle.to_owned(), files }.by_hand().await
}
