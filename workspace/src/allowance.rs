//! How much git may use for objects that others made. The more there is honestly to be read, the more: a figure
//! that fits the largest repository would be a bomb's too. Pure arithmetic; what enforces it is the sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_sandbox::Confinement;

use crate::limits::LONG_TIMEOUT;

/// Address space of any call: git itself, its windows on packs, and an object with the one that it is a difference of.
/// Larger files are streamed as long as they come whole.
const MEMORY_BYTES: u64 = 768 << 20;
/// What packed bytes add at most: git holds an object of that size in memory if it came as a difference.
const MEMORY_OF_BYTES_MAX: u64 = 1 << 30;
/// Address space that an object adds: git's note of it, and its place in an index.
const MEMORY_PER_OBJECT: u64 = 320;
/// Processor time of any call: honest ones take milliseconds.
const CPU: Duration = Duration::from_secs(30);
/// Objects that add a second, ten times what a slow machine needs for walking over them.
const OBJECTS_PER_SECOND: u64 = 20_000;
/// Bytes of a bundle that add a second: unpacking ones full of differences is slow.
const BUNDLE_BYTES_PER_SECOND: u64 = 1 << 20;
/// Bytes of files that add a second, for reading and writing them.
const FILE_BYTES_PER_SECOND: u64 = 16 << 20;
/// Size of a file that any call may write: the largest blob, or an index of the largest tree.
const FILE_BYTES: u64 = 1 << 30;
/// Bytes that the smallest object takes up in a pack, or nearly so: a bundle cannot have more objects than it has room for.
const OBJECT_BYTES_MIN: u64 = 10;
/// Bytes of a pack's index for one object, of the shorter hash.
const INDEX_BYTES_PER_OBJECT: u64 = 28;

/// What there is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Objects in packs.
    pub(crate) objects: u64,
    /// Bytes of the packs.
    pub(crate) packed_bytes: u64,
    /// Bytes of a bundle that is unpacked.
    pub(crate) bundle_bytes: u64,
    /// Bytes of files that are read or written.
    pub(crate) file_bytes: u64,
}

impl Work {
    /// What the packs in a folder of objects hold, by the sizes of their files.
    pub(crate) fn of_packs(objects: &Path) -> Self {
        let mut work = Self::default();
        for entry in std::fs::read_dir(objects.join("pack")).into_iter().flatten().flatten() {
            let path = entry.path();
            let bytes = || entry.metadata().map_or(0, |file| file.len());
            match path.extension().map(std::ffi::OsStr::as_encoded_bytes) {
                Some(b"idx") => work.objects += bytes() / INDEX_BYTES_PER_OBJECT,
                Some(b"pack") => work.packed_bytes += bytes(),
                _ => {}
            }
        }
        work
    }

    /// A bundle of this size that says it has so many objects.
    pub(crate) fn of_bundle(bundle_bytes: u64, objects: u32) -> Self {
        let objects = u64::from(objects).min(bundle_bytes / OBJECT_BYTES_MIN);
        Self { objects, bundle_bytes, ..Self::default() }
    }

    /// Files of so many bytes together.
    pub(crate) fn of_files(file_bytes: u64) -> Self {
        Self { file_bytes, ..Self::default() }
    }

    /// Both.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            objects: self.objects.saturating_add(more.objects),
            packed_bytes: self.packed_bytes.saturating_add(more.packed_bytes),
            bundle_bytes: self.bundle_bytes.saturating_add(more.bundle_bytes),
            file_bytes: self.file_bytes.saturating_add(more.file_bytes),
        }
    }

    fn memory_bytes(self) -> u64 {
        let of_bytes = self.packed_bytes.saturating_add(self.bundle_bytes).min(MEMORY_OF_BYTES_MAX);
        MEMORY_BYTES.saturating_add(of_bytes).saturating_add(self.objects.saturating_mul(MEMORY_PER_OBJECT))
    }

    fn cpu(self) -> Duration {
        // Quotients of 64 bits by thousands and more: their sum fits.
        let more = self.objects / OBJECTS_PER_SECOND
            + self.bundle_bytes / BUNDLE_BYTES_PER_SECOND
            + self.file_bytes / FILE_BYTES_PER_SECOND;
        CPU.saturating_add(Duration::from_secs(more)).min(LONG_TIMEOUT)
    }

    fn biggest_file(self) -> u64 {
        let packs = self.packed_bytes.saturating_add(self.bundle_bytes);
        FILE_BYTES.saturating_add(packs.saturating_mul(2))
    }

    /// The limits of a call of git that does this work, reading and writing these paths.
    pub(crate) fn confinement(self, read: Vec<PathBuf>, write: Vec<PathBuf>) -> Confinement {
        let (memory_bytes, cpu, file_bytes) = (self.memory_bytes(), self.cpu(), self.biggest_file());
        Confinement { read, write, memory_bytes, cpu, file_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_bundle_earns_little_whatever_it_says() {
        let bomb = Work::of_bundle(950_000, u32::MAX);
        assert_eq!(bomb.objects, 95_000);
        assert!(bomb.memory_bytes() < 800 << 20 && bomb.cpu() < Duration::from_secs(40));
        assert!(bomb.biggest_file() < 1100 << 20);
    }

    #[test]
    fn the_largest_repositories_have_what_they_need() {
        let kernel = Work::of_bundle(1_500 << 20, 10_000_000);
        assert!(kernel.memory_bytes() > 4 << 30 && kernel.cpu() == LONG_TIMEOUT);
        let walk = Work { objects: 10_000_000, packed_bytes: 1_500 << 20, ..Work::default() };
        assert!(walk.cpu() > Duration::from_secs(500) && walk.cpu() < LONG_TIMEOUT);
        assert!(walk.biggest_file() > 3 << 30, "its packs can be joined");
        let tree = Work::of_files(crate::limits::TREE_BYTES_MAX);
        assert!(tree.cpu() > Duration::from_secs(1_000));
    }

    #[test]
    fn figures_without_bounds_do_not_overflow() {
        let all = Work { objects: u64::MAX, packed_bytes: u64::MAX, bundle_bytes: u64::MAX, file_bytes: u64::MAX };
        let most = all.and(all).confinement(Vec::new(), Vec::new());
        assert_eq!((most.memory_bytes, most.file_bytes, most.cpu), (u64::MAX, u64::MAX, LONG_TIMEOUT));
    }
}
