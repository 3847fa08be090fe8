//! What is known of snapshots that were looked at: the base's tree, the covenant on it, the index of its objects.
//!
//! Many flights start from one snapshot; its blob is write-once, so it is fetched and checked for the first of them only.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use holdpoint_protocol::{
    Digest,
    facts::{BundleRef, Oid},
};

/// Snapshots that are remembered, the newest ones.
const KNOWN_MAX: usize = 64;
/// Different snapshots that are looked at in parallel, more or less.
const LOCKS: usize = 16;

/// What a snapshot is good for, as this orchestrator found it.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The tree of its tip.
    pub(crate) tree: Oid,
    /// The digest of the covenant on it.
    pub(crate) covenant: Digest,
    /// The snapshot with what this orchestrator stored for it.
    pub(crate) snapshot: BundleRef,
}

struct Known {
    snapshot: BundleRef,
    covenant: String,
    facts: Facts,
}

/// The snapshots that were looked at last.
#[derive(Default)]
pub(crate) struct Snapshots {
    known: Mutex<VecDeque<Known>>,
    /// The one that looks at a snapshot holds the lock that its digest is of.
    looking: [tokio::sync::Mutex<()>; LOCKS],
}

impl Snapshots {
    /// What is known of a snapshot, as it was submitted, with the covenant at this path; if nothing is, what `look`
    /// finds out. Of many that ask for the same at once, one looks.
    ///
    /// # Errors
    /// That of `look`.
    pub(crate) async fn facts<E>(
        &self,
        snapshot: &BundleRef,
        covenant: &str,
        look: impl AsyncFnOnce() -> Result<Facts, E>,
    ) -> Result<Facts, E> {
        if let Some(facts) = self.get(snapshot, covenant) {
            return Ok(facts);
        }
        let lock = snapshot.blob.digest.hex().bytes().map(usize::from).sum::<usize>() % LOCKS;
        let _looking = self.looking[lock].lock().await;
        if let Some(facts) = self.get(snapshot, covenant) {
            return Ok(facts);
        }
        let facts = look().await?;
        let known = Known { snapshot: snapshot.clone(), covenant: covenant.to_owned(), facts: facts.clone() };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(KNOWN_MAX - 1);
        all.push_front(known);
        Ok(facts)
    }

    /// Forgets what is known of a snapshot.
    pub(crate) fn forget(&self, snapshot: &BundleRef) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known.snapshot != *snapshot);
    }

    fn get(&self, snapshot: &BundleRef, covenant: &str) -> Option<Facts> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|k| k.snapshot == *snapshot && k.covenant == covenant).map(|k| k.facts.clone())
    }
}
