//! Which part of the journals the next scan reads: what is new, or everything when another orchestrator is gone.
//!
//! One scan at a time. What a failed scan was to read is left for the next one.

use holdpoint_protocol::journal::Sequence;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Scans {
    /// Up to where submissions were looked at.
    done: Sequence,
    running: Option<Reach>,
    /// The next scan reads everything.
    everything: bool,
}

/// What a scan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// What was submitted after this.
    After(Sequence),
    /// All submissions, those of flights that were seen before as well.
    Everything,
}

impl Reach {
    /// The place behind which it reads.
    pub(super) fn after(self) -> Sequence {
        match self {
            Self::After(sequence) => sequence,
            Self::Everything => Sequence(0),
        }
    }
}

impl Scans {
    /// Begins one, unless another one runs.
    pub(super) fn begin(&mut self) -> Option<Reach> {
        if self.running.is_some() {
            return None;
        }
        let everything = std::mem::take(&mut self.everything);
        self.running = Some(if everything { Reach::Everything } else { Reach::After(self.done) });
        self.running
    }

    /// The one that ran has read up to this place.
    pub(super) fn succeeded(&mut self, until: Sequence) {
        self.running = None;
        self.done = until;
    }

    /// The one that ran has found nothing out.
    pub(super) fn failed(&mut self) {
        if self.running.take() == Some(Reach::Everything) {
            self.everything = true;
        }
    }

    /// Everything is to be read by a scan that begins after this.
    pub(super) fn want_everything(&mut self) {
        self.everything = true;
    }

    /// Whether a scan of everything waits to begin.
    pub(super) fn wants_everything(&self) -> bool {
        self.everything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_reads_on_where_the_last_one_ended_and_never_two_run() {
        let mut scans = Scans::default();
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(0))));
        assert_eq!(scans.begin(), None);
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))));
        scans.failed();
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))), "what failed is read again");
    }

    #[test]
    fn a_take_over_that_fails_is_tried_again() {
        let mut scans = Scans::default();
        scans.want_everything();
        assert_eq!(scans.begin(), Some(Reach::Everything));
        assert!(!scans.wants_everything());
        scans.failed();
        assert!(scans.wants_everything());
        assert_eq!(scans.begin(), Some(Reach::Everything));
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))));
    }

    #[test]
    fn a_take_over_during_a_scan_has_one_of_its_own() {
        let mut scans = Scans::default();
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(0))));
        scans.want_everything();
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::Everything));
        scans.want_everything();
        scans.succeeded(Sequence(9));
        assert_eq!(scans.begin(), Some(Reach::Everything), "another one was gone meanwhile");
    }
}
