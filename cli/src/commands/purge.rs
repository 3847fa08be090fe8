//! `purge`: what Holdpoint keeps for a repository, listed and removed. Branches are the user's: they are named, and stay.

use std::{fs, path::Path};

use holdpoint_sandbox::tree::remove_tree;
use holdpoint_text::units::counted;
use holdpoint_workspace::UserRepo;
use serde::Serialize;

use crate::{
    archive,
    args::first::PurgeArgs,
    failure::{Exit, Failure},
    fleet::known_broker,
    ground, output,
    people::clones::{CloneStanding, MadeClone},
    state::{FlightRecord, Lock, StateDir, unusable},
    typed::{quoted, typed},
};

/// The folder of the branches that are written for flights.
const BRANCHES: &str = "holdpoint";

/// What there is; its JSON form is what `--json` prints.
#[derive(Debug, Serialize)]
struct Left {
    /// The state folder.
    state: String,
    /// The bytes of its files.
    bytes: u64,
    /// Flights that `run` began and that can be resumed, watched and audited until now.
    flights: usize,
    /// Exports of flights that were archived into it.
    archived: usize,
    /// Clones of turns that people took over.
    clones: Vec<LeftClone>,
    /// Branches with the work of flights, which stay.
    branches: Vec<String>,
    /// Whether the state folder is gone.
    removed: bool,
}

/// A clone of a turn.
#[derive(Debug, Serialize)]
struct LeftClone {
    #[serde(flatten)]
    made: MadeClone,
    /// Only what was wanted is there, which was next to it.
    #[serde(skip)]
    is_gone: bool,
    /// Why it stays; `null`: nothing of it would be lost.
    stays: Option<String>,
}

/// Lists it, and removes it unless it is only to be listed.
pub(super) async fn purge(args: PurgeArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let state = ground::state(&repo).await?;
    let mut left = left(&repo, &state).await?;
    if !args.dry_run && state.dir().exists() {
        remove(&state, &mut left.clones)?;
        // The repository that a folder without one has is Holdpoint's, too.
        if ground::is_own(&repo)? {
            remove_tree(repo.git_dir()).map_err(|source| unusable("remove", repo.git_dir(), &source))?;
        }
        left.removed = true;
    }
    if args.json {
        output::json(&left);
    } else {
        lines(&left, args.dry_run).iter().for_each(|line| output::out(line));
    }
    Ok(Exit::Success)
}

async fn left(repo: &UserRepo, state: &StateDir) -> Result<Left, Failure> {
    let mut clones = Vec::new();
    for made in MadeClone::all(state) {
        match made.standing().await {
            CloneStanding::Gone if !made.has_own_brief() => {}
            CloneStanding::Gone => clones.push(LeftClone { made, is_gone: true, stays: None }),
            CloneStanding::Unchanged => clones.push(LeftClone { made, is_gone: false, stays: None }),
            CloneStanding::HasWork(what) => clones.push(LeftClone { made, is_gone: false, stays: Some(what) }),
        }
    }
    Ok(Left {
        clones,
        state: state.dir().display().to_string(),
        bytes: bytes(state.dir()),
        flights: FlightRecord::all(state).len(),
        archived: archive::exports(&state.path(archive::FOLDER)),
        branches: repo.branches_below(BRANCHES).await?,
        removed: false,
    })
}

/// Removes the state folder while nothing uses it, and before it the clones of which nothing would be lost. The others are still
/// remembered, and say why they stay.
fn remove(state: &StateDir, clones: &mut [LeftClone]) -> Result<(), Failure> {
    let in_use = || {
        let message = format!("a command uses {} at this moment", state.dir().display());
        Failure::usage(
            "in_use",
            message,
            "end it first: `holdpoint status` shows what is flown, Ctrl-C ends `run` and `up`",
        )
    };
    let users = Lock::try_exclusive(&state.path("users.lock"))?.ok_or_else(in_use)?;
    if known_broker(state).is_some() {
        let message = "the broker of a command that was killed still runs";
        return Err(Failure::usage("in_use", message, "`holdpoint status` ends it; then purge again"));
    }
    for LeftClone { made, stays, .. } in clones.iter_mut().filter(|clone| clone.stays.is_none()) {
        *stays = made.remove().err().map(|error| format!("it cannot be removed: {error}"));
    }
    remove_tree(state.dir()).map_err(|source| unusable("remove", state.dir(), &source))?;
    let stay: Vec<&MadeClone> = clones.iter().filter(|clone| clone.stays.is_some()).map(|clone| &clone.made).collect();
    MadeClone::keep(&stay, state)?;
    drop(users);
    Ok(())
}

fn lines(left: &Left, dry_run: bool) -> Vec<String> {
    let Left { state, bytes, flights, archived, clones, branches, removed } = left;
    let what = match (removed, dry_run && *bytes > 0) {
        (true, _) => "removed",
        (false, true) => "would remove",
        (false, false) => "nothing is kept in",
    };
    let mut lines = vec![format!("{what} {state}")];
    if *bytes > 0 {
        let (flights, archived) = (counted(*flights, "flight"), counted(*archived, "archived flight"));
        lines.push(format!("       {} MiB, {flights}, {archived}", bytes.div_ceil(1 << 20)));
    }
    lines.extend(clones.iter().map(|clone| clone_line(clone, *removed)));
    if !branches.is_empty() {
        lines.push(format!(
            "{} with work stay: git branch -D {}",
            counted(branches.len(), "branch"),
            branches.join(" ")
        ));
    }
    lines
}

fn clone_line(LeftClone { made, is_gone, stays }: &LeftClone, removed: bool) -> String {
    let MadeClone { clone, brief, flight, waypoint, .. } = made;
    let [path, brief] = [clone, brief].map(|path| quoted(&path.display().to_string()));
    let of = if *is_gone {
        format!("what was wanted of {waypoint} of {flight}: {brief}")
    } else {
        format!("the clone of {waypoint} of {flight}: {path}")
    };
    let Some(why) = stays else {
        return format!("{} {of}", if removed { "removed" } else { "would remove" });
    };
    // Its flight goes with the state folder: after that nothing takes its work any more.
    let hand_in = typed(&format!("holdpoint hand-in {waypoint} --flight {flight} --from {path}"));
    let first = if removed { String::new() } else { format!("hand its work in first (`{hand_in}`), or ") };
    format!("stays: {of}, with {why}; {first}copy what you need, and remove it: rm -r {path} {brief}")
}

/// The bytes of all files below a folder; of what cannot be read, nothing.
fn bytes(dir: &Path) -> u64 {
    let mut pending = vec![dir.to_owned()];
    let mut sum = 0;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => pending.push(entry.path()),
                Ok(about) => sum += about.len(),
                Err(_) => {}
            }
        }
    }
    sum
}
