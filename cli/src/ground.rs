//! What a flight stands on: the user's repository, or one without files of ours, in a folder that has none. Flights of such a
//! folder go by workflows in which nobody builds and nobody verifies: people and agents only look, decide and say so.

use std::path::{Path, PathBuf};

use holdpoint_core::{gates::Workflow, workflows};
use holdpoint_protocol::{plan::Plan, workflow::WorkflowSpec};
use holdpoint_workspace::{UserRepo, WorkspaceError};

use crate::{
    failure::Failure,
    state::{self, folder_name},
};

/// Where repositories without files are, below the folder of all state.
const FOLDER: &str = "folders";

/// The repository that `dir` is in. A folder without one has its own once something was flown from it.
pub(crate) async fn find(dir: &Path) -> Result<UserRepo, Failure> {
    match UserRepo::open(dir).await {
        Err(error @ WorkspaceError::NotARepository { .. }) => match place(dir)?.filter(|place| place.is_dir()) {
            Some(place) => Ok(UserRepo::empty(&place).await?),
            None => Err(error.into()),
        },
        opened => Ok(opened?),
    }
}

/// The repository that a plan's flight stands on. A folder without one does where its workflows need none.
pub(crate) async fn stand(dir: &Path, plan: &Plan, declared: &[WorkflowSpec]) -> Result<UserRepo, Failure> {
    let error = match UserRepo::open(dir).await {
        Err(error @ WorkspaceError::NotARepository { .. }) => error,
        opened => return Ok(opened?),
    };
    let Some(place) = place(dir)? else { return Err(error.into()) };
    match workflows::flown(plan, declared).find(Workflow::needs_repository) {
        None => Ok(UserRepo::empty(&place).await?),
        Some(workflow) => {
            let message =
                format!("{error}, and workflow {} has gates at which work is made or verified", workflow.name);
            Err(Failure::usage(
                "not_a_repository",
                message,
                "name a repository with --repo DIR, or make one with `git init`",
            ))
        }
    }
}

/// Where the repository of a folder without one is; `None`: there is no such folder.
fn place(dir: &Path) -> Result<Option<PathBuf>, Failure> {
    let Ok(real) = dir.canonicalize() else { return Ok(None) };
    Ok(Some(state::root()?.join(FOLDER).join(folder_name(&real))))
}
