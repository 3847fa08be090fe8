//! `adopt`: a repository that cannot be told from a copy takes over the flights that were flown from where it was.

use holdpoint_sandbox::tree::remove_tree;

use crate::{
    args::first::AdoptArgs,
    failure::{Exit, Failure},
    ground, output,
    state::{Lock, StateDir, unusable},
    typed::{in_text, quoted},
};

/// Takes them over, because its user says that it is the same repository.
pub(super) async fn adopt(args: AdoptArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let state = StateDir::of(&repo)?;
    let place = std::path::absolute(&args.place).map_err(|source| unusable("find", &args.place, &source))?;
    let refused = |code, why: String, hint: String| Failure::usage(code, why, in_text(&hint));
    let shown = place.display();
    let Some((other, home)) = state.others().into_iter().find(|(_, home)| home.is_at(&place)) else {
        let hint = "name the folder as the note says it that `holdpoint status` prints";
        return Err(refused("not_found", format!("no flights are kept of a repository in {shown}"), hint.to_owned()));
    };
    if !home.is_gone() {
        let hint = format!("`holdpoint status --repo {}` lists them", quoted(&home.shown()));
        return Err(refused("still_there", format!("{shown} is there, and its flights are its own"), hint));
    }
    if state.is_used() {
        let message = format!("this repository has flights of its own, in {}", state.dir().display());
        let hint = "`holdpoint purge` removes them, if they are not needed";
        return Err(refused("has_flights", message, hint.to_owned()));
    }
    if !ground::shares(&repo, &other).await {
        let message = format!("this repository has the base of no flight that was flown from {shown}");
        return Err(refused("other_history", message, "name the repository that it is with --repo DIR".to_owned()));
    }
    let in_use = || refused("in_use", format!("a command uses {}", other.dir().display()), "end it first".to_owned());
    let _users = Lock::try_exclusive(&other.path("users.lock"))?.ok_or_else(in_use)?;
    // It has no flights, and would be found before the other.
    remove_tree(state.dir()).map_err(|source| unusable("remove", state.dir(), &source))?;
    state.adopt(&other)?;
    output::out(&in_text(&format!(
        "the flights that were flown from {shown} are this repository's now: `holdpoint status`"
    )));
    Ok(Exit::Success)
}
