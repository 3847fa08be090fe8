//! What was delivered, kept in the state folder for all commands of a repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use holdpoint_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    state::{Lock, unusable, write_private},
};

/// How many are remembered, the newest: far more than wait at once.
pub(super) const KEPT_MAX: usize = 10_000;

/// The record, held by this process alone.
#[derive(Debug)]
pub(super) struct Delivered {
    file: PathBuf,
    kept: Kept,
    _lock: Lock,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    delivered: BTreeMap<String, Timestamp>,
}

impl Kept {
    fn read(file: &Path) -> Result<Self, Failure> {
        match fs::read(file) {
            // A damaged file repeats notifications, which is better than to lose them.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(unusable("read", file, &source)),
        }
    }
}

impl Delivered {
    /// Reads it. Waits while another process delivers something.
    pub(super) async fn open(file: PathBuf) -> Result<Self, Failure> {
        let lock = Lock::exclusive(&file.with_extension("lock")).await?;
        let kept = Kept::read(&file)?;
        Ok(Self { file, kept, _lock: lock })
    }

    /// What was delivered until now, as keys; waits for nobody who delivers something at the moment.
    pub(super) fn peek(file: &Path) -> Result<BTreeSet<String>, Failure> {
        Ok(Kept::read(file)?.delivered.into_keys().collect())
    }

    /// Whether it was delivered.
    pub(super) fn has(&self, key: &str) -> bool {
        self.kept.delivered.contains_key(key)
    }

    /// Remembers that it was.
    pub(super) fn note(&mut self, key: String, at: Timestamp) -> Result<(), Failure> {
        self.note_all(std::iter::once(key), at)
    }

    /// Remembers that all of these were.
    pub(super) fn note_all(&mut self, keys: impl Iterator<Item = String>, at: Timestamp) -> Result<(), Failure> {
        self.kept.delivered.extend(keys.map(|key| (key, at)));
        while self.kept.delivered.len() > KEPT_MAX {
            let oldest = self.kept.delivered.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.kept.delivered.remove(&key));
        }
        self.save()
    }

    /// Forgets what `is_past` says of: the same may be news again.
    pub(super) fn forget(&mut self, is_past: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let before = self.kept.delivered.len();
        self.kept.delivered.retain(|key, _| !is_past(key));
        if self.kept.delivered.len() == before { Ok(()) } else { self.save() }
    }

    fn save(&self) -> Result<(), Failure> {
        write_private(&self.file, &serde_json::to_vec_pretty(&self.kept).expect("plain data with text keys"))
    }
}
