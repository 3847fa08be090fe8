//! Temporary folders: the one way in which the product makes them outside of its state folder.
//!
//! What is in one may be a copy of somebody's repository. So only its user may look into it, it goes with its owner, also where
//! programs took the rights to parts of it away or a thread is still removing some, and one whose process was killed is removed by the
//! next process that sweeps. Its owner holds a lock on the folder, which the kernel gives back however the process ends.

use std::{
    collections::hash_map::RandomState,
    ffi::OsStr,
    fs::{self, DirBuilder, File, TryLockError},
    hash::{BuildHasher as _, Hasher as _},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::unistd::geteuid;

use crate::tree::{remove_leftovers, remove_tree};

/// How the names of these folders begin; hex digits follow.
const PREFIX: &str = "holdpoint-";
/// How many of them.
const DIGITS: usize = 16;
/// What its owner sees of such a folder: the rest is for removing it.
const CONTENT: &str = "t";
/// Tries to remove a folder, and the pause between two: a program that is being ended may still write for a moment.
const REMOVE_TRIES: u32 = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// A folder that only this user can look into. It is removed when dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    outer: PathBuf,
    content: PathBuf,
    /// `None` on a file system without locks; such a folder is not swept.
    _held: Option<File>,
}

impl TemporaryFolder {
    /// A fresh one where the system has its temporary files.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    /// A fresh one in this folder.
    ///
    /// # Errors
    /// The system's, with the folder's name.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        loop {
            let number = RandomState::new().build_hasher().finish();
            let outer = parent.join(format!("{PREFIX}{number:016x}"));
            match DirBuilder::new().mode(0o700).create(&outer) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", parent.display())))?,
            }
            let held = match hold(&outer) {
                Ok(Some(held)) => Some(held),
                // A process that sweeps was faster than this lock.
                Ok(None) => continue,
                Err(_) => None,
            };
            let content = outer.join(CONTENT);
            DirBuilder::new().mode(0o700).create(&content)?;
            return Ok(Self { outer, content, _held: held });
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.content
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        for _ in 1..REMOVE_TRIES {
            if remove(&self.outer).is_ok() {
                return;
            }
            std::thread::sleep(REMOVE_PAUSE);
        }
        if let Err(error) = remove(&self.outer) {
            tracing::warn!(dir = %self.outer.display(), %error, "cannot remove a temporary folder: the next command does");
        }
    }
}

/// Removes, in a thread of its own, the temporary folders of this user whose processes were killed.
pub fn sweep() {
    let parent = std::env::temp_dir();
    // Without a thread the next one does it.
    let _ = std::thread::Builder::new().name("sweep".to_owned()).spawn(move || sweep_in(&parent));
}

fn sweep_in(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(|entry| is_ours(&entry.file_name())) {
        let own = entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == geteuid().as_raw());
        if own && let Ok(Some(_held)) = hold(&entry.path()) {
            // One that cannot be removed is tried again by the next process.
            let _ = remove(&entry.path());
        }
    }
}

/// Whether a name is one of these folders'.
fn is_ours(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Locks a folder as long as the file lives; `None`: somebody else has it, or it is gone.
fn hold(dir: &Path) -> io::Result<Option<File>> {
    let file = match File::open(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // Its last holder may have removed it meanwhile.
    let (locked, there) = (file.metadata()?, dir.symlink_metadata());
    let is_same = there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino()));
    Ok(is_same.then_some(file))
}

/// Removes such a folder with all that a removal that was killed left in it.
fn remove(outer: &Path) -> io::Result<()> {
    remove_tree(&outer.join(CONTENT))?;
    remove_leftovers(outer)?;
    fs::remove_dir(outer)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_its_user_can_look_into_it_and_it_goes_whatever_rights_are_left() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::new_in(parent.path()).unwrap();
        assert_eq!((mode(&folder.outer), mode(folder.path())), (0o700, 0o700));
        let closed = folder.path().join("closed");
        fs::create_dir_all(closed.join("inner")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        drop(folder);
        assert_eq!(count(parent.path()), 0);
    }

    #[test]
    fn it_goes_while_a_thread_still_removes_parts_of_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::new_in(parent.path()).unwrap();
        let part = folder.path().join("part");
        for number in 0..40 {
            let below = part.join(number.to_string());
            fs::create_dir_all(&below).unwrap();
            (0..20).for_each(|file| fs::write(below.join(file.to_string()), "x").unwrap());
        }
        let remover = std::thread::spawn(move || drop(remove_tree(&part)));
        drop(folder);
        remover.join().unwrap();
        assert_eq!(count(parent.path()), 0);
    }

    #[test]
    fn a_sweep_removes_what_killed_processes_left_and_nothing_that_is_used() {
        let parent = tempfile::tempdir().unwrap();
        let used = TemporaryFolder::new_in(parent.path()).unwrap();
        let left = parent.path().join("holdpoint-00000000000000aa");
        for below in ["t/repo", ".removing-1-0/0"] {
            fs::create_dir_all(left.join(below)).unwrap();
        }
        for other in ["holdpoint-notes", "holdpoint-00000000000000zz", "other"] {
            fs::create_dir(parent.path().join(other)).unwrap();
        }
        sweep_in(parent.path());
        assert!(!left.exists() && used.path().is_dir());
        assert_eq!(count(parent.path()), 4);
    }
}
