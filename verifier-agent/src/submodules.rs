//! Submodules of a base: no check sees their files, which explains many a guard that is red there.

use holdpoint_protocol::{artifact::Doubt, facts::Oid};
use holdpoint_runtime::mirror::from_wire;
use holdpoint_workspace::{EntryMode, Mirror, WorkspaceError};

/// The most submodules that are named.
const NAMED_MAX: usize = 5;

/// Names the submodules of a tree; `None`: it has none.
pub(crate) async fn doubt(mirror: &Mirror, tree: &Oid) -> Result<Option<Doubt>, WorkspaceError> {
    let entries = mirror.list_tree(&from_wire(tree)).await?;
    let links = entries.iter().filter(|entry| entry.mode == EntryMode::Gitlink);
    let mut names: Vec<String> = links.map(|entry| entry.path.to_string()).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let text = format!(
        "the files of its submodules are not there ({}): what checks need of them has to be in the repository, or `environment.setup` has \
         to fetch it",
        names.join(", ")
    );
    Ok((!names.is_empty()).then_some(Doubt::note(text)))
}
