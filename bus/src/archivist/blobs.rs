//! The blobs that are stored, and deleting one of them.

use std::collections::BTreeMap;

use holdpoint_protocol::{Digest, Timestamp, subjects};

use super::{Archivist, ArchivistError};
use crate::leader::last_of;

/// A blob or a transcript of one role, as far as it is stored: an upload that was cut off may have left some chunks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredBlob {
    /// What names it.
    pub digest: Digest,
    /// The subject of its chunks without their number.
    pub(super) prefix: String,
    stream: String,
    /// The number of its first chunk that is there.
    first: u32,
}

impl Archivist {
    /// All blobs and transcripts.
    ///
    /// # Errors
    /// [`ArchivistError::Info`].
    pub async fn blobs(&self) -> Result<Vec<StoredBlob>, ArchivistError> {
        let mut all = BTreeMap::new();
        for stream in &self.blobs {
            for subject in self.subjects(stream, ">").await? {
                let Some((prefix, digest, n)) = subjects::parse_chunk(&subject) else { continue };
                let new = StoredBlob { digest, prefix: prefix.to_owned(), stream: stream.clone(), first: n };
                let known = all.entry(prefix.to_owned()).or_insert(new);
                known.first = known.first.min(n);
            }
        }
        Ok(all.into_values().collect())
    }

    /// When a blob was stored: the time of its first chunk, which is stored last. `None`: it is gone.
    ///
    /// # Errors
    /// [`ArchivistError::Read`].
    pub async fn stored_at(&self, blob: &StoredBlob) -> Result<Option<Timestamp>, ArchivistError> {
        let subject = format!("{}.{}", blob.prefix, blob.first);
        let last = last_of(&self.bus, &blob.stream, &subject).await;
        let last =
            last.map_err(|source| ArchivistError::Read { stream: blob.stream.clone(), source: source.into() })?;
        Ok(last.map(|stored| stored.time))
    }

    /// Deletes a blob; how many chunks it had.
    ///
    /// # Errors
    /// [`ArchivistError::Delete`].
    pub async fn delete_blob(&self, blob: &StoredBlob) -> Result<u64, ArchivistError> {
        self.purge(&blob.stream, &format!("{}.*", blob.prefix), None).await
    }
}
