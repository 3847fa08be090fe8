//! What a flight stands on: the user's repository, or one without files of ours, in a folder that has none. Flights of such a
//! folder go by workflows in which nobody builds and nobody verifies: people and agents only look, decide and say so.

use std::{
    path::{Path, PathBuf},
    sync::Once,
};

use holdpoint_core::{gates::Workflow, workflows};
use holdpoint_protocol::{plan::Plan, workflow::WorkflowSpec};
use holdpoint_workspace::{UserRepo, WorkspaceError};

use crate::{
    failure::Failure,
    output,
    people::desk_note::DeskNote,
    state::{self, FlightRecord, StateDir, folder_name},
    typed::quoted,
};

/// Where repositories without files are, below the folder of all state.
const FOLDER: &str = "folders";

/// That flights are elsewhere is said once: a command asks several times.
static SAID: Once = Once::new();

/// The repository that `dir` is in; of a clone that a person made of a turn, the one whose flight it is of. A folder without one has its
/// own once something was flown from it.
pub(crate) async fn find(dir: &Path) -> Result<UserRepo, Failure> {
    let origin = DeskNote::around(dir).map(|(_, note)| note.repo);
    let dir = origin.as_deref().unwrap_or(dir);
    match UserRepo::open(dir).await {
        Err(error @ WorkspaceError::NotARepository { .. }) => match place(dir)?.filter(|place| place.is_dir()) {
            Some(place) => Ok(UserRepo::empty(&place).await?),
            None => Err(error.into()),
        },
        opened => Ok(opened?),
    }
}

/// Where the state of a repository is kept. One without any looks for that of its former place, as far as flights are remembered there
/// whose base it has: it takes over that of a repository that is gone, and says where the flights of one are that it is a copy of.
pub(crate) async fn state(repo: &UserRepo) -> Result<StateDir, Failure> {
    let state = StateDir::of(repo)?;
    if state.is_used() {
        return Ok(state);
    }
    for (other, home) in state.others() {
        if !shares(repo, &other).await {
            continue;
        }
        if home.is_gone() {
            state.adopt(&other)?;
            SAID.call_once(|| {
                output::err(&format!(
                    "note: this repository was in {}; its flights are those of here now",
                    home.shown()
                ));
            });
            return Ok(other);
        }
        let there = format!("holdpoint status --repo {}", quoted(&home.shown()));
        SAID.call_once(|| {
            output::err(&format!("note: flights of the same history were flown from {}: `{there}`", home.shown()));
        });
    }
    Ok(state)
}

/// Whether a flight that is remembered in a state folder began from a commit of this repository.
async fn shares(repo: &UserRepo, state: &StateDir) -> bool {
    let mut records = FlightRecord::all(state).into_iter();
    let base = records.find_map(|flight| FlightRecord::load(state, &flight).ok()??.submission).map(|one| one.base);
    match base {
        Some(base) => repo.resolve(base.as_str()).await.is_ok(),
        None => false,
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
