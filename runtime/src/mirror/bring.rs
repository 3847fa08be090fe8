//! Bringing one bundle into a mirror: fetched by its digest, then taken in. A snapshot that the orchestrator has checked
//! comes with the index that it made then, and is not checked again.

use std::path::{Path, PathBuf};

use holdpoint_bus::{
    Bus,
    blobs::{self, BlobError},
};
use holdpoint_protocol::{
    facts::{BlobRef, BundleRef},
    ids::{FlightId, role},
};
use holdpoint_workspace::{CheckedSnapshot, HANDOFF_REF, Import, Mirror, ObjectId, SNAPSHOT_REF, WorkspaceError};

use super::MirrorError;

/// The files that bundles and their indexes are fetched into, one at a time. A leftover is overwritten by the next one.
const INCOMING: &str = "incoming.bundle";
const INCOMING_INDEX: &str = "incoming.idx";

/// Where bundles come from, and where they are put meanwhile.
pub(super) struct Source<'a> {
    pub(super) bus: &'a Bus,
    pub(super) dir: &'a Path,
    /// Bytes of the longest one.
    pub(super) cap: u64,
}

/// Why a bundle did not come in.
pub(super) enum BringError {
    Blob(BlobError),
    Git(WorkspaceError),
}

impl BringError {
    /// With what was to be brought.
    pub(super) fn of(self, flight: &FlightId, tip: &ObjectId) -> MirrorError {
        match self {
            Self::Blob(source) => MirrorError::Blob { tip: tip.clone(), source },
            Self::Git(source) => MirrorError::Git { flight: flight.clone(), source },
        }
    }
}

/// A file that goes when it is no longer needed.
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Fetches a bundle and takes it in on top of `below`; without that it is the snapshot. Gives the commit it brings.
pub(super) async fn bring(
    source: &Source<'_>,
    mirror: &Mirror,
    bundle: &BundleRef,
    below: Option<&ObjectId>,
) -> Result<ObjectId, BringError> {
    let file = Passing(source.dir.join(INCOMING));
    source.fetch(&bundle.blob, &file.0).await.map_err(BringError::Blob)?;
    if below.is_none()
        && let Some(index) = source.index_of(bundle).await
    {
        let checked = CheckedSnapshot { bundle: &file.0, index: &index.0, ref_name: SNAPSHOT_REF };
        match mirror.adopt(checked).await {
            Ok(tip) => return Ok(tip),
            Err(error) => tracing::warn!(error = %error, "the snapshot is checked again: its index is of no use"),
        }
    }
    let ref_name = if below.is_none() { SNAPSHOT_REF } else { HANDOFF_REF };
    mirror.import(Import { bundle: &file.0, ref_name, base: below }).await.map_err(BringError::Git)
}

impl Source<'_> {
    /// Fetches bytes, which have to be what their digest says and no longer than was said.
    async fn fetch(&self, blob: &BlobRef, file: &Path) -> Result<(), BlobError> {
        let roles = std::slice::from_ref(&blob.role);
        blobs::get_to_file(self.bus, blob.digest, roles, blob.bytes.min(self.cap), file).await
    }

    /// The index of a snapshot, if the orchestrator stored one. Without it everything works, only slower.
    async fn index_of(&self, bundle: &BundleRef) -> Option<Passing> {
        let index = bundle.index.as_ref().filter(|index| index.role == role::id(role::ORCHESTRATOR))?;
        let file = Passing(self.dir.join(INCOMING_INDEX));
        match self.fetch(index, &file.0).await {
            Ok(()) => Some(file),
            Err(error) => {
                tracing::warn!(error = %error, "the snapshot is checked again: its index cannot be fetched");
                None
            }
        }
    }
}
