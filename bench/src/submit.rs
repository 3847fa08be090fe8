//! Beginning flights: plans of equal waypoints, handed to the API with an operator's credentials.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use holdpoint_bus::{
    Bus,
    api::{self, ApiError, Call, REQUESTS_IN_HAND},
};
use holdpoint_planfile::plan::{self, BUILT_IN_WORKFLOWS};
use holdpoint_protocol::{
    api::{STATUS, SUBMIT, StatusQuery, Submit},
    facts::BundleRef,
    ids::{FlightId, PoolId},
    journal::Fleet,
    plan::Plan,
    time::Millis,
    view::FlightView,
};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::{BenchError, error::Doing as _};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause before an orchestrator is asked again that does not answer yet.
const PAUSE: Duration = Duration::from_millis(20);
/// How long it is waited for an answer that most likely does not come.
const LOOK: Duration = Duration::from_millis(500);
/// How long a turn waits for an agent, and a program may run: longer than a benchmark takes.
const LONG: Millis = Millis(24 * 60 * 60 * 1000);

/// What every waypoint says.
const WAYPOINT: &str = "title: Retry requests that fail\n    \
    goal: Requests that fail for a passing reason are sent again up to three times, with a pause that doubles.\n    \
    criteria:\n      - {id: retries, statement: A request that fails twice and then succeeds is answered., \
    check: cargo test --test retries}\n";

/// Submits flights over one connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Submitter {
    operator: Bus,
    snapshot: BundleRef,
    /// One permit for each request that the operator's key may have in hand: one too many is refused, and would have to be sent again.
    places: Arc<Semaphore>,
}

impl Submitter {
    /// For flights from this snapshot.
    pub(crate) fn new(operator: &Bus, snapshot: BundleRef) -> Self {
        Self { operator: operator.clone(), snapshot, places: Arc::new(Semaphore::new(REQUESTS_IN_HAND)) }
    }

    /// A flight that agents of this pool fly, at most so many waypoints of it at once.
    pub(crate) fn flight(&self, flight: FlightId, plan: Plan, pool: PoolId, parallel: Option<u32>) -> Submit {
        Submit {
            flight,
            plan,
            base: self.snapshot.tip.clone(),
            snapshot: self.snapshot.clone(),
            covenant: "AGENTS.md".to_owned(),
            fleet: Fleet {
                pool,
                repair: false,
                judge: false,
                advisors: 0,
                parallel,
                queue_grace: LONG,
                build_wall: LONG,
                // The yardstick has no such rule.
                dead_after: 0,
            },
            workflows: Vec::new(),
        }
    }

    /// Begins a flight.
    pub(crate) async fn submit(&self, submit: &Submit) -> Result<(), BenchError> {
        self.ask(SUBMIT, submit, "submit a flight").await.map(drop)
    }

    /// How a flight stands, without the waypoints that are on later pages.
    pub(crate) async fn first_page(&self, flight: &FlightId) -> Result<FlightView, BenchError> {
        const ACTION: &str = "ask how a flight stands";
        let query = StatusQuery::first(flight.clone());
        serde_json::from_slice(&self.ask(STATUS, &query, ACTION).await?).doing(ACTION)
    }

    /// Waits until an orchestrator has said how all of this flight stands.
    pub(crate) async fn status(&self, flight: &FlightId) -> Result<(), BenchError> {
        const ACTION: &str = "ask how a flight stands";
        let mut query = StatusQuery::first(flight.clone());
        loop {
            let page: FlightView = serde_json::from_slice(&self.ask(STATUS, &query, ACTION).await?).doing(ACTION)?;
            let Some(next) = page.next else { return Ok(()) };
            query.after = Some(next);
        }
    }

    /// Waits until the broker knows that no orchestrator is there: until then it may give a request to one that was killed.
    pub(crate) async fn nobody_there(&self) -> Result<(), BenchError> {
        const ACTION: &str = "wait until the orchestrator is gone";
        let query = serde_json::to_vec(&StatusQuery::first(flight_id("gone", 0)?)).doing(ACTION)?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let payload = Bytes::from(query.clone());
            let call = Call { endpoint: STATUS, payload, timeout: LOOK, traceparent: None };
            if let Err(ApiError::NobodyThere { .. }) = api::request(&self.operator, call).await {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(BenchError::timed_out(ACTION.to_owned(), PATIENCE))
    }

    /// Asked again for a while as long as no orchestrator is there yet, or it is starting.
    async fn ask(&self, endpoint: &str, question: &impl Serialize, action: &'static str) -> Result<Bytes, BenchError> {
        let payload = Bytes::from(serde_json::to_vec(question).doing(action)?);
        let _place = self.places.acquire().await.doing(action)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let call = Call { endpoint, payload: payload.clone(), timeout: PATIENCE, traceparent: None };
            match api::request(&self.operator, call).await {
                Ok(answer) => return Ok(answer),
                Err(error) if is_passing(&error) && Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(BenchError::failed(action, error)),
            }
        }
    }
}

/// A plan of so many waypoints that wait for nothing: one criterion each, with a check.
pub(crate) fn plan(waypoints: usize) -> Result<Plan, BenchError> {
    let mut text = "plan: bench\nwaypoints:\n".to_owned();
    for n in 1..=waypoints {
        // Writing to a text cannot fail.
        let _ = write!(text, "  - id: w{n}\n    {WAYPOINT}");
    }
    plan::read(&text, "bench.yaml", BUILT_IN_WORKFLOWS).doing("read the plan")
}

/// A flight's id.
pub(crate) fn flight_id(kind: &str, n: usize) -> Result<FlightId, BenchError> {
    FlightId::try_new(format!("{kind}-{n:06}")).doing("name a flight")
}

/// No orchestrator serves the API yet, or it is not ready.
fn is_passing(error: &ApiError) -> bool {
    match error {
        ApiError::NobodyThere { .. } => true,
        ApiError::Refused { failure, .. } => failure.is_passing(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_as_many_waypoints_as_wanted_and_each_a_check() {
        let plan = plan(3).unwrap();
        assert_eq!(plan.waypoints.len(), 3);
        assert!(plan.waypoints.iter().all(|waypoint| waypoint.criteria[0].check.is_some()));
        assert_eq!(flight_id("bench", 7).unwrap().as_str(), "bench-000007");
    }
}
