//! Which blobs are uploaded while an archivist looks. The broker answers the upload of a blob that is there with "already there" and
//! stores nothing, so that no stream shows it; but the attempt is a message that can be heard.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{StreamExt as _, stream::select_all};
use holdpoint_protocol::{streams, subjects};
use tokio::task::JoinHandle;

use super::{Archivist, ArchivistError, StoredBlob};

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Uploads {
    heard: Arc<Mutex<HashSet<String>>>,
    listening: JoinHandle<()>,
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
        let (mut messages, noted) = (select_all(heard), known.clone());
        let listening = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                if let Some((prefix, _, _)) = subjects::parse_chunk(&message.subject) {
                    noted.lock().unwrap_or_else(PoisonError::into_inner).insert(prefix.to_owned());
                }
            }
        });
        Ok(Uploads { heard: known, listening })
    }
}

impl Uploads {
    /// Whether somebody began to upload the blob, whether or not it was there already.
    #[must_use]
    pub fn has(&self, blob: &StoredBlob) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).contains(&blob.prefix)
    }
}
