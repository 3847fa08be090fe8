//! What the ignore files of a tree say of paths that are not in it.

use std::collections::BTreeSet;

use super::Mirror;
use super::capture::names;
use crate::droppings::exclude_file;
use crate::error::WorkspaceError;
use crate::files::{create_dir, write};
use crate::oid::ObjectId;
use crate::tree::TreeEntry;

/// The file with the rules of a folder.
const RULES: &str = ".gitignore";
/// Bytes of all ignore files together.
const RULES_BYTES_MAX: usize = 16 << 20;

impl Mirror {
    /// Those of these paths that the ignore files of a tree (or a commit) name, or that tools leave for themselves.
    ///
    /// # Errors
    /// The tree is not here, its ignore files are larger than 16 MiB together, or git fails.
    pub async fn ignored_by(&self, tree: &ObjectId, paths: &[String]) -> Result<BTreeSet<String>, WorkspaceError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let scratch = self.scratch()?;
        write(&scratch.exclude_file(), exclude_file(&[]))?;
        let dir = scratch.path().join("rules");
        let files = self.ignore_files(tree).await?;
        let blobs: Vec<ObjectId> = files.iter().map(|entry| entry.oid.clone()).collect();
        create_dir(&dir)?;
        for (entry, rules) in files.iter().zip(self.read_blobs(&blobs, RULES_BYTES_MAX).await?) {
            let file = dir.join(entry.path.as_path());
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(WorkspaceError::io("create", folder))?;
            }
            write(&file, rules)?;
        }
        let asked = paths.iter().flat_map(|path| [b"./", path.as_bytes(), b"\0"]).flatten().copied().collect();
        let git = scratch.git("check-ignore").work_tree(&dir).args(["-z", "--no-index", "--stdin"]).stdin(asked);
        let answer = git.magic_paths().long().run().await?;
        let named = names(&answer.stdout).filter_map(|name| std::str::from_utf8(name).ok());
        Ok(named.map(|name| name.trim_start_matches("./").to_owned()).collect())
    }

    /// The ignore files of a tree (or a commit): what [`Self::ignored_by`] goes by.
    ///
    /// # Errors
    /// The tree is not here, or git fails.
    pub async fn ignore_files(&self, tree: &ObjectId) -> Result<Vec<TreeEntry>, WorkspaceError> {
        let entries = self.list_tree(tree).await?;
        let is_rules = |path: &std::path::Path| path.file_name().is_some_and(|name| name == RULES);
        let files = entries.iter().filter(|entry| entry.mode.is_file() && is_rules(entry.path.as_path()));
        Ok(files.cloned().collect())
    }
}
