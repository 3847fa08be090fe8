//! Which state folder is a repository's. It is named after the place of the repository, and says which one it is of: a repository that
//! was moved keeps its folder, and one that took its place gets another.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use super::{folder_name, write_private};
use crate::failure::Failure;

/// The file that says which repository a folder is of.
const FILE: &str = "repository.json";

/// A repository, as it is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Home {
    /// Its git directory.
    pub(crate) git_dir: PathBuf,
    device: u64,
    inode: u64,
    /// When the directory was made, in nanoseconds, where the file system says so: an inode is used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<u64>,
}

impl Home {
    /// The one with this git directory.
    pub(super) fn of(git_dir: &Path) -> io::Result<Self> {
        let about = fs::metadata(git_dir)?;
        let born = about.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|since| u64::try_from(since.as_nanos()).ok());
        Ok(Self { git_dir: git_dir.to_owned(), device: about.dev(), inode: about.ino(), born })
    }

    /// That of a state folder; `None`: the folder does not say.
    pub(super) fn of_folder(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join(FILE)).ok()?).ok()
    }

    /// Notes in a state folder that it is of this one.
    pub(super) fn note(&self, dir: &Path) -> Result<(), Failure> {
        if Self::of_folder(dir).as_ref() == Some(self) {
            return Ok(());
        }
        write_private(&dir.join(FILE), &serde_json::to_vec_pretty(self).expect("plain data with text keys"))
    }

    /// Whether it is the same directory, wherever that is now. Without its birth an inode proves it only while nothing is at its place.
    fn is_same(&self, now: &Self) -> bool {
        let identity = |home: &Self| (home.device, home.inode, home.born);
        identity(self) == identity(now) && (self.born.is_some() || self.is_gone())
    }

    /// Whether this is its place, as people name it or as git does.
    pub(crate) fn is_at(&self, place: &Path) -> bool {
        self.git_dir == place || Path::new(&self.shown()) == place
    }

    /// Its place for people: its folder, of a bare one itself.
    pub(crate) fn shown(&self) -> String {
        let is_within = self.git_dir.file_name().is_some_and(|name| name == ".git");
        let place = if is_within { self.git_dir.parent() } else { None };
        place.unwrap_or(&self.git_dir).display().to_string()
    }

    /// Whether nothing is at its place any more.
    pub(crate) fn is_gone(&self) -> bool {
        fs::symlink_metadata(&self.git_dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// The state folder of a repository, made or not: that of the same directory, wherever it was, else that of its place. A copy is neither.
pub(super) fn folder(root: &Path, own: &Home) -> PathBuf {
    let all = all(root);
    let of = |fits: &dyn Fn(&Home) -> bool| all.iter().find(|(_, home)| fits(home)).map(|(dir, _)| dir.clone());
    if let Some(dir) = of(&|home| home.is_same(own)).or_else(|| of(&|home| home.git_dir == own.git_dir)) {
        return dir;
    }
    // The one that was here before took its folder along.
    let name = folder_name(&own.git_dir);
    let numbered = (2..).map(|number| root.join(format!("{name}-{number}")));
    let named = std::iter::once(root.join(&name)).chain(numbered);
    named.into_iter().find(|dir| !dir.join(FILE).exists()).unwrap_or_else(|| root.join(name))
}

/// The state folders that say which repository they are of.
pub(super) fn all(root: &Path) -> Vec<(PathBuf, Home)> {
    let dirs = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<_> =
        dirs.filter_map(|dir| Some((Home::of_folder(&dir)?, dir))).map(|(home, dir)| (dir, home)).collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_that_was_moved_keeps_its_folder_and_one_in_its_place_gets_another() {
        let temp = tempfile::tempdir().unwrap();
        let (root, old, new) = (temp.path().join("state"), temp.path().join("old"), temp.path().join("new"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&old).unwrap();
        let home = Home::of(&old).unwrap();
        let first = folder(&root, &home);
        assert_eq!(first, root.join(folder_name(&old)));
        fs::create_dir(&first).unwrap();
        home.note(&first).unwrap();

        fs::rename(&old, &new).unwrap();
        let moved = Home::of(&new).unwrap();
        assert_eq!(folder(&root, &moved), first);
        moved.note(&first).unwrap();
        assert_eq!(folder(&root, &moved), first, "its new place is known");

        fs::create_dir(&old).unwrap();
        assert_eq!(folder(&root, &Home::of(&old).unwrap()), root.join(format!("{}-2", folder_name(&old))));
    }

    #[test]
    fn a_directory_is_the_same_by_its_birth_and_without_one_only_while_its_old_place_is_empty() {
        let temp = tempfile::tempdir().unwrap();
        let home = |place: &str, inode: u64, born: Option<u64>| Home {
            git_dir: temp.path().join(place),
            device: 1,
            inode,
            born,
        };
        fs::create_dir(temp.path().join("there")).unwrap();
        for (was, now, is_same) in [
            (home("gone", 7, Some(5)), home("new", 7, Some(5)), true),
            (home("gone", 7, Some(5)), home("new", 7, Some(6)), false),
            (home("gone", 7, Some(5)), home("new", 8, Some(5)), false),
            (home("there", 7, Some(5)), home("new", 7, Some(5)), true),
            (home("gone", 7, None), home("new", 7, None), true),
            (home("there", 7, None), home("new", 7, None), false),
            (home("gone", 7, None), home("new", 7, Some(5)), false),
        ] {
            assert_eq!(was.is_same(&now), is_same, "{was:?} {now:?}");
        }
    }

    #[test]
    fn a_copy_that_is_used_before_its_moved_original_leaves_the_folder_to_that() {
        let temp = tempfile::tempdir().unwrap();
        let [root, original, copy, moved] = ["state", "a", "b", "c"].map(|name| temp.path().join(name));
        for dir in [&root, &original, &copy] {
            fs::create_dir(dir).unwrap();
        }
        let home = Home::of(&original).unwrap();
        let first = folder(&root, &home);
        fs::create_dir(&first).unwrap();
        home.note(&first).unwrap();
        fs::rename(&original, &moved).unwrap();
        let of_copy = Home::of(&copy).unwrap();
        let second = folder(&root, &of_copy);
        assert_eq!(second, root.join(folder_name(&copy)));
        fs::create_dir(&second).unwrap();
        of_copy.note(&second).unwrap();
        assert_eq!(folder(&root, &Home::of(&moved).unwrap()), first);
    }

    #[test]
    fn a_copy_does_not_take_the_folder_of_its_original() {
        let temp = tempfile::tempdir().unwrap();
        let (root, original, copy) = (temp.path().join("state"), temp.path().join("a"), temp.path().join("b"));
        for dir in [&root, &original, &copy] {
            fs::create_dir(dir).unwrap();
        }
        let home = Home::of(&original).unwrap();
        let first = folder(&root, &home);
        fs::create_dir(&first).unwrap();
        home.note(&first).unwrap();
        assert_eq!(folder(&root, &Home::of(&copy).unwrap()), root.join(folder_name(&copy)));
        assert_eq!(all(&root), [(first, home)]);
    }
}
