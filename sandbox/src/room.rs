//! Room on a disk.

use std::path::Path;

use nix::sys::statvfs::statvfs;

/// A disk with less than this is nearly full: the smaller of the two.
const NEARLY_FULL_BYTES: u64 = 512 << 20;
const NEARLY_FULL_PART: u64 = 100;

/// Whether the disk that a path is on is nearly full. One that does not say is not.
#[must_use]
pub fn is_nearly_full(at: &Path) -> bool {
    space(at).is_some_and(|(free, size)| free < floor(size))
}

/// What counts as nearly full on a disk of this size.
pub(crate) fn floor(size: u64) -> u64 {
    NEARLY_FULL_BYTES.min(size / NEARLY_FULL_PART)
}

/// Free bytes, and all bytes. `None`: this file system does not say.
pub(crate) fn space(at: &Path) -> Option<(u64, u64)> {
    let found = statvfs(at).ok()?;
    let unit = found.fragment_size();
    let size = found.blocks().checked_mul(unit).filter(|size| *size > 0)?;
    Some((found.blocks_available().checked_mul(unit)?, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_full() {
        assert!(!is_nearly_full(Path::new("/nowhere/at/all")));
        assert_eq!((floor(1 << 40), floor(1 << 30)), (NEARLY_FULL_BYTES, (1 << 30) / NEARLY_FULL_PART));
    }
}
