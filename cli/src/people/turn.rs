//! A turn that a person took over: what it asks, where its clone is, and what of the clone is handed in.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use holdpoint_bus::blobs;
use holdpoint_harness::{backend::prompt, build_turn::by_hand};
use holdpoint_protocol::{
    Digest,
    facts::{BlobRef, BundleRef, Oid},
    ids::{FlightId, TurnId, WaypointId, role},
    turn::{BuildRequest, Turn, TurnRequest},
};
use holdpoint_runtime::mirror::{MirrorError, MirrorStore, from_wire, to_wire};
use holdpoint_sandbox::{TemporaryFolder, tree::remove_tree};
use holdpoint_text::units::counted;
use holdpoint_workspace::{InputLimits, Mirror, UserRepo};

use crate::{
    client::Client,
    failure::{Failure, chain},
    ground,
    people::{clones::MadeClone, desk_note::DeskNote},
    temporary,
};

/// The kind of the entries that open turns, in a history.
const TURN: &str = "turn";

/// A clone of a turn and the file next to it that says what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Desk {
    /// The clone.
    pub(crate) clone: PathBuf,
    /// What is wanted, as Markdown. Outside of the clone: it is no part of the work.
    pub(crate) brief: PathBuf,
    /// The repository's working tree, which is its user's alone.
    tree: Option<PathBuf>,
    /// The repository as it was named.
    repo: PathBuf,
}

impl Desk {
    /// The folder that its person named, or one next to the repository; where there is none, in the current folder.
    pub(crate) async fn of(named: Option<&Path>, repo: &Path, waypoint: &WaypointId) -> Result<Self, Failure> {
        let tree = root(repo).await;
        let clone = match named {
            Some(named) => named.to_owned(),
            None => next_to(tree.as_deref(), waypoint),
        };
        let clone = std::path::absolute(&clone).map_err(|error| unusable(&clone, &error))?;
        let Some(name) = clone.file_name() else {
            let message = format!("{} is no name of a folder that could be made", clone.display());
            return Err(Failure::usage("clone_folder", message, "name one that is not there yet with --into DIR"));
        };
        let mut brief = name.to_owned();
        brief.push(".md");
        let repo = repo.canonicalize().unwrap_or_else(|_| repo.to_owned());
        Ok(Self { brief: clone.with_file_name(brief), clone, tree, repo })
    }

    /// Refuses a place where something is, because nothing is overwritten, and one in the working tree.
    pub(crate) fn check_free(&self) -> Result<(), Failure> {
        let there = self.clone.ancestors().find_map(|folder| folder.canonicalize().ok());
        if let Some(tree) = self.tree.as_deref().filter(|tree| there.is_some_and(|there| there.starts_with(tree))) {
            let message = format!("{} is in the working tree of {}", self.clone.display(), tree.display());
            return Err(Failure::usage("clone_folder", message, "name a folder outside of it with --into DIR"));
        }
        let Some(there) = [&self.clone, &self.brief].into_iter().find(|path| path.symlink_metadata().is_ok()) else {
            return Ok(());
        };
        let message = format!("{} is there already, and nothing is overwritten", there.display());
        Err(Failure::usage("clone_folder", message, "move it away, or name another folder with --into DIR"))
    }

    /// Refuses a folder that is no clone with the commit that the turn starts from: all that it lacks would be deleted.
    async fn check_made(&self, start: &Oid) -> Result<(), Failure> {
        let found = async {
            let repo = UserRepo::open(&self.clone).await.ok()?;
            let is_root = repo.git_dir() == repo.dir().join(".git");
            repo.resolve(start.as_str()).await.ok().filter(|_| is_root)
        };
        if found.await.is_some() {
            return Ok(());
        }
        let message = format!("there is no clone of this turn in {}", self.clone.display());
        let hint = "`holdpoint take` makes it; where it was made with --into, name the folder with --from DIR";
        Err(Failure::usage("clone_folder", message, hint))
    }

    /// Makes the clone, with the work so far, and says what is wanted.
    pub(crate) async fn make(&self, client: &Client, turn: &Turn) -> Result<(), Failure> {
        let (start, bundles, text) = match &turn.request {
            TurnRequest::Build(request) => (&request.start, &request.bundles, prompt::for_person(turn, request)),
            TurnRequest::Verify(request) => (&request.commit, &request.bundles, prompt::for_judge(turn, request)),
            TurnRequest::Complete(_) => return Err(no_work_wanted(turn)),
        };
        self.check_free()?;
        self.remember(turn, start, &text).await?;
        let (_dir, mirror) = mirror(client, turn, bundles).await?;
        mirror.clone_for_agent(&from_wire(start), &self.clone).await?;
        // Its parent may be open to everybody, and the repository need not be.
        let private = fs::set_permissions(&self.clone, fs::Permissions::from_mode(0o700));
        private.map_err(|error| unusable(&self.clone, &error))?;
        let (flight, waypoint) = (turn.flight.clone(), turn.waypoint.clone());
        let note = DeskNote { repo: self.repo.clone(), flight, waypoint, person: client.bus().name().clone() };
        note.leave(&self.clone)?;
        let brief = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.brief);
        let written = brief.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| unusable(&self.brief, &error))
    }

    /// Remembers the clone with the repository, where it is of one.
    async fn remember(&self, turn: &Turn, start: &Oid, said: &str) -> Result<(), Failure> {
        let Ok(repo) = ground::find(&self.repo).await else { return Ok(()) };
        let real = |path: &Path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let [clone, brief] = [&self.clone, &self.brief].map(|path| real(path).unwrap_or_else(|| path.clone()));
        let made = MadeClone {
            clone,
            brief,
            said: Digest::of(said.as_bytes()),
            start: start.clone(),
            flight: turn.flight.clone(),
            waypoint: turn.waypoint.clone(),
        };
        made.remember(&ground::state(&repo).await?)
    }

    /// Removes the clone, if `holdpoint take` made it, and what was wanted: the work is in the flight. A clone with files that git ignores
    /// stays, because those are nowhere else. What became of it, in words.
    pub(crate) async fn clear(&self, waypoint: &WaypointId) -> Option<String> {
        DeskNote::of(&self.clone).filter(|note| note.waypoint == *waypoint)?;
        let place = self.clone.display();
        let ignored = async { UserRepo::open(&self.clone).await.ok()?.ignored().await.ok() };
        match ignored.await {
            Some(0) => {}
            Some(more) => {
                let paths = counted(more, "path");
                return Some(format!("the clone stays in {place}: {paths} in it that git ignores were not handed in"));
            }
            None => return Some(format!("the clone stays in {place}: git cannot be asked what else is in it")),
        }
        let removed = remove_tree(&self.clone).and_then(|()| fs::remove_file(&self.brief));
        Some(match removed {
            Ok(()) => format!("the clone in {place} is removed"),
            Err(error) => format!("the clone in {place} cannot be removed: {error}"),
        })
    }

    /// Stores what is in the clone as one commit on the turn's base; `None` where nothing differs from it.
    pub(crate) async fn store(&self, client: &Client, turn: &Turn) -> Result<Option<BundleRef>, Failure> {
        let request = build_request(turn)?;
        self.check_made(&request.start).await?;
        let (dir, mirror) = mirror(client, turn, &request.bundles).await?;
        let by = client.bus().name();
        let bundle = dir.path().join("handoff.bundle");
        let work = by_hand::capture((turn, request), by, &mirror, &self.clone, &bundle).await?;
        let work = work.map_err(|why| {
            let message = format!("what is in {} cannot be handed in: {why}", self.clone.display());
            Failure::usage("work_unusable", message, "change it and hand it in again: the turn is still yours")
        })?;
        let Some((commit, bundle)) = work else { return Ok(None) };
        let role = role::id(role::OPERATOR);
        let digest = blobs::put_file(client.bus(), &role, &bundle.path).await?;
        Ok(Some(BundleRef { blob: BlobRef { role, digest, bytes: bundle.bytes }, tip: to_wire(&commit), index: None }))
    }
}

/// The root of the repository's working tree, also where its git directory is named; of a bare one its folder.
async fn root(repo: &Path) -> Option<PathBuf> {
    let repo = UserRepo::open(repo).await.ok()?;
    let (tree, git_dir) = (repo.working_tree().await.ok()?, repo.git_dir());
    let around = if git_dir.ends_with(".git") { git_dir.parent() } else { Some(git_dir) };
    tree.or_else(|| around.map(Path::to_owned))
}

/// Next to the repository, whose working tree is its user's; where there is none, the current folder is as good.
fn next_to(repo: Option<&Path>, waypoint: &WaypointId) -> PathBuf {
    let named = repo.and_then(|repo| Some((repo.parent()?, repo.file_name()?)));
    let Some((parent, name)) = named else { return PathBuf::from(waypoint.as_str()) };
    let mut name = name.to_owned();
    name.push(format!("-{waypoint}"));
    parent.join(name)
}

/// The open turn of a waypoint, as its entry has it.
pub(crate) async fn of_waypoint(
    client: &Client,
    flight: &FlightId,
    waypoint: &WaypointId,
    turn: &TurnId,
) -> Result<Turn, Failure> {
    let lines = client.history(flight, waypoint).await?;
    let mut turns = lines.into_iter().rev().filter(|line| line.kind == TURN && line.standing.is_none());
    let found =
        turns.find_map(|line| serde_json::from_value::<Turn>(line.artifact).ok().filter(|t| t.turn_id == *turn));
    found.ok_or_else(|| {
        let message = format!("no entry of the journal that can be read opens turn {turn} of {waypoint}");
        Failure::environment(
            "turn_unreadable",
            message,
            "`holdpoint history` shows the journal, `holdpoint audit` checks it",
        )
    })
}

fn build_request(turn: &Turn) -> Result<&BuildRequest, Failure> {
    match &turn.request {
        TurnRequest::Build(request) => Ok(request),
        TurnRequest::Verify(_) | TurnRequest::Complete(_) => Err(no_work_wanted(turn)),
    }
}

fn no_work_wanted(turn: &Turn) -> Failure {
    let message = format!("the turn at gate {} makes no work", turn.gate);
    let hint = "complete it with `holdpoint approve` or `holdpoint reject`, or give it back with `holdpoint release`";
    Failure::usage("no_work_wanted", message, hint)
}

/// The objects of a turn, as long as the folder lives.
async fn mirror(client: &Client, turn: &Turn, bundles: &[BundleRef]) -> Result<(TemporaryFolder, Mirror), Failure> {
    let dir = temporary::folder()?;
    let mirrors = MirrorStore::new(dir.path().join("mirrors"), InputLimits::default());
    let mirror = mirrors.ensure(client.bus(), &turn.flight, bundles).await.map_err(|error| unfetched(&error))?;
    Ok((dir, mirror))
}

fn unfetched(error: &MirrorError) -> Failure {
    let message = format!("cannot fetch what the turn starts from: {}", chain(error));
    Failure::environment("not_fetched", message, "call it again; `holdpoint release` gives the turn back")
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot use {}: {error}", path.display());
    Failure::environment("clone_folder", message, "name another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waypoint() -> WaypointId {
        "w1".parse().unwrap()
    }

    #[test]
    fn a_clone_is_made_next_to_the_repository_and_never_in_it() {
        assert_eq!(next_to(Some(Path::new("/home/ann/client")), &waypoint()), Path::new("/home/ann/client-w1"));
        assert_eq!(next_to(None, &waypoint()), Path::new("w1"));
        assert_eq!(next_to(Some(Path::new("/")), &waypoint()), Path::new("w1"), "nothing is next to the root");
    }

    #[tokio::test]
    async fn what_is_there_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::of(Some(&dir.path().join("c")), dir.path(), &waypoint()).await.unwrap();
        assert_eq!(desk.brief, dir.path().join("c.md"));
        desk.check_free().unwrap();
        std::os::unix::fs::symlink("nowhere", &desk.brief).unwrap();
        assert!(desk.check_free().is_err(), "a link to nothing is something, too");
        std::fs::remove_file(&desk.brief).unwrap();
        std::fs::create_dir(&desk.clone).unwrap();
        assert!(desk.check_free().is_err());
        let start = "0".repeat(40).parse().unwrap();
        assert!(desk.check_made(&start).await.is_err(), "a folder is no clone");
        assert!(Desk::of(Some(Path::new("/")), dir.path(), &waypoint()).await.is_err());
    }
}
