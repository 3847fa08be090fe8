//! Bundle files: reading the header of one from others, and writing our own. The contents of a bundle are looked at
//! only in quarantine.

mod header;

use std::path::{Path, PathBuf};

pub(crate) use header::read_header;
pub use header::{BundleHeader, parse_header};

use crate::error::WorkspaceError;
use crate::limits::LONG_TIMEOUT;
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
pub(crate) async fn write(
    scratch: &Scratch,
    ref_name: &str,
    tip: &ObjectId,
    base: Option<&ObjectId>,
    out: &Path,
) -> Result<Bundle, WorkspaceError> {
    scratch.set_refs([(ref_name.to_owned(), tip)])?;
    let out = std::path::absolute(out).map_err(WorkspaceError::io("find", out))?;
    let mut git = scratch.git("bundle").args(["create", "--quiet"]).arg(&out).arg(ref_name);
    if let Some(base) = base {
        git = git.arg(format!("^{base}"));
    }
    // Git writes it under another name first.
    git = git.writes(out.parent().unwrap_or(&out));
    git.timeout(LONG_TIMEOUT).run_ok().await?;
    let bytes = std::fs::metadata(&out).map_err(WorkspaceError::io("look at", &out))?.len();
    Ok(Bundle { path: out, bytes, ref_name: ref_name.to_owned(), tip: tip.clone() })
}
