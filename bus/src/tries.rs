//! How often this process sent or asked for something again that the broker did not answer (RETRY-9). Counted only: each
//! place bounds its tries itself.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetriedKind {
    /// A blob or a journal entry was stored again.
    Write,
    /// A blob was asked for again.
    Read,
    /// A handoff was sent again.
    Dispatch,
    /// A handoff was sent under another message id, because something stood under its own that need not be it.
    TakenId,
}

impl RetriedKind {
    /// All of them, with their words.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Write, "write"), (Self::Read, "read"), (Self::Dispatch, "dispatch"), (Self::TakenId, "taken_id")];
}

static WRITES: AtomicU64 = AtomicU64::new(0);
static READS: AtomicU64 = AtomicU64::new(0);
static DISPATCHES: AtomicU64 = AtomicU64::new(0);
static TAKEN_IDS: AtomicU64 = AtomicU64::new(0);

fn counter(tried: RetriedKind) -> &'static AtomicU64 {
    match tried {
        RetriedKind::Write => &WRITES,
        RetriedKind::Read => &READS,
        RetriedKind::Dispatch => &DISPATCHES,
        RetriedKind::TakenId => &TAKEN_IDS,
    }
}

/// Something is tried again.
pub(crate) fn again(tried: RetriedKind) {
    counter(tried).fetch_add(1, Ordering::Relaxed);
}

/// How often since the process started.
#[must_use]
pub fn count(tried: RetriedKind) -> u64 {
    counter(tried).load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_reads_and_dispatches_are_counted_apart() {
        let before = RetriedKind::ALL.map(|(tried, _)| count(tried));
        again(RetriedKind::Write);
        again(RetriedKind::Dispatch);
        again(RetriedKind::Dispatch);
        let after = RetriedKind::ALL.map(|(tried, _)| count(tried));
        // Other tests of this process may count as well.
        assert!(after[0] > before[0] && after[2] >= before[2] + 2, "{before:?} {after:?}");
    }
}
