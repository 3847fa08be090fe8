//! Which state folder is a repository's. It is named after the place of the repository, and says which one it is of: a repository that
//! was moved keeps its folder, and one that took its place gets another.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
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
}

impl Home {
    /// The one with this git directory.
    pub(super) fn of(git_dir: &Path) -> io::Result<Self> {
        let about = fs::metadata(git_dir)?;
        Ok(Self { git_dir: git_dir.to_owned(), device: about.dev(), inode: about.ino() })
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

    /// Whether it was at another place, which is empty now.
    fn was_moved_to(&self, now: &Self) -> bool {
        (self.device, self.inode) == (now.device, now.inode) && self.is_gone()
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

/// The state folder of a repository, made or not.
pub(super) fn folder(root: &Path, own: &Home) -> PathBuf {
    let name = folder_name(&own.git_dir);
    let named = root.join(&name);
    let is_of = |dir: &Path, fits: &dyn Fn(&Home) -> bool| Home::of_folder(dir).is_some_and(|home| fits(&home));
    if is_of(&named, &|home| home.git_dir == own.git_dir) {
        return named;
    }
    let all = || all(root).into_iter();
    let moved = all().find(|(_, home)| home.git_dir == own.git_dir || home.was_moved_to(own));
    if let Some((dir, _)) = moved {
        return dir;
    }
    // The one that was here before took its folder along.
    let numbered = (2..).map(|number| root.join(format!("{name}-{number}")));
    std::iter::once(named).chain(numbered).find(|dir| !dir.join(FILE).exists()).unwrap_or_else(|| root.join(name))
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
