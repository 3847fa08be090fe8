//! Write-once bytes by digest, in chunks: bundles, logs, evidence.
//!
//! A blob belongs to the role that stored it, and is looked for under the roles that the reader names. The broker
//! refuses a second message on a chunk's subject, so nobody can replace a blob; what a reader gets is checked against
//! the digest. Chunks are not signed: the digest in a signed message vouches for them.

mod read;

use std::path::{Path, PathBuf};

use async_nats::HeaderMap;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use holdpoint_faults::Step;
use holdpoint_protocol::{Digest, ids::RoleId, subjects};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::{
    Bus,
    publish::{self, ATTEMPTS_MAX, RETRY_PAUSE, StoreFailure},
    tries::{self, RetriedKind},
};

pub use holdpoint_protocol::headers::SIZE;
pub use read::{get, get_talk, get_to_file, missing};

/// The length of all chunks but the last (contract, "Subjects for external agents").
pub const CHUNK_LEN: usize = 256 << 10;
/// Chunks under way at once: enough to hide the way to the broker, few enough for a small memory.
const CHUNKS_AT_ONCE: usize = 8;

/// Where chunks are: whose they are, and who reads them.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    role: &'a RoleId,
    of: Of,
}

/// Who reads a blob.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// All that the broker lets read blobs of the role.
    Blobs,
    /// The role's own keys.
    Talk,
}

impl Place<'_> {
    fn chunk(&self, digest: Digest, n: u32) -> String {
        match self.of {
            Of::Blobs => subjects::blob_chunk(self.role, &digest, n),
            Of::Talk => subjects::talk_chunk(self.role, &digest, n),
        }
    }
}

/// Why a blob was not stored or not got.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// Nobody of those it was looked for under has it.
    #[error("no blob {digest} under {}", roles.iter().map(RoleId::as_str).collect::<Vec<_>>().join(", "))]
    NotFound {
        /// The blob.
        digest: Digest,
        /// Where it was looked for.
        roles: Vec<RoleId>,
    },
    /// Something else is stored under the digest.
    #[error("the blob {digest} of {role} is not what its name says")]
    Corrupt {
        /// The blob.
        digest: Digest,
        /// Whose it is.
        role: RoleId,
    },
    /// It is bigger than the reader allows.
    #[error("the blob {digest} has {size} bytes: more than {cap}")]
    TooLarge {
        /// The blob.
        digest: Digest,
        /// Its length.
        size: u64,
        /// The most that was allowed.
        cap: u64,
    },
    /// Its role has used up its room.
    #[error("the blob {digest} is not stored")]
    NoRoom {
        /// The blob.
        digest: Digest,
        /// Which room, and what bounds it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The broker does not answer, or refuses.
    #[error("cannot reach the blob {digest}")]
    Broker {
        /// The blob.
        digest: Digest,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Stores bytes under a role. A blob that is there already is success.
///
/// # Errors
/// [`BlobError::NoRoom`], [`BlobError::Broker`].
pub async fn put(bus: &Bus, role: &RoleId, bytes: Bytes) -> Result<Digest, BlobError> {
    store(bus, Place { role, of: Of::Blobs }, bytes).await
}

async fn store(bus: &Bus, place: Place<'_>, bytes: Bytes) -> Result<Digest, BlobError> {
    let _at = holdpoint_faults::at(Step::Upload);
    let digest = Digest::of(&bytes);
    let size = bytes.len();
    let chunks = stream::iter(1..chunk_count(size as u64)).map(|n| {
        let start = n as usize * CHUNK_LEN;
        let chunk = bytes.slice(start..size.min(start + CHUNK_LEN));
        put_chunk(bus, place, digest, n, chunk, None)
    });
    chunks.buffer_unordered(CHUNKS_AT_ONCE).try_collect::<()>().await?;
    // Chunk 0 comes last: when it is there, all of them are.
    put_chunk(bus, place, digest, 0, bytes.slice(..size.min(CHUNK_LEN)), Some(size as u64)).await?;
    Ok(digest)
}

/// Stores a transcript under a role, where the keys of that role alone read it. One that is there already is success.
///
/// # Errors
/// [`BlobError::NoRoom`], [`BlobError::Broker`].
pub async fn put_talk(bus: &Bus, role: &RoleId, bytes: Bytes) -> Result<Digest, BlobError> {
    store(bus, Place { role, of: Of::Talk }, bytes).await
}

/// Stores a file under a role, a few chunks at a time in memory. The file must not change meanwhile; if it does, readers
/// see that the blob is corrupt.
///
/// # Errors
/// [`BlobError::Io`] from the file, [`BlobError::NoRoom`] and [`BlobError::Broker`] from the broker.
pub async fn put_file(bus: &Bus, role: &RoleId, path: &Path) -> Result<Digest, BlobError> {
    let _at = holdpoint_faults::at(Step::Upload);
    let place = Place { role, of: Of::Blobs };
    let io = |source| BlobError::Io { path: path.to_owned(), source };
    let mut file = tokio::fs::File::open(path).await.map_err(io)?;
    let (digest, size) = digest_of(&mut file).await.map_err(io)?;
    let mut next = 1;
    while next < chunk_count(size) {
        let mut batch = Vec::new();
        while batch.len() < CHUNKS_AT_ONCE && next < chunk_count(size) {
            let chunk = read_chunk(&mut file, next).await.map_err(io)?;
            batch.push(put_chunk(bus, place, digest, next, chunk, None));
            next += 1;
        }
        futures::future::try_join_all(batch).await?;
    }
    let first = read_chunk(&mut file, 0).await.map_err(io)?;
    put_chunk(bus, place, digest, 0, first, Some(size)).await?;
    Ok(digest)
}

async fn digest_of(file: &mut tokio::fs::File) -> std::io::Result<(Digest, u64)> {
    let mut hasher = read::Hasher::default();
    let mut buffer = vec![0; CHUNK_LEN];
    let mut size = 0;
    loop {
        let len = file.read(&mut buffer).await?;
        if len == 0 {
            return Ok((hasher.digest(), size));
        }
        hasher.update(&buffer[..len]);
        size += len as u64;
    }
}

async fn read_chunk(file: &mut tokio::fs::File, n: u32) -> std::io::Result<Bytes> {
    file.seek(std::io::SeekFrom::Start(u64::from(n) * CHUNK_LEN as u64)).await?;
    let mut chunk = Vec::with_capacity(CHUNK_LEN);
    file.take(CHUNK_LEN as u64).read_to_end(&mut chunk).await?;
    Ok(chunk.into())
}

/// How many chunks a blob of this length has; an empty one has one, which is empty.
fn chunk_count(size: u64) -> u32 {
    u32::try_from(size.div_ceil(CHUNK_LEN as u64).max(1)).unwrap_or(u32::MAX)
}

async fn put_chunk(
    bus: &Bus,
    place: Place<'_>,
    digest: Digest,
    n: u32,
    chunk: Bytes,
    size: Option<u64>,
) -> Result<(), BlobError> {
    let subject = place.chunk(digest, n);
    let mut map = HeaderMap::new();
    if let Some(size) = size {
        map.insert(SIZE, size.to_string().as_str());
    }
    let mut attempt = 1;
    loop {
        match publish::store(bus, subject.clone(), map.clone(), chunk.clone()).await {
            Ok(_) | Err(StoreFailure::AlreadyThere) => return Ok(()),
            Err(failure) if failure.is_passing() && attempt < ATTEMPTS_MAX => {
                tracing::debug!(%subject, attempt, error = %failure, "publishing again");
                tries::again(RetriedKind::Write);
                tokio::time::sleep(RETRY_PAUSE * attempt).await;
                attempt += 1;
            }
            // A cluster says so of what is there, too: it looks at the room first.
            Err(StoreFailure::Full(_)) if read::is_there(bus, digest, place, n).await? => return Ok(()),
            Err(failure @ StoreFailure::Full(_)) => return Err(BlobError::NoRoom { digest, source: failure.into() }),
            Err(failure) => return Err(BlobError::Broker { digest, source: failure.into() }),
        }
    }
}
