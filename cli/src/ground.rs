//! What a flight stands on: the user's repository, or one without files of ours, in a folder that has none. Flights of such a
//! folder go by workflows in which nobody builds and nobody verifies: people and agents only look, decide and say so.

use std::{
    path::{Path, PathBuf},
    sync::Once,
};

use holdpoint_planfile::{gates::Workflow, workflows};
use holdpoint_protocol::{plan::Plan, workflow::WorkflowSpec};
use holdpoint_workspace::{UserRepo, WorkspaceError};

use crate::{
    failure::Failure,
    output,
    people::desk_note::DeskNote,
    state::{self, FlightRecord, StateDir, folder_name},
    typed::{in_text, quoted},
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

/// Where the state of a repository is kept. One that is not used yet, and has the base of flights that are remembered for another, says
/// where those are: it may be a copy. Where the other is gone it may also be the same one, on another disk; only its user knows.
pub(crate) async fn state(repo: &UserRepo) -> Result<StateDir, Failure> {
    let state = StateDir::of(repo)?;
    if state.dir().is_dir() {
        // One that was moved is at its new place from now on: nobody else can say that it is the one that was at the old one.
        state.adopt(&state)?;
    }
    if state.is_used() {
        return Ok(state);
    }
    for (other, home) in state.others() {
        if shares(repo, &other).await {
            SAID.call_once(|| output::err(&in_text(&flown_elsewhere(&home.shown(), home.is_gone()))));
        }
    }
    Ok(state)
}

/// Where flights of the same history are.
fn flown_elsewhere(place: &str, is_gone: bool) -> String {
    let from = format!("note: flights of the same history were flown from {place}");
    let place = quoted(place);
    if is_gone {
        return format!(
            "{from}, where nothing is any more: if this repository is that one, `holdpoint adopt {place}` makes them its own"
        );
    }
    format!("{from}: `holdpoint status --repo {place}` lists them")
}

/// Whether it is the repository of a folder without one, which Holdpoint made.
pub(crate) fn is_own(repo: &UserRepo) -> Result<bool, Failure> {
    Ok(repo.git_dir().parent() == Some(&*state::root()?.join(FOLDER)))
}

/// Whether a flight that is remembered in a state folder began from a commit of this repository.
pub(crate) async fn shares(repo: &UserRepo, state: &StateDir) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_flights_are_is_said_and_what_decides_where_only_the_user_knows() {
        assert!(flown_elsewhere("/a b", false).ends_with("`holdpoint status --repo '/a b'` lists them"));
        assert!(flown_elsewhere("/a b", true).contains("if this repository is that one, `holdpoint adopt '/a b'`"));
    }
}
