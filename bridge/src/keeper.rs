//! The operator: submits requests, hands on answers, and shows in the folder what the journal says. Everything here may be done again:
//! a flight has the id of its request's bytes, an answer names its question, and what is shown is put there, not added.

mod looks;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use holdpoint_protocol::{
    Digest, Timestamp,
    api::{HistoryLine, InboxItem, InboxKind},
    ids::{FlightId, WaypointId},
    plan::Priority,
    view::{FlightStatus, FlightView, WaypointView},
};

use crate::{
    desk::{BridgeDesk, KnownRequest},
    folder::FolderError,
    message::clarify_file,
    name::{TaskName, parent},
    text,
};
use looks::{NewFile, asked_files, asking, early_tasks, new_requests, place, show, withdrawn};

/// How often the folder and the journal are compared.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Requests that are open at the same time.
pub const REQUESTS_OPEN_MAX: usize = 256;
/// Characters of a request's id in its flight's.
const FLIGHT_NAME_LEN_MAX: usize = 48;
/// Digits of the digest behind that.
const FLIGHT_DIGITS: usize = 12;

/// A request that becomes a flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint.
    pub waypoint: WaypointId,
    /// In one line.
    pub title: String,
    /// All of it.
    pub goal: String,
    /// Which is taken first.
    pub priority: Priority,
}

/// Why an operator did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// It cannot be done as it stands.
    #[error("{0}")]
    Refused(String),
    /// Nobody answers: it is tried again.
    #[error("{0}")]
    Away(String),
}

/// What the bridge asks of a fleet in an operator's name.
pub trait Operator {
    /// Begins a flight. Called again with the same flight it changes nothing.
    fn submit(&self, request: &NewRequest) -> impl Future<Output = Result<(), OperatorError>>;
    /// How a flight stands.
    fn view(&self, flight: &FlightId) -> impl Future<Output = Result<FlightView, OperatorError>>;
    /// The history of a waypoint.
    fn history(
        &self,
        flight: &FlightId,
        waypoint: &WaypointId,
    ) -> impl Future<Output = Result<Vec<HistoryLine>, OperatorError>>;
    /// What waits for people in a flight.
    fn waiting(&self, flight: &FlightId) -> impl Future<Output = Result<Vec<InboxItem>, OperatorError>>;
    /// Answers a question.
    fn answer(&self, item: &InboxItem, text: &str) -> impl Future<Output = Result<(), OperatorError>>;
}

/// Keeps folder and journal together.
#[derive(Debug)]
pub struct Keeper<O> {
    desk: Arc<BridgeDesk>,
    operator: O,
    /// What requests said at the last look.
    before: BTreeMap<String, Digest>,
    /// What answers said at the last look, by their questions.
    answers: BTreeMap<String, Digest>,
    /// What was refused: it is not sent again as it is.
    refused: BTreeSet<Digest>,
    /// Up to when a waypoint is shown.
    shown: BTreeMap<(FlightId, WaypointId), Option<Timestamp>>,
    is_away: bool,
}

impl<O: Operator> Keeper<O> {
    /// A keeper of this folder.
    #[must_use]
    pub fn new(desk: Arc<BridgeDesk>, operator: O) -> Self {
        let (before, answers, shown) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { desk, operator, before, answers, refused: BTreeSet::new(), shown, is_away: false }
    }

    /// Keeps on until the folder cannot be used.
    pub async fn keep(&mut self) -> FolderError {
        loop {
            if let Err(error) = self.look().await {
                return error;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Looks once.
    ///
    /// # Errors
    /// [`FolderError`].
    pub async fn look(&mut self) -> Result<(), FolderError> {
        let looked = self.requests().await;
        let looked = if looked.is_ok() { self.flights().await } else { looked };
        match looked {
            Ok(()) => self.is_away = false,
            Err(Stop::Folder(error)) => return Err(error),
            Err(Stop::Away(why)) => {
                if !self.is_away {
                    tracing::warn!(why, "the fleet does not answer: the folder stays as it is meanwhile");
                }
                self.is_away = true;
            }
        }
        self.desk.at(BridgeDesk::sweep_locks).await
    }

    /// Submits what users put into the queue.
    async fn requests(&mut self) -> Result<(), Stop> {
        let before = std::mem::take(&mut self.before);
        let (found, seen) = self.desk.at(move |desk| new_requests(desk, &before)).await?;
        self.before = seen;
        for NewFile { name, text, digest } in found {
            if self.refused.contains(&digest) {
                continue;
            }
            // A submission whose answer never came is made again under its id, whatever became of the file meanwhile.
            let id = name.waypoint.clone();
            let flight = match self.desk.at(move |desk| Ok::<_, FolderError>(desk.request(&id))).await? {
                Some(known) => known.flight,
                None => self.flight(&name, digest).await?,
            };
            let known = KnownRequest { flight: flight.clone(), digest: Some(digest), submitted: false, over: false };
            let (id, record) = (name.waypoint.clone(), known.clone());
            self.desk.at(move |desk| desk.remember(&id, &record)).await?;
            let request = NewRequest {
                flight,
                waypoint: name.waypoint.clone(),
                title: text::title(&text),
                goal: text,
                priority: name.priority,
            };
            let id = name.waypoint.clone();
            match self.operator.submit(&request).await {
                Ok(()) => {
                    let record = KnownRequest { submitted: true, ..known };
                    let done = move |desk: &BridgeDesk| {
                        desk.unsay(id.as_str())?;
                        desk.remember(&id, &record)
                    };
                    self.desk.at(done).await?;
                }
                Err(OperatorError::Refused(why)) => {
                    self.refused.insert(digest);
                    let words =
                        format!("The request was not submitted: {why}. Change its file, and it is tried again.");
                    self.desk.at(move |desk| desk.say(id.as_str(), None, &words)).await?;
                }
                Err(OperatorError::Away(why)) => return Err(Stop::Away(why)),
            }
        }
        Ok(())
    }

    /// The flight that these bytes become in this folder.
    async fn flight(&self, name: &TaskName, digest: Digest) -> Result<FlightId, Stop> {
        let folder = self.desk.at(BridgeDesk::id).await?;
        let whole = Digest::of(format!("{folder}/{name}/{digest}").as_bytes()).hex();
        let request: String = name.waypoint.as_str().chars().take(FLIGHT_NAME_LEN_MAX).collect();
        let id = format!("{request}-{}", &whole[..FLIGHT_DIGITS]);
        Ok(FlightId::try_new(id).expect("the beginning of an id with hex digits behind it is one"))
    }

    /// Shows how the flights stand.
    async fn flights(&mut self) -> Result<(), Stop> {
        for (request, known) in self.desk.at(BridgeDesk::requests).await? {
            if known.over || !known.submitted {
                continue;
            }
            let view = match self.operator.view(&known.flight).await {
                Ok(view) => view,
                // It left the fleet.
                Err(OperatorError::Refused(_)) => continue,
                Err(OperatorError::Away(why)) => return Err(Stop::Away(why)),
            };
            let of_it = |view: &&WaypointView| view.id == request || parent(&view.id).as_ref() == Some(&request);
            let waypoints: Vec<WaypointView> = view.waypoints.iter().filter(of_it).cloned().collect();
            for waypoint in &waypoints {
                self.waypoint(&known.flight, waypoint).await?;
            }
            self.proposed(&request, &waypoints).await?;
            self.questions(&known.flight, &waypoints).await?;
            if view.status == FlightStatus::Accepted {
                let record = KnownRequest { over: true, ..known };
                self.desk.at(move |desk| desk.remember(&request, &record)).await?;
            }
        }
        Ok(())
    }

    async fn waypoint(&mut self, flight: &FlightId, view: &WaypointView) -> Result<(), Stop> {
        let waypoint = view.clone();
        self.desk.at(move |desk| place(desk, &waypoint)).await?;
        let key = (flight.clone(), view.id.clone());
        if self.shown.get(&key) == Some(&view.changed_at) {
            return Ok(());
        }
        let history = match self.operator.history(flight, &view.id).await {
            Ok(history) => history,
            Err(OperatorError::Refused(_)) => return Ok(()),
            Err(OperatorError::Away(why)) => return Err(Stop::Away(why)),
        };
        let waypoint = view.clone();
        self.desk.at(move |desk| show(desk, &waypoint, &history)).await?;
        self.shown.insert(key, view.changed_at);
        Ok(())
    }

    /// Takes proposed tasks out of the queue that are in the journal now; those that somebody picked up too early go back.
    async fn proposed(&self, request: &WaypointId, waypoints: &[WaypointView]) -> Result<(), Stop> {
        let Some(own) = waypoints.iter().find(|view| view.id == *request) else { return Ok(()) };
        let gate = own.gate.as_ref().map(|gate| gate.as_str().to_owned());
        let is_planned =
            waypoints.len() > 1 || gate.as_deref().is_some_and(|gate| ["estimate", "execute", "track"].contains(&gate));
        let (request, known) = (request.clone(), waypoints.iter().map(|view| view.id.clone()).collect::<BTreeSet<_>>());
        self.desk.at(move |desk| early_tasks(desk, &request, &known, is_planned)).await?;
        Ok(())
    }

    /// Asks in the folder what waits for an answer, and hands on what is written there.
    async fn questions(&mut self, flight: &FlightId, waypoints: &[WaypointView]) -> Result<(), Stop> {
        let ids: BTreeSet<WaypointId> = waypoints.iter().map(|view| view.id.clone()).collect();
        let files = {
            let ids = ids.clone();
            self.desk.at(move |desk| asked_files(desk, &ids)).await?
        };
        let is_asked = waypoints.iter().any(|view| view.status == holdpoint_protocol::state::Status::Waiting);
        if !is_asked && files.is_empty() {
            return Ok(());
        }
        let items = match self.operator.waiting(flight).await {
            Ok(items) => items,
            Err(OperatorError::Refused(_)) => return Ok(()),
            Err(OperatorError::Away(why)) => return Err(Stop::Away(why)),
        };
        let is_question = |item: &&InboxItem| matches!(item.kind, InboxKind::Question | InboxKind::Help);
        for item in items.iter().filter(is_question).filter(|item| ids.contains(&item.waypoint)) {
            self.question(item).await?;
        }
        for (id, reference) in files {
            if !items.iter().any(|item| item.waypoint == id && item.reference == reference) {
                self.desk.at(move |desk| withdrawn(desk, &id)).await?;
            }
        }
        Ok(())
    }

    async fn question(&mut self, item: &InboxItem) -> Result<(), Stop> {
        let (asked, path) = (item.clone(), clarify_file(&item.waypoint));
        let answer = self.desk.at(move |desk| asking(desk, &asked)).await?;
        let Some(answer) = answer else { return Ok(()) };
        let digest = Digest::of(format!("{}\n{answer}", item.reference).as_bytes());
        // Somebody may be writing still.
        if self.answers.insert(item.reference.clone(), digest) != Some(digest) || self.refused.contains(&digest) {
            return Ok(());
        }
        let id = item.waypoint.clone();
        match self.operator.answer(item, &answer).await {
            Ok(()) => self.desk.at(move |desk| desk.folder().remove(&path)).await?,
            Err(OperatorError::Refused(why)) => {
                self.refused.insert(digest);
                let words = format!("The answer was not taken: {why}.");
                self.desk.at(move |desk| desk.say(id.as_str(), None, &words)).await?;
            }
            Err(OperatorError::Away(why)) => return Err(Stop::Away(why)),
        }
        Ok(())
    }
}

/// Why a look ends.
enum Stop {
    Folder(FolderError),
    Away(String),
}

impl From<FolderError> for Stop {
    fn from(error: FolderError) -> Self {
        Self::Folder(error)
    }
}

#[cfg(test)]
mod tests;
