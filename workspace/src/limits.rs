//! How much is taken in from others, and how long git may take. Every figure is a cap against accidents and attacks,
//! far above what honest work needs; none is a quota.

use std::time::Duration;

/// Bytes of one bundle: a large repository's whole history fits.
pub const BUNDLE_BYTES_MAX: u64 = 4 << 30;
/// Objects in one bundle: the largest public repositories have about ten million.
pub const BUNDLE_OBJECTS_MAX: u32 = 20_000_000;
/// Bytes of a bundle's header: with the one ref and the few prerequisites that we take, kilobytes are much.
pub const BUNDLE_HEADER_BYTES_MAX: u64 = 1 << 20;
/// Prerequisites of a bundle: work has the one commit it was made on, a history with merges some.
pub const BUNDLE_PREREQUISITES_MAX: usize = 1_000;
/// Entries in one tree, folders not counted: a bomb of nested trees has billions, the largest monorepos half a million.
pub const TREE_ENTRIES_MAX: usize = 1_000_000;
/// Bytes of one file: what is larger belongs into a large-file store, not into git.
pub const BLOB_BYTES_MAX: u64 = 512 << 20;
/// Bytes of all files of one tree together.
pub const TREE_BYTES_MAX: u64 = 16 << 30;
/// Bytes of a symlink's target that are read: Linux takes no longer path.
pub const LINK_TARGET_BYTES_MAX: usize = 4096;

/// Packs a mirror may have before they are joined: git looks through all of them for an object it does not find.
pub const MIRROR_PACKS_MAX: usize = 16;

/// Objects in files of their own that a mirror may have before they are packed; git's own figure.
pub const MIRROR_SINGLES_MAX: usize = 6700;

/// History that an agent's clone has at least, in commits: enough to learn the house's habits from, cheap for any
/// repository.
pub const CLONE_DEPTH: u32 = 50;
/// The largest pack that is copied into a clone with all its history. Copying is faster than choosing as long as it takes
/// tenths of a second.
pub const CLONE_COPY_BYTES_MAX: u64 = 128 << 20;

/// Time for a command that looks at a few objects.
pub(crate) const QUICK_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for a command that works through a whole repository.
pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(1800);

/// Output of a command that answers with a few lines.
pub(crate) const SHORT_OUTPUT_BYTES: usize = 1 << 20;
/// Output of a command that lists a tree, and what a listing in this process may hold: [`TREE_ENTRIES_MAX`] entries of usual
/// length. Also what stops a tree bomb.
pub(crate) const LISTING_OUTPUT_BYTES: usize = 256 << 20;

/// The caps on what others hand in. The defaults are this module's constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputLimits {
    /// Bytes of one bundle.
    pub bundle_bytes: u64,
    /// Objects in one bundle.
    pub bundle_objects: u32,
    /// Entries in one tree, folders not counted.
    pub tree_entries: usize,
    /// Bytes of one file.
    pub blob_bytes: u64,
    /// Bytes of all files of one tree.
    pub tree_bytes: u64,
}

impl Default for InputLimits {
    fn default() -> Self {
        Self {
            bundle_bytes: BUNDLE_BYTES_MAX,
            bundle_objects: BUNDLE_OBJECTS_MAX,
            tree_entries: TREE_ENTRIES_MAX,
            blob_bytes: BLOB_BYTES_MAX,
            tree_bytes: TREE_BYTES_MAX,
        }
    }
}
