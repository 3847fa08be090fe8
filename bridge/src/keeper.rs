//! The operator: submits requests, hands on answers, and shows in the folder what the journal says. Everything here may be done again:
//! a flight has the id of its request's bytes, an answer names its question, and what is shown is put there, not added.

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
    desk::{BridgeDesk, FoundTask, KnownRequest},
    folder::FolderError,
    message::{Party, clarify_file, messages},
    moves::{TaskFolder, resting},
    name::{BadTaskName, TaskKind, TaskName, parent},
    projection::{Lineage, gate_scores},
    text::{self, MarkedText},
};

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
    /// What files said at the last look.
    before: BTreeMap<String, Digest>,
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
        let (before, refused, shown) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { desk, operator, before, refused, shown, is_away: false }
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
            let flight = self.flight(&name, digest).await?;
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
                    let words = format!("The request was not submitted: {why}. Change its file, and it is tried again.");
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
            let of_it = |view: &&WaypointView| {
                view.id == request || parent(&view.id).as_ref() == Some(&request)
            };
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
        let id = view.id.clone();
        self.desk.at(move |desk| show(desk, &id, &history)).await?;
        self.shown.insert(key, view.changed_at);
        Ok(())
    }

    /// Takes proposed tasks out of the queue that are in the journal now; those that somebody picked up too early go back.
    async fn proposed(&self, request: &WaypointId, waypoints: &[WaypointView]) -> Result<(), Stop> {
        let Some(own) = waypoints.iter().find(|view| view.id == *request) else { return Ok(()) };
        let gate = own.gate.as_ref().map(|gate| gate.as_str().to_owned());
        let is_planned = waypoints.len() > 1 || gate.as_deref().is_some_and(|gate| ["estimate", "execute", "track"].contains(&gate));
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
        if self.before.insert(path.clone(), digest) != Some(digest) || self.refused.contains(&digest) {
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

/// A request that was found twice as it is.
struct NewFile {
    name: TaskName,
    text: String,
    digest: Digest,
}

/// The requests that are to be submitted, by priority, and what all of them say. What is wrong with other files is said.
fn new_requests(
    desk: &BridgeDesk,
    before: &BTreeMap<String, Digest>,
) -> Result<(Vec<NewFile>, BTreeMap<String, Digest>), FolderError> {
    say_bad_names(desk)?;
    let (mut found, mut seen) = (Vec::new(), BTreeMap::new());
    let open = desk.requests()?.iter().filter(|(_, known)| known.submitted && !known.over).count();
    for FoundTask { name, path, spot } in desk.tasks()? {
        let request = parent(&name.waypoint).unwrap_or_else(|| name.waypoint.clone());
        let known = desk.request(&request);
        let Some(text) = desk.read(&path)? else { continue };
        if MarkedText::read(&text).is_marked() {
            continue;
        }
        // Somebody may have moved it on before it was seen.
        let is_request = name.kind != TaskKind::Exec && (known.is_none() || spot == (TaskFolder::Queue, TaskKind::New));
        let is_second = found.iter().any(|other: &NewFile| other.name.waypoint == name.waypoint);
        if !is_request || is_second {
            if known.is_none() {
                let words = format!("there is no request {request}: write tasks/queue/NEW_{request}.md first");
                desk.say_bad(&path, &words)?;
            }
            continue;
        }
        let digest = Digest::of(text.as_bytes());
        seen.insert(path.clone(), digest);
        match known {
            Some(KnownRequest { submitted: true, digest: Some(other), .. }) if other != digest => {
                desk.say_bad(&path, "a request of this id was submitted with other words: give it another id")?;
            }
            Some(KnownRequest { submitted: true, over: true, .. }) => {
                desk.say_bad(&path, "a request of this id is over: give it another id")?;
            }
            Some(KnownRequest { submitted: true, .. }) => {}
            None if open + found.len() >= REQUESTS_OPEN_MAX => {
                let words = format!("{REQUESTS_OPEN_MAX} requests are open, and more are not submitted: it waits");
                desk.say_bad(&path, &words)?;
            }
            Some(_) | None if text.trim().is_empty() => desk.say_bad(&path, "line 1: it is empty: write what is wanted")?,
            Some(_) | None if before.get(&path) == Some(&digest) => found.push(NewFile { name, text, digest }),
            Some(_) | None => {}
        }
    }
    Ok((found, seen))
}

/// Says of each file in the folders of tasks that has no name of one what is wrong with it.
fn say_bad_names(desk: &BridgeDesk) -> Result<(), FolderError> {
    for folder in TaskFolder::ALL {
        for (path, name) in desk.named(folder)? {
            if let Err(bad) = name {
                desk.say_bad(&path, &BadTaskName::to_string(&bad))?;
            }
        }
    }
    Ok(())
}

/// Puts the file of a waypoint where it rests, unless a turn of it is shown.
fn place(desk: &BridgeDesk, view: &WaypointView) -> Result<(), FolderError> {
    let mut tasks = desk.tasks_of(&view.id)?;
    if let (false, Some(spot)) = (desk.is_held(&view.id), resting(view)) {
        let is_at = tasks.iter().any(|task| task.spot == spot);
        if !is_at {
            let priority = tasks.first().map_or(Priority::Medium, |task| task.name.priority);
            let path = BridgeDesk::path(spot, &TaskName::of(priority, spot.1, view.id.clone()));
            match tasks.first() {
                Some(task) => drop(desk.folder().rename(&task.path, &path)?),
                None => drop(desk.folder().write_new(&path, &format!("# {}\n", view.title))?),
            }
            for task in &tasks {
                desk.unlock(&task.path)?;
            }
            tasks = desk.tasks_of(&view.id)?;
        }
        escalate(desk, view, spot.0 == TaskFolder::Failed)?;
    }
    let folder = tasks.first().map(|task| task.spot.0.as_str());
    let lineage = Lineage::of(view, folder);
    desk.put(&lineage.path(), &written(&lineage))
}

/// Says to people what they can do about a task that failed.
fn escalate(desk: &BridgeDesk, view: &WaypointView, is_failed: bool) -> Result<(), FolderError> {
    let path = format!("tasks/escalations/{}_ESCALATED.md", view.id);
    if !is_failed {
        return if desk.folder().has(&path) { desk.folder().remove(&path) } else { Ok(()) };
    }
    let reason = view.reason_code.map_or("", |reason| reason.as_str());
    let next = view.remediation.as_deref().unwrap_or("`holdpoint status` says what can be done");
    let words = format!("A person decides: {reason}.\n\n{}", holdpoint_core::shown::lines(next));
    desk.put(&path, &text::feedback(view.id.as_str(), None, &words))
}

/// Writes what follows from a waypoint's history: messages that are new, and the results of its gates.
fn show(desk: &BridgeDesk, id: &WaypointId, history: &[HistoryLine]) -> Result<(), FolderError> {
    let mark = format!("state/bridge/told-{id}.json");
    let told: u64 = desk.read(&mark)?.and_then(|text| text.trim().parse().ok()).unwrap_or_default();
    let mut last = told;
    for message in messages(id, history) {
        let sequence = message.id.split('-').next().and_then(|word| word.parse().ok()).unwrap_or_default();
        last = last.max(sequence);
        let to = match message.to {
            Party::User => continue,
            Party::Supervisor => "supervisor",
            Party::Worker => "worker",
        };
        if sequence > told {
            desk.put(&format!("comms/{to}/inbox/{}.json", message.id), &written(&message))?;
        }
    }
    for score in gate_scores(history) {
        desk.put(&score.path(id), &written(&score))?;
    }
    desk.put(&mark, &last.to_string())
}

/// Tasks that a plan proposes are in the journal once it was handed in, and come back one by one as their turns open. One that somebody
/// picked up before goes back.
fn early_tasks(
    desk: &BridgeDesk,
    request: &WaypointId,
    known: &BTreeSet<WaypointId>,
    is_planned: bool,
) -> Result<(), FolderError> {
    for task in desk.tasks()? {
        let is_of_it = task.name.kind == TaskKind::Exec && parent(&task.name.waypoint).as_ref() == Some(request);
        if !is_of_it || desk.is_held(&task.name.waypoint) {
            continue;
        }
        let text = desk.read(&task.path)?.unwrap_or_default();
        if MarkedText::read(&text).is_marked() {
            continue;
        }
        if is_planned {
            desk.folder().remove(&task.path)?;
            desk.unlock(&task.path)?;
        } else if task.spot.0 != TaskFolder::Queue && !known.contains(&task.name.waypoint) {
            let home = BridgeDesk::path((TaskFolder::Queue, TaskKind::Exec), &task.name);
            desk.folder().rename(&task.path, &home)?;
            desk.unlock(&task.path)?;
        }
    }
    Ok(())
}

/// The questions that files of these waypoints ask.
fn asked_files(desk: &BridgeDesk, ids: &BTreeSet<WaypointId>) -> Result<Vec<(WaypointId, String)>, FolderError> {
    let mut asked = Vec::new();
    for id in ids {
        let text = desk.read(&clarify_file(id))?.unwrap_or_default();
        if let Some(reference) = MarkedText::read(&text).question() {
            asked.push((id.clone(), reference.to_owned()));
        }
    }
    Ok(asked)
}

/// Asks a question in its file; the answer that is written there.
fn asking(desk: &BridgeDesk, item: &InboxItem) -> Result<Option<String>, FolderError> {
    let path = clarify_file(&item.waypoint);
    let there = desk.read(&path)?.unwrap_or_default();
    let marked = MarkedText::read(&there);
    if marked.question() == Some(item.reference.as_str()) {
        return Ok(marked.answer().map(str::to_owned));
    }
    let question = item.question.clone().unwrap_or_default();
    let context = item.decision_context.clone().unwrap_or_default();
    let mut text = text::clarify(&item.waypoint, &item.reference, &question, &context, &item.options);
    match (marked.is_marked(), there.trim().strip_prefix(question.trim())) {
        // What stands below the question in its asker's file was written meanwhile.
        (false, Some(more)) => text.push_str(more.trim_start()),
        (false, None) if !there.trim().is_empty() => desk.keep(&path, &there)?,
        (true, _) if marked.answer().is_some() => desk.keep(&path, &there)?,
        _ => {}
    }
    desk.put(&path, &text)?;
    Ok(None)
}

/// Takes a question back that does not wait any more.
fn withdrawn(desk: &BridgeDesk, id: &WaypointId) -> Result<(), FolderError> {
    let path = clarify_file(id);
    let text = desk.read(&path)?.unwrap_or_default();
    if MarkedText::read(&text).answer().is_some() {
        desk.keep(&path, &text)?;
        desk.say(id.as_str(), None, "Its question does not wait any more, and the answer was not needed: it is kept in stale/.")?;
    }
    desk.folder().remove(&path)
}

fn written(value: &impl serde::Serialize) -> String {
    format!("{}\n", serde_json::to_string(value).expect("plain data with text keys"))
}

#[cfg(test)]
mod tests;
