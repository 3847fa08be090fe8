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

/// Thousandths of the disk for the blobs of builders: output and work of every attempt of every waypoint.
const BUILDER: u64 = 180;
/// Thousandths of the disk for the blobs of operators: a snapshot of a whole repository for each flight.
const OPERATOR: u64 = 120;
/// Thousandths of the disk for the blobs of verifiers: what every check printed, often of several runs.
const VERIFIER: u64 = 120;
/// Thousandths of the disk for the blobs of repair agents: as builders, but only for turns that were opened again.
const REPAIR: u64 = 80;
/// Thousandths of the disk for the blobs of orchestrators: what lands, once, and the indexes of snapshots.
const ORCHESTRATOR: u64 = 80;
/// Thousandths of the disk for the blobs of each role that a fleet declares.
const DECLARED: u64 = 10;
/// Thousandths of the disk for the handoffs of each built-in role.
const HANDOFFS: u64 = 30;
/// Thousandths of the disk for the handoffs of each role that a fleet declares.
const DECLARED_HANDOFFS: u64 = 5;

/// Room for which a blob's stream takes one message. Chunks have 256 KiB; only the outputs of quiet programs are shorter than
/// this, and equal ones are stored once.
const BYTES_PER_CHUNK: i64 = 4 << 10;
/// Room for which a handoff stream takes one message. A handoff with its headers is hardly ever shorter.
const BYTES_PER_HANDOFF: i64 = 1 << 10;

/// The bounds of a stream that agents and people write. What all of them leave is for the journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    thousandths: u64,
    bytes_per_message: i64,
}

impl Share {
    /// Of the stream of a role's blobs.
    pub(crate) fn of_blobs(role: &RoleId) -> Self {
        let thousandths = match role.as_str() {
            role::BUILDER => BUILDER,
            role::OPERATOR => OPERATOR,
            role::VERIFIER => VERIFIER,
            role::REPAIR => REPAIR,
            role::ORCHESTRATOR => ORCHESTRATOR,
            _ => DECLARED,
        };
        Self { thousandths, bytes_per_message: BYTES_PER_CHUNK }
    }

    /// Of the stream of a role's handoffs.
    pub(crate) fn of_handoffs(role: &RoleId) -> Self {
        let thousandths = if role::HANDING.contains(&role.as_str()) { HANDOFFS } else { DECLARED_HANDOFFS };
        Self { thousandths, bytes_per_message: BYTES_PER_HANDOFF }
    }

    /// The most bytes, of a disk of so many. Never 0, which the broker takes for no bound.
    pub(crate) fn bytes(self, disk_bytes: u64) -> i64 {
        i64::try_from(disk_bytes / 1_000 * self.thousandths).unwrap_or(i64::MAX).max(1)
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

/// A stream that takes nothing more. In words for the one that wanted to store: neither agents nor operators can ask
/// the broker how large a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FullRoom {
    stream: String,
    what: &'static str,
    share: Share,
    bound: Bound,
}

impl FullRoom {
    /// The room of a stream; `None`: it has no bounds.
    pub(crate) fn of(stream: &str, bound: Bound) -> Option<Self> {
        let named = |name: fn(&RoleId) -> String, roles: &[&'static str]| {
            roles.iter().copied().map(role::id).find(|role| name(role) == stream)
        };
        let (what, share) = if stream.starts_with(streams::BLOB_PREFIX) {
            let built_in = named(streams::blob, &role::STORING).map(|role| Share::of_blobs(&role));
            ("blobs", built_in.unwrap_or(Share { thousandths: DECLARED, bytes_per_message: BYTES_PER_CHUNK }))
        } else if stream.starts_with(streams::HANDOFF_PREFIX) {
            let built_in = named(streams::handoff, &role::HANDING).map(|role| Share::of_handoffs(&role));
            let declared = Share { thousandths: DECLARED_HANDOFFS, bytes_per_message: BYTES_PER_HANDOFF };
            ("handoffs", built_in.unwrap_or(declared))
        } else {
            return None;
        };
        Some(Self { stream: stream.to_owned(), what, share, bound })
    }
}

impl fmt::Display for FullRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, what, share: Share { thousandths, bytes_per_message }, bound } = self;
        let percent = match (thousandths / 10, thousandths % 10) {
            (whole, 0) => whole.to_string(),
            (whole, tenth) => format!("{whole}.{tenth}"),
        };
        write!(f, "the room for {what} of this role is used up: the stream {stream} may ")?;
        match bound {
            Bound::Bytes => write!(f, "take {percent} %")?,
            Bound::Messages => write!(f, "hold one message for every {} KiB of {percent} %", bytes_per_message >> 10)?,
        }
        f.write_str(" of the broker's disk (orchestrator.broker_disk)")
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::roles::{DECLARED_MAX, Roles};

    use super::*;

    #[test]
    fn a_tenth_of_the_disk_is_left_when_every_stream_of_as_many_roles_as_there_may_be_is_full() {
        for disk in [1 << 20, 1 << 30, 20 << 30, (1 << 40) + 7] {
            let names: Vec<RoleId> = (0..DECLARED_MAX).map(|n| format!("r{n}").parse().unwrap()).collect();
            let roles = Roles::with_all(&names);
            let blobs: i64 = roles.storing().iter().map(|role| Share::of_blobs(role).bytes(disk)).sum();
            let handoffs: i64 = roles.handing().iter().map(|role| Share::of_handoffs(role).bytes(disk)).sum();
            let left = i64::try_from(disk).unwrap() - blobs - handoffs;
            assert!(left >= i64::try_from(disk / 10).unwrap(), "{left} of {disk}");
        }
    }

    #[test]
    fn no_disk_is_too_big_or_too_small_for_the_brokers_numbers() {
        let share = Share::of_blobs(&role::id(role::BUILDER));
        assert_eq!(share.bytes(u64::MAX), i64::try_from(u64::MAX / 1_000 * BUILDER).unwrap());
        assert_eq!((share.bytes(0), share.messages(0)), (1, 1));
    }

    #[test]
    fn a_full_stream_is_named_with_its_bound_and_the_setting() {
        let room = |stream, bound| FullRoom::of(stream, bound).map(|room| room.to_string());
        assert_eq!(
            room("HP_BLOB_BUILDER", Bound::Bytes).unwrap(),
            "the room for blobs of this role is used up: the stream HP_BLOB_BUILDER may take 18 % of the broker's disk \
             (orchestrator.broker_disk)"
        );
        assert_eq!(
            room("HP_HANDOFF_REPAIR", Bound::Messages).unwrap(),
            "the room for handoffs of this role is used up: the stream HP_HANDOFF_REPAIR may hold one message for every 1 \
             KiB of 3 % of the broker's disk (orchestrator.broker_disk)"
        );
        let of_declared = room("HP_HANDOFF_CODE_REVIEW", Bound::Bytes).unwrap();
        assert!(of_declared.contains("HP_HANDOFF_CODE_REVIEW may take 0.5 %"), "{of_declared}");
        assert_eq!(room(streams::JOURNAL, Bound::Bytes), None);
    }
}
