//! What is in a tree: its entries, and whether it may be taken in. It reads ids and sizes, never contents.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use holdpoint_evidence::map::MapFile;

use crate::{
    error::InputRefusal,
    fit::{unfit_link, unfit_path},
    limits::InputLimits,
    oid::ObjectId,
    path::{RepoPath, escaped},
};

/// What kind of thing an entry is, as git records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryMode {
    /// A file.
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link; the blob is its target.
    Symlink,
    /// A link to a commit of another repository (submodule).
    Gitlink,
}

impl EntryMode {
    /// The six octal digits git uses.
    #[must_use]
    pub fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Gitlink => "160000",
        }
    }

    /// Whether it is a file, executable or not.
    #[must_use]
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }

    /// What it is apart from the right to be executed: git compares contents of the same kind only.
    pub(crate) fn kind(self) -> Self {
        if self == Self::Executable { Self::File } else { self }
    }
}

/// One entry of a tree, folders not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where it is.
    pub path: RepoPath,
    /// What it is.
    pub mode: EntryMode,
    /// Its blob, or the linked commit.
    pub oid: ObjectId,
    /// Its size in bytes; `None` for a gitlink.
    pub bytes: Option<u64>,
}

impl TreeEntry {
    /// It as a file of a map; links, submodules and files whose name is no text are none.
    #[must_use]
    pub fn as_map_file(&self) -> Option<MapFile<'_>> {
        let is_file = matches!(self.mode, EntryMode::File | EntryMode::Executable);
        Some(MapFile { path: self.path.as_str().filter(|_| is_file)?, bytes: self.bytes? })
    }
}

/// Whether a tree can be checked out, its files are small enough, and its gitlinks are those of the base.
pub(crate) fn audit(
    entries: &[TreeEntry],
    base: Option<&[TreeEntry]>,
    limits: &InputLimits,
) -> Result<(), InputRefusal> {
    fit(entries)?;
    for entry in entries {
        let bytes = entry.bytes.unwrap_or(0);
        if bytes > limits.blob_bytes {
            return Err(InputRefusal::BlobTooLarge { path: entry.path.clone(), bytes, max: limits.blob_bytes });
        }
    }
    if bytes_of(entries) > limits.tree_bytes {
        return Err(InputRefusal::TreeTooLarge { max: limits.tree_bytes });
    }
    let Some(base) = base else { return Ok(()) };
    let known: HashSet<(&RepoPath, &ObjectId)> = gitlinks(base).map(|entry| (&entry.path, &entry.oid)).collect();
    match gitlinks(entries).find(|entry| !known.contains(&(&entry.path, &entry.oid))) {
        Some(entry) => Err(InputRefusal::Gitlink { path: entry.path.clone() }),
        None => Ok(()),
    }
}

/// Whether every entry can be in a working tree together with all others.
fn fit(entries: &[TreeEntry]) -> Result<(), InputRefusal> {
    let mut paths = HashSet::with_capacity(entries.len());
    for entry in entries {
        fits(&entry.path, entry.mode, entry.bytes.unwrap_or(0))?;
        let path = entry.path.as_bytes();
        if !paths.insert(path) {
            return Err(unfit(path, "it is there twice"));
        }
    }
    for entry in entries {
        let path = entry.path.as_bytes();
        let mut folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| path.split_at(at).0);
        if let Some(folder) = folders.find(|folder| paths.contains(folder)) {
            return Err(unfit(folder, "it is a file and a folder at once"));
        }
    }
    Ok(())
}

/// Whether an entry can be in a working tree, its neighbours aside. `bytes` is its size, or the length of its target.
pub(crate) fn fits(path: &RepoPath, mode: EntryMode, bytes: u64) -> Result<(), InputRefusal> {
    let path = path.as_bytes();
    let link = || if mode == EntryMode::Symlink { unfit_link(path, bytes) } else { None };
    unfit_path(path).or_else(link).map_or(Ok(()), |reason| Err(unfit(path, reason)))
}

fn unfit(path: &[u8], reason: &'static str) -> InputRefusal {
    InputRefusal::Unfit { shown: shortened(path), reason }
}

/// A path for a message.
fn shortened(path: &[u8]) -> String {
    const SHOWN: usize = 200;
    let shown = escaped(path.get(..SHOWN).unwrap_or(path));
    if path.len() > SHOWN { format!("{shown}…") } else { shown }
}

/// Bytes of all files together.
pub(crate) fn bytes_of(entries: &[TreeEntry]) -> u64 {
    entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes.unwrap_or(0)))
}

pub(crate) fn gitlinks(entries: &[TreeEntry]) -> impl Iterator<Item = &TreeEntry> {
    entries.iter().filter(|entry| entry.mode == EntryMode::Gitlink)
}

/// A path from a tree; one that a working tree must never get is the tree maker's fault.
pub(crate) fn tree_path(bytes: &[u8]) -> Result<RepoPath, InputRefusal> {
    RepoPath::new(bytes).map_err(|_| InputRefusal::UnusablePath { shown: escaped(bytes) })
}

pub(crate) fn ascii(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Takes what is before the next `end`, and `end` itself.
pub(crate) fn until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = rest.iter().position(|byte| *byte == end)?;
    let (taken, behind) = rest.split_at(at);
    *rest = behind.get(1..)?;
    Some(taken)
}
