//! Attributes of a tree, for calls of git that have no working tree: git reads them in a folder that has the tree's `.gitattributes` and
//! nothing else. Git alone knows which of them count, and what they mean.

use std::path::{Path, PathBuf};

use super::Mirror;
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{create_dir, write};
use crate::git::unexpected;
use crate::objects::Odb;
use crate::path::RepoPath;
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry, bytes_of, tree_path};

/// The file in which git finds attributes, in every folder.
const NAME: &[u8] = b".gitattributes";
/// Bytes of one such file, which git passes over if it is longer, and of all files of a tree together.
const BYTES_MAX: u64 = 100 << 20;
/// The folder with the files, inside a scratch.
const FOLDER: &str = "attributes";
/// What `check-attr` says of an attribute that has no name in it.
const NAMELESS: [&[u8]; 3] = [b"unspecified", b"set", b"unset"];

/// Whether git may find attributes in it.
pub(super) fn has_attributes(path: &RepoPath) -> bool {
    path.names().last() == Some(NAME)
}

/// The files of a tree in which git finds attributes. It follows no link to one.
pub(super) fn attribute_files(tree: &[TreeEntry]) -> impl Iterator<Item = &TreeEntry> {
    let is_file = |entry: &&TreeEntry| matches!(entry.mode, EntryMode::File | EntryMode::Executable);
    tree.iter().filter(|entry| has_attributes(&entry.path)).filter(is_file)
}

impl Mirror {
    /// A folder in the scratch that has the attributes of this tree, to be a call's working tree.
    pub(super) async fn attributes_in(&self, scratch: &Scratch, tree: &[TreeEntry]) -> Result<PathBuf, WorkspaceError> {
        let folder = scratch.path().join(FOLDER);
        create_dir(&folder)?;
        let read = |entry: &&TreeEntry| entry.bytes.is_some_and(|bytes| bytes <= BYTES_MAX);
        let files: Vec<TreeEntry> = attribute_files(tree).filter(read).cloned().collect();
        if bytes_of(&files) > BYTES_MAX {
            let limit = format!("{} MiB of .gitattributes in one tree", BYTES_MAX >> 20);
            return Err(InputRefusal::OverLimit { command: "check-attr", limit }.into());
        }
        let root = folder.clone();
        self.inner.objects.with(move |odb| files.iter().try_for_each(|file| write_out(odb, file, &root))).await?;
        Ok(folder)
    }

    /// The filters that attributes of this tree name for these paths. A path for which they name none is left out.
    pub(super) async fn filters(
        &self,
        tree: &[TreeEntry],
        paths: impl Iterator<Item = &RepoPath>,
    ) -> Result<Vec<(RepoPath, String)>, WorkspaceError> {
        let names: Vec<u8> = paths.flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect();
        if names.is_empty() || attribute_files(tree).next().is_none() {
            return Ok(Vec::new());
        }
        let scratch = self.scratch()?;
        let folder = self.attributes_in(&scratch, tree).await?;
        let git = scratch.git("check-attr").work_tree(&folder).args(["-z", "--stdin", "filter"]);
        parse(&git.stdin(names).long().run_ok().await?)
    }
}

fn write_out(odb: &Odb, file: &TreeEntry, root: &Path) -> Result<(), WorkspaceError> {
    let path = root.join(file.path.as_path());
    create_dir(path.parent().unwrap_or(root))?;
    write(&path, odb.blob(&file.oid, usize::try_from(BYTES_MAX).unwrap_or(usize::MAX))?)
}

/// Path, attribute and value of each, ended by NUL.
fn parse(listing: &[u8]) -> Result<Vec<(RepoPath, String)>, WorkspaceError> {
    let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let (records, []) = fields.strip_suffix(&[&b""[..]]).unwrap_or(&fields).as_chunks::<3>() else {
        return Err(unexpected("check-attr", listing));
    };
    let named = records.iter().filter(|[_, _, value]| !NAMELESS.contains(value));
    named.map(|[path, _, value]| Ok((tree_path(path)?, crate::path::escaped(value)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_attributes_name_no_filter_for_are_left_out() {
        let found = parse(b"a\0filter\0lfs\0b\nc\0filter\0unspecified\0d\0filter\0unset\0").unwrap();
        assert_eq!(found, [(RepoPath::new("a").unwrap(), "lfs".to_owned())]);
        assert_eq!(parse(b"").unwrap(), []);
        assert!(parse(b"a\0filter\0").is_err());
    }
}
