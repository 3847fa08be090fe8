//! Names that the work brings and that not every checkout can hold next to each other.

use holdpoint_evidence::paths::case_clashes;
use holdpoint_protocol::{artifact::Doubt, facts::Oid};
use holdpoint_runtime::mirror::from_wire;
use holdpoint_workspace::{Mirror, TreeEntry, WorkspaceError};

/// The most groups of names that are named.
const NAMED_MAX: usize = 5;

/// Says which names of the work differ in nothing but case from others; `None`: none do.
pub(crate) async fn doubt(mirror: &Mirror, base: &Oid, tree: &Oid) -> Result<Option<Doubt>, WorkspaceError> {
    let (base, work) = (mirror.list_tree(&from_wire(base)).await?, mirror.list_tree(&from_wire(tree)).await?);
    let clashes = case_clashes(&names(&base), &names(&work));
    let mut named: Vec<String> = clashes.iter().take(NAMED_MAX).map(|group| group.join(" and ")).collect();
    let more = clashes.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let text = format!(
        "names that differ in nothing but case, of which a checkout on macOS or Windows has one only: {}",
        named.join(", ")
    );
    Ok((!clashes.is_empty()).then_some(Doubt::note(text)))
}

/// Names that are no text have no case.
fn names(entries: &[TreeEntry]) -> Vec<&str> {
    entries.iter().filter_map(|entry| entry.path.as_str()).collect()
}
