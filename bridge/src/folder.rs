//! The folder, as a place that others write: everything is opened beneath it without following links, and appears whole (SDLC-4).

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use holdpoint_faults::Step;
use holdpoint_protocol::Timestamp;
use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags},
    io::Errno,
};

/// Bytes of a file that is read.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Files of one folder that are looked at.
pub const FOLDER_FILES_MAX: usize = 4_096;
/// Rights of new files and folders, as far as the user's mask leaves them.
const FILE_MODE: u32 = 0o666;
const FOLDER_MODE: u32 = 0o777;
/// How the names of files begin that are being written.
const UNFINISHED: &str = ".holdpoint-";

/// A folder that is open.
#[derive(Debug)]
pub struct BridgeFolder {
    root: OwnedFd,
    path: PathBuf,
}

/// A file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// Its text.
    pub text: String,
    /// When it was last written.
    pub written: Timestamp,
}

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFile {
    /// It is a link, a folder or a device.
    #[error("it is no plain file: put a file there, and no link, folder or pipe")]
    NotPlain,
    /// It has other names, which others can write it by.
    #[error("it has {0} names: copy it, and remove the hard link")]
    Linked(u64),
    /// It is too large.
    #[error("it has more than {FILE_BYTES_MAX} bytes: keep to what the next reader needs")]
    TooLarge,
    /// It is not UTF-8.
    #[error("line {0} is not UTF-8: save it as UTF-8 text")]
    NotText(usize),
    /// The system does not let it be read.
    #[error("it cannot be read ({0}): change its rights")]
    Unreadable(String),
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FolderError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl BridgeFolder {
    /// Opens a folder, and makes it where it is not there.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let cannot = |action| move |source: io::Error| FolderError { action, path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(cannot("make"))?;
        let path = path.canonicalize().map_err(cannot("find"))?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let root =
            rustix::fs::openat(CWD, &path, flags, Mode::empty()).map_err(|error| cannot("open")(error.into()))?;
        Ok(Self { root, path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder in it, with those around.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn make(&self, name: &str) -> Result<(), FolderError> {
        let mut made = String::new();
        for part in name.split('/') {
            let around = self.folder(&made).map_err(|error| self.cannot("open", &made, error))?;
            if !made.is_empty() {
                made.push('/');
            }
            made.push_str(part);
            match rustix::fs::mkdirat(&around, part, Mode::from_raw_mode(FOLDER_MODE)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(self.cannot("make", &made, error)),
            }
        }
        self.folder(&made).map(drop).map_err(|error| self.cannot("open", &made, error))
    }

    /// The names of the files in a folder, sorted; hidden ones and folders are passed over. Of too many the first.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn files(&self, folder: &str) -> Result<Vec<String>, FolderError> {
        let read = || -> Result<Vec<String>, Errno> {
            let mut names = Vec::new();
            for entry in Dir::read_from(self.folder(folder)?)? {
                let entry = entry?;
                let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
                if !name.starts_with('.') && entry.file_type() != FileType::Directory {
                    names.push(name);
                }
                if names.len() >= FOLDER_FILES_MAX {
                    tracing::warn!(folder, FOLDER_FILES_MAX, "the folder has more files than are looked at");
                    break;
                }
            }
            names.sort();
            Ok(names)
        };
        read().map_err(|error| self.cannot("list", folder, error))
    }

    /// Whether something of this name is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entry(name)
            .is_ok_and(|(folder, name)| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    /// Reads a file; `None`: nothing of this name is there.
    ///
    /// # Errors
    /// [`BadFile`].
    pub fn read(&self, name: &str) -> Result<Option<ReadFile>, BadFile> {
        let unreadable = |error: io::Error| BadFile::Unreadable(error.to_string());
        // Nothing is waited for: a pipe has no writer, perhaps.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.open_beneath(name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NXIO | Errno::NOTDIR) => return Err(BadFile::NotPlain),
            Err(error) => return Err(unreadable(error.into())),
        };
        let about = rustix::fs::fstat(&file).map_err(|error| unreadable(error.into()))?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(BadFile::NotPlain);
        }
        match about.st_nlink {
            0 => return Ok(None),
            1 => {}
            #[allow(clippy::useless_conversion, reason = "its width differs between machines")]
            more => return Err(BadFile::Linked(u64::from(more))),
        }
        let mut bytes = Vec::new();
        (&file).take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(BadFile::TooLarge);
        }
        let written = file.metadata().and_then(|about| about.modified()).map_err(unreadable)?;
        let written = written.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            BadFile::NotText(valid.iter().filter(|byte| **byte == b'\n').count() + 1)
        })?;
        Ok(Some(ReadFile { text, written: Timestamp::from_millis(i64::try_from(written).unwrap_or(i64::MAX)) }))
    }

    /// Writes a file, in the place of one that is there. It appears whole, and stays after a crash.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let _at = holdpoint_faults::at(Step::BridgeWrite);
        self.write_with(name, text, RenameFlags::empty()).map_err(|error| self.cannot("write", name, error))
    }

    /// Writes a file that is not there yet; whether it was written.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn write_new(&self, name: &str, text: &str) -> Result<bool, FolderError> {
        match self.write_with(name, text, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.cannot("write", name, error)),
        }
    }

    fn write_with(&self, name: &str, text: &str, flags: RenameFlags) -> Result<(), Errno> {
        let (folder, last) = self.entry(name)?;
        let unfinished = format!("{UNFINISHED}{}", holdpoint_runtime::fresh::nonce());
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &unfinished, create, Mode::from_raw_mode(FILE_MODE))?;
        let mut file = File::from(file);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let placed = written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let placed = placed.and_then(|()| rustix::fs::renameat_with(&folder, &unfinished, &folder, last, flags));
        if placed.is_err() {
            // It is nobody's.
            let _ = rustix::fs::unlinkat(&folder, &unfinished, AtFlags::empty());
        }
        placed.and_then(|()| rustix::fs::fsync(&folder))
    }

    /// Moves a file to a name that nothing has; whether it was there and moved.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn rename(&self, from: &str, to: &str) -> Result<bool, FolderError> {
        let _at = holdpoint_faults::at(Step::BridgeMove);
        let moved = || -> Result<(), Errno> {
            let ((folder, name), (other, new)) = (self.entry(from)?, self.entry(to)?);
            rustix::fs::renameat_with(&folder, name, &other, new, RenameFlags::NOREPLACE)?;
            rustix::fs::fsync(&other)?;
            rustix::fs::fsync(&folder)
        };
        match moved() {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::EXIST) => Ok(false),
            Err(error) => Err(self.cannot("move", from, error)),
        }
    }

    /// Removes a file, a link or whatever it is but a folder; nothing there is as good.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let removed = || -> Result<(), Errno> {
            let (folder, name) = self.entry(name)?;
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
            rustix::fs::fsync(&folder)
        };
        match removed() {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.cannot("remove", name, error)),
        }
    }

    /// Takes the folder for one process; `None`: another one has it. It is free once the file is dropped, or its process has ended.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn take(&self, name: &str) -> Result<Option<File>, FolderError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = self.open_beneath(name, flags, Mode::from_raw_mode(FILE_MODE));
        let file = File::from(file.map_err(|error| self.cannot("open", name, error))?);
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => {
                Err(FolderError { action: "lock", path: self.path.join(name), source })
            }
        }
    }

    /// Whether a name leads to a folder without a link on the way.
    #[must_use]
    pub fn is_folder(&self, name: &str) -> bool {
        self.folder(name).is_ok()
    }

    /// A folder in it.
    fn folder(&self, name: &str) -> Result<OwnedFd, Errno> {
        let name = if name.is_empty() { "." } else { name };
        self.open_beneath(name, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty())
    }

    /// The folder that something is in, and its name there.
    fn entry<'a>(&self, name: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
        Ok((self.folder(folder)?, last))
    }

    fn open_beneath(&self, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, name, flags | OFlags::CLOEXEC, mode, resolve)
    }

    fn cannot(&self, action: &'static str, name: &str, error: Errno) -> FolderError {
        FolderError { action, path: self.path.join(name), source: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn opened() -> (tempfile::TempDir, BridgeFolder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = BridgeFolder::open(&dir.path().join("desk")).unwrap();
        folder.make("tasks/queue").unwrap();
        (dir, folder)
    }

    #[test]
    fn a_file_appears_whole_and_in_the_place_of_another() {
        let (_dir, folder) = opened();
        assert!(folder.write_new("tasks/queue/NEW_a.md", "one").unwrap());
        assert!(!folder.write_new("tasks/queue/NEW_a.md", "two").unwrap());
        assert_eq!(folder.read("tasks/queue/NEW_a.md").unwrap().unwrap().text, "one");
        folder.write("tasks/queue/NEW_a.md", "three").unwrap();
        assert!(folder.rename("tasks/queue/NEW_a.md", "tasks/queue/DOC_a.md").unwrap());
        assert!(!folder.rename("tasks/queue/NEW_a.md", "tasks/queue/DOC_a.md").unwrap());
        assert_eq!(folder.files("tasks/queue").unwrap(), ["DOC_a.md"], "nothing unfinished is left");
        assert_eq!(folder.read("tasks/queue/DOC_a.md").unwrap().unwrap().text, "three");
        folder.remove("tasks/queue/DOC_a.md").unwrap();
        folder.remove("tasks/queue/DOC_a.md").unwrap();
        assert!(folder.read("tasks/queue/DOC_a.md").unwrap().is_none() && !folder.has("tasks/queue/DOC_a.md"));
    }

    #[test]
    fn a_hostile_file_is_refused_by_what_it_is_and_nothing_outside_is_read_or_written() {
        let (dir, folder) = opened();
        let queue = folder.path().join("tasks/queue");
        fs::write(dir.path().join("secret"), "secret").unwrap();
        symlink("../../../secret", queue.join("link.md")).unwrap();
        fs::create_dir(queue.join("folder.md")).unwrap();
        fs::write(queue.join("linked.md"), "x").unwrap();
        fs::hard_link(queue.join("linked.md"), dir.path().join("other")).unwrap();
        rustix::fs::mknodat(CWD, queue.join("pipe.md"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        fs::write(queue.join("large.md"), vec![b'x'; FILE_BYTES_MAX + 1]).unwrap();
        fs::write(queue.join("latin.md"), b"one\ntw\xf6\n").unwrap();
        for (name, bad) in [
            ("link", BadFile::NotPlain),
            ("folder", BadFile::NotPlain),
            ("linked", BadFile::Linked(2)),
            ("pipe", BadFile::NotPlain),
            ("large", BadFile::TooLarge),
            ("latin", BadFile::NotText(2)),
        ] {
            assert_eq!(folder.read(&format!("tasks/queue/{name}.md")), Err(bad), "{name}");
        }
        // Writing replaces a link, and does not go through it.
        folder.write("tasks/queue/link.md", "new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("secret")).unwrap(), "secret");
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        symlink("../../elsewhere", folder.path().join("tasks/review")).unwrap();
        assert!(folder.write("tasks/review/x.md", "x").is_err() && folder.files("tasks/review").is_err());
        assert!(folder.make("tasks/review").is_err() && !folder.is_folder("tasks/review"));
        assert!(folder.read("../secret").is_err());
        assert_eq!(fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn one_process_has_the_folder_at_a_time() {
        let (_dir, folder) = opened();
        let taken = folder.take("tasks/lock").unwrap();
        assert!(taken.is_some());
        assert!(folder.take("tasks/lock").unwrap().is_none());
        drop(taken);
        assert!(folder.take("tasks/lock").unwrap().is_some());
    }
}
