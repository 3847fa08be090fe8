//! Trust roots that can be replaced while a process runs.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::roots::TrustRoots;

/// Whose word counts at this moment. Cheap to clone; clones see a replacement at once.
#[derive(Debug, Clone)]
pub struct Trust(Arc<RwLock<Arc<TrustRoots>>>);

impl Trust {
    /// The trust roots of this moment.
    #[must_use]
    pub fn roots(&self) -> Arc<TrustRoots> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A handle that does not keep it.
    #[must_use]
    pub fn watched(&self) -> WatchedTrust {
        WatchedTrust(Arc::downgrade(&self.0))
    }
}

impl From<Arc<TrustRoots>> for Trust {
    fn from(roots: Arc<TrustRoots>) -> Self {
        Self(Arc::new(RwLock::new(roots)))
    }
}

/// To replace trust roots while others use them.
#[derive(Debug, Clone)]
pub struct WatchedTrust(Weak<RwLock<Arc<TrustRoots>>>);

impl WatchedTrust {
    /// Replaces the trust roots everywhere; `false`: nobody uses them any more.
    #[must_use]
    pub fn replace(&self, roots: TrustRoots) -> bool {
        let Some(current) = self.0.upgrade() else { return false };
        *current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roots);
        true
    }

    /// Whether anybody still uses them.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.0.strong_count() > 0
    }
}
