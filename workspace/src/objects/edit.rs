//! Trees made of other trees, as an index makes them: a tree is what its files say, and every folder of it is written again
//! unless it is there.

use std::collections::BTreeMap;

use gix_object::Kind;

use super::{Odb, to_gix};
use crate::error::WorkspaceError;
use crate::mirror::Replacement;
use crate::oid::ObjectId;
use crate::tree::{EntryMode, TreeEntry};

/// Files by their path, and what they are.
type Files<'a> = BTreeMap<&'a [u8], (EntryMode, &'a ObjectId)>;

/// Folders that are being written, each inside the one before it: its name, and its entries so far. The root has no name.
type Open<'a> = Vec<(&'a [u8], Vec<u8>)>;

impl Odb {
    /// The tree of these entries with some paths replaced, removals first: a path that goes must not take one that comes
    /// along. A file in the way of a replacement's folder goes, or the other way round. There are no empty folders.
    ///
    /// # Errors
    /// A blob that comes along is not there; the tree cannot be written.
    pub(crate) fn edit(&self, on: &[TreeEntry], replacements: &[Replacement]) -> Result<ObjectId, WorkspaceError> {
        let mut files: Files<'_> = on.iter().map(|entry| (entry.path.as_bytes(), (entry.mode, &entry.oid))).collect();
        for (path, _) in replacements.iter().filter(|(_, file)| file.is_none()) {
            files.remove(path.as_bytes());
        }
        for (path, file) in replacements {
            let Some(file) = file else { continue };
            if file.mode != EntryMode::Gitlink && !self.is(Kind::Blob, &file.oid)? {
                return Err(WorkspaceError::NoSuchObject { kind: "blob", oid: file.oid.clone() });
            }
            make_way(&mut files, path.as_bytes());
            files.insert(path.as_bytes(), (file.mode, &file.oid));
        }
        self.write_folders(&files)
    }

    /// The order of whole paths is that of a tree's entries, in which a folder's name ends with a slash.
    fn write_folders(&self, files: &Files<'_>) -> Result<ObjectId, WorkspaceError> {
        let mut open: Open<'_> = vec![(b"", Vec::new())];
        for (path, (mode, oid)) in files {
            let mut names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
            let name = names.pop().unwrap_or_default();
            let kept = open.iter().skip(1).zip(&names).take_while(|((open, _), name)| open == *name).count();
            self.close(&mut open, kept)?;
            open.extend(names.into_iter().skip(kept).map(|name| (name, Vec::new())));
            if let Some((_, entries)) = open.last_mut() {
                append(entries, mode.octal(), name, oid)?;
            }
        }
        self.close(&mut open, 0)?;
        let root = open.pop().map(|(_, entries)| entries).unwrap_or_default();
        self.write(Kind::Tree, &root)
    }

    /// Writes the innermost folders until `kept` are open below the root.
    fn close(&self, open: &mut Open<'_>, kept: usize) -> Result<(), WorkspaceError> {
        while open.len() > kept + 1
            && let Some((name, entries)) = open.pop()
        {
            let oid = self.write(Kind::Tree, &entries)?;
            if let Some((_, parent)) = open.last_mut() {
                append(parent, FOLDER, name, &oid)?;
            }
        }
        Ok(())
    }
}

/// The mode of a folder, as git writes it.
const FOLDER: &str = "40000";

fn append(entries: &mut Vec<u8>, mode: &str, name: &[u8], oid: &ObjectId) -> Result<(), WorkspaceError> {
    entries.extend_from_slice(mode.as_bytes());
    entries.push(b' ');
    entries.extend_from_slice(name);
    entries.push(0);
    entries.extend_from_slice(to_gix(oid)?.as_slice());
    Ok(())
}

/// Removes the files that are in the way of one at `path`.
fn make_way(files: &mut Files<'_>, path: &[u8]) {
    for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        files.remove(path.split_at(at).0);
    }
    let below = [path, b"/"].concat();
    let gone: Vec<&[u8]> =
        files.range(&below[..]..).map(|(path, _)| *path).take_while(|path| path.starts_with(&below)).collect();
    for path in gone {
        files.remove(path);
    }
}
