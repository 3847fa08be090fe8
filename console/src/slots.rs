//! Things that are kept by name, those that were used last; each has a lock of its own.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
};

use tokio::{sync::Mutex, time::Instant};

/// Where one of them is.
pub(crate) type Slot<V> = Arc<Mutex<V>>;

/// When each was used last, and where it is.
type Used<K, V> = HashMap<K, (Instant, Slot<V>)>;

/// So many at most.
pub(crate) struct Slots<K, V> {
    most: usize,
    all: StdMutex<Used<K, V>>,
}

impl<K: Clone + Eq + Hash, V: Default> Slots<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, all: StdMutex::default() }
    }

    /// The one of this name, an empty one if there is none. Then the one that was used least lately goes.
    pub(crate) fn get(&self, key: &K) -> Slot<V> {
        let mut all = self.lock();
        if !all.contains_key(key) && all.len() >= self.most {
            let oldest = all.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let (used, slot) = all.entry(key.clone()).or_insert_with(|| (Instant::now(), Slot::default()));
        *used = Instant::now();
        Arc::clone(slot)
    }

    /// The one of this name, if there is one.
    pub(crate) fn known(&self, key: &K) -> Option<Slot<V>> {
        self.lock().get(key).map(|(_, slot)| Arc::clone(slot))
    }

    pub(crate) fn remove(&self, key: &K) {
        self.lock().remove(key);
    }

    pub(crate) fn retain(&self, keeps: impl Fn(&K) -> bool) {
        self.lock().retain(|key, _| keeps(key));
    }

    fn lock(&self) -> MutexGuard<'_, Used<K, V>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_that_were_used_last_are_kept() {
        let slots: Slots<&str, u32> = Slots::new(2);
        *slots.get(&"a").lock().await = 1;
        *slots.get(&"b").lock().await = 2;
        assert_eq!(*slots.get(&"a").lock().await, 1);
        slots.get(&"c");
        assert!(slots.known(&"b").is_none() && slots.known(&"a").is_some() && slots.known(&"c").is_some());
        slots.remove(&"c");
        slots.retain(|key| *key != "a");
        assert!(slots.known(&"a").is_none() && slots.known(&"c").is_none());
    }
}
