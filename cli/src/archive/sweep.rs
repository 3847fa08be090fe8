//! Deleting blobs that no message names any more: those of flights that left, and what uploads left behind.
//!
//! A blob is stored once, whatever names it, and the upload of one that is there stores nothing. So a blob that nobody names may be
//! named in a moment, by somebody who has just been answered "already there". Therefore uploads are listened to for a while, and a
//! blob that was uploaded meanwhile, or is named afterwards, stays.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use super::references;
use holdpoint_bus::archivist::{Archivist, ArchivistError, Read, StoredBlob};
use holdpoint_protocol::{Digest, Timestamp};

/// How old an upload has to be that no message ever named: its handoff may be under way, however long its turn takes.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Digests of blobs that are deleted before it is looked again for messages that name any.
const BETWEEN_LOOKS: usize = 16;

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    /// Blobs that were deleted.
    pub(crate) deleted: usize,
    /// Blobs that nobody named at first, and that were uploaded or named while it was waited.
    pub(crate) spared: usize,
}

/// Deletes what no message names. `named`: by flights that left just now. `wait` is called with the number of blobs in question, and
/// returns when that was long enough; `None`: nothing is deleted.
pub(crate) async fn sweep(
    own: &Archivist,
    named: &HashSet<Digest>,
    now: Timestamp,
    wait: impl AsyncFnOnce(usize) -> Option<()>,
) -> Result<Swept, ArchivistError> {
    let mut uploads = own.uploads().await?;
    let mut read = BTreeMap::new();
    let mut unnamed = unnamed(own, &mut read).await?;
    let mut young = Vec::new();
    for (digest, blobs) in unnamed.iter().filter(|(digest, _)| !named.contains(digest)) {
        for blob in blobs {
            let old = own.stored_at(blob).await?.is_some_and(|at| now.since(at) >= LEFT_BEHIND_AFTER);
            if !old {
                young.push(*digest);
            }
        }
    }
    young.iter().for_each(|digest| drop(unnamed.remove(digest)));
    let asked = unnamed.values().map(Vec::len).sum();
    if asked == 0 || wait(asked).await.is_none() {
        return Ok(Swept::default());
    }
    let digests: Vec<Digest> = unnamed.keys().copied().collect();
    let mut deleted = 0;
    for some in digests.chunks(BETWEEN_LOOKS) {
        own.each_payload(&mut read, |payload| {
            references::named(payload).for_each(|named| drop(unnamed.remove(&named)));
        })
        .await?;
        for blob in some.iter().filter_map(|digest| unnamed.remove(digest)).flatten() {
            // What was not heard may have been used again.
            if uploads.is_whole() && !uploads.has(&blob) {
                own.delete_blob(&blob).await?;
                deleted += 1;
            }
        }
    }
    Ok(Swept { deleted, spared: asked - deleted })
}

/// The blobs that are stored and that no message names, by their digests: several roles may have the same.
async fn unnamed(own: &Archivist, read: &mut Read) -> Result<HashMap<Digest, Vec<StoredBlob>>, ArchivistError> {
    let mut unnamed: HashMap<Digest, Vec<StoredBlob>> = HashMap::new();
    for blob in own.blobs().await? {
        unnamed.entry(blob.digest).or_default().push(blob);
    }
    own.each_payload(read, |payload| references::named(payload).for_each(|named| drop(unnamed.remove(&named)))).await?;
    Ok(unnamed)
}
