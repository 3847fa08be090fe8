//! Getting blobs back and checking them.

use std::{path::Path, time::Duration};

use async_nats::{Request, StatusCode, client::RequestErrorKind};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures::{Stream, StreamExt as _, TryStreamExt as _, future::ready, stream};
use holdpoint_protocol::{
    Digest,
    ids::{RoleId, role},
    streams, subjects,
};
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncWriteExt as _, time::Instant};

use super::{BlobError, CHUNK_LEN, CHUNKS_AT_ONCE, Of, Place, SIZE, chunk_count};
use crate::{
    Bus,
    message::header,
    publish::{ATTEMPTS_MAX, RETRY_PAUSE},
    tries::{self, RetriedKind},
};

/// How long a server of a cluster may be behind the others: gets are answered by any of them.
const BEHIND_MAX: Duration = Duration::from_secs(15);

/// Gets a blob into memory. It is looked for under these roles in this order, and the first whole one is taken.
///
/// # Errors
/// [`BlobError`]: not found, more than `cap` bytes, not what its name says, or the broker does not answer.
pub async fn get(bus: &Bus, digest: Digest, roles: &[RoleId], cap: u64) -> Result<Bytes, BlobError> {
    let mut failure = None;
    for role in roles {
        match get_of(bus, digest, Place { role, of: Of::Blobs }, cap).await {
            Ok(Some(bytes)) => return Ok(bytes),
            Ok(None) => {}
            // Another role may have the right one: what is stored under a name is its owner's word.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| BlobError::NotFound { digest, roles: roles.to_vec() }))
}

/// Gets a transcript of a role into memory; the keys of other roles have no way to it.
///
/// # Errors
/// As [`get`].
pub async fn get_talk(bus: &Bus, digest: Digest, role: &RoleId, cap: u64) -> Result<Bytes, BlobError> {
    let got = get_of(bus, digest, Place { role, of: Of::Talk }, cap).await?;
    got.ok_or_else(|| BlobError::NotFound { digest, roles: vec![role.clone()] })
}

/// As [`get`], into a file, with a few chunks in memory. After an error the file may hold anything.
///
/// # Errors
/// As [`get`], and [`BlobError::Io`] from the file.
pub async fn get_to_file(bus: &Bus, digest: Digest, roles: &[RoleId], cap: u64, path: &Path) -> Result<(), BlobError> {
    let mut failure = None;
    for role in roles {
        match get_of_to_file(bus, digest, role, cap, path).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error @ BlobError::Io { .. }) => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| BlobError::NotFound { digest, roles: roles.to_vec() }))
}

/// A blob that a role has not stored, of these; `None` when all are there. That goes by their first chunks, which are
/// stored last. The content is not looked at: who gets a blob checks it.
///
/// # Errors
/// [`BlobError::Broker`].
pub async fn missing(bus: &Bus, role: &RoleId, digests: Vec<Digest>) -> Result<Option<Digest>, BlobError> {
    let looked = digests.into_iter().map(|digest| async move {
        Ok::<_, BlobError>((digest, is_there(bus, digest, Place { role, of: Of::Blobs }, 0).await?))
    });
    let looked = stream::iter(looked).buffer_unordered(CHUNKS_AT_ONCE).try_filter(|(_, there)| ready(!there));
    Ok(std::pin::pin!(looked).try_next().await?.map(|(digest, _)| digest))
}

async fn get_of(bus: &Bus, digest: Digest, place: Place<'_>, cap: u64) -> Result<Option<Bytes>, BlobError> {
    let Some(blob) = Blob::find(bus, digest, place, cap).await? else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut chunks = std::pin::pin!(blob.chunks());
    while let Some(chunk) = chunks.try_next().await? {
        bytes.extend_from_slice(&chunk);
    }
    if Digest::of(&bytes) != digest {
        return Err(blob.corrupt());
    }
    Ok(Some(bytes.into()))
}

async fn get_of_to_file(bus: &Bus, digest: Digest, role: &RoleId, cap: u64, path: &Path) -> Result<bool, BlobError> {
    let io = |source| BlobError::Io { path: path.to_owned(), source };
    let place = Place { role, of: Of::Blobs };
    let Some(blob) = Blob::find(bus, digest, place, cap).await? else { return Ok(false) };
    let mut file = tokio::fs::File::create(path).await.map_err(io)?;
    let mut hasher = Hasher::default();
    let mut chunks = std::pin::pin!(blob.chunks());
    while let Some(chunk) = chunks.try_next().await? {
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(io)?;
    }
    file.flush().await.map_err(io)?;
    if hasher.digest() != digest {
        return Err(blob.corrupt());
    }
    Ok(true)
}

/// A blob whose first chunk is there. Its size is its owner's word, and within the cap.
struct Blob<'a> {
    bus: &'a Bus,
    digest: Digest,
    place: Place<'a>,
    size: u64,
    first: Bytes,
}

impl<'a> Blob<'a> {
    async fn find(bus: &'a Bus, digest: Digest, place: Place<'a>, cap: u64) -> Result<Option<Self>, BlobError> {
        let Some(message) = get_chunk(bus, digest, place, 0).await? else { return Ok(None) };
        let size = message.headers.as_ref().and_then(|map| header(map, SIZE)).and_then(|size| size.parse().ok());
        let mut blob = Blob { bus, digest, place, size: 0, first: message.payload };
        blob.size = size.ok_or_else(|| blob.corrupt())?;
        if blob.size > cap {
            return Err(BlobError::TooLarge { digest, size: blob.size, cap });
        }
        Ok(Some(blob))
    }

    /// All chunks in order, each of the length that its place demands.
    fn chunks(&self) -> impl Stream<Item = Result<Bytes, BlobError>> {
        let rest = stream::iter(1..chunk_count(self.size)).map(move |n| self.chunk(n)).buffered(CHUNKS_AT_ONCE);
        stream::once(async { self.checked(0, self.first.clone()) }).chain(rest)
    }

    /// A chunk after the first, which was stored before it: a server without it is behind, or no server has it.
    async fn chunk(&self, n: u32) -> Result<Bytes, BlobError> {
        let deadline = Instant::now() + BEHIND_MAX;
        loop {
            if let Some(message) = get_chunk(self.bus, self.digest, self.place, n).await? {
                return self.checked(n, message.payload);
            }
            if !self.bus.is_clustered() || Instant::now() > deadline {
                return Err(self.corrupt());
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    fn checked(&self, n: u32, chunk: Bytes) -> Result<Bytes, BlobError> {
        let start = u64::from(n) * CHUNK_LEN as u64;
        let expected = self.size.saturating_sub(start).min(CHUNK_LEN as u64);
        if chunk.len() as u64 == expected { Ok(chunk) } else { Err(self.corrupt()) }
    }

    fn corrupt(&self) -> BlobError {
        BlobError::Corrupt { digest: self.digest, role: self.place.role.clone() }
    }
}

/// Where a chunk is asked for: agents and operators have one name for the streams of all roles, and their account's imports
/// map it; orchestrators are where the streams are.
fn get_subject(bus: &Bus, place: Place<'_>, digest: Digest, n: u32) -> String {
    let stream = if bus.is_outside() { streams::BLOB_GETS.to_owned() } else { streams::blob(place.role) };
    subjects::direct_get(&stream, &place.chunk(digest, n))
}

/// Whether a chunk is stored.
pub(super) async fn is_there(bus: &Bus, digest: Digest, place: Place<'_>, n: u32) -> Result<bool, BlobError> {
    Ok(get_chunk(bus, digest, place, n).await?.is_some())
}

/// One chunk by direct get; `None` if it is not there.
async fn get_chunk(
    bus: &Bus,
    digest: Digest,
    place: Place<'_>,
    n: u32,
) -> Result<Option<async_nats::Message>, BlobError> {
    let subject = get_subject(bus, place, digest, n);
    let mut attempt = 1;
    loop {
        match bus.client().send_request(subject.clone(), Request::new()).await {
            Ok(message) => match message.status {
                None => return Ok(Some(message)),
                Some(StatusCode::NOT_FOUND) => return Ok(None),
                Some(status) => {
                    let source = format!("status {status}: {}", message.description.unwrap_or_default()).into();
                    return Err(BlobError::Broker { digest, source });
                }
            },
            // The role of a blob is the word of its sender, and nobody answers for a role that has no stream.
            Err(error) if error.kind() == RequestErrorKind::NoResponders && !is_built_in(place.role) => {
                return Ok(None);
            }
            Err(error) if attempt < ATTEMPTS_MAX => {
                tracing::debug!(%subject, attempt, %error, "getting again");
                tries::again(RetriedKind::Read);
                tokio::time::sleep(RETRY_PAUSE * attempt).await;
                attempt += 1;
            }
            Err(error) => return Err(BlobError::Broker { digest, source: error.into() }),
        }
    }
}

/// Whether the role's stream is there in every fleet.
fn is_built_in(role: &RoleId) -> bool {
    role::STORING.contains(&role.as_str())
}

/// A digest over bytes that are never together in memory.
#[derive(Default)]
pub(super) struct Hasher(Sha256);

impl Hasher {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn digest(self) -> Digest {
        Digest::from_hex(&HEXLOWER.encode(&self.0.finalize())).expect("SHA-256 has 32 bytes")
    }
}
