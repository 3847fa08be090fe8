//! The clones that `holdpoint take` made for the flights of a repository. They are outside of the state folder, where each is
//! remembered, so that `purge` finds them.

use std::{fs, io, path::PathBuf};

use holdpoint_protocol::{
    Digest,
    facts::Oid,
    ids::{FlightId, WaypointId},
};
use holdpoint_runtime::mirror::from_wire;
use holdpoint_sandbox::tree::remove_tree;
use holdpoint_text::units::counted;
use holdpoint_workspace::UserRepo;
use serde::{Deserialize, Serialize};

use crate::{
    bounded,
    failure::Failure,
    people::desk_note::DeskNote,
    state::{StateDir, unusable, write_private},
};

/// Where they are remembered, below the state folder.
const FOLDER: &str = "clones";
/// The most bytes of what is remembered of one.
const RECORD_BYTES_MAX: usize = 64 << 10;
/// The most bytes of a brief that are compared. A longer one is its person's.
const BRIEF_BYTES_MAX: usize = 16 << 20;
/// Clones that are remembered at once.
const CLONES_MAX: usize = 1_000;

/// A clone that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeClone {
    /// The clone.
    pub(crate) clone: PathBuf,
    /// What is wanted, next to it.
    pub(crate) brief: PathBuf,
    /// What the brief said when it was written.
    pub(crate) said: Digest,
    /// The commit that it was made of.
    pub(crate) start: Oid,
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
}

/// How a clone is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CloneStanding {
    /// It is gone, or something else is in its place.
    Gone,
    /// Nothing of it would be lost.
    Unchanged,
    /// It has what is nowhere else, in these words.
    HasWork(String),
}

impl MadeClone {
    /// Remembers it, and forgets those that are gone.
    pub(crate) fn remember(&self, state: &StateDir) -> Result<(), Failure> {
        state.ensure()?;
        let folder = state.folder(FOLDER)?;
        let mut kept = 0;
        for (record, made) in records(state) {
            if [&made.clone, &made.brief].iter().any(|path| path.symlink_metadata().is_ok()) {
                kept += 1;
            } else {
                fs::remove_file(&record).map_err(|source| unusable("remove", &record, &source))?;
            }
        }
        if kept >= CLONES_MAX {
            let message = format!("at most {CLONES_MAX} clones of taken turns are remembered, and that many are there");
            let hint = "`holdpoint purge --dry-run` lists them: remove those that you do not need any more";
            return Err(Failure::usage("too_many_clones", message, hint));
        }
        self.write(&folder)
    }

    /// Remembers clones in a state folder that was removed, because they stay.
    pub(crate) fn keep(stay: &[&Self], state: &StateDir) -> Result<(), Failure> {
        if stay.is_empty() {
            return Ok(());
        }
        let folder = state.folder(FOLDER)?;
        state.adopt(state)?;
        stay.iter().try_for_each(|made| made.write(&folder))
    }

    fn write(&self, folder: &std::path::Path) -> Result<(), Failure> {
        use std::os::unix::ffi::OsStrExt as _;
        let name = format!("{}.json", Digest::of(self.clone.as_os_str().as_bytes()).hex());
        write_private(&folder.join(name), &serde_json::to_vec_pretty(self).expect("plain data with text keys"))
    }

    /// All that are remembered, by their place.
    pub(crate) fn all(state: &StateDir) -> Vec<Self> {
        let mut all: Vec<Self> = records(state).into_iter().map(|(_, made)| made).collect();
        all.sort_by(|one, other| one.clone.cmp(&other.clone));
        all
    }

    /// How it is found.
    pub(crate) async fn standing(&self) -> CloneStanding {
        if !self.is_there() {
            return CloneStanding::Gone;
        }
        let Ok(repo) = UserRepo::open(&self.clone).await else {
            return CloneStanding::HasWork("git cannot be asked what is in it".to_owned());
        };
        let start = from_wire(&self.start);
        let counts = tokio::try_join!(repo.uncommitted(), repo.ignored(), repo.commits_beyond(&start), repo.places());
        match counts {
            // Its git directory, itself, and itself as the one working tree.
            Ok((0, 0, 0, places)) if places.len() <= 3 && repo.git_dir() == repo.dir().join(".git") => {
                CloneStanding::Unchanged
            }
            Ok((files, ignored, commits, _)) => CloneStanding::HasWork(words(files, ignored, commits)),
            Err(error) => CloneStanding::HasWork(format!("git cannot say what is in it ({error})")),
        }
    }

    /// Removes it, and what was wanted, unless its person wrote in that.
    pub(crate) fn remove(&self) -> io::Result<()> {
        if self.is_there() {
            remove_tree(&self.clone)?;
        }
        self.remove_brief()
    }

    /// Whether what was wanted is there as it was written.
    pub(crate) fn has_own_brief(&self) -> bool {
        let is_file = self.brief.symlink_metadata().is_ok_and(|about| about.is_file());
        is_file && bounded::read(&self.brief, BRIEF_BYTES_MAX).is_ok_and(|text| Digest::of(&text) == self.said)
    }

    /// Removes what was wanted, unless its person wrote in it.
    fn remove_brief(&self) -> io::Result<()> {
        if self.has_own_brief() { fs::remove_file(&self.brief) } else { Ok(()) }
    }

    /// Whether the clone is there, and nothing else in its place.
    fn is_there(&self) -> bool {
        DeskNote::of(&self.clone).is_some_and(|note| note.flight == self.flight && note.waypoint == self.waypoint)
    }
}

/// What a clone has that is nowhere else.
fn words(files: usize, ignored: usize, commits: usize) -> String {
    let some = [
        (files, counted(files, "changed path")),
        (ignored, counted(ignored, "ignored path")),
        (commits, counted(commits, "new commit")),
    ];
    let there: Vec<String> = some.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    if there.is_empty() { "more working trees belong to it".to_owned() } else { there.join(", ") }
}

fn records(state: &StateDir) -> Vec<(PathBuf, MadeClone)> {
    let entries = fs::read_dir(state.path(FOLDER)).into_iter().flatten().flatten().take(2 * CLONES_MAX);
    let read = |path: PathBuf| {
        let made = serde_json::from_slice(&bounded::read(&path, RECORD_BYTES_MAX).ok()?).ok()?;
        Some((path, made))
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_nowhere_else_is_counted_by_what_it_is() {
        assert_eq!(words(1, 0, 2), "1 changed path, 2 new commits");
        assert_eq!(words(0, 3, 0), "3 ignored paths");
        assert_eq!(words(0, 0, 0), "more working trees belong to it");
    }

    #[test]
    fn what_is_in_the_place_of_a_clone_that_is_gone_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let made = MadeClone {
            clone: dir.path().join("work"),
            brief: dir.path().join("work.md"),
            said: Digest::of(b""),
            start: "a".repeat(40).parse().unwrap(),
            flight: "f".parse().unwrap(),
            waypoint: "w".parse().unwrap(),
        };
        fs::create_dir_all(made.clone.join(".git")).unwrap();
        let note = |waypoint: &str| DeskNote {
            repo: "/repo".into(),
            flight: "f".parse().unwrap(),
            waypoint: waypoint.parse().unwrap(),
            person: "human-ann".parse().unwrap(),
        };
        made.remove().unwrap();
        note("another").leave(&made.clone).unwrap();
        made.remove().unwrap();
        assert!(made.clone.is_dir(), "it is no clone, or that of another turn");
        note("w").leave(&made.clone).unwrap();
        made.remove().unwrap();
        assert!(!made.clone.exists());
    }

    #[test]
    fn a_brief_in_which_its_person_wrote_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str| MadeClone {
            clone: dir.path().join(name),
            brief: dir.path().join(format!("{name}.md")),
            said: Digest::of(b"do it\n"),
            start: "a".repeat(40).parse().unwrap(),
            flight: "f".parse().unwrap(),
            waypoint: "w".parse().unwrap(),
        };
        for (name, text, stays) in [("a", "do it\n", false), ("b", "do it\nmy notes", true)] {
            let made = made(name);
            fs::write(&made.brief, text).unwrap();
            made.remove_brief().unwrap();
            assert_eq!(made.brief.exists(), stays, "{name}");
        }
        let linked = made("c");
        fs::write(dir.path().join("target"), "do it\n").unwrap();
        std::os::unix::fs::symlink("target", &linked.brief).unwrap();
        linked.remove_brief().unwrap();
        assert!(linked.brief.symlink_metadata().is_ok(), "a link is no brief that was written");
    }
}
