//! Keeps so many flights of one waypoint under way, and measures each from its submission to its decision.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use holdpoint_bus::Bus;
use holdpoint_protocol::{api::Submit, artifact::Disposition, facts::BundleRef, ids::FlightId, streams};
use tokio::{sync::oneshot, task::JoinSet};

use crate::{
    BenchError,
    error::Doing as _,
    stats::Sample,
    streams::{Decisions, Streams},
    submit::{self, Submitter},
};

/// How long one waypoint may take.
const PATIENCE: Duration = Duration::from_secs(120);

type Waiting = Arc<Mutex<HashMap<FlightId, oneshot::Sender<Disposition>>>>;

/// Submits flights over one connection, and hears of their decisions over another.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    follower: JoinSet<BenchError>,
}

struct Shared {
    submitter: Submitter,
    template: Submit,
    waiting: Waiting,
    /// How many were submitted, by all of its loops.
    submitted: AtomicUsize,
}

impl Driver {
    /// For flights from this snapshot.
    pub(crate) async fn start(operator: &Bus, streams: &Streams, snapshot: BundleRef) -> Result<Self, BenchError> {
        let waiting = Waiting::default();
        let decisions = streams.decisions().await?;
        let mut follower = JoinSet::new();
        follower.spawn(follow(decisions, waiting.clone()));
        let submitter = Submitter::new(operator, snapshot);
        let template = submitter.flight(submit::flight_id("bench", 0)?, submit::plan(1)?, streams::fleet_pool(), None);
        let submitted = AtomicUsize::new(0);
        Ok(Self { shared: Arc::new(Shared { submitter, template, waiting, submitted }), follower })
    }

    /// Flies so many waypoints, so many at once; how long each took, and the last flight.
    pub(crate) async fn fly(&mut self, waypoints: usize, concurrency: usize) -> Result<(Sample, FlightId), BenchError> {
        const ACTION: &str = "drive flights";
        let left = Arc::new(AtomicUsize::new(waypoints));
        let mut loops = JoinSet::new();
        let begin = Instant::now();
        for _ in 0..concurrency {
            loops.spawn(closed_loop(self.shared.clone(), left.clone()));
        }
        let (mut each, mut last) = (Vec::with_capacity(waypoints), None);
        while !loops.is_empty() {
            tokio::select! {
                Some(ended) = loops.join_next() => {
                    let (took, flight) = ended.doing(ACTION)??;
                    each.extend(took);
                    last = flight.or(last);
                }
                Some(error) = self.follower.join_next() => {
                    return Err(error.unwrap_or_else(|error| BenchError::failed(ACTION, error)));
                }
            }
        }
        let wall = begin.elapsed();
        let last = last.ok_or("no flight was flown").doing(ACTION)?;
        Ok((Sample::new(each, wall), last))
    }
}

/// One flight after another, until none is left; how long each took, and the last one.
async fn closed_loop(
    shared: Arc<Shared>,
    left: Arc<AtomicUsize>,
) -> Result<(Vec<Duration>, Option<FlightId>), BenchError> {
    let (mut each, mut last) = (Vec::new(), None);
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        let (took, flight) = shared.fly_one().await?;
        each.push(took);
        last = Some(flight);
    }
    Ok((each, last))
}

impl Shared {
    async fn fly_one(&self) -> Result<(Duration, FlightId), BenchError> {
        let flight = submit::flight_id("bench", self.submitted.fetch_add(1, Ordering::Relaxed))?;
        let (decided, decision) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(flight.clone(), decided);
        let submit = Submit { flight: flight.clone(), ..self.template.clone() };
        let begin = Instant::now();
        // Over when both are there: the submitter waits for the answer, too.
        let both = async { tokio::try_join!(self.submitter.submit(&submit), async { Ok(decision.await) }) };
        let ((), disposition) = tokio::time::timeout(PATIENCE, both).await.map_err(|_| timed_out())??;
        let took = begin.elapsed();
        match disposition {
            Ok(Disposition::Accept) => Ok((took, flight)),
            other => {
                let found = other.map_or_else(|_| "no decision".to_owned(), |disposition| disposition.to_string());
                Err(BenchError::NotAccepted { flight: flight.to_string(), found })
            }
        }
    }
}

/// Notifies each loop of the decision that it waits for; returns only when that does not work.
async fn follow(mut decisions: Decisions, waiting: Waiting) -> BenchError {
    loop {
        match decisions.next().await {
            Ok((key, disposition)) => {
                let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&key.flight);
                if let Some(waiter) = waiter {
                    // The loop may have given up.
                    let _ = waiter.send(disposition);
                }
            }
            Err(error) => return error,
        }
    }
}

fn timed_out() -> BenchError {
    BenchError::timed_out("the decision on a waypoint".to_owned(), PATIENCE)
}
