//! Requests to the API, typed, and repeated while nobody answers.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::{
    Bus,
    api::{self, ApiError, Call},
};
use holdpoint_protocol::pages;
use holdpoint_protocol::{
    api::{
        ACT, ARTIFACT, ATTEST, ActQuery, ActStanding, ArtifactQuery, DEAD, DeadQuery, DeadTurn, DeadTurns, EXPORT,
        FLIGHTS, FlightLine, Flights, FlightsQuery, FoundArtifact, HISTORY, History, HistoryLine, HistoryQuery, INBOX,
        Inbox, InboxItem, InboxQuery, MESSAGES, STATUS, SUBMIT, StatusQuery, Submit,
    },
    attestation::{AttestQuery, Envelope},
    export::{CutQuery, ExportCut, MessagePage, MessageQuery},
    ids::{FlightId, WaypointId},
    retire::{RETIRE, RetireAnswer, RetireQuery},
    storage::{STORAGE, Storage, StorageQuery},
    unsound::{CONFIG_INVALID, ConfigInvalid, ConfigInvalidNoted},
    view::FlightView,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use crate::output;

/// How long one answer may take. The orchestrator itself gives up after 20 s.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(25);
/// How long nobody answers before a question is asked once more in parallel: its receiver may have been stopped or
/// killed.
const BESIDE_AFTER: Duration = Duration::from_secs(3);
/// How long a submission may take: the orchestrator fetches the snapshot and checks all of its objects.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long one try of it may take; the one that took it may have been killed.
const SUBMIT_TRY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a submission is not answered before it is sent once more: a big snapshot takes its time, and is checked twice then.
const SUBMIT_BESIDE_AFTER: Duration = Duration::from_secs(5);
/// How long it is asked again while nobody serves the API: a process of ours is starting, or was just started again.
const PATIENCE: Duration = Duration::from_secs(60);
/// It is asked once.
const NO_PATIENCE: Duration = Duration::ZERO;
/// The first pause before that; each is half as long again, up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// How long a person looks at nothing before a command says what it waits for.
const SAY_AFTER: Duration = Duration::from_secs(5);
/// Pages of a waypoint's history that are read; each has a MiB, unless one line has more.
const HISTORY_PAGES_MAX: usize = 256;
/// A reference that no artifact has.
const NO_ARTIFACT: &str = "-";

/// A connection to the orchestrators as a person.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    bus: Bus,
}

impl Client {
    /// Asks over this connection.
    pub(crate) fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// The connection, for blobs.
    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Waits until an orchestrator answers.
    pub(crate) async fn somebody_there(&self) -> Result<(), ApiError> {
        let query = ArtifactQuery { reference: NO_ARTIFACT.to_owned() };
        match until_answered(PATIENCE, || self.ask_hedged::<FoundArtifact>(ARTIFACT, &query)).await {
            Ok(_) | Err(ApiError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Begins a flight. Asked again until there is an answer: the flight's id makes that safe. The question may be with
    /// the orchestrator of a short command that ends.
    pub(crate) async fn submit(&self, submit: &Submit) -> Result<FlightView, ApiError> {
        let payload = written(submit);
        let ask = async || {
            let call =
                Call { endpoint: SUBMIT, payload: payload.clone(), timeout: SUBMIT_TRY_TIMEOUT, traceparent: None };
            read(SUBMIT, &api::request_hedged(&self.bus, call, SUBMIT_BESIDE_AFTER).await?)
        };
        let first = until_answered(SUBMIT_TIMEOUT, ask).await?;
        self.whole_view(first, PATIENCE).await
    }

    /// How a flight stands; without patience for failures, because a follower asks again anyway.
    pub(crate) async fn status_now(&self, flight: &FlightId) -> Result<FlightView, ApiError> {
        self.view(flight, NO_PATIENCE).await
    }

    /// How a flight stands.
    pub(crate) async fn status(&self, flight: &FlightId) -> Result<FlightView, ApiError> {
        self.view(flight, PATIENCE).await
    }

    async fn view(&self, flight: &FlightId, patience: Duration) -> Result<FlightView, ApiError> {
        let first = self.look(patience, STATUS, &StatusQuery::first(flight.clone())).await?;
        self.whole_view(first, patience).await
    }

    /// Asks for the pages behind the first.
    async fn whole_view(&self, mut view: FlightView, patience: Duration) -> Result<FlightView, ApiError> {
        while let Some(after) = view.next.take() {
            let query = StatusQuery { flight: view.flight.clone(), after: Some(after) };
            pages::join_view(&mut view, self.look(patience, STATUS, &query).await?);
        }
        Ok(view)
    }

    /// All flights, newest first.
    pub(crate) async fn flights(&self) -> Result<Vec<FlightLine>, ApiError> {
        self.all_flights(PATIENCE).await
    }

    async fn all_flights(&self, patience: Duration) -> Result<Vec<FlightLine>, ApiError> {
        let (mut all, mut query) = (Vec::new(), FlightsQuery::default());
        loop {
            let page: Flights = self.look(patience, FLIGHTS, &query).await?;
            all.extend(page.flights);
            let Some(next) = page.next else { return Ok(all) };
            query.after = Some(next);
        }
    }

    /// Says that workflow files are not sound, so that it is counted. Asked once: who counts nothing changes nothing.
    pub(crate) async fn config_invalid(&self, message: String) -> Result<ConfigInvalidNoted, ApiError> {
        self.ask(CONFIG_INVALID, &ConfigInvalid { message }, ANSWER_TIMEOUT).await
    }

    /// Everything about a waypoint, in order.
    pub(crate) async fn history(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<Vec<HistoryLine>, ApiError> {
        self.all_history(PATIENCE, flight, waypoint).await
    }

    /// The same, without patience for failures.
    pub(crate) async fn history_now(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> Result<Vec<HistoryLine>, ApiError> {
        self.all_history(NO_PATIENCE, flight, waypoint).await
    }

    /// All pages, up to a bound: how much agents hand off is theirs to choose.
    async fn all_history(
        &self,
        patience: Duration,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> Result<Vec<HistoryLine>, ApiError> {
        let (flight, waypoint) = (flight.clone(), waypoint.clone());
        let (mut all, mut query) = (Vec::new(), HistoryQuery { flight, waypoint, after: Vec::new() });
        for _ in 0..HISTORY_PAGES_MAX {
            let page: History = self.look(patience, HISTORY, &query).await?;
            all.extend(page.lines);
            let Some(next) = page.next else { return Ok(all) };
            query.after = next;
        }
        output::err(&format!(
            "the history of {} is longer than {HISTORY_PAGES_MAX} MiB: what follows is left out; `holdpoint export {}` has it",
            query.waypoint, query.flight
        ));
        Ok(all)
    }

    /// One artifact by `STREAM/SEQUENCE`.
    pub(crate) async fn artifact(&self, reference: &str) -> Result<FoundArtifact, ApiError> {
        self.patiently(ARTIFACT, &ArtifactQuery { reference: reference.to_owned() }).await
    }

    /// What an export of a flight begins with.
    pub(crate) async fn cut(&self, flight: &FlightId) -> Result<ExportCut, ApiError> {
        self.patiently(EXPORT, &CutQuery { flight: flight.clone() }).await
    }

    /// Messages of a flight as they are stored.
    pub(crate) async fn messages(&self, query: &MessageQuery) -> Result<MessagePage, ApiError> {
        self.patiently(MESSAGES, query).await
    }

    /// Has an orchestrator record that a flight is exported. Asked again until there is an answer: the same request is answered the
    /// same.
    pub(crate) async fn retire(&self, query: &RetireQuery) -> Result<RetireAnswer, ApiError> {
        let _at = holdpoint_faults::at(holdpoint_faults::Step::Retire);
        self.patiently(RETIRE, query).await
    }

    /// The signed statement on a waypoint that landed.
    pub(crate) async fn attest(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<Envelope, ApiError> {
        let query = AttestQuery { flight: flight.clone(), waypoint: waypoint.clone() };
        self.patiently(ATTEST, &query).await
    }

    /// The turns that are dead, oldest first.
    pub(crate) async fn dead(&self, flight: Option<&FlightId>) -> Result<Vec<DeadTurn>, ApiError> {
        let (mut all, mut query) = (Vec::new(), DeadQuery { flight: flight.cloned(), after: None });
        loop {
            let page: DeadTurns = self.patiently(DEAD, &query).await?;
            all.extend(page.turns);
            let Some(next) = page.next else { return Ok(all) };
            query.after = Some(next);
        }
    }

    /// How full the broker is, without patience for failures.
    pub(crate) async fn storage(&self) -> Result<Storage, ApiError> {
        self.look(NO_PATIENCE, STORAGE, &StorageQuery::default()).await
    }

    /// What waits for people, longest first.
    pub(crate) async fn inbox(&self, flight: Option<&FlightId>) -> Result<Vec<InboxItem>, ApiError> {
        self.whole_inbox(flight, PATIENCE).await
    }

    /// The same, without patience for failures.
    pub(crate) async fn inbox_now(&self, flight: Option<&FlightId>) -> Result<Vec<InboxItem>, ApiError> {
        self.whole_inbox(flight, NO_PATIENCE).await
    }

    async fn whole_inbox(&self, flight: Option<&FlightId>, patience: Duration) -> Result<Vec<InboxItem>, ApiError> {
        let (mut all, mut query) = (Vec::new(), InboxQuery::first(flight.cloned()));
        loop {
            let page: Inbox = self.look(patience, INBOX, &query).await?;
            all.extend(page.items);
            let Some(next) = page.next else { return Ok(all) };
            query.after = Some(next);
        }
    }

    /// All flights, without patience for failures.
    pub(crate) async fn flights_now(&self) -> Result<Vec<FlightLine>, ApiError> {
        self.all_flights(NO_PATIENCE).await
    }

    /// What became of an act, without patience for failures.
    pub(crate) async fn act_now(&self, query: &ActQuery) -> Result<ActStanding, ApiError> {
        self.ask_hedged(ACT, query).await
    }

    async fn patiently<A: DeserializeOwned>(&self, endpoint: &str, question: &impl Serialize) -> Result<A, ApiError> {
        self.look(PATIENCE, endpoint, question).await
    }

    async fn look<A: DeserializeOwned>(
        &self,
        patience: Duration,
        endpoint: &str,
        question: &impl Serialize,
    ) -> Result<A, ApiError> {
        let ask = until_answered(patience, || self.ask_hedged(endpoint, question));
        if patience == NO_PATIENCE { ask.await } else { said_after(SAY_AFTER, ask, output::err).await }
    }

    /// For what changes nothing.
    async fn ask_hedged<A: DeserializeOwned>(&self, endpoint: &str, question: &impl Serialize) -> Result<A, ApiError> {
        let call = Call { endpoint, payload: written(question), timeout: ANSWER_TIMEOUT, traceparent: None };
        let answer = api::request_hedged(&self.bus, call, BESIDE_AFTER).await?;
        read(endpoint, &answer)
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        endpoint: &str,
        question: &impl Serialize,
        timeout: Duration,
    ) -> Result<A, ApiError> {
        let call = Call { endpoint, payload: written(question), timeout, traceparent: None };
        let answer = api::request(&self.bus, call).await?;
        read(endpoint, &answer)
    }
}

/// Asks again while asking again may help, for so long.
async fn until_answered<A, R>(patience: Duration, ask: impl Fn() -> R) -> Result<A, ApiError>
where
    R: Future<Output = Result<A, ApiError>>,
{
    let (deadline, mut pause) = (Instant::now() + patience, PAUSE_MIN);
    loop {
        match ask().await {
            Err(error) if is_passing(&error) && Instant::now() < deadline => tokio::time::sleep(pause).await,
            other => return other,
        }
        pause = (pause + pause / 2).min(PAUSE_MAX);
    }
}

/// Waits for an answer, and says what it waits for once that takes longer than a person waits without a word.
async fn said_after<A>(
    span: Duration,
    answer: impl Future<Output = Result<A, ApiError>>,
    say: impl FnOnce(&str),
) -> Result<A, ApiError> {
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => return answer,
        () = tokio::time::sleep(span) => {}
    }
    say(&format!(
        "no answer for {} s, and still asking: either no orchestrator runs, or the broker does not answer the one that does \
         (a cluster has no leader while half of its servers or more are away)\n\
         hint: `docker compose ps` or `kubectl get pods` shows which are away; this command gives up after {} to {} s",
        span.as_secs(),
        PATIENCE.as_secs(),
        (PATIENCE + ANSWER_TIMEOUT).as_secs()
    ));
    answer.await
}

fn written(question: &impl Serialize) -> Bytes {
    serde_json::to_vec(question).expect("plain data with text keys").into()
}

fn read<A: DeserializeOwned>(endpoint: &str, answer: &[u8]) -> Result<A, ApiError> {
    serde_json::from_slice(answer).map_err(|error| ApiError::Refused {
        endpoint: endpoint.to_owned(),
        failure: api::ApiFailure::new(500, format!("the answer to {endpoint} cannot be read: {error}")),
    })
}

/// Whether asking again may help.
pub(crate) fn is_passing(error: &ApiError) -> bool {
    match error {
        ApiError::Refused { failure, .. } => failure.is_passing(),
        ApiError::NobodyThere { .. } | ApiError::TimedOut { .. } | ApiError::Lost { .. } | ApiError::Send { .. } => {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn words_of(answer_after: Duration) -> Option<String> {
        let mut said = None;
        let answer = async {
            tokio::time::sleep(answer_after).await;
            Ok(7)
        };
        assert_eq!(said_after(SAY_AFTER, answer, |words| said = Some(words.to_owned())).await.unwrap(), 7);
        said
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_waits_for_an_answer_says_after_seconds_that_the_broker_may_have_no_leader() {
        assert_eq!(words_of(SAY_AFTER / 2).await, None);
        let words = words_of(SAY_AFTER * 2).await.unwrap();
        assert!(words.contains("no leader") && words.contains("60 to 85 s") && words.contains("hint:"), "{words}");
    }
}
