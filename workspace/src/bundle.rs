//! Bundle files: reading the header of one from others, and writing our own. The contents of a bundle are looked at
//! only in quarantine.

mod header;

use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub(crate) use header::read_header;
pub use header::{BundleHeader, parse_header};

use crate::error::WorkspaceError;
use crate::files::append;
use crate::limits::LONG_TIMEOUT;
use crate::objects::Objects;
use crate::oid::ObjectId;
use crate::scratch::Scratch;

/// The one ref of a bundle that holds a repository's snapshot.
pub const SNAPSHOT_REF: &str = "refs/holdpoint/snapshot";
/// The one ref of a bundle that holds handed-off or landed work.
pub const HANDOFF_REF: &str = "refs/holdpoint/handoff";

/// A bundle file that we wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The file.
    pub path: PathBuf,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its one ref.
    pub ref_name: String,
    /// The commit the ref names.
    pub tip: ObjectId,
}

/// Writes `tip` and its history, without what `base` has, as a bundle with the one ref `ref_name`.
///
/// The header is ours, and a small pack too; a larger one is git's: `git bundle create` would start a second process for it.
pub(crate) async fn write(
    scratch: &Scratch,
    ref_name: &str,
    tip: &ObjectId,
    base: Option<&ObjectId>,
    out: &Path,
) -> Result<Bundle, WorkspaceError> {
    let out = std::path::absolute(out).map_err(WorkspaceError::io("find", out))?;
    // Under its name it is whole.
    let folder = out.parent().unwrap_or(&out);
    let begun = NamedTempFile::new_in(folder).map_err(WorkspaceError::io("create a file in", folder))?;
    crate::files::write(begun.path(), header::written(scratch.objects().format, ref_name, tip, base))?;
    match small_pack(scratch.objects(), tip, base).await? {
        Some(pack) => append(begun.path(), &pack)?,
        None => append_by_git(scratch, tip, base, begun.path()).await?,
    }
    if read_header(begun.path())?.objects == 0 {
        return Err(WorkspaceError::NothingToBundle { tip: tip.clone() });
    }
    let bytes = std::fs::metadata(begun.path()).map_err(WorkspaceError::io("look at", begun.path()))?.len();
    begun.persist(&out).map_err(|error| WorkspaceError::io("write", &out)(error.error))?;
    Ok(Bundle { path: out, bytes, ref_name: ref_name.to_owned(), tip: tip.clone() })
}

/// The pack, if this process makes it.
async fn small_pack(
    objects: &Objects,
    tip: &ObjectId,
    base: Option<&ObjectId>,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    let Some(base) = base.cloned() else { return Ok(None) };
    let tip = tip.clone();
    objects.with(move |odb| odb.small_pack(&base, &tip)).await
}

async fn append_by_git(
    scratch: &Scratch,
    tip: &ObjectId,
    base: Option<&ObjectId>,
    to: &Path,
) -> Result<(), WorkspaceError> {
    let git = scratch.git("pack-objects").args(["--revs", "--stdout", "--thin", "--delta-base-offset", "--quiet"]);
    let without = base.map(|base| format!("^{base}\n")).unwrap_or_default();
    let git = git.stdin(format!("{tip}\n{without}").into_bytes());
    git.appends_to(to).timeout(LONG_TIMEOUT).run_ok().await.map(drop)
}
