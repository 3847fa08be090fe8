//! Looking at an agent's files without following any link of theirs.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::InputLimits;
use crate::mirror::clone::Remembered;
use crate::mirror::submodules::{MODULES, is_named_submodule};
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry, fits};

/// The owner's right to execute, the one git goes by.
const EXECUTE: u32 = 0o100;

/// A file or link of the working tree that belongs to the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: RepoPath,
    pub(super) mode: EntryMode,
    /// The id of what is stored for it, as far as it is known.
    pub(super) known: Option<ObjectId>,
}

/// Where to look, and with what in mind.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) known: Arc<Remembered>,
    pub(super) limits: InputLimits,
}

/// Why something is left out: a path, or, without one, what else could not be found.
pub(super) type LeftOut = (Option<RepoPath>, InputRefusal);

/// What becomes of a path that is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// Everything is refused with it.
    Everything,
    /// It is left out, and named.
    LeftOut(Vec<LeftOut>),
}

impl Refused {
    /// Whether single paths are left out.
    pub(super) fn leaves_out(&self) -> bool {
        matches!(self, Self::LeftOut(_))
    }

    /// What came of looking at a path; `None`: it is left out.
    pub(super) fn settle<T>(
        &mut self,
        path: Option<&RepoPath>,
        looked: Result<T, WorkspaceError>,
    ) -> Result<Option<T>, WorkspaceError> {
        match (looked, self) {
            (Err(WorkspaceError::Refused(why)), Self::LeftOut(all)) => {
                all.push((path.cloned(), why));
                Ok(None)
            }
            (looked, _) => looked.map(Some),
        }
    }
}

/// Finds what is left of the tracked entries and of the `earlier` work, and the new files, within the limits.
pub(super) fn look(
    place: &Place,
    tracked: &[TreeEntry],
    earlier: &[RepoPath],
    new: &[RepoPath],
    refused: &mut Refused,
) -> Result<Vec<Found>, WorkspaceError> {
    let had_modules = tracked.iter().any(|entry| entry.path.as_bytes() == MODULES.as_bytes());
    let is_whole = !refused.leaves_out();
    let mut look = Look { place, is_whole, had_modules, folders: HashMap::new(), bytes: 0, found: Vec::new() };
    for entry in tracked {
        let looked = if entry.mode == EntryMode::Gitlink { look.gitlink(entry) } else { look.tracked(&entry.path) };
        refused.settle(Some(&entry.path), looked)?;
    }
    for path in earlier {
        let looked = look.tracked(path);
        refused.settle(Some(path), looked)?;
    }
    for path in new {
        let looked = look.entry(path);
        refused.settle(Some(path), looked)?;
    }
    Ok(look.found)
}

struct Look<'a> {
    place: &'a Place,
    /// What is found is handed off as the whole result.
    is_whole: bool,
    /// The base has a file that names its submodules.
    had_modules: bool,
    /// Folders already looked at, and whether they are real ones.
    folders: HashMap<PathBuf, bool>,
    bytes: u64,
    found: Vec<Found>,
}

impl Look<'_> {
    /// A path of the base: it may be gone, also because its folder became a link or a file, or it became a folder.
    fn tracked(&mut self, path: &RepoPath) -> Result<(), WorkspaceError> {
        if self.in_real_folders(path)? { self.entry(path) } else { Ok(()) }
    }

    /// A submodule link of the base: it stays, whatever is in its folder, unless the submodule was removed. Nothing else may have
    /// taken its place.
    fn gitlink(&mut self, entry: &TreeEntry) -> Result<(), WorkspaceError> {
        let path = &entry.path;
        let there = if self.in_real_folders(path)? { self.metadata(path, path.as_path())? } else { None };
        match there {
            Some(metadata) if !metadata.is_dir() => return Err(InputRefusal::Gitlink { path: path.clone() }.into()),
            None if self.had_modules && !is_named_submodule(&self.place.dir, path) => return Ok(()),
            Some(_) | None => {}
        }
        self.found.push(Found { path: path.clone(), mode: entry.mode, known: Some(entry.oid.clone()) });
        Ok(())
    }

    fn entry(&mut self, path: &RepoPath) -> Result<(), WorkspaceError> {
        let Some(metadata) = self.metadata(path, path.as_path())? else { return Ok(()) };
        let kind = metadata.file_type();
        let mode = if kind.is_symlink() {
            EntryMode::Symlink
        } else if kind.is_file() && metadata.permissions().mode() & EXECUTE != 0 {
            EntryMode::Executable
        } else if kind.is_file() {
            EntryMode::File
        } else if kind.is_dir() {
            return Ok(());
        } else {
            return Err(InputRefusal::UnsupportedFile { path: path.clone() }.into());
        };
        // The maker of what orchestrators refuse hears of it, not only the one that hands it off.
        fits(path, mode, metadata.len())?;
        if self.is_whole {
            self.not_in_a_nested_repository(path)?;
        }
        self.count(path, metadata.len())?;
        let known = self.place.known.id_of(path, &metadata).cloned();
        self.found.push(Found { path: path.clone(), mode, known });
        Ok(())
    }

    fn count(&mut self, path: &RepoPath, bytes: u64) -> Result<(), InputRefusal> {
        if bytes > self.place.limits.blob_bytes {
            return Err(InputRefusal::BlobTooLarge { path: path.clone(), bytes, max: self.place.limits.blob_bytes });
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.place.limits.tree_bytes {
            return Err(InputRefusal::TreeTooLarge { max: self.place.limits.tree_bytes });
        }
        if self.found.len() >= self.place.limits.tree_entries {
            return Err(InputRefusal::TooManyEntries { max: self.place.limits.tree_entries });
        }
        Ok(())
    }

    /// Whether every folder on the way is a folder and not a link to one.
    fn in_real_folders(&mut self, path: &RepoPath) -> Result<bool, WorkspaceError> {
        for folder in folders_of(path) {
            let real = match self.folders.get(folder) {
                Some(real) => *real,
                None => {
                    let real = self.metadata(path, folder)?.is_some_and(|metadata| metadata.is_dir());
                    self.folders.insert(folder.to_owned(), real);
                    real
                }
            };
            if !real {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A folder with tracked files that the agent made a repository of: git would list its files like any others.
    fn not_in_a_nested_repository(&mut self, path: &RepoPath) -> Result<(), WorkspaceError> {
        for folder in folders_of(path) {
            let key = folder.join(".git");
            let nested = match self.folders.get(&key) {
                Some(nested) => *nested,
                None => {
                    let nested = self.metadata(path, &key)?.is_some();
                    self.folders.insert(key, nested);
                    nested
                }
            };
            if nested {
                use std::os::unix::ffi::OsStrExt;
                let path = crate::tree::tree_path(folder.as_os_str().as_bytes())?;
                return Err(InputRefusal::NestedRepository { path }.into());
            }
        }
        Ok(())
    }

    /// What is at `at`; `None` if nothing is. What cannot be looked at might be anything, so it is refused.
    fn metadata(&self, path: &RepoPath, at: &Path) -> Result<Option<std::fs::Metadata>, InputRefusal> {
        match self.place.dir.join(at).symlink_metadata() {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(_) => Err(InputRefusal::Unreadable { shown: path.to_string() }),
        }
    }
}

/// The folders on the way to a path, outermost first, without the root.
fn folders_of(path: &RepoPath) -> Vec<&Path> {
    let mut folders: Vec<&Path> =
        path.as_path().ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    folders.reverse();
    folders
}
