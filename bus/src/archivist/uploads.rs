//! Which blobs are uploaded while an archivist looks. The broker answers the upload of a blob that is there with "already there" and
//! stores nothing, so that no stream shows it; but the attempt is a message that can be heard.

use std::{
    collections::HashSet,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{FutureExt as _, StreamExt as _, stream::select_all};
use holdpoint_protocol::{streams, subjects};
use tokio::task::JoinHandle;

use super::{Archivist, ArchivistError, StoredBlob};

/// Blobs that are remembered: more than anybody uploads in a grace period, and what they take is some hundred MiB.
const HEARD_MAX: usize = 1 << 20;

/// Listens until it is dropped.
pub struct Uploads {
    heard: Arc<Mutex<HashSet<String>>>,
    listening: JoinHandle<()>,
    lost: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_whole: bool,
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Archivist {
    /// Begins to listen: every upload from now on is heard.
    ///
    /// # Errors
    /// [`ArchivistError::Listen`], [`ArchivistError::Info`].
    pub async fn uploads(&self) -> Result<Uploads, ArchivistError> {
        let client = self.bus.client();
        let mut heard = Vec::new();
        for family in subjects::uploads() {
            heard.push(client.subscribe(family).await.map_err(|source| ArchivistError::Listen(source.into()))?);
        }
        // The broker takes up what a connection sends in order: with this answer it has taken up the subscriptions.
        self.info(streams::JOURNAL).await?;
        let known = Arc::new(Mutex::new(HashSet::new()));
        let lost = Box::pin(self.bus.lost());
        let (mut messages, noted) = (select_all(heard), known.clone());
        let listening = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                let Some((prefix, _, _)) = subjects::parse_chunk(&message.subject) else { continue };
                let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                if noted.len() < HEARD_MAX {
                    noted.insert(prefix.to_owned());
                }
            }
        });
        Ok(Uploads { heard: known, listening, lost, is_whole: true })
    }
}

impl Uploads {
    /// Whether every upload was heard since it began to listen: the connection was never lost, none came faster than they were taken,
    /// and there were not too many. An upload that was missed stays missed.
    pub fn is_whole(&mut self) -> bool {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.is_whole = self.is_whole && heard < HEARD_MAX && self.lost.as_mut().now_or_never().is_none();
        self.is_whole
    }

    /// Whether somebody began to upload the blob, whether or not it was there already.
    #[must_use]
    pub fn has(&self, blob: &StoredBlob) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).contains(&blob.prefix)
    }
}
