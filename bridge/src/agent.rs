//! The agent: shows each turn of its role as a task of the folder, and hands off what somebody does there.

use std::{path::PathBuf, sync::Arc, time::Duration};

use holdpoint_bus::blobs;
use holdpoint_engine::completion::Lesson;
use holdpoint_harness::{
    agent::{Final, Job, PlanHandoff, WorkError, Worker},
    backend::prompt,
    build_turn::by_hand as build_by_hand,
    complete_turn::{by_hand as complete_by_hand, handoff},
};
use holdpoint_protocol::{
    checkpoint::{DOCUMENT_BYTES_MAX, DocumentRef},
    ids::{WaypointId, role},
    plan::Priority,
    turn::{BuildRequest, CompletionRequest, TurnRequest},
};
use holdpoint_runtime::{
    fresh,
    mirror::{MirrorStore, from_wire},
};
use holdpoint_sandbox::{TemporaryFolder, tree::remove_tree};
use serde_json::{Map, Value, json};

use crate::{
    desk::{BridgeDesk, CLONES, KnownRequest},
    folder::FolderError,
    message::clarify_file,
    moves::{OF_REQUESTS, SdlcStage},
    name::{TaskName, parent},
    proposal,
    task::{HandedTask, OpenTask, TaskLook, TaskSeen},
    text,
};

/// How often a task's files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Does the turns of one role by what happens in the folder.
#[derive(Debug)]
pub struct FolderWorker {
    desk: Arc<BridgeDesk>,
    mirrors: Arc<MirrorStore>,
    scratch: Arc<TemporaryFolder>,
}

/// Why a turn cannot be shown.
#[derive(Debug, thiserror::Error)]
enum NotShown {
    #[error("the folder has no place for gate `{0}`: its workflow is none that the bridge knows")]
    NoPlace(String),
    #[error("the folder shows another turn of `{0}`")]
    Shown(String),
    #[error("the folder has a request `{0}` of another flight: end that, or fly this one without the bridge")]
    Taken(String),
    #[error("the turn was stopped")]
    Stopped,
    #[error("there is no clone in {0}")]
    NoClone(String),
}

impl FolderWorker {
    /// A worker whose objects are kept in a folder that nobody else writes.
    #[must_use]
    pub fn new(desk: Arc<BridgeDesk>, mirrors: Arc<MirrorStore>, scratch: Arc<TemporaryFolder>) -> Self {
        Self { desk, mirrors, scratch }
    }

    async fn show(&self, job: &Job) -> Result<Final, WorkError> {
        let turn = job.turn_as_it_stands();
        let row = SdlcStage::of(&turn.waypoint, &turn.gate)
            .ok_or_else(|| unshown(NotShown::NoPlace(turn.gate.to_string())))?;
        let request = parent(&turn.waypoint).unwrap_or_else(|| turn.waypoint.clone());
        self.adopt(&request, job).await?;
        let held = self.desk.hold(&turn.waypoint, &turn.turn_id);
        let _held = held.ok_or_else(|| unshown(NotShown::Shown(turn.waypoint.to_string())))?;
        let name = TaskName::of(self.priority(job).await, row.home.1, turn.waypoint.clone());
        let told = turn.told().filter(|told| text::is_sent_back(Some(told)));
        let (body, documents, clone) = match &turn.request {
            TurnRequest::Build(request) => {
                let clone = self.clone(job, request).await?;
                let ready = "## When you are ready\n\nEdit the files of the clone, then move this file to tasks/review. No commit is \
                             needed, and files that git ignores do not count.";
                (format!("{}{ready}\n", prompt::for_files(&turn, request)), &request.documents, Some(clone))
            }
            TurnRequest::Complete(request) => {
                let goal = request.goal.clone().unwrap_or_default();
                let wrong = told.map(|told| format!("\n\n## Sent back\n\n{}", prompt::what_was_wrong(told)));
                (format!("{}{}", goal.trim_end(), wrong.unwrap_or_default()), &request.documents, None)
            }
            TurnRequest::Verify(_) => return Err(unshown(NotShown::NoPlace(turn.gate.to_string()))),
        };
        let reviewed = self.documents(job, row, &request, documents).await?;
        let task = Arc::new(OpenTask {
            row,
            name,
            turn: turn.turn_id.clone(),
            body,
            sent_back: told.map(prompt::what_was_wrong),
            clone,
            reviewed,
        });
        let arriving = task.clone();
        self.desk.at(move |desk| arriving.arrive(desk)).await.map_err(unwritten)?;
        job.note("the task waits in the folder");
        self.wait(job, &task).await
    }

    /// Waits until the task is handed in so that it can be handed off.
    async fn wait(&self, job: &Job, task: &Arc<OpenTask>) -> Result<Final, WorkError> {
        let mut seen = TaskSeen::default();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looking = task.clone();
            let (look, after) = self
                .desk
                .at(move |desk| {
                    let mut seen = seen;
                    looking.look(desk, &mut seen).map(|look| (look, seen))
                })
                .await
                .map_err(unwritten)?;
            seen = after;
            let (path, came) = match look {
                TaskLook::Open => continue,
                TaskLook::Asked(question) => (clarify_file(&task.name.waypoint), self.ask(job, &question).await?),
                TaskLook::Done(handed) => (handed.path.clone(), self.hand_in(job, task, handed).await?),
                TaskLook::SentBack(handed, comments) => {
                    (handed.path.clone(), self.send_back(job, &handed, comments).await?)
                }
            };
            let leaving = task.clone();
            match came {
                Ok(artifact) => {
                    self.desk.at(move |desk| leaving.leave(desk)).await.map_err(unwritten)?;
                    return Ok(artifact);
                }
                Err(why) => self.desk.at(move |desk| leaving.back(desk, &path, &why)).await.map_err(unwritten)?,
            }
            seen = TaskSeen::default();
        }
    }

    async fn hand_in(
        &self,
        job: &Job,
        task: &OpenTask,
        handed: HandedTask,
    ) -> Result<Result<Final, String>, WorkError> {
        match &job.turn.request {
            TurnRequest::Build(request) => self.hand_in_clone(job, task, request).await,
            TurnRequest::Complete(request) => {
                let mut object = Map::new();
                let words = handed.document.as_deref().unwrap_or(&handed.text);
                let title = text::title(text::MarkedText::read(words).body);
                object.insert("outcome".to_owned(), "complete".into());
                object.insert("summary".to_owned(), format!("{}: {title}", task.row.gate).into());
                if let Some(why) = handed.tasks.iter().find_map(|(name, task)| proposal::problem(name, task)) {
                    return Ok(Err(why));
                }
                if let Some(document) = &handed.document {
                    let is_plan = !handed.tasks.is_empty();
                    let document = if is_plan { proposal::document(document, &handed.tasks) } else { document.clone() };
                    object.insert("document".to_owned(), document.into());
                }
                complete(job, request, object, words).await
            }
            TurnRequest::Verify(_) => Err(unshown(NotShown::NoPlace(job.turn.gate.to_string()))),
        }
    }

    async fn send_back(
        &self,
        job: &Job,
        handed: &HandedTask,
        comments: Vec<String>,
    ) -> Result<Result<Final, String>, WorkError> {
        let TurnRequest::Complete(request) = &job.turn.request else {
            return Err(unshown(NotShown::NoPlace(job.turn.gate.to_string())));
        };
        let first = comments.first().cloned().unwrap_or_default();
        let object =
            json!({"outcome": "needs_review", "summary": format!("{}: {first}", job.turn.gate), "blockers": comments});
        let object = object.as_object().cloned().unwrap_or_default();
        complete(job, request, object, &handed.text).await
    }

    async fn ask(&self, job: &Job, question: &str) -> Result<Result<Final, String>, WorkError> {
        let asked = complete_by_hand::ask(job, question).await.map_err(unstored)?;
        Ok(asked.map_err(|bad| format!("The question cannot be asked: {bad}.")))
    }

    /// Takes what is in the clone, as a person's hand-in does.
    async fn hand_in_clone(
        &self,
        job: &Job,
        task: &OpenTask,
        request: &BuildRequest,
    ) -> Result<Result<Final, String>, WorkError> {
        let clone = task.clone.clone().unwrap_or_default();
        if !self.desk.folder().is_folder(&clone) {
            return Err(unshown(NotShown::NoClone(clone)));
        }
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await;
        let mirror = mirror.map_err(|error| WorkError::new("fetch the repository", error))?;
        let bundle = self.scratch.path().join(format!("{}.bundle", fresh::nonce()));
        let path = self.desk.folder().path().join(&clone);
        let handed = build_by_hand::hand_in(job, request, &mirror, &path, &bundle).await;
        // It is stored, or was never made.
        let _ = std::fs::remove_file(&bundle);
        let handed = handed.map_err(|error| WorkError::new("hand in the clone", error))?;
        Ok(handed.map_err(|why| format!("What is in {clone} cannot be handed in: {why}.")))
    }

    /// The clone of a turn that makes work. One that is there already is of an earlier delivery, and stays as it is.
    async fn clone(&self, job: &Job, request: &BuildRequest) -> Result<String, WorkError> {
        let around = format!("{CLONES}/{}", job.turn.waypoint);
        let (clone, making) = (format!("{around}/{}", job.turn.turn_id), format!("{around}/.{}", fresh::nonce()));
        let (desk, folder) = (&self.desk, around.clone());
        desk.at(move |desk| desk.folder().make(&folder)).await.map_err(unwritten)?;
        if desk.folder().is_folder(&clone) {
            return Ok(clone);
        }
        job.note("fetching the repository");
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await;
        let mirror = mirror.map_err(|error| WorkError::new("fetch the repository", error))?;
        let path = desk.folder().path().join(&making);
        mirror
            .clone_for_agent(&from_wire(&request.start), &path)
            .await
            .map_err(|error| WorkError::new("make a clone", error))?;
        let to = clone.clone();
        let moved = desk.at(move |desk| desk.folder().rename(&making, &to)).await.map_err(unwritten)?;
        if moved {
            self.forget_clones(&around, &clone);
        }
        Ok(clone)
    }

    /// Removes clones of earlier turns of a task: what was handed in of them is in the flight.
    fn forget_clones(&self, around: &str, newest: &str) {
        let folder: PathBuf = self.desk.folder().path().join(around);
        let newest = self.desk.folder().path().join(newest);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for old in entries.map(|entry| entry.path()).filter(|path| *path != newest) {
            if let Err(error) = remove_tree(&old) {
                tracing::warn!(path = %old.display(), %error, "an old clone stays");
            }
        }
    }

    /// Remembers whose request it is.
    async fn adopt(&self, request: &WaypointId, job: &Job) -> Result<(), WorkError> {
        let (request, flight) = (request.clone(), job.turn.flight.clone());
        let adopted = self.desk.at(move |desk| -> Result<Result<(), NotShown>, FolderError> {
            match desk.request(&request) {
                Some(known) if known.flight == flight => Ok(Ok(())),
                Some(known) if !known.over => Ok(Err(NotShown::Taken(request.to_string()))),
                Some(_) | None => {
                    let known = KnownRequest { flight, digest: None, submitted: true, over: false };
                    desk.remember(&request, &known).map(Ok)
                }
            }
        });
        adopted.await.map_err(unwritten)?.map_err(unshown)
    }

    /// The priority that the task's file says now.
    async fn priority(&self, job: &Job) -> Priority {
        let waypoint = job.turn.waypoint.clone();
        let found = self.desk.at(move |desk| desk.tasks_of(&waypoint)).await.unwrap_or_default();
        found.first().map_or(Priority::Medium, |task| task.name.priority)
    }

    /// Writes the documents of earlier gates that are not there; what the newest one under review says.
    async fn documents(
        &self,
        job: &Job,
        row: &SdlcStage,
        request: &WaypointId,
        documents: &[DocumentRef],
    ) -> Result<Option<(String, String)>, WorkError> {
        let mut reviewed = None;
        for DocumentRef { gate, blob, .. } in documents {
            let kind = OF_REQUESTS.iter().find(|row| row.gate == gate.as_str()).and_then(|row| row.document);
            let Some(kind) = kind else { continue };
            let (path, cap) = (kind.path(request), DOCUMENT_BYTES_MAX as u64);
            let is_reviewed = row.reviews == Some(kind);
            if self.desk.folder().has(&path) && !is_reviewed {
                continue;
            }
            let owner = [role::id(role::ORCHESTRATOR)];
            let bytes = blobs::get(&job.bus, blob.digest, &owner, cap).await;
            let bytes = bytes.map_err(|error| WorkError::new("fetch a document", error))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if is_reviewed {
                reviewed = Some((path.clone(), text.clone()));
            }
            self.desk.at(move |desk| desk.folder().write_new(&path, &text)).await.map_err(unwritten)?;
        }
        Ok(reviewed)
    }
}

impl Worker for FolderWorker {
    fn plan(&self, job: &Job) -> PlanHandoff {
        match &job.turn.request {
            TurnRequest::Build(request) => PlanHandoff::Build(build_by_hand::plan(job, request)),
            TurnRequest::Complete(_) | TurnRequest::Verify(_) => PlanHandoff::Complete(handoff::plan(job)),
        }
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        tokio::select! {
            result = Box::pin(self.show(&job)) => result,
            _ = job.stop.stopped() => Err(unshown(NotShown::Stopped)),
        }
    }
}

async fn complete(
    job: &Job,
    request: &CompletionRequest,
    object: Map<String, Value>,
    said: &str,
) -> Result<Result<Final, String>, WorkError> {
    let completed = complete_by_hand::complete(job, request, &object, said).await.map_err(unstored)?;
    Ok(completed.map_err(|lesson: Lesson| lesson.to_string()))
}

fn unshown(why: NotShown) -> WorkError {
    WorkError::new("show the turn in the folder", why)
}

fn unwritten(error: FolderError) -> WorkError {
    WorkError::new("write the folder", error)
}

fn unstored(error: blobs::BlobError) -> WorkError {
    WorkError::new("store what was said", error)
}
