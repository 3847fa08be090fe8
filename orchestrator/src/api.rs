//! The endpoints of the micro service `holdpoint`. The broker and the bus decide who may call which.

mod completing;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use holdpoint_bus::api::{ApiFailure, ApiRequest};
use holdpoint_engine::flight as core_flight;
use holdpoint_protocol::{
    Digest,
    api::{
        ACT, ARTIFACT, ATTEST, ActQuery, ActStanding, ArtifactQuery, DEAD, DeadQuery, EXPORT, FLIGHTS, Flights,
        FlightsQuery, HISTORY, HistoryQuery, INBOX, Inbox, InboxQuery, MESSAGES, PROGRESS, Progress, ProgressAnswer,
        STATUS, SUBMIT, StatusQuery, Submit,
    },
    codec::{self, Encoding},
    completing::{COMPLETE, TASK, TaskAnswer, TaskQuery},
    export::CutQuery,
    ids::{FlightId, WaypointId, role},
    journal::{Fleet, Sequence},
    pages::{self, KeptFlights},
    retire::{RETIRE, RetireAnswer, RetireQuery},
    storage::{STORAGE, StorageQuery},
    streams,
    unsound::{CONFIG_INVALID, ConfigInvalid, ConfigInvalidNoted},
    view::FlightView,
};
use holdpoint_runtime::{clock, config::OrchestratorConfig, telemetry::ErrorChain};
use ractor::{ActorRef, rpc::CallResult};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    attest,
    catalog::{self, Catalog, LOOK_BYTES_MAX, Wanted},
    dead, export,
    flight::{self, Followed, Follows, Held},
    history, retire, roles, rooms,
    router::{self, RouterHandle},
    shell::Shell,
    submit::{self, Taken},
    task,
};

/// Every endpoint this orchestrator answers.
pub(crate) const ENDPOINTS: [&str; 17] = [
    SUBMIT,
    STATUS,
    FLIGHTS,
    HISTORY,
    ARTIFACT,
    EXPORT,
    MESSAGES,
    ATTEST,
    DEAD,
    INBOX,
    ACT,
    CONFIG_INVALID,
    PROGRESS,
    COMPLETE,
    TASK,
    RETIRE,
    STORAGE,
];
/// Flights that one look into the inbox reads.
const INBOX_FLIGHTS_MAX: usize = 200;
/// Characters that are logged of what is wrong with a sender's workflow files.
const CONFIG_MESSAGE_MAX: usize = 500;
/// Requests that read whole waypoints at once: a page of a history, a task, an artifact, of dead turns.
const READINGS_AT_ONCE: usize = 4;
/// Requests that read all journals at once: the flights, and an inbox of all of them.
const CATALOGS_AT_ONCE: usize = 2;
/// How long an actor may take to answer: it may be reading a journal.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Answers requests; cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) shell: Shell,
    pub(crate) router: RouterHandle,
    pub(crate) config: OrchestratorConfig,
    readings: Arc<Semaphore>,
    catalogs: Arc<Semaphore>,
    /// For the further pages of a list of all flights.
    listed: Arc<Mutex<KeptFlights>>,
}

impl Api {
    /// Answers by these.
    pub(crate) fn new(shell: Shell, router: RouterHandle, config: OrchestratorConfig) -> Self {
        let places = |at_once| Arc::new(Semaphore::new(at_once));
        let (readings, catalogs) = (places(READINGS_AT_ONCE), places(CATALOGS_AT_ONCE));
        Self { shell, router, config, readings, catalogs, listed: Arc::default() }
    }

    /// Answers one request.
    pub(crate) async fn answer(self, request: ApiRequest) -> Result<Bytes, ApiFailure> {
        match request.endpoint.as_str() {
            SUBMIT => write(&self.submit(read(&request)?, &request).await?),
            STATUS => {
                let StatusQuery { flight, after } = read(&request)?;
                write(&self.view(&flight, after).await?)
            }
            FLIGHTS => write(&self.flights(&read(&request)?).await?),
            HISTORY => {
                let query: HistoryQuery = read(&request)?;
                let _reading = self.reading().await?;
                let page = history::page(&self.shell, &query).await;
                let page = page.map_err(|e| ApiFailure::new(503, ErrorChain(&e).to_string()))?;
                if page.lines.is_empty() {
                    self.is_there(&query.flight).await?;
                }
                write(&page)
            }
            ARTIFACT => self.artifact(&read::<ArtifactQuery>(&request)?.reference).await,
            EXPORT => {
                let query: CutQuery = read(&request)?;
                self.is_there(&query.flight).await?;
                write(&export::cut(&self.shell, &query).await?)
            }
            MESSAGES => write(&export::page(&self.shell, &read(&request)?).await?),
            ATTEST => write(&attest::attest(&self.shell, &read(&request)?).await?),
            DEAD => {
                let query: DeadQuery = read(&request)?;
                let _reading = self.reading().await?;
                let page = dead::page(&self.shell, &query).await;
                write(&page.map_err(|e| ApiFailure::new(503, ErrorChain(&e).to_string()))?)
            }
            STORAGE => {
                let query: StorageQuery = read(&request)?;
                let _reading = self.reading().await?;
                let storage = rooms::storage(&self.shell, &query).await;
                write(&storage.map_err(|e| ApiFailure::new(503, ErrorChain(&e).to_string()))?)
            }
            INBOX => write(&self.inbox(read(&request)?).await?),
            ACT => write(&self.standing(read(&request)?).await?),
            CONFIG_INVALID => write(&self.config_invalid(&read(&request)?, &request)),
            COMPLETE => write(&completing::complete(&self, read(&request)?, &request).await?),
            TASK => write(&self.task(read(&request)?, &request).await?),
            PROGRESS => write(&self.progress(read(&request)?, &request).await?),
            RETIRE => write(&self.retire(read(&request)?, &request).await?),
            other => Err(ApiFailure::new(404, format!("no endpoint {other}"))),
        }
    }

    /// A fleet's flights are flown by what the fleet has, also when the submitter does not know of it.
    fn complete(&self, fleet: &mut Fleet) {
        if fleet.pool == streams::fleet_pool() {
            fleet.repair |= self.config.repair;
            fleet.judge |= self.config.judge;
            fleet.advisors = fleet.advisors.max(self.config.advisors);
            fleet.parallel = None;
            fleet.queue_grace = self.config.queue_grace.duration().into();
            fleet.build_wall = self.config.build_wall.duration().into();
            fleet.dead_after = self.config.dead_after;
        }
    }

    /// Where no key has the role, nobody could advise: calls for help go to people.
    async fn leave_out_advisors(&self, fleet: &mut Fleet) {
        if fleet.advisors > 0 && !roles::known(&self.shell, vec![role::id(role::ADVISOR)]).await {
            tracing::warn!(
                advisors = fleet.advisors,
                "no key of the fleet has the role `advisor`: nobody is asked for advice"
            );
            fleet.advisors = 0;
        }
    }

    /// A place among those who read whole waypoints: each holds some messages of every stream.
    async fn reading(&self) -> Result<OwnedSemaphorePermit, ApiFailure> {
        place(&self.readings).await.ok_or_else(|| {
            let what =
                format!("{READINGS_AT_ONCE} whole waypoints are being read, as many as may be at once: try again");
            ApiFailure::new(503, what)
        })
    }

    async fn retire(&self, query: RetireQuery, request: &ApiRequest) -> Result<RetireAnswer, ApiFailure> {
        let flight = query.flight.clone();
        let answer = retire::retire(&self.shell, query, request.caller.name.clone()).await?;
        // One that has it in memory would go on showing it.
        let actor = self.flight(&flight).await?;
        // It may have ended by itself.
        let _ = actor.cast(flight::Msg::ReadOn);
        Ok(answer)
    }

    /// Refuses a flight that left.
    async fn is_there(&self, flight: &FlightId) -> Result<(), ApiFailure> {
        let left = retire::left(&self.shell, flight).await;
        match left.map_err(|e| ApiFailure::new(503, ErrorChain(&e).to_string()))? {
            Some(left) => Err(flight::failure(&left)),
            None => Ok(()),
        }
    }

    /// What all journals say, in few words. Each reader has some of the open flights in its memory, so that few read at once.
    async fn catalog<T>(&self, words: impl FnOnce(Catalog) -> T) -> Result<T, ApiFailure> {
        let place = place(&self.catalogs).await.ok_or_else(|| {
            let what =
                format!("all flights are being read {CATALOGS_AT_ONCE} times, as often as may be at once: try again");
            ApiFailure::new(503, what)
        })?;
        let catalog = catalog::read(&self.shell, Sequence(0), &Wanted::All, LOOK_BYTES_MAX).await;
        let said = catalog.map(words).map_err(|e| ApiFailure::new(503, ErrorChain(&e).to_string()));
        drop(place);
        said
    }

    fn router(&self) -> Result<ActorRef<router::Msg>, ApiFailure> {
        self.router.actor().ok_or_else(|| ApiFailure::new(503, "the orchestrator is starting: try again"))
    }

    pub(crate) async fn flight(&self, flight: &FlightId) -> Result<ActorRef<flight::Msg>, ApiFailure> {
        let router = self.router()?;
        answered(router.call(|reply| router::Msg::Find(flight.clone(), reply), Some(ANSWER_WITHIN)).await)
    }

    async fn view(&self, flight: &FlightId, after: Option<WaypointId>) -> Result<FlightView, ApiFailure> {
        let find = |reply| router::Msg::FindByAndBy(flight.clone(), reply);
        let actor = answered(self.router()?.call(find, Some(ANSWER_WITHIN)).await)?;
        answered(actor.call(|reply| flight::Msg::View(after, reply), Some(ANSWER_WITHIN)).await)?
    }

    async fn flights(&self, query: &FlightsQuery) -> Result<Flights, ApiFailure> {
        let kept = || self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = query.after.as_ref().and_then(|after| kept().behind(after, clock::now())) {
            return Ok(page);
        }
        let lines = self.catalog(Catalog::lines).await?;
        let page = kept().page(lines, query.after.as_ref(), clock::now());
        page.ok_or_else(|| ApiFailure::new(404, "there is no flight to go on behind"))
    }

    async fn submit(&self, mut submit: Submit, request: &ApiRequest) -> Result<FlightView, ApiFailure> {
        // What the submitter said; what the fleet has may change until it is said again.
        let said = codec::encode(&submit, Encoding::Json);
        let digest = Digest::of(&said.map_err(|e| ApiFailure::new(400, ErrorChain(&e).to_string()))?);
        self.complete(&mut submit.fleet);
        self.leave_out_advisors(&mut submit.fleet).await;
        if !self.config.verifier_network {
            submit::check_network(&submit)?;
        }
        let flight = submit.flight.clone();
        match submit::submit(&self.shell, submit, request.caller.name.clone(), digest).await? {
            Taken::Now(books) => {
                let first = core_flight::view(&books.flight, &books.waypoints, None, Vec::new(), |_, _| None);
                // Without a router at this moment, the next scan finds it.
                self.router.cast(router::Msg::Begin(books));
                first.ok_or_else(|| ApiFailure::new(500, "every view has a first page"))
            }
            Taken::Earlier => self.view(&flight, None).await,
        }
    }

    async fn artifact(&self, reference: &str) -> Result<Bytes, ApiFailure> {
        let _reading = self.reading().await?;
        let found = history::by_reference(&self.shell, reference).await;
        let found = found.map_err(|e| ApiFailure::new(500, ErrorChain(&e).to_string()))?;
        write(&found.ok_or_else(|| ApiFailure::new(404, format!("no artifact {reference}: a reference is STREAM/SEQUENCE, as `holdpoint history` prints it, or sha256:… for evidence")))?)
    }

    pub(crate) async fn standing(&self, query: ActQuery) -> Result<ActStanding, ApiFailure> {
        let actor = self.flight(&query.flight).await?;
        answered(actor.call(|reply| flight::Msg::Standing(query, reply), Some(ANSWER_WITHIN)).await)?
    }

    /// A sender's files were not taken: they never came here and are counted all the same.
    fn config_invalid(&self, query: &ConfigInvalid, request: &ApiRequest) -> ConfigInvalidNoted {
        self.shell.metrics.invalid_config();
        if self.shell.may_log("workflow files that are not sound") {
            let message: String = query.message.chars().take(CONFIG_MESSAGE_MAX).collect();
            tracing::warn!(by = %request.caller.name, message, "workflow files are not sound and were not reloaded");
        }
        ConfigInvalidNoted { counted: self.shell.metrics.is_on() }
    }

    /// A page of what waits in one flight, or in all; in the newest of them where there are too many.
    async fn inbox(&self, query: InboxQuery) -> Result<Inbox, ApiFailure> {
        let flights = match query.flight {
            Some(flight) => vec![flight],
            None => self.catalog(Catalog::waiting).await?,
        };
        let mut waiting = Vec::new();
        for flight in flights.iter().take(INBOX_FLIGHTS_MAX) {
            let (actor, after) = (self.flight(flight).await?, query.after.clone());
            waiting.push(answered(actor.call(|reply| flight::Msg::Inbox(after, reply), Some(ANSWER_WITHIN)).await)??);
        }
        Ok(pages::of_inbox(waiting))
    }

    /// What came of a handoff, or may come of it.
    pub(crate) async fn followed(&self, flight: &FlightId, asked: Followed) -> Result<Follows, ApiFailure> {
        let actor = self.flight(flight).await?;
        answered(actor.call(|reply| flight::Msg::Followed(asked, reply), Some(ANSWER_WITHIN)).await)?
    }

    /// What is wanted: of an agent the turn that it holds, of people the waypoint.
    async fn task(&self, query: TaskQuery, request: &ApiRequest) -> Result<TaskAnswer, ApiFailure> {
        if request.caller.role.as_str() == role::OPERATOR {
            let _reading = self.reading().await?;
            let task = task::of(&self.shell, &query.flight, &query.waypoint).await?;
            return Ok(TaskAnswer::Task { task });
        }
        let Some(turn) = query.turn else {
            return Err(ApiFailure::new(400, "an agent has to name the `turn` that it holds"));
        };
        let held = Held { waypoint: query.waypoint, turn };
        let (actor, caller) = (self.flight(&query.flight).await?, Box::new(request.caller.clone()));
        let turn =
            answered(actor.call(|reply| flight::Msg::HeldTurn(held, caller, reply), Some(ANSWER_WITHIN)).await)??;
        Ok(TaskAnswer::Turn { turn: Box::new(turn) })
    }

    async fn progress(&self, progress: Progress, request: &ApiRequest) -> Result<ProgressAnswer, ApiFailure> {
        let actor = self.flight(&progress.flight).await?;
        let agent = request.caller.name.clone();
        answered(actor.call(|reply| flight::Msg::Progress(progress, agent, reply), Some(ANSWER_WITHIN)).await)?
    }
}

/// A place of these, unless none gets free in time.
async fn place(places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    let place = tokio::time::timeout(ANSWER_WITHIN, places.clone().acquire_owned()).await;
    place.ok().and_then(Result::ok)
}

fn answered<T>(result: Result<CallResult<T>, ractor::MessagingErr<impl Sized>>) -> Result<T, ApiFailure> {
    match result {
        Ok(CallResult::Success(answer)) => Ok(answer),
        Ok(CallResult::Timeout) => Err(ApiFailure::new(503, "the orchestrator is busy: try again")),
        Ok(CallResult::SenderError) | Err(_) => Err(ApiFailure::new(503, "the orchestrator is stopping: try again")),
    }
}

fn read<T: DeserializeOwned>(request: &ApiRequest) -> Result<T, ApiFailure> {
    let read = codec::decode(&request.payload, Encoding::Json);
    read.map_err(|e| {
        ApiFailure::new(400, format!("cannot read the request to {}: {}", request.endpoint, ErrorChain(&e)))
    })
}

fn write<T: Serialize>(answer: &T) -> Result<Bytes, ApiFailure> {
    let written = codec::encode(answer, Encoding::Json);
    written.map(Bytes::from).map_err(|e| ApiFailure::new(500, format!("the answer cannot be sent: {}", ErrorChain(&e))))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::names;

    use super::*;

    #[test]
    fn every_endpoint_is_in_the_published_names() {
        let mut published: Vec<&str> = names::ENDPOINTS.iter().map(|endpoint| endpoint.name).collect();
        let mut served = ENDPOINTS.to_vec();
        published.sort_unstable();
        served.sort_unstable();
        assert_eq!(served, published);
    }
}
