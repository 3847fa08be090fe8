//! Files without a name that a tree still has open: they take up space that no folder shows.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The unit of `st_blocks` (stat(3type)).
pub(super) const BLOCK: u64 = 512;

/// Bytes of nameless files by device.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<u64, u64>);

impl Held {
    /// What these processes hold. A process that cannot be looked into holds nothing.
    pub(super) fn by(processes: &BTreeSet<i32>) -> Self {
        let mut seen = BTreeSet::new();
        let mut held = BTreeMap::<u64, u64>::new();
        for pid in processes {
            let Ok(files) = Path::new("/proc").join(pid.to_string()).join("fd").read_dir() else { continue };
            for file in files.flatten() {
                let Ok(found) = std::fs::metadata(file.path()) else { continue };
                if found.is_file() && found.nlink() == 0 && seen.insert((found.dev(), found.ino())) {
                    *held.entry(found.dev()).or_default() += found.blocks() * BLOCK;
                }
            }
        }
        Self(held)
    }

    /// Bytes on these devices.
    pub(super) fn on(&self, devices: &BTreeSet<u64>) -> u64 {
        self.0.iter().filter(|(device, _)| devices.contains(device)).map(|(_, bytes)| bytes).sum()
    }

    /// Bytes on any device. Other files are memory that is shared by a file descriptor.
    pub(super) fn all(&self) -> u64 {
        self.0.values().sum()
    }
}
