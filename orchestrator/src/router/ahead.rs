//! Flights that a scan of everything reads, and the callers that ask for one of them meanwhile: they wait a little for
//! the scan, which reads all of them in one go, and the folds that the scan has kept are there for a while.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdpoint_protocol::ids::FlightId;
use ractor::{ActorRef, RpcReplyPort};

use crate::{books::Books, flight};

/// How long a question waits for a scan before its flight is read by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the folds of flights that only wait are kept after a scan: after a start everybody asks how theirs stand.
const KEPT: Duration = Duration::from_secs(60);

/// A caller that asks for a flight's actor.
pub(super) type Asker = (FlightId, RpcReplyPort<ActorRef<flight::Msg>>);

/// See the module.
#[derive(Default)]
pub(super) struct Ahead {
    askers: Vec<(Instant, Asker)>,
    kept: HashMap<FlightId, Box<Books>>,
    kept_since: Option<Instant>,
}

impl Ahead {
    /// A caller waits for the scan. The API bounds how many do.
    pub(super) fn wait(&mut self, asker: Asker, now: Instant) {
        self.askers.push((now, asker));
    }

    /// Those who have waited long enough.
    pub(super) fn impatient(&mut self, now: Instant) -> Vec<Asker> {
        let gone = self.askers.extract_if(.., |(since, _)| now.duration_since(*since) >= PATIENCE);
        gone.map(|(_, asker)| asker).collect()
    }

    /// All who wait: the scan is over.
    pub(super) fn all(&mut self) -> Vec<Asker> {
        self.askers.drain(..).map(|(_, asker)| asker).collect()
    }

    /// What a scan of everything has read.
    pub(super) fn keep(&mut self, books: HashMap<FlightId, Box<Books>>, now: Instant) {
        (self.kept, self.kept_since) = (books, Some(now));
    }

    /// A scan of everything begins: it reads all of that again.
    pub(super) fn forget(&mut self) {
        (self.kept, self.kept_since) = (HashMap::new(), None);
    }

    /// The fold of a flight, if it is kept. Others may have appended since.
    pub(super) fn take(&mut self, flight: &FlightId) -> Option<Box<Books>> {
        self.kept.remove(flight)
    }

    /// Drops what was kept long enough.
    pub(super) fn drop_old(&mut self, now: Instant) {
        if self.kept_since.is_some_and(|since| now.duration_since(since) >= KEPT) {
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use ractor::concurrency::oneshot;

    use super::*;
    use crate::books::tests::books;

    fn asker(flight: &str) -> Asker {
        (flight.parse().unwrap(), oneshot().0.into())
    }

    fn flights(askers: Vec<Asker>) -> Vec<String> {
        askers.into_iter().map(|(flight, _)| flight.to_string()).collect()
    }

    #[test]
    fn who_asks_waits_a_little_or_until_the_scan_is_over() {
        let (mut ahead, begin) = (Ahead::default(), Instant::now());
        ahead.wait(asker("a"), begin);
        ahead.wait(asker("b"), begin + PATIENCE / 2);
        assert!(ahead.impatient(begin + PATIENCE / 2).is_empty());
        assert_eq!(flights(ahead.impatient(begin + PATIENCE)), ["a"]);
        ahead.wait(asker("c"), begin + PATIENCE);
        assert_eq!(flights(ahead.all()), ["b", "c"]);
        assert!(ahead.all().is_empty());
    }

    #[test]
    fn a_fold_is_given_out_once_and_not_kept_for_long() {
        let (mut ahead, begin) = (Ahead::default(), Instant::now());
        let kept = |id: &str| HashMap::from([(id.parse().unwrap(), Box::new(books()))]);
        let flight: FlightId = "f".parse().unwrap();
        ahead.keep(kept("f"), begin);
        ahead.drop_old(begin + KEPT / 2);
        assert!(ahead.take(&flight).is_some() && ahead.take(&flight).is_none());
        ahead.keep(kept("f"), begin);
        ahead.drop_old(begin + KEPT);
        assert!(ahead.take(&flight).is_none());
        ahead.keep(kept("f"), begin);
        ahead.forget();
        assert!(ahead.take(&flight).is_none(), "another scan reads what there is");
    }
}
