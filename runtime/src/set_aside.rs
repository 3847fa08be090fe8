//! The tree that a judge or reviewer sees: without settings that its own program would load from it.
//!
//! Which paths those are, and the names they get, is decided by `holdpoint_evidence::paths`. They are next to where they
//! were, under names that no agent loads. One whose new name would be too long for a file system is left out.

use holdpoint_evidence::paths::SetAside;
use holdpoint_workspace::{FileAs, Mirror, ObjectId, RepoPath, WorkspaceError};

/// The tree with agents' own settings set aside; the same tree where it has none.
///
/// # Errors
/// Git fails.
pub async fn set_aside(mirror: &Mirror, tree: &ObjectId) -> Result<ObjectId, WorkspaceError> {
    let entries = mirror.list_tree(tree).await?;
    let names = SetAside::among(entries.iter().map(|entry| entry.path.as_bytes()));
    let mut replacements = Vec::new();
    for entry in entries.iter() {
        let Some(aside) = names.path(entry.path.as_bytes()) else { continue };
        let aside = RepoPath::new(aside).ok().filter(RepoPath::fits);
        replacements.extend(aside.map(|aside| (aside, Some(FileAs { mode: entry.mode, oid: entry.oid.clone() }))));
        replacements.push((entry.path.clone(), None));
    }
    if replacements.is_empty() { Ok(tree.clone()) } else { mirror.compose_tree(tree, &replacements).await }
}
