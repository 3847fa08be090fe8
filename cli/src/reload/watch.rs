//! Watching the files that declare workflows while a fleet runs: what changes is reloaded. Only the contents of the
//! files count, never that work landed: landings touch no working tree.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use holdpoint_protocol::{Digest, ids::FlightId};
use tokio::{sync::Mutex, task::JoinHandle};

use super::{Files, Why, count_unsound, open_flights, reload};
use crate::{
    client::Client,
    failure::{Exit, Failure},
    fleet::Recruiter,
    output,
};

/// How often the files are looked at. What is being written still differs the next time.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reloads while it is there.
#[derive(Debug)]
pub(crate) struct Watcher {
    task: JoinHandle<()>,
    /// How many reloads are over; held during each.
    reloads: Arc<Mutex<u64>>,
}

impl Watcher {
    /// Begins to watch for one flight, or for all that are open. The contents of the files `before` anything was
    /// submitted by them are no change ([`Files::digest`]). `recruiter` is that of the fleet that flies them here.
    pub(crate) fn start(
        client: &Client,
        (files, before): (Files, Option<Digest>),
        flight: Option<&FlightId>,
        recruiter: Option<Recruiter>,
    ) -> Self {
        let (client, flight) = (client.clone(), flight.cloned());
        let reloads = Arc::default();
        let watch = Watch { seen: Seen::new(before), files, client, flight, recruiter, reloads: Arc::clone(&reloads) };
        Self { task: tokio::spawn(watch.forever()), reloads }
    }

    /// How many reloads are over; `None` while one is under way.
    pub(crate) fn reloads(&self) -> Option<u64> {
        self.reloads.try_lock().ok().map(|reloads| *reloads)
    }

    /// Ends, unless a reload is under way or was made since [`Self::reloads`] answered `before`: then the flight has to be looked
    /// at once more. Answers whether it ended.
    pub(crate) fn end(&self, before: Option<u64>) -> bool {
        let Ok(reloads) = self.reloads.try_lock() else { return false };
        let quiet = before == Some(*reloads);
        if quiet {
            self.task.abort();
        }
        quiet
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Watch {
    client: Client,
    files: Files,
    flight: Option<FlightId>,
    recruiter: Option<Recruiter>,
    seen: Seen,
    reloads: Arc<Mutex<u64>>,
}

/// The contents of the files when they were looked at.
struct Seen {
    /// What was taken last.
    taken: Option<Digest>,
    /// What was there last time.
    last: Option<Digest>,
    /// The flights that need not be asked again while that stays.
    asked: BTreeSet<FlightId>,
    /// Whether it was said that it cannot be taken.
    told: bool,
}

impl Seen {
    fn new(now: Option<Digest>) -> Self {
        Self { taken: now, last: now, asked: BTreeSet::new(), told: false }
    }

    /// Whether there is something else to take, which has been there since the last look.
    fn is_news(&mut self, now: Option<Digest>) -> bool {
        if now != self.last {
            *self = Self { last: now, ..Self::new(self.taken) };
            return false;
        }
        now != self.taken
    }

    /// It was taken as far as it can be: these failures are of what the files say. Any other passes, and the flights that are not
    /// asked yet are asked at the next look.
    fn tried(&mut self, failures: &[Failure]) {
        if failures.iter().all(|failure| failure.exit() == Exit::Usage) {
            self.taken = self.last;
        }
    }

    /// The flights that are not asked yet.
    fn unasked(&self, mut flights: Vec<FlightId>) -> Vec<FlightId> {
        flights.retain(|flight| !self.asked.contains(flight));
        flights
    }
}

impl Watch {
    async fn forever(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !self.seen.is_news(self.files.digest()) {
                continue;
            }
            let reloads = Arc::clone(&self.reloads);
            let mut reloads = reloads.lock().await;
            let failures = self.take().await.unwrap_or_else(|failure| vec![failure]);
            self.seen.tried(&failures);
            // One that passes is tried again every second, and said once.
            if !failures.is_empty() && !std::mem::replace(&mut self.seen.told, true) {
                output::err("the workflow files changed; flights go on by the workflows they had:");
                for failure in &failures {
                    failure.report(false);
                    count_unsound(&self.client, failure).await;
                }
            }
            *reloads += 1;
        }
    }

    /// Has all flights go on by the files; what failed of single ones.
    async fn take(&mut self) -> Result<Vec<Failure>, Failure> {
        let declared = self.files.workflows().await?;
        let flights = match &self.flight {
            Some(flight) => vec![flight.clone()],
            None => open_flights(&self.client).await?,
        };
        let mut failures = Vec::new();
        // A flight that cannot be asked now keeps no other from it.
        for flight in self.seen.unasked(flights) {
            match reload(&self.client, &flight, &declared, Why::Watch, self.recruiter.as_ref()).await {
                Ok(reloaded) => {
                    if reloaded.is_news() {
                        reloaded.lines().iter().for_each(|line| output::err(line));
                    }
                    self.seen.asked.insert(flight);
                }
                Err(failure) => failures.push(failure),
            }
        }
        Ok(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_ends_only_on_what_was_seen_since_the_last_reload() {
        let reloads = Arc::<Mutex<u64>>::default();
        let watcher = Watcher { task: tokio::spawn(std::future::pending()), reloads: Arc::clone(&reloads) };
        let before = watcher.reloads();
        let mut under_way = reloads.lock().await;
        assert!(!watcher.end(before) && watcher.reloads().is_none() && !watcher.end(None));
        *under_way += 1;
        drop(under_way);
        assert!(!watcher.end(before) && !watcher.end(None), "what was seen is older than the reload");
        assert!(!watcher.task.is_finished());
        assert!(watcher.end(watcher.reloads()));
        while !watcher.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_change_is_taken_once_it_has_settled_and_once_only() {
        let of = |text: &str| Some(Digest::of(text.as_bytes()));
        let mut seen = Seen::new(of("a"));
        let looks = [
            (of("a"), false),
            (of("half"), false),
            (of("b"), false),
            (of("b"), true),
            (of("b"), false),
            (None, false),
            (of("b"), false),
            (of("b"), false),
            (of("a"), false),
            (of("a"), true),
        ];
        for (n, (now, news)) in looks.into_iter().enumerate() {
            assert_eq!(seen.is_news(now), news, "look {n}");
            if news {
                seen.tried(&[]);
            }
        }
    }

    fn passing() -> Failure {
        Failure::environment("no_answer", "nobody answers", "")
    }

    #[test]
    fn a_change_stays_news_until_it_was_taken_or_cannot_be() {
        let of = |text: &str| Some(Digest::of(text.as_bytes()));
        let mut seen = Seen::new(of("a"));
        assert!(!seen.is_news(of("b")) && seen.is_news(of("b")));
        seen.tried(&[passing()]);
        assert!(seen.is_news(of("b")), "one passing failure loses nothing");
        seen.tried(&[Failure::usage("unsound", "no gates", "")]);
        assert!(!seen.is_news(of("b")), "what the files say does not get better by itself");
    }

    #[test]
    fn a_flight_that_could_not_be_asked_is_asked_again_alone_until_the_contents_change() {
        let flights = || ["a", "b", "c"].map(|name| name.parse().unwrap()).to_vec();
        let mut seen = Seen::new(None);
        let first: Vec<FlightId> = seen.unasked(flights());
        assert_eq!(first, flights());
        seen.asked.extend(first.into_iter().skip(1));
        assert_eq!(seen.unasked(flights()), flights()[..1]);
        assert!(!seen.is_news(Some(Digest::of(b"other"))));
        assert_eq!(seen.unasked(flights()), flights(), "other contents are for all flights");
    }
}
