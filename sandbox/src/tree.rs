//! Removing folders that programs wrote which are not ours, and where folders are put that do not stay.
//!
//! Such a program decides how deep its folders are, and what rights they have. So nothing here recurses, no path gets
//! longer than two names below the parent of what is removed, and no link is followed. Each folder is moved out of the
//! one it is in before its turn comes, to a flat holding folder that no program can reach:
//!
//! ```text
//! <parent>/<path>                what is removed
//! <parent>/.removing-<unique>/0  it, once removal began
//!                            /1  a folder that was in it, or in another one
//! ```
//!
//! Waiting until a program has ended, and trying again, is left to callers.

use std::{
    ffi::OsStr,
    fs::{DirBuilder, DirEntry, File},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use nix::{
    fcntl::AT_FDCWD,
    sys::stat::{FchmodatFlags, Mode, fchmodat},
};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// How the names of holding folders begin.
const HOLDING: &str = ".removing-";
/// Only this user may look into them.
const PRIVATE: u32 = 0o700;

/// Has the file system put the folders that are made in `dir` from now on apart from each other, where it knows how.
///
/// ext4 does not take an inode again that was freed in the last minutes, and looks at each of them for every new file:
/// where trees come and go in one group of inodes, making a file gets many times slower. Folders below a "top of
/// folder hierarchies" (`chattr +T`, `ext4(5)`) each begin in another group. Other file systems refuse it, or pass it on to
/// the one below them.
pub fn spread(dir: &Path) {
    let set = || {
        let dir = File::open(dir)?;
        ioctl_setflags(&dir, ioctl_getflags(&dir)? | IFlags::TOPDIR)?;
        io::Result::Ok(())
    };
    if let Err(error) = set() {
        tracing::debug!(dir = %dir.display(), %error, "a file system that does not put folders apart");
    }
}

/// Removes a folder with all that is in it, whatever its depth and also where its owner took the rights to it from
/// himself. A file or a link is unlinked; what a link points to stays. A folder that is not there is gone already.
///
/// No other process may write to the folder that `path` is in, as a crash leaves a holding folder there. The next start
/// removes it with [`remove_leftovers`].
///
/// # Errors
/// The first one of the system. Everything else is removed even so, and the rest is at `path` again, in no order, so
/// that the caller can try again.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if !metadata.is_dir() {
        return unless_gone(std::fs::remove_file(path));
    }
    let parent = path.parent().ok_or(ErrorKind::InvalidInput)?;
    let mut removal = Removal::begin(parent)?;
    removal.hold(path);
    while let Some(number) = removal.waiting.pop() {
        removal.empty(number);
    }
    removal.end(path)
}

/// Removes what a process that was killed in [`remove_tree`] left in the folder `parent`. No process may be removing
/// anything there.
///
/// # Errors
/// As [`remove_tree`], and if `parent` cannot be read. A `parent` that is not there has no leftovers.
pub fn remove_leftovers(parent: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(parent) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut first = Ok(());
    for entry in entries {
        let removed =
            entry.and_then(|entry| if is_holding(&entry.file_name()) { remove_tree(&entry.path()) } else { Ok(()) });
        first = first.and(removed);
    }
    first
}

fn is_holding(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(HOLDING.as_bytes())
}

/// A removal that has begun.
struct Removal {
    holding: PathBuf,
    /// Folders in `holding` that are still to be emptied.
    waiting: Vec<u64>,
    /// The name of the next one.
    next: u64,
    first_error: Option<io::Error>,
}

impl Removal {
    fn begin(parent: &Path) -> io::Result<Self> {
        let holding = make_holding(parent)?;
        Ok(Self { holding, waiting: Vec::new(), next: 0, first_error: None })
    }

    /// Moves a folder into the holding folder. A folder that moves has to be writable itself, as its `..` changes.
    fn hold(&mut self, folder: &Path) {
        let number = self.next;
        // A refusal shows in what comes next, unless the rights were enough already.
        let _ = fchmodat(AT_FDCWD, folder, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink);
        match std::fs::rename(folder, self.place(number)) {
            Ok(()) => {
                self.next += 1;
                self.waiting.push(number);
            }
            refused => self.note(refused),
        }
    }

    /// Removes a folder that is held; folders in it are held from now on.
    fn empty(&mut self, number: u64) {
        let folder = self.place(number);
        match folder.symlink_metadata() {
            // A program that still runs put something else in its place before it was moved.
            Ok(metadata) if !metadata.is_dir() => return self.note(std::fs::remove_file(&folder)),
            Ok(_) => {}
            Err(error) => return self.note(Err(error)),
        }
        match std::fs::read_dir(&folder) {
            Ok(entries) => entries.for_each(|entry| self.take(entry)),
            Err(error) => self.note(Err(error)),
        }
        self.note(std::fs::remove_dir(&folder));
    }

    fn take(&mut self, entry: io::Result<DirEntry>) {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => self.hold(&path),
            Ok((path, _)) => self.note(std::fs::remove_file(path)),
            Err(error) => self.note(Err(error)),
        }
    }

    /// Removes the holding folder, or puts it where the tree was if something is left in it.
    fn end(mut self, path: &Path) -> io::Result<()> {
        self.note(std::fs::remove_dir(&self.holding));
        let Some(error) = self.first_error else { return Ok(()) };
        if let Err(error) = unless_gone(std::fs::rename(&self.holding, path)) {
            tracing::warn!(folder = %self.holding.display(), %error, "what could not be removed is left here");
        }
        Err(error)
    }

    fn place(&self, number: u64) -> PathBuf {
        self.holding.join(number.to_string())
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = unless_gone(done) {
            self.first_error.get_or_insert(error);
        }
    }
}

/// An entry that another process removed is removed.
fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn make_holding(parent: &Path) -> io::Result<PathBuf> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    loop {
        let unique = MADE.fetch_add(1, Ordering::Relaxed);
        let holding = parent.join(format!("{HOLDING}{}-{unique}", process::id()));
        match DirBuilder::new().mode(PRIVATE).create(&holding) {
            // An earlier process with the same id was killed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| holding),
        }
    }
}

#[cfg(test)]
mod tests;
