//! Private mirrors: what the agents of a process know of the repositories under work.
//!
//! One bare repository a flight, filled from the bundles that a turn names. It is a cache: all of it can be fetched
//! again, so a broken one is thrown away, and so are old ones that nobody uses. The caller decides what is done with
//! the trees.

mod bring;
mod facts;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex as StdMutex, PoisonError},
};

use holdpoint_bus::{Bus, blobs::BlobError};
use holdpoint_protocol::{facts::BundleRef, ids::FlightId};
use holdpoint_workspace::{InputLimits, Mirror, ObjectId, WorkspaceError};
use tokio::sync::Mutex;

use crate::{
    blocking::blocking,
    put_away::put_away,
    shelf::{Shelf, remove},
};
use bring::{Source, bring};
pub use facts::{diff_summary, from_wire, path_changes, to_wire, wire_path};

/// Mirrors kept, the most recently used ones, and any that is in use: few enough for a machine's disk.
const MIRRORS_MAX: usize = 16;
/// The repository in a flight's folder.
const REPOSITORY: &str = "repository";

/// Why a mirror could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// A turn names no bundle, so there is nothing to work on.
    #[error("the turn names no bundles")]
    NoBundles,
    /// A bundle could not be fetched.
    #[error("cannot fetch the bundle that brings {tip}")]
    Blob {
        /// The commit it should bring.
        tip: ObjectId,
        /// What went wrong.
        #[source]
        source: BlobError,
    },
    /// A bundle brings another commit than was said.
    #[error("the bundle brings {found} and not {expected}")]
    WrongTip {
        /// The commit it should bring.
        expected: ObjectId,
        /// The commit it brings.
        found: ObjectId,
    },
    /// Git, or what is in a bundle.
    #[error("cannot fill the mirror of flight {flight}")]
    Git {
        /// The flight.
        flight: FlightId,
        /// What went wrong.
        #[source]
        source: WorkspaceError,
    },
    /// The store's folder cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl MirrorError {
    /// Whether the maker of a bundle is at fault: trying again does not help.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::WrongTip { .. } => true,
            Self::Git { source, .. } => source.is_refusal(),
            Self::NoBundles | Self::Blob { .. } | Self::Io { .. } => false,
        }
    }

    /// Whether the mirror itself may be broken, so that a new one is worth a try.
    fn suggests_a_new_one(&self) -> bool {
        match self {
            Self::Git { source: WorkspaceError::GitMissing | WorkspaceError::GitTooOld { .. }, .. } => false,
            Self::Git { source, .. } => !source.is_refusal() && !source.is_retryable(),
            Self::NoBundles | Self::Blob { .. } | Self::WrongTip { .. } | Self::Io { .. } => false,
        }
    }
}

/// The mirrors of one process, one a flight.
#[derive(Debug)]
pub struct MirrorStore {
    shelf: Arc<Shelf>,
    limits: InputLimits,
    open: Arc<StdMutex<HashMap<FlightId, Slot>>>,
}

/// A flight's mirror once it is open. The one that fills it holds the lock, and a clone of this.
type Slot = Arc<Mutex<Option<Mirror>>>;

impl MirrorStore {
    /// The mirrors in `dir`, which is made when it is first needed. No other process uses it.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, limits: InputLimits) -> Self {
        Self { shelf: Arc::new(Shelf::new(dir.into(), MIRRORS_MAX)), limits, open: Arc::default() }
    }

    /// The flight's mirror with everything that these bundles bring. They build on each other in order, and the first
    /// one is the snapshot of the repository; what is there already is not fetched again. It stays while the caller has it.
    ///
    /// # Errors
    /// [`MirrorError`]; see [`MirrorError::is_refusal`].
    pub async fn ensure(&self, bus: &Bus, flight: &FlightId, bundles: &[BundleRef]) -> Result<Mirror, MirrorError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::Fetch);
        let slot = self.slot(flight);
        let mut open = slot.lock().await;
        let filled = match self.fill(bus, flight, bundles, open.clone()).await {
            // One that others use, whose work may be sound, is replaced when they are done.
            Err(error) if error.suggests_a_new_one() && !open.as_ref().is_some_and(Mirror::is_shared) => {
                tracing::warn!(%flight, error = %error, "the mirror is broken and is replaced");
                *open = None;
                let dir = self.shelf.folder(flight.as_str());
                let put_away = blocking({
                    let dir = dir.clone();
                    move || put_away(&dir)
                });
                put_away.await.map_err(|source| MirrorError::Io { path: dir, source })?;
                self.fill(bus, flight, bundles, None).await
            }
            filled => filled,
        };
        let mirror = filled?;
        *open = Some(mirror.clone());
        drop(open);
        self.prune().await;
        Ok(mirror)
    }

    fn slot(&self, flight: &FlightId) -> Slot {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(open.entry(flight.clone()).or_default())
    }

    async fn fill(
        &self,
        bus: &Bus,
        flight: &FlightId,
        bundles: &[BundleRef],
        open: Option<Mirror>,
    ) -> Result<Mirror, MirrorError> {
        let git = |source| MirrorError::Git { flight: flight.clone(), source };
        let first = from_wire(&bundles.first().ok_or(MirrorError::NoBundles)?.tip);
        let dir = self.touch(flight).await?;
        let mirror = match open {
            Some(mirror) if mirror.is_in_place() => mirror,
            _ => {
                let repository = dir.join(REPOSITORY);
                Mirror::open_or_create(&repository, first.format(), self.limits.clone()).await.map_err(git)?
            }
        };
        // Many packs make a mirror slow, and nothing else: each turn brings some.
        if let Err(error) = mirror.tidy().await {
            tracing::warn!(%flight, error = %crate::telemetry::ErrorChain(&error), "cannot tidy the mirror");
        }
        let tips: Vec<ObjectId> = bundles.iter().map(|bundle| from_wire(&bundle.tip)).collect();
        // Each counts: the last one may be work on an older commit than those before it bring.
        let here = mirror.has_brought(&tips).await.map_err(git)?;
        for (at, bundle) in bundles.iter().enumerate().filter(|(at, _)| !here[*at]) {
            let (tip, below) = (&tips[at], at.checked_sub(1).map(|below| &tips[below]));
            // One that is named twice was brought a moment ago, and does not build on itself.
            if tips[..at].contains(tip) {
                continue;
            }
            let source = Source { bus, dir: &dir, cap: self.limits.bundle_bytes };
            let found = bring(&source, &mirror, bundle, below).await;
            let found = found.map_err(|error| error.of(flight, tip))?;
            if found != *tip {
                return Err(MirrorError::WrongTip { expected: tip.clone(), found });
            }
        }
        Ok(mirror)
    }

    /// The folder of a flight's mirror, which is used now.
    async fn touch(&self, flight: &FlightId) -> Result<PathBuf, MirrorError> {
        let (shelf, name) = (Arc::clone(&self.shelf), flight.to_string());
        let touched = blocking(move || shelf.touch(&name)).await;
        touched.map_err(|source| MirrorError::Io { path: self.shelf.folder(flight.as_str()), source })
    }

    /// Removes all mirrors but the most recently used and those in use. A failure costs disk space and nothing else. Each
    /// [`MirrorStore::ensure`] does it, while more may be in use than are kept: who has many in use does it afterwards.
    pub async fn prune(&self) {
        let (shelf, open) = (Arc::clone(&self.shelf), Arc::clone(&self.open));
        blocking(move || shelf.prune(|dir| take(&open, dir))).await;
    }
}

/// Removes a mirror that nobody uses, and says whether it did. Slots are handed out under the same lock, so nobody begins to use what
/// is found unused here. Under it, the folder is only renamed.
fn take(open: &StdMutex<HashMap<FlightId, Slot>>, dir: &Path) -> bool {
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    let flight = dir.file_name().and_then(|name| name.to_str()?.parse::<FlightId>().ok());
    if flight.as_ref().and_then(|flight| open.get(flight)).is_some_and(is_used) {
        return false;
    }
    flight.map(|flight| open.remove(&flight));
    remove(dir);
    true
}

/// Whether a turn fills the mirror at this moment, or was given it and still has it.
fn is_used(slot: &Slot) -> bool {
    Arc::strong_count(slot) > 1 || slot.try_lock().map_or(true, |open| open.as_ref().is_some_and(Mirror::is_shared))
}

#[cfg(test)]
mod tests;
