//! Work in a clone that is not in its working tree: on another branch, in a stash, in a second worktree. The clone's git folder
//! is read as plain files, without following links; objects of its are only counted, by a confined git in a folder of ours.

use std::path::{Path, PathBuf};

use holdpoint_protocol::facts::{LeftOut, LeftOutKind};

use super::Mirror;
use super::left_out::shown;
use crate::files::start_of;
use crate::oid::ObjectId;
use crate::path::escaped;

/// Branches and worktrees that are looked at: each is a call of git.
const LOOKED_AT_MAX: usize = 16;
/// Folders that branch names may have, and entries of one folder that are read.
const DEPTH_MAX: usize = 8;
const ENTRIES_MAX: usize = 1_000;
/// Bytes of a file that names one commit or place, and of the file with all packed refs.
const REF_BYTES_MAX: usize = 4 << 10;
const PACKED_BYTES_MAX: usize = 4 << 20;

/// What the git folder of a clone names.
#[derive(Debug, Default, PartialEq, Eq)]
struct CloneRefs {
    /// What the working tree was made of last.
    head: Option<ObjectId>,
    /// Branches that it is not on.
    branches: Vec<(String, ObjectId)>,
    stash: bool,
    /// Further working trees that are still there.
    worktrees: Vec<String>,
}

impl Mirror {
    /// What the clone in `dir` has elsewhere than in its files. `base` is in everything.
    pub(super) async fn elsewhere(&self, dir: &Path, base: &ObjectId) -> Vec<LeftOut> {
        let read = dir.to_owned();
        let refs = tokio::task::spawn_blocking(move || CloneRefs::read(&read)).await.unwrap_or_default();
        let mut found = Vec::new();
        for (name, tip) in &refs.branches {
            let commits = match self.commits_beyond(dir, tip, refs.head.as_ref(), base).await {
                Some(0) => continue,
                Some(1) => "1 commit".to_owned(),
                Some(commits) => format!("{commits} commits"),
                None => "commits".to_owned(),
            };
            found.push(elsewhere(format!("branch {name}"), format!("{commits} that the files do not have")));
        }
        if refs.stash {
            found.push(elsewhere(
                "stash".to_owned(),
                "changes that `git stash pop` brings back into the files".to_owned(),
            ));
        }
        let worktree =
            |place| elsewhere(format!("worktree {place}"), "its files are not the ones in the clone".to_owned());
        found.extend(refs.worktrees.into_iter().map(worktree));
        found
    }

    /// How many commits `tip` has that neither `head` nor the base has; `None`: that cannot be counted.
    async fn commits_beyond(
        &self,
        dir: &Path,
        tip: &ObjectId,
        head: Option<&ObjectId>,
        base: &ObjectId,
    ) -> Option<u64> {
        if head == Some(tip) || tip == base {
            return Some(0);
        }
        let objects = dir.join(".git/objects");
        let without = [Some(base), head].into_iter().flatten().map(|commit| format!("^{commit}"));
        let scratch = self.scratch().ok()?;
        let git = scratch.git_with("rev-list", &objects).arg("--count").arg(tip).args(without);
        git.line().await.ok()?.parse().ok()
    }
}

fn elsewhere(what: String, why: String) -> LeftOut {
    LeftOut { kind: LeftOutKind::Elsewhere, what, why }
}

impl CloneRefs {
    fn read(dir: &Path) -> Self {
        let git_dir = dir.join(".git");
        if !git_dir.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Self::default();
        }
        let head = text_of(&git_dir.join("HEAD"), REF_BYTES_MAX).unwrap_or_default();
        let current = head.strip_prefix("ref: refs/heads/").map(str::to_owned);
        let packed = packed_refs(&git_dir);
        let mut branches = loose_branches(&git_dir);
        for (name, tip) in &packed {
            if let Some(name) = name.strip_prefix("refs/heads/")
                && !branches.iter().any(|(loose, _)| loose == name)
            {
                branches.push((name.to_owned(), tip.clone()));
            }
        }
        let on = |name: &str| branches.iter().find(|(branch, _)| branch == name).map(|(_, tip)| tip.clone());
        let head = current.as_deref().map_or_else(|| head.parse().ok(), on);
        branches.retain(|(name, _)| current.as_ref() != Some(name));
        branches.truncate(LOOKED_AT_MAX);
        let branches = branches.into_iter().map(|(name, tip)| (shown(name.as_bytes()), tip)).collect();
        let stash = text_of(&git_dir.join("refs/stash"), REF_BYTES_MAX).is_some()
            || packed.iter().any(|(name, _)| name == "refs/stash");
        Self { head, branches, stash, worktrees: worktrees(dir, &git_dir) }
    }
}

/// A short text in a file, without the blanks around it.
fn text_of(file: &Path, most: usize) -> Option<String> {
    String::from_utf8(start_of(file, most)?).ok().map(|text| text.trim().to_owned())
}

/// Branches with a file of their own.
fn loose_branches(git_dir: &Path) -> Vec<(String, ObjectId)> {
    let root = git_dir.join("refs/heads");
    let (mut found, mut folders) = (Vec::new(), vec![(root, String::new(), 0)]);
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEPTH_MAX && folders.len() < ENTRIES_MAX {
                folders.push((entry.path(), name + "/", depth + 1));
            } else if let Some(tip) = text_of(&entry.path(), REF_BYTES_MAX).and_then(|text| text.parse().ok()) {
                found.push((name, tip));
            }
            if found.len() >= ENTRIES_MAX {
                return found;
            }
        }
    }
    found.sort();
    found
}

/// Refs that share one file.
pub(super) fn packed_refs(git_dir: &Path) -> Vec<(String, ObjectId)> {
    let text = text_of(&git_dir.join("packed-refs"), PACKED_BYTES_MAX).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(tip, name)| Some((name.to_owned(), tip.parse().ok()?))).take(ENTRIES_MAX).collect()
}

/// Where the commit is that a git folder stands on.
pub(super) fn head_of(git_dir: &Path) -> Option<ObjectId> {
    let head = text_of(&git_dir.join("HEAD"), REF_BYTES_MAX)?;
    let Some(name) = head.strip_prefix("ref: ") else { return head.parse().ok() };
    // A name that leads elsewhere is none.
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    let loose = text_of(&git_dir.join(name), REF_BYTES_MAX).and_then(|text| text.parse().ok());
    loose.or_else(|| packed_refs(git_dir).into_iter().find(|(packed, _)| packed == name).map(|(_, tip)| tip))
}

/// The places of further working trees, as far as they are still there.
fn worktrees(dir: &Path, git_dir: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten();
    let places = listed.filter_map(|entry| text_of(&entry.path().join("gitdir"), REF_BYTES_MAX));
    let there = places.filter_map(|link| {
        let place = Path::new(&link).parent()?;
        is_there(dir, place).then(|| escaped(place.as_os_str().as_encoded_bytes()))
    });
    there.take(LOOKED_AT_MAX).collect()
}

/// Whether a working tree is there. Its program may have known the clone by another path: then its end is tried below the clone.
fn is_there(dir: &Path, place: &Path) -> bool {
    let is_worktree = |at: PathBuf| at.join(".git").symlink_metadata().is_ok_and(|link| link.is_file());
    let names: Vec<_> = place.components().filter(|part| matches!(part, std::path::Component::Normal(_))).collect();
    let ends = (0..names.len()).map(|from| dir.join(names.iter().skip(from).collect::<PathBuf>()));
    is_worktree(place.to_owned()) || ends.into_iter().any(is_worktree)
}
