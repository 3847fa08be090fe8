//! Which part of the journals the next scan reads: what is new, or everything when another orchestrator is gone.
//!
//! One scan at a time. The part of a failed scan is left for the next one.

use holdpoint_protocol::journal::Sequence;

/// See the module.
#[derive(Debug)]
pub(super) struct Scans {
    /// Up to where submissions were looked at.
    done: Sequence,
    running: Option<Reach>,
    /// The next scan reads everything.
    everything: bool,
    /// It writes a checkpoint.
    checkpoint: bool,
}

/// What a scan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// What was submitted after this.
    After(Sequence),
    /// All flights that are not over, those that were seen before as well. It writes a checkpoint.
    Everything,
    /// All that are neither over nor known here, for a checkpoint.
    Checkpoint,
}

impl Scans {
    /// The first one reads everything.
    pub(super) fn new() -> Self {
        Self { done: Sequence(0), running: None, everything: true, checkpoint: false }
    }

    /// Begins one, unless another one runs.
    pub(super) fn begin(&mut self) -> Option<Reach> {
        if self.running.is_some() {
            return None;
        }
        let everything = std::mem::take(&mut self.everything);
        let checkpoint = std::mem::take(&mut self.checkpoint);
        self.running = Some(match (everything, checkpoint) {
            (true, _) => Reach::Everything,
            (false, true) => Reach::Checkpoint,
            (false, false) => Reach::After(self.done),
        });
        self.running
    }

    /// Whether one runs that reads all flights that are not over.
    pub(super) fn reads_everything(&self) -> bool {
        self.running == Some(Reach::Everything)
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

    /// The next scan is to write a checkpoint.
    pub(super) fn want_checkpoint(&mut self) {
        self.checkpoint = true;
    }

    /// Whether a scan of everything waits to begin.
    pub(super) fn wants_everything(&self) -> bool {
        self.everything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One whose first scan has ended here.
    fn begun(until: u64) -> Scans {
        let mut scans = Scans::new();
        assert_eq!(scans.begin(), Some(Reach::Everything));
        scans.succeeded(Sequence(until));
        scans
    }

    #[test]
    fn a_scan_reads_on_where_the_last_one_ended_and_never_two_run() {
        let mut scans = begun(3);
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(3))));
        assert_eq!(scans.begin(), None);
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))));
        scans.failed();
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))), "what failed is read again");
    }

    #[test]
    fn a_take_over_that_fails_is_tried_again() {
        let mut scans = begun(3);
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
        let mut scans = begun(3);
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(3))));
        scans.want_everything();
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::Everything));
        scans.want_everything();
        scans.succeeded(Sequence(9));
        assert_eq!(scans.begin(), Some(Reach::Everything), "another one was gone meanwhile");
    }

    #[test]
    fn a_checkpoint_is_written_once_and_a_scan_of_everything_writes_one_as_well() {
        let mut scans = begun(3);
        scans.want_checkpoint();
        assert_eq!(scans.begin(), Some(Reach::Checkpoint));
        scans.succeeded(Sequence(7));
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(7))));
        scans.succeeded(Sequence(7));
        scans.want_checkpoint();
        scans.want_everything();
        assert_eq!(scans.begin(), Some(Reach::Everything));
        scans.succeeded(Sequence(9));
        assert_eq!(scans.begin(), Some(Reach::After(Sequence(9))));
    }
}
