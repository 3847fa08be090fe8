//! How the broker's disk is divided among the streams, so that a role that fills its room stops no other role, and leaves the
//! journals theirs. Arithmetic only: the broker itself keeps the bounds (`max_bytes` and `max_msgs` of a stream) and refuses a
//! share it does not have.
//!
//! Messages are bounded as well as bytes: the broker keeps every subject in memory, some hundred bytes for each, and a subject
//! is stored once. Without a bound, chunks of one byte would take several times the memory that honest ones do.

use std::fmt;

use holdpoint_protocol::{
    ids::{RoleId, role},
    streams,
};

/// Hundredths of the disk for the blobs of builders: output and work of every attempt of every waypoint.
const BUILDER_PERCENT: u64 = 20;
/// Hundredths of the disk for the blobs of operators: a snapshot of a whole repository for each flight.
const OPERATOR_PERCENT: u64 = 15;
/// Hundredths of the disk for the blobs of verifiers: what every check printed, often of several runs.
const VERIFIER_PERCENT: u64 = 15;
/// Hundredths of the disk for the blobs of repair agents: as builders, but only for turns that were opened again.
const REPAIR_PERCENT: u64 = 10;
/// Hundredths of the disk for the blobs of orchestrators: what lands, once, and the indexes of snapshots.
const ORCHESTRATOR_PERCENT: u64 = 10;
/// Hundredths of the disk for the handoffs of each role.
const HANDOFFS_PERCENT: u64 = 5;

/// Room for which a blob's stream takes one message. Chunks have 256 KiB; only the outputs of quiet programs are shorter than
/// this, and equal ones are stored once.
const BYTES_PER_CHUNK: i64 = 4 << 10;
/// Room for which a handoff stream takes one message. A handoff with its headers is hardly ever shorter.
const BYTES_PER_HANDOFF: i64 = 1 << 10;

/// The bounds of a stream that agents and people write. What all of them leave is for the journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    percent: u64,
    bytes_per_message: i64,
}

impl Share {
    /// Of the stream of a role's blobs. Nobody stores blobs of other roles.
    pub(crate) fn of_blobs(role: &RoleId) -> Self {
        let percent = match role.as_str() {
            role::BUILDER => BUILDER_PERCENT,
            role::OPERATOR => OPERATOR_PERCENT,
            role::VERIFIER => VERIFIER_PERCENT,
            role::REPAIR => REPAIR_PERCENT,
            role::ORCHESTRATOR => ORCHESTRATOR_PERCENT,
            _ => 0,
        };
        Self { percent, bytes_per_message: BYTES_PER_CHUNK }
    }

    /// Of the stream of a role's handoffs.
    pub(crate) fn of_handoffs() -> Self {
        Self { percent: HANDOFFS_PERCENT, bytes_per_message: BYTES_PER_HANDOFF }
    }

    /// The most bytes, of a disk of so many. Never 0, which the broker takes for no bound.
    pub(crate) fn bytes(self, disk_bytes: u64) -> i64 {
        i64::try_from(disk_bytes / 100 * self.percent).unwrap_or(i64::MAX).max(1)
    }

    /// The most messages. Never 0 either.
    pub(crate) fn messages(self, disk_bytes: u64) -> i64 {
        (self.bytes(disk_bytes) / self.bytes_per_message).max(1)
    }
}

/// Which bound of its share a stream has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Bytes,
    Messages,
}

/// A stream that takes nothing more. In words for whoever wanted to store: neither agents nor operators can ask the broker
/// how large a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FullRoom {
    stream: String,
    /// What it holds, and of which role.
    what: &'static str,
    role: &'static str,
    share: Share,
    bound: Bound,
}

impl FullRoom {
    /// The room of a stream; `None`: it has no bounds.
    pub(crate) fn of(stream: &str, bound: Bound) -> Option<Self> {
        let room = |what, role, share| Some(Self { stream: stream.to_owned(), what, role, share, bound });
        if let Some(name) = role::STORING.into_iter().find(|name| streams::blob(&role::id(name)) == stream) {
            return room("blobs", name, Share::of_blobs(&role::id(name)));
        }
        let name = role::HANDING.into_iter().find(|name| streams::handoff(&role::id(name)) == stream)?;
        room("handoffs", name, Share::of_handoffs())
    }
}

impl fmt::Display for FullRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, what, role, share: Share { percent, bytes_per_message }, bound } = self;
        write!(f, "the room for {what} of the role {role} is used up: the stream {stream} may ")?;
        match bound {
            Bound::Bytes => write!(f, "take {percent} %")?,
            Bound::Messages => write!(f, "hold one message for every {} KiB of {percent} %", bytes_per_message >> 10)?,
        }
        f.write_str(" of the broker's disk (orchestrator.broker_disk)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_disk_is_left_when_every_other_stream_is_full() {
        for disk in [1 << 20, 1 << 30, 20 << 30, (1 << 40) + 7] {
            let blobs: i64 = role::STORING.map(|name| Share::of_blobs(&role::id(name)).bytes(disk)).into_iter().sum();
            let roles = i64::try_from(role::HANDING.len()).unwrap();
            let left = i64::try_from(disk).unwrap() - blobs - roles * Share::of_handoffs().bytes(disk);
            assert!(left >= i64::try_from(disk / 10).unwrap(), "{left} of {disk}");
        }
    }

    #[test]
    fn every_role_that_stores_blobs_has_a_share_and_all_together_have_seventy_hundredths() {
        let shares = role::STORING.map(|name| Share::of_blobs(&role::id(name)).percent);
        assert!(shares.iter().all(|percent| *percent > 0), "{shares:?}");
        assert_eq!(shares.iter().sum::<u64>(), 70);
    }

    #[test]
    fn no_disk_is_too_big_or_too_small_for_the_brokers_numbers() {
        let share = Share::of_blobs(&role::id(role::BUILDER));
        assert_eq!(share.bytes(u64::MAX), i64::try_from(u64::MAX / 100 * BUILDER_PERCENT).unwrap());
        assert_eq!((share.bytes(0), share.messages(0)), (1, 1));
    }

    #[test]
    fn a_full_stream_is_named_with_its_role_its_bound_and_the_setting() {
        let room = |stream, bound| FullRoom::of(stream, bound).map(|room| room.to_string());
        assert_eq!(
            room("HP_BLOB_BUILDER", Bound::Bytes).unwrap(),
            "the room for blobs of the role builder is used up: the stream HP_BLOB_BUILDER may take 20 % of the broker's \
             disk (orchestrator.broker_disk)"
        );
        assert_eq!(
            room("HP_HANDOFF_REPAIR", Bound::Messages).unwrap(),
            "the room for handoffs of the role repair is used up: the stream HP_HANDOFF_REPAIR may hold one message for \
             every 1 KiB of 5 % of the broker's disk (orchestrator.broker_disk)"
        );
        assert_eq!(room(streams::JOURNAL, Bound::Bytes), None);
    }
}
