//! A tree as fresh files, no `.git`, nothing run: what anyone gets who checks it out without a configuration. Attributes say line ends
//! and encodings; a file under a filter is as git stores it.

use std::path::Path;
use std::sync::Arc;

use super::Mirror;
use crate::allowance::Work;
use crate::error::WorkspaceError;
use crate::files::create_fresh_dir;
use crate::limits::LINK_TARGET_BYTES_MAX;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{EntryMode, TreeEntry, audit, bytes_of};

/// What was checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Every entry; submodule links are empty folders.
    pub entries: Arc<Vec<TreeEntry>>,
    /// Symbolic links that lead out of the tree, or cannot be shown not to. They are there, as links.
    pub links_out: Vec<RepoPath>,
}

impl Mirror {
    /// Writes a tree (or a commit's tree) into `dest`, which is absent or empty.
    ///
    /// # Errors
    /// [`WorkspaceError::NotEmpty`]; the tree is not here, or over the limits ([`WorkspaceError::Refused`]).
    pub async fn checkout(&self, tree: &ObjectId, dest: &Path) -> Result<Checkout, WorkspaceError> {
        let entries = self.list_tree(tree).await?;
        audit(&entries, None, self.limits())?;
        let links_out = self.links_out(&entries).await?;
        let dest = create_fresh_dir(dest)?;
        let scratch = self.scratch()?;
        let git = scratch.git("read-tree").work_tree(&dest).args(["--reset", "-u"]).arg(tree);
        git.confined(Work::of_files(bytes_of(&entries))).writes(&dest).long().run_ok().await?;
        Ok(Checkout { entries, links_out })
    }

    async fn links_out(&self, entries: &[TreeEntry]) -> Result<Vec<RepoPath>, WorkspaceError> {
        let links = || entries.iter().filter(|entry| entry.mode == EntryMode::Symlink);
        if links().next().is_none() {
            return Ok(Vec::new());
        }
        let links: Vec<TreeEntry> = links().cloned().collect();
        let look = move |odb: &Odb| {
            let mut out = Vec::new();
            for TreeEntry { path, oid, bytes, .. } in links {
                let short = bytes.is_some_and(|bytes| bytes <= LINK_TARGET_BYTES_MAX as u64);
                if !short || !stays_inside(&path, &odb.blob(&oid, LINK_TARGET_BYTES_MAX)?) {
                    out.push(path);
                }
            }
            Ok(out)
        };
        self.inner.objects.with(look).await
    }
}

/// Whether a link cannot lead out of its tree. Its `..` have to come first and be no more than the folders it is in:
/// after another component they might follow a link somewhere else. That other link is judged by itself.
fn stays_inside(link: &RepoPath, target: &[u8]) -> bool {
    let mut components = target.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).peekable();
    let mut ups = 0;
    while components.next_if(|part| *part == b"..").is_some() {
        ups += 1;
    }
    !target.starts_with(b"/") && ups <= link.depth() && !components.any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_may_leave_the_tree_are_told_from_those_that_cannot() {
        let link = RepoPath::new("a/b/link").unwrap();
        for inside in ["c", "../x", "../../x/y", "./.././/x", ""] {
            assert!(stays_inside(&link, inside.as_bytes()), "{inside}");
        }
        for outside in ["/etc/passwd", "../../..", "x/../y", "../x/../..", "../../../b"] {
            assert!(!stays_inside(&link, outside.as_bytes()), "{outside}");
        }
    }
}
