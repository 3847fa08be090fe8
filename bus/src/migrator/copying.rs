//! The broker's snapshots: chunks that it sends out, each acknowledged, and that it takes in again, each answered.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{MigrateError, Migrator, StreamShape, answered, restoring};
use crate::connection::API_TIMEOUT;

/// Bytes of a chunk: far below what a message may have.
const CHUNK_LEN: usize = 512 << 10;
/// How long the broker may look at a stream before it says that it copies it: it reads every message.
const LOOKING_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long it may be silent within a snapshot.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// How long it may take to store a chunk.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to make a stream of all chunks, and in a cluster to copy it to the other servers.
const MAKING_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Where chunks of a copy are sent.
#[derive(Debug, Deserialize)]
struct Restoring {
    deliver_subject: String,
}

impl Migrator {
    /// Writes a snapshot of a stream with its consumers to `out`, and says what else [`Migrator::restore`] needs.
    ///
    /// # Errors
    /// [`MigrateError`]: then what was written is of no use.
    pub async fn snapshot(
        &self,
        stream: &str,
        out: &mut (impl AsyncWrite + Unpin),
    ) -> Result<StreamShape, MigrateError> {
        let client = self.bus.client();
        let inbox = client.new_inbox();
        let cut_off = |why: String| MigrateError::CutOff { stream: stream.to_owned(), why };
        let mut chunks = client.subscribe(inbox.clone()).await.map_err(|error| cut_off(error.to_string()))?;
        // `jsck`: a stream with damaged messages is refused.
        let wanted = json!({"deliver_subject": inbox, "no_consumers": false, "jsck": true, "chunk_size": CHUNK_LEN});
        let shape: StreamShape = self.ask(("copy", "SNAPSHOT"), stream, &wanted, LOOKING_TIMEOUT).await?;
        loop {
            let chunk = tokio::time::timeout(SILENCE_MAX, chunks.next()).await;
            let Ok(Some(chunk)) = chunk else { return Err(cut_off("the broker says nothing more".to_owned())) };
            if chunk.payload.is_empty() {
                // 204 since 2.10; a server that gave up says so in words.
                return match chunk.status {
                    Some(status) if status.as_u16() != 204 => {
                        Err(cut_off(format!("{status} {}", chunk.description.unwrap_or_default())))
                    }
                    _ => Ok(shape),
                };
            }
            let written = out.write_all(&chunk.payload).await;
            written.map_err(|source| MigrateError::Copy { stream: stream.to_owned(), source })?;
            if let Some(reply) = chunk.reply {
                client.publish(reply, Bytes::new()).await.map_err(|error| cut_off(error.to_string()))?;
            }
        }
    }

    /// Makes a stream of a snapshot, with this many copies of each message. The broker refuses where one of the name is there.
    ///
    /// # Errors
    /// [`MigrateError`]: then there is no stream, unless the broker was silent at the very end.
    pub async fn restore(
        &self,
        stream: &str,
        shape: &StreamShape,
        replicas: usize,
        copy: &mut (impl AsyncRead + Unpin),
    ) -> Result<(), MigrateError> {
        let asked = ("restore", stream);
        let Restoring { deliver_subject } =
            self.ask(("restore", "RESTORE"), stream, &restoring(shape, replicas), API_TIMEOUT).await?;
        let mut chunk = vec![0; CHUNK_LEN];
        loop {
            let read = copy.read(&mut chunk).await;
            let len = read.map_err(|source| MigrateError::Copy { stream: stream.to_owned(), source })?;
            if len == 0 {
                break;
            }
            let bytes = Bytes::copy_from_slice(&chunk[..len]);
            self.send(asked, deliver_subject.clone(), bytes, CHUNK_TIMEOUT).await?;
        }
        // An empty chunk is the end.
        let made = self.send(asked, deliver_subject, Bytes::new(), MAKING_TIMEOUT).await?;
        answered::<Value>(asked, &made).map(drop)
    }
}
