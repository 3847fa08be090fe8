//! Telling people, by a command of theirs, that something waits for them or that a flight is over.
//!
//! What to tell follows from what is so at the moment: it is looked at again and again, and what was delivered is
//! remembered in the state folder ([`delivered`]). A restart may repeat the last notification; it loses none.
//!
//! - [`event`]: what is told; [`courier`]: starting the command, one at a time, and trying again a bounded number of times.

mod courier;
mod delivered;
mod event;

use std::time::Duration;

use holdpoint_bus::api::ApiError;
use holdpoint_protocol::{ids::FlightId, view::FlightStatus};
use holdpoint_runtime::config::NotifyConfig;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{client::Client, failure::Failure, state::StateDir};
use courier::Courier;
use event::Event;

/// How often it is looked what there is to tell, at most and at least.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SELDOM: Duration = Duration::from_secs(15);
/// How much longer a pause is than the look before it.
const PAUSE_TO_LOOK: u32 = 20;
/// How long the end of a command waits for what is still to be told, beside the one that is being told.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// Notifies while it is there.
#[derive(Debug)]
pub(crate) struct Notifier {
    enough: oneshot::Sender<()>,
    task: JoinHandle<()>,
    timeout: Duration,
}

impl Notifier {
    /// Begins to notify of one flight, or of all; `None` if nobody is to be notified.
    pub(crate) fn start(
        client: &Client,
        config: &NotifyConfig,
        state: &StateDir,
        flight: Option<&FlightId>,
    ) -> Result<Option<Self>, Failure> {
        let Some(courier) = Courier::new(config, state)? else { return Ok(None) };
        let (enough, stop) = oneshot::channel();
        let watch = Watch { client: client.clone(), flight: flight.cloned(), courier };
        let task = tokio::spawn(watch.until(stop));
        Ok(Some(Self { enough, task, timeout: config.timeout.duration() }))
    }

    /// Tells what is still to be told, and ends.
    pub(crate) async fn finish(mut self) {
        let Self { enough, task, timeout } = &mut self;
        let (sender, _) = oneshot::channel();
        // It has ended by itself if nobody listens.
        let _ = std::mem::replace(enough, sender).send(());
        // A panic of the task loses notifications, not the flight.
        let _ = tokio::time::timeout(*timeout + LAST_WORDS, task).await;
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Watch {
    client: Client,
    flight: Option<FlightId>,
    courier: Courier,
}

/// What is so at the moment.
struct Looked {
    waits: Vec<Event>,
    over: Vec<Event>,
    flights: Vec<FlightId>,
}

impl Watch {
    async fn until(mut self, mut stop: oneshot::Receiver<()>) {
        // Of a fleet's flights; a flight that somebody flies at this moment is theirs to hear of.
        let mut is_first = self.flight.is_none();
        loop {
            let since = Instant::now();
            if let Some(looked) = self.look_patiently().await {
                if std::mem::take(&mut is_first)
                    && let Err(failure) = self.courier.begin_with(&looked.over).await
                {
                    tracing::warn!(?failure, "cannot keep what was notified");
                }
                self.tell(looked).await;
            }
            let pause = (since.elapsed() * PAUSE_TO_LOOK).clamp(LOOK_EVERY, LOOK_SELDOM);
            if tokio::time::timeout(pause, &mut stop).await.is_ok() {
                break;
            }
        }
        self.courier.hurry();
        if let Some(looked) = self.look_patiently().await {
            self.tell(looked).await;
        }
    }

    /// Nobody who answers is no news: it is looked again.
    async fn look_patiently(&self) -> Option<Looked> {
        let looked = self.look().await;
        looked.inspect_err(|error| tracing::debug!(%error, "cannot look what there is to tell")).ok()
    }

    async fn tell(&mut self, looked: Looked) {
        let Looked { mut waits, over, flights } = looked;
        waits.extend(over);
        self.courier.deliver(&waits, &flights).await;
    }

    async fn look(&self) -> Result<Looked, ApiError> {
        let waiting = self.client.inbox_now(self.flight.as_ref()).await?;
        let all: Vec<(FlightId, FlightStatus)> = match &self.flight {
            Some(flight) => {
                let view = self.client.status_now(flight).await?;
                vec![(view.flight, view.status)]
            }
            None => self.client.flights_now().await?.into_iter().map(|line| (line.flight, line.status)).collect(),
        };
        let is_over = |status| matches!(status, FlightStatus::Accepted | FlightStatus::Incomplete);
        let ended = all.iter().filter(|(_, status)| is_over(*status)).cloned();
        Ok(Looked {
            waits: waiting.into_iter().map(|item| Event::Waits(Box::new(item))).collect(),
            over: ended.map(|(flight, status)| Event::FlightOver { flight, status }).collect(),
            flights: all.into_iter().map(|(flight, _)| flight).collect(),
        })
    }
}
