//! Notifying people, by a command of theirs or a webhook, that something waits for them, that a gate was passed over by
//! mistake, that agents have a turn again which nobody answered, or that a flight is over.
//!
//! The notifications follow from what is so at the moment: it is looked at again and again, and delivered ones are
//! remembered in the state folder ([`delivered`]). A restart may repeat the last notification; it loses none.
//!
//! - [`event`]: what is reported; [`notices`]: what of it waits for nobody.
//! - [`round`]: what is so at the moment; [`rounds`]: a task for each way, which gets it; [`courier`]: delivering it once, one at a time, and
//!   trying again a bounded number of times; [`way`]: by what.

mod courier;
mod delivered;
mod event;
mod notices;
mod round;
mod rounds;
mod way;

use std::{path::PathBuf, time::Duration};

use holdpoint_bus::api::ApiError;
use holdpoint_protocol::{ids::FlightId, view::FlightStatus};
use holdpoint_runtime::config::NotifyConfig;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{client::Client, failure::Failure, state::StateDir};
use courier::Courier;
use delivered::Delivered;
pub(crate) use event::{ConditionFailed, Event, OfferedAgain};
pub(crate) use notices::Notices;
use round::Round;
use rounds::Couriers;
use way::Way;

/// How often to look for something to report, at most and at least.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SELDOM: Duration = Duration::from_secs(15);
/// How much longer a pause is than the look before it.
const PAUSE_TO_LOOK: u32 = 20;
/// How long the end of a command waits for pending notifications, besides the one under way.
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
        let ways = Way::configured(config)?;
        if ways.is_empty() {
            return Ok(None);
        }
        state.ensure()?;
        let recorded = ways.into_iter().map(|way| (state.path(way.record()), way));
        let (records, ways): (Vec<PathBuf>, Vec<Way>) = recorded.unzip();
        let (enough, stop) = oneshot::channel();
        let (client, flight) = (client.clone(), flight.cloned());
        let watch = Watch { client, flight, records, notices: Notices::default() };
        let task = tokio::spawn(watch.until(ways, stop));
        Ok(Some(Self { enough, task, timeout: config.timeout.duration() }))
    }

    /// Delivers pending notifications, and ends.
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
    /// What was delivered, one for each way.
    records: Vec<PathBuf>,
    notices: Notices,
}

/// What is so at the moment.
struct Looked {
    waits: Vec<Event>,
    over: Vec<Event>,
    flights: Vec<FlightId>,
    open: Vec<FlightId>,
}

impl Watch {
    async fn until(mut self, ways: Vec<Way>, mut stop: oneshot::Receiver<()>) {
        let couriers = self.records.iter().zip(ways).map(|(record, way)| Courier::new(way, record.clone()));
        let mut waiting: Vec<Courier> = couriers.collect();
        let mut couriers = Couriers::default();
        // Of a fleet's flights; the command that flies a flight at this moment reports it.
        let skips_past = self.flight.is_none();
        loop {
            let since = Instant::now();
            if let Some(looked) = self.look_patiently().await {
                for courier in waiting.drain(..) {
                    if skips_past && let Err(failure) = courier.begin_with(&looked.over).await {
                        tracing::warn!(?failure, "cannot keep what was notified");
                    }
                    couriers.add(courier);
                }
                couriers.tell(self.round(looked, false).await);
            }
            let pause = (since.elapsed() * PAUSE_TO_LOOK).clamp(LOOK_EVERY, LOOK_SELDOM);
            if tokio::time::timeout(pause, &mut stop).await.is_ok() {
                break;
            }
        }
        waiting.into_iter().for_each(|courier| couriers.add(courier));
        if let Some(looked) = self.look_patiently().await {
            couriers.tell(self.round(looked, true).await);
            couriers.finish().await;
        }
    }

    /// Nobody who answers is no news: it is looked again.
    async fn look_patiently(&self) -> Option<Looked> {
        let looked = self.look().await;
        looked.inspect_err(|error| tracing::debug!(%error, "cannot look what there is to tell")).ok()
    }

    async fn round(&mut self, looked: Looked, is_last: bool) -> Round {
        let ended = self.just_ended(&looked);
        let Looked { waits: mut all, over, flights, open } = looked;
        self.notices.read_on(&self.client, &open, &ended).await;
        all.extend_from_slice(self.notices.found());
        all.extend(over);
        Round::new(all, flights, is_last)
    }

    /// The flights whose end was not reported yet. Others that are over are not read again.
    fn just_ended(&self, looked: &Looked) -> Vec<FlightId> {
        // A file that cannot be read now is reported when it is to be delivered.
        let delivered = self.records.iter().map(|record| Delivered::peek(record).unwrap_or_default());
        let delivered: Vec<_> = delivered.collect();
        let is_news = |event: &&Event| delivered.iter().any(|keys| !keys.contains(&event.key()));
        let flights = looked.over.iter().filter(is_news).filter_map(|event| match event {
            Event::FlightOver { flight, .. } => Some(flight.clone()),
            _ => None,
        });
        flights.collect()
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
        let ended = all.iter().filter(|(_, status)| status.is_over()).cloned();
        let open = all.iter().filter(|(_, status)| !status.is_over()).map(|(flight, _)| flight.clone()).collect();
        Ok(Looked {
            waits: Event::waits(&waiting),
            over: ended.map(|(flight, status)| Event::FlightOver { flight, status }).collect(),
            open,
            flights: all.into_iter().map(|(flight, _)| flight).collect(),
        })
    }
}
