//! Room on a disk.

use std::{
    fmt, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::statvfs::{Statvfs, statvfs},
};

use crate::Ended;

/// A disk with less than this is nearly full: the smaller of the two.
const NEARLY_FULL_BYTES: u64 = 512 << 20;
const NEARLY_FULL_PART: u64 = 100;
/// On a disk with less than this hardly anything can be written.
const FULL_BYTES: u64 = 1 << 20;

/// A file system that is nearly full, or that takes no more files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearlyFull {
    /// Where it is mounted, as far as its folders tell.
    pub mounted_at: PathBuf,
    /// Free bytes.
    pub free: u64,
    /// All bytes.
    pub size: u64,
    /// It has names for so many files, and all of them are taken.
    pub files: Option<u64>,
}

impl NearlyFull {
    /// The file system that a path is on, if it is nearly full. One that does not say is not.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        let found = statvfs(path).ok()?;
        let (free, size) = bytes(&found)?;
        let files = Some(found.files()).filter(|files| *files > 0 && found.files_available() == 0);
        (free < floor(size) || files.is_some()).then(|| Self { mounted_at: mounted_at(path), free, size, files })
    }

    /// Whether nothing can be written there, so that it is no use to begin.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free < FULL_BYTES || self.files.is_some()
    }

    /// Whether a program that wrote there and came to nothing did so because of it. `says_so`: in its own words.
    #[must_use]
    pub fn explains(&self, ended: Ended, says_so: bool) -> bool {
        says_so || ended == Ended::DiskLimit || self.is_full()
    }
}

impl fmt::Display for NearlyFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mounted_at, free, size, files } = self;
        write!(f, "the file system at {} ", mounted_at.display())?;
        match files {
            Some(files) => write!(f, "takes no more files, as it has {files}"),
            None => write!(f, "has {} MiB of {} MiB left", free >> 20, size >> 20),
        }
    }
}

/// What the system says where there is no room.
#[must_use]
pub fn none_left() -> io::Error {
    io::Error::from_raw_os_error(Errno::ENOSPC as i32)
}

fn mounted_at(path: &Path) -> PathBuf {
    let device = |path: &Path| path.metadata().ok().map(|found| found.dev());
    let (whole, own) = (path.canonicalize().unwrap_or_else(|_| path.to_owned()), device(path));
    whole.ancestors().take_while(|folder| device(folder) == own).last().unwrap_or(&whole).to_owned()
}

/// What counts as nearly full on a disk of this size.
pub(crate) fn floor(size: u64) -> u64 {
    NEARLY_FULL_BYTES.min(size / NEARLY_FULL_PART)
}

/// Free bytes, and all bytes. `None`: this file system does not say.
pub(crate) fn space(at: &Path) -> Option<(u64, u64)> {
    bytes(&statvfs(at).ok()?)
}

fn bytes(found: &Statvfs) -> Option<(u64, u64)> {
    let unit = found.fragment_size();
    let size = found.blocks().checked_mul(unit).filter(|size| *size > 0)?;
    Some((found.blocks_available().checked_mul(unit)?, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(free: u64, files: Option<u64>) -> NearlyFull {
        NearlyFull { mounted_at: PathBuf::from("/data"), free, size: 20 << 30, files }
    }

    #[test]
    fn what_is_not_there_is_not_full() {
        assert_eq!(NearlyFull::at(Path::new("/nowhere/at/all")), None);
        assert_eq!((floor(1 << 40), floor(1 << 30)), (NEARLY_FULL_BYTES, (1 << 30) / NEARLY_FULL_PART));
    }

    #[test]
    fn a_nearly_full_disk_explains_an_end_where_the_program_or_its_limit_says_so_and_a_full_one_does_anyway() {
        let nearly = left(100 << 20, None);
        for (ended, says_so, explained) in [
            (Ended::Exited(1), false, false),
            (Ended::Exited(1), true, true),
            (Ended::Signalled(7), false, false),
            (Ended::TimedOut, true, true),
            (Ended::DiskLimit, false, true),
        ] {
            assert_eq!(nearly.explains(ended, says_so), explained, "{ended:?} {says_so}");
        }
        assert!(left(4096, None).explains(Ended::Exited(1), false));
        assert!(left(1 << 30, Some(9)).explains(Ended::Signalled(7), false));
    }

    #[test]
    fn a_full_disk_is_named_with_what_is_left_of_it() {
        assert_eq!(left(5 << 20, None).to_string(), "the file system at /data has 5 MiB of 20480 MiB left");
        assert_eq!(left(1 << 30, Some(9)).to_string(), "the file system at /data takes no more files, as it has 9");
        assert_eq!(mounted_at(Path::new("/proc/self/task")), Path::new("/proc"));
    }
}
