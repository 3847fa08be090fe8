//! How many requests of one key are in hand. The count is kept only while there are any, so that it takes no more memory than
//! they do.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Requests of one key in hand at once: more than one command, or a page for several people, asks at the same time.
pub(super) const OF_ONE_KEY_MAX: usize = 16;

/// Who has how many requests in hand; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Arc<Mutex<HashMap<String, usize>>>);

impl Keys {
    /// A place for another request of this key; `None` if it has as many as it may.
    pub(super) fn enter(&self, key: &str) -> Option<Place> {
        let mut keys = self.counts();
        let count = keys.get(key).copied().unwrap_or_default();
        if count >= OF_ONE_KEY_MAX {
            return None;
        }
        keys.insert(key.to_owned(), count + 1);
        Some(Place { key: key.to_owned(), keys: self.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in hand. It counts until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    key: String,
    keys: Keys,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut keys = self.keys.counts();
        if let Some(count) = keys.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                keys.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_own_places_and_each_is_free_again_when_it_is_left() {
        let keys = Keys::default();
        let mut places: Vec<Place> = (0..OF_ONE_KEY_MAX).map(|_| keys.enter("ann").unwrap()).collect();
        assert!(keys.enter("ann").is_none());
        let other = keys.enter("bob").unwrap();
        places.pop();
        places.push(keys.enter("ann").unwrap());
        assert!(keys.enter("ann").is_none());
        drop((places, other));
        assert!(keys.counts().is_empty(), "nothing is kept of who asks nothing");
    }
}
