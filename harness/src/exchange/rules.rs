//! What a project asks of exchanges, from the commit that the work is based on: no agent can have changed it.

use holdpoint_planfile::{
    exchange::{FILE, FILE_BYTES_MAX, HandoffRules},
    plan::PlanErrors,
};
use holdpoint_workspace::{Mirror, ObjectId, RepoPath, WorkspaceError};

/// Why the rules cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file is wrong: a person has to correct it.
    #[error("{}", .0.render())]
    Wrong(PlanErrors),
    /// It is too large to be read.
    #[error("{FILE} is larger than {} KiB", FILE_BYTES_MAX >> 10)]
    TooLarge,
    /// Git failed us.
    #[error("git failed")]
    Git(#[source] WorkspaceError),
}

/// The rules at a commit; the defaults where the project says nothing.
///
/// # Errors
/// [`RulesError`].
pub async fn rules_at(mirror: &Mirror, commit: &ObjectId) -> Result<HandoffRules, RulesError> {
    let path = RepoPath::new(FILE.as_bytes()).expect("a literal path");
    match mirror.file_at(commit, &path, FILE_BYTES_MAX).await {
        Ok(None) => Ok(HandoffRules::default()),
        Ok(Some(bytes)) => HandoffRules::read(&bytes, FILE).map_err(RulesError::Wrong),
        Err(WorkspaceError::BlobOverCap { .. }) => Err(RulesError::TooLarge),
        Err(error) => Err(RulesError::Git(error)),
    }
}
