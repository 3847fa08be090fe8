//! Folders by name, of which those that were used last are kept.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use crate::put_away::{GONE, put_away};

/// The file whose time says when a folder was last used. The time of the folder itself stays when something in it is written again.
const LAST_USED: &str = "last-used";

/// The folders in one folder.
#[derive(Debug)]
pub struct Shelf {
    dir: PathBuf,
    most: usize,
    /// Whether folders that an earlier process did not remove to the end are gone. Held by the one that prunes.
    swept: Mutex<bool>,
}

impl Shelf {
    /// Those in `dir`, which is made when it is first needed: so many, and any that is in use.
    #[must_use]
    pub fn new(dir: PathBuf, most: usize) -> Self {
        Self { dir, most, swept: Mutex::default() }
    }

    /// Where the one of this name is, or would be.
    #[must_use]
    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// It is used now. It is made if it is not there.
    ///
    /// # Errors
    /// Its folder cannot be made or written to.
    pub fn touch(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.folder(name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(LAST_USED), b"")?;
        Ok(folder)
    }

    /// Gives up the longest unused ones beyond those that are kept: `take` removes one, and says whether it did. A failure costs disk
    /// space and nothing else. It blocks.
    pub fn prune(&self, take: impl Fn(&Path) -> bool) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let (gone, mut folders): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|folder| is_gone(folder));
        if !std::mem::replace(&mut *swept, true) {
            gone.iter().for_each(|folder| remove(folder));
        }
        folders.sort_by_cached_key(|folder| (last_used(folder), folder.clone()));
        let mut surplus = folders.len().saturating_sub(self.most);
        for folder in folders {
            if surplus == 0 {
                break;
            }
            surplus -= usize::from(take(&folder));
        }
    }
}

/// Removes one. It is out of the way at once.
pub fn remove(folder: &Path) {
    if let Err(error) = put_away(folder) {
        tracing::warn!(dir = %folder.display(), %error, "cannot remove an old folder");
    }
}

fn last_used(folder: &Path) -> SystemTime {
    std::fs::metadata(folder.join(LAST_USED)).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn is_gone(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(GONE.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;

    #[test]
    fn those_that_were_used_last_are_kept_and_those_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(dir.path().join("shelf"), 3);
        let ages = ["a", "b", "c", "d", "e"];
        for (n, name) in ages.into_iter().enumerate() {
            let folder = shelf.touch(name).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(n as u64);
            File::options().write(true).open(folder.join(LAST_USED)).unwrap().set_modified(at).unwrap();
        }
        // It is used again.
        shelf.touch("a").unwrap();
        shelf.prune(|folder| {
            let may_go = !folder.ends_with("b");
            if may_go {
                remove(folder);
            }
            may_go
        });
        let left: Vec<&str> = ages.into_iter().filter(|name| shelf.folder(name).exists()).collect();
        assert_eq!(left, ["a", "b", "e"]);
    }
}
