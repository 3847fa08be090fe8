//! How the broker's disk is divided among the streams, so that blobs and handoffs that fill their shares leave the journals
//! theirs. Arithmetic only: the broker itself keeps the bounds (`max_bytes` of a stream) and refuses a share it does not have.

/// Hundredths of the disk for blobs: bundles, output and evidence of all roles.
const BLOBS_PERCENT: u64 = 70;
/// Hundredths of the disk for the handoffs of each role.
const HANDOFFS_PERCENT: u64 = 5;

/// The bounds of the streams that agents and people write, in bytes. What they leave is for the journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// Of the stream of blobs.
    pub(super) blobs: i64,
    /// Of the handoff stream of one role.
    pub(super) handoffs: i64,
}

impl Shares {
    /// The shares of a disk of so many bytes.
    pub(super) fn of(disk_bytes: u64) -> Self {
        let share = |percent| i64::try_from(disk_bytes / 100 * percent).unwrap_or(i64::MAX);
        Self { blobs: share(BLOBS_PERCENT), handoffs: share(HANDOFFS_PERCENT) }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::ids::role;

    use super::*;

    #[test]
    fn a_tenth_of_the_disk_is_left_when_every_other_stream_is_full() {
        for disk in [1 << 20, 1 << 30, 20 << 30, (1 << 40) + 7] {
            let Shares { blobs, handoffs } = Shares::of(disk);
            let roles = i64::try_from(role::HANDING.len()).unwrap();
            let left = i64::try_from(disk).unwrap() - blobs - roles * handoffs;
            assert!(left >= i64::try_from(disk / 10).unwrap(), "{left} of {disk}");
        }
    }

    #[test]
    fn no_disk_is_too_big_for_the_brokers_numbers() {
        assert_eq!(Shares::of(u64::MAX).blobs, i64::MAX);
    }
}
