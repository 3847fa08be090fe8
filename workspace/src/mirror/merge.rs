//! Merging work onto a branch that moved, without a working tree. The branch's attributes say how files are merged, as for anyone
//! who merges into it; a driver that git does not have itself is git's default.

use super::Mirror;
use crate::error::WorkspaceError;
use crate::git::unexpected;
use crate::oid::ObjectId;
use crate::path::RepoPath;
use crate::tree::{ascii, tree_path};

/// Work that was made on `base` and is to land on `tip`, which has `base` in its history.
#[derive(Debug, Clone, Copy)]
pub struct Landing<'a> {
    /// The commit the work was made on.
    pub base: &'a ObjectId,
    /// The branch's head.
    pub tip: &'a ObjectId,
    /// The work: one commit on `base`.
    pub work: &'a ObjectId,
}

/// What a merge gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The merged tree.
    Clean(ObjectId),
    /// Both sides changed the same: these paths.
    Conflict(Vec<RepoPath>),
}

impl Mirror {
    /// Merges work onto the branch's head and gives the tree; nothing is committed.
    ///
    /// # Errors
    /// [`WorkspaceError::NotOnBase`] when `work` is not one commit on `base`, or `tip` does not have `base`.
    pub async fn merge_tree(&self, landing: Landing<'_>) -> Result<Merge, WorkspaceError> {
        let Landing { base, tip, work } = landing;
        if self.parents(work).await? != [base.clone()] {
            return Err(WorkspaceError::NotOnBase { commit: work.clone(), base: base.clone() });
        }
        let descends = self.git("merge-base").arg("--is-ancestor").arg(base).arg(tip).run().await?;
        if descends.code != Some(0) {
            return Err(WorkspaceError::NotOnBase { commit: tip.clone(), base: base.clone() });
        }
        let scratch = self.scratch()?;
        let attributes = self.attributes_in(&scratch, &self.list_tree(tip).await?).await?;
        let git = scratch.git("merge-tree").work_tree(&attributes).args([
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ]);
        let output = git.arg(tip).arg(work).long().run().await?;
        match output.code {
            Some(0 | 1) => parse(output.code == Some(0), &output.stdout, [tip, work]),
            _ => Err(unexpected("merge-tree", &output.stderr)),
        }
    }
}

/// The tree and, after a conflict, its paths; each ended by NUL. Where a file and a folder collide, git shows the file
/// under a name that ends with the side it is from: it is reported by the name that everybody knows.
fn parse(clean: bool, answer: &[u8], sides: [&ObjectId; 2]) -> Result<Merge, WorkspaceError> {
    let mut fields = answer.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let tree = fields.next().and_then(ascii).and_then(|text| text.parse().ok());
    let tree: ObjectId = tree.ok_or_else(|| unexpected("merge-tree", answer))?;
    if clean {
        return Ok(Merge::Clean(tree));
    }
    let suffixes = sides.map(|side| format!("~{side}"));
    let mut paths = Vec::new();
    for field in fields {
        let known = suffixes.iter().find_map(|suffix| field.strip_suffix(suffix.as_bytes()));
        paths.push(tree_path(known.unwrap_or(field))?);
    }
    paths.dedup();
    Ok(Merge::Conflict(paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_name_their_paths() {
        let [tip, work] = ["b", "c"].map(|digit| digit.repeat(40).parse::<ObjectId>().unwrap());
        let file = format!("\0a file~{work}\0one\0two words\0");
        let answer = [&b"a".repeat(40)[..], file.as_bytes()].concat();
        let Merge::Conflict(paths) = parse(false, &answer, [&tip, &work]).unwrap() else { unreachable!() };
        assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a file", "one", "two words"]);
        assert!(parse(true, b"", [&tip, &work]).is_err());
    }
}
