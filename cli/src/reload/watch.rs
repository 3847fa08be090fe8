//! Watching the files that declare workflows while a fleet runs: what changes is reloaded. Only the contents of the
//! files count, never that work landed: landings touch no working tree.

use std::time::Duration;

use holdpoint_protocol::{Digest, ids::FlightId};
use tokio::task::JoinHandle;

use super::{Files, Reloaded, Why, count_unsound, open_flights, reload};
use crate::{client::Client, failure::Failure, fleet::Recruiter, output};

/// How often the files are looked at. What is being written still differs the next time.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reloads while it is there.
#[derive(Debug)]
pub(crate) struct Watcher(JoinHandle<()>);

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
        let watch = Watch { seen: Seen::new(before), files, client, flight, recruiter };
        Self(tokio::spawn(watch.forever()))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Watch {
    client: Client,
    files: Files,
    flight: Option<FlightId>,
    recruiter: Option<Recruiter>,
    seen: Seen,
}

/// The contents of the files when they were looked at.
struct Seen {
    /// What was taken last.
    taken: Option<Digest>,
    /// What was there last time.
    last: Option<Digest>,
}

impl Seen {
    fn new(now: Option<Digest>) -> Self {
        Self { taken: now, last: now }
    }

    /// Whether there is something else to take, which has been there since the last look.
    fn is_news(&mut self, now: Option<Digest>) -> bool {
        let settled = now == self.last;
        self.last = now;
        let news = settled && now != self.taken;
        if news {
            self.taken = now;
        }
        news
    }
}

impl Watch {
    async fn forever(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !self.seen.is_news(self.files.digest()) {
                continue;
            }
            if let Err(failure) = self.take().await {
                output::err("the workflow files changed; flights go on by the workflows they had:");
                failure.report(false);
                count_unsound(&self.client, &failure).await;
            }
        }
    }

    async fn take(&self) -> Result<(), Failure> {
        let declared = self.files.workflows().await?;
        let flights = match &self.flight {
            Some(flight) => vec![flight.clone()],
            None => open_flights(&self.client).await?,
        };
        for flight in flights {
            let reloaded: Reloaded =
                reload(&self.client, &flight, &declared, Why::Watch, self.recruiter.as_ref()).await?;
            if reloaded.is_news() {
                reloaded.lines().iter().for_each(|line| output::err(line));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        }
    }
}
