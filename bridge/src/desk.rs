//! The folder as the bridge works in it: its layout, where tasks are, and what it says to those who write it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::{
    Digest,
    ids::{FlightId, TurnId, WaypointId},
};
use holdpoint_runtime::clock;
use holdpoint_sandbox::ProcessId;
use holdpoint_text::shown;
use serde::{Deserialize, Serialize};

use crate::{
    folder::{BadFile, BridgeFolder, FolderError},
    lock::{FoundLock, LOCK_ENDING, LOCK_TIME, LockEnd, LookingHost, TaskLock, ended},
    message::feedback_file,
    moves::{Actor, Spot, TaskFolder},
    name::{BadTaskName, TaskName},
    text::{self, MarkedText},
};

/// What belongs to the bridge alone.
const OWN: &str = "state/bridge";
/// The folder in which files are kept that were moved for a turn that is over, or that the bridge wrote over.
const STALE: &str = "stale";
/// Files that are kept there; the oldest goes when there is one more.
pub const STALE_FILES_MAX: usize = 1_000;
/// Where the machine's name is.
const HOST_FILE: &str = "/proc/sys/kernel/hostname";
/// Where clones of execution tasks are.
pub const CLONES: &str = "clones";

/// The name of a file, and what it says.
pub type ListedName = (String, Result<TaskName, BadTaskName>);

/// The folder, shared by the turns that are shown in it and by its keeper.
#[derive(Debug)]
pub struct BridgeDesk {
    folder: BridgeFolder,
    /// The turns that are shown in it now.
    held: Mutex<BTreeMap<WaypointId, TurnId>>,
    /// One look or change at a time.
    turns: Mutex<()>,
    host: String,
}

/// A task's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTask {
    /// Where it is.
    pub spot: Spot,
    /// Its name.
    pub name: TaskName,
    /// Its path below the folder.
    pub path: String,
}

/// `state/bridge/requests/ID.json`: which flight a request became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRequest {
    /// The flight.
    pub flight: FlightId,
    /// What was requested; `None`: it was submitted elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether an orchestrator has it.
    pub submitted: bool,
    /// Whether it is over, and shown as such.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

/// A turn that is shown in the folder, as long as this is kept.
#[derive(Debug)]
pub struct HeldTask {
    desk: Arc<BridgeDesk>,
    waypoint: WaypointId,
}

impl Drop for HeldTask {
    fn drop(&mut self) {
        self.desk.held().remove(&self.waypoint);
    }
}

impl BridgeDesk {
    /// Opens a folder, and makes what it lacks.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let folder = BridgeFolder::open(path)?;
        for tasks in TaskFolder::ALL {
            folder.make(&format!("tasks/{}", tasks.as_str()))?;
        }
        for more in ["escalations", "supervisor_feedback", "history"] {
            folder.make(&format!("tasks/{more}"))?;
        }
        for documents in ["requirements", "specs", "plans"] {
            folder.make(&format!("docs/{documents}"))?;
        }
        for actor in Actor::ALL {
            folder.make(&format!("comms/{}/inbox", actor.as_str()))?;
        }
        for own in ["state/gates", "state/bridge/requests", STALE, CLONES] {
            folder.make(own)?;
        }
        let host = std::fs::read_to_string(HOST_FILE).unwrap_or_default().trim().to_owned();
        Ok(Self { folder, held: Mutex::default(), turns: Mutex::default(), host })
    }

    /// The files.
    #[must_use]
    pub fn folder(&self) -> &BridgeFolder {
        &self.folder
    }

    /// The file that one bridge at a time has.
    #[must_use]
    pub fn lock_name() -> String {
        format!("{OWN}/lock")
    }

    /// Looks at the folder, or changes it, while nobody else of this process does.
    ///
    /// # Errors
    /// What `look` returns.
    pub async fn at<T: Send + 'static, E: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let desk = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let _alone = desk.turns.lock().unwrap_or_else(PoisonError::into_inner);
            look(&desk)
        });
        match looked.await {
            Ok(result) => result,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }

    /// Shows a turn from now on; `None`: another turn of the waypoint is shown.
    #[must_use]
    pub fn hold(self: &Arc<Self>, waypoint: &WaypointId, turn: &TurnId) -> Option<HeldTask> {
        let mut held = self.held();
        if held.contains_key(waypoint) {
            return None;
        }
        held.insert(waypoint.clone(), turn.clone());
        drop(held);
        Some(HeldTask { desk: self.clone(), waypoint: waypoint.clone() })
    }

    /// Whether a turn of this waypoint is shown.
    #[must_use]
    pub fn is_held(&self, waypoint: &WaypointId) -> bool {
        self.held().contains_key(waypoint)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<WaypointId, TurnId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All task files, in the order in which they are picked up.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn tasks(&self) -> Result<Vec<FoundTask>, FolderError> {
        let mut all = Vec::new();
        for folder in TaskFolder::ALL {
            for (path, name) in self.named(folder)? {
                if let Ok(name) = name {
                    all.push(FoundTask { spot: (folder, name.kind), name, path });
                }
            }
        }
        all.sort_by(|one, other| one.name.rank().cmp(&other.name.rank()));
        Ok(all)
    }

    /// The files of one waypoint.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn tasks_of(&self, waypoint: &WaypointId) -> Result<Vec<FoundTask>, FolderError> {
        let mut all = self.tasks()?;
        all.retain(|task| task.name.waypoint == *waypoint);
        Ok(all)
    }

    /// The files of a folder with what their names say; locks are passed over.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn named(&self, folder: TaskFolder) -> Result<Vec<ListedName>, FolderError> {
        let tasks = format!("tasks/{}", folder.as_str());
        let files = self.folder.files(&tasks)?.into_iter().filter(|file| !file.ends_with(LOCK_ENDING));
        Ok(files.map(|file| (format!("{tasks}/{file}"), TaskName::parse(&file))).collect())
    }

    /// The path of a task's file at a place.
    #[must_use]
    pub fn path((folder, kind): Spot, name: &TaskName) -> String {
        format!("tasks/{}/{}", folder.as_str(), TaskName { kind, ..name.clone() })
    }

    /// Says something of a task in its feedback file, unless that says it already.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn say(&self, task: &str, turn: Option<&TurnId>, words: &str) -> Result<(), FolderError> {
        self.put(&feedback_file(task), &text::feedback(task, turn, &shown::lines(words)))
    }

    /// Takes back what it said of a task; what others wrote there stays.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn unsay(&self, task: &str) -> Result<(), FolderError> {
        let file = feedback_file(task);
        match self.folder.read(&file) {
            Ok(Some(there)) if MarkedText::read(&there.text).is_marked() => self.folder.remove(&file),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Says that a file cannot be used, by its own name.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn say_bad(&self, path: &str, why: &str) -> Result<(), FolderError> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let stem = file.strip_suffix(".md").unwrap_or(file);
        let plain = !stem.is_empty() && stem.len() <= 100;
        let is_plain = plain && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let named =
            if is_plain { stem.to_owned() } else { format!("file-{}", &Digest::of(file.as_bytes()).hex()[..12]) };
        self.say(&named, None, &format!("The file {} stays where it is: {why}.", shown::line(path)))
    }

    /// Writes a file, unless it has this text.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn put(&self, path: &str, text: &str) -> Result<(), FolderError> {
        match self.folder.read(path) {
            Ok(Some(there)) if there.text == text => Ok(()),
            Ok(_) | Err(_) => self.folder.write(path, text),
        }
    }

    /// Writes a task's file. Other text that somebody wrote there is kept.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn put_task(&self, path: &str, text: &str) -> Result<(), FolderError> {
        if let Ok(Some(there)) = self.folder.read(path) {
            if there.text == text {
                return Ok(());
            }
            let (before, after) = (MarkedText::read(&there.text), MarkedText::read(text));
            if before.body.trim() != after.body.trim() && !text::comments(after.body, before.body).is_empty() {
                self.keep(path, &there.text)?;
            }
        }
        self.folder.write(path, text)
    }

    /// Keeps a text that is no part of its task any more.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn keep(&self, path: &str, text: &str) -> Result<(), FolderError> {
        let kept = self.folder.files(STALE)?;
        for oldest in kept.iter().take((kept.len() + 1).saturating_sub(STALE_FILES_MAX)) {
            self.folder.remove(&format!("{STALE}/{oldest}"))?;
        }
        let file = path.rsplit('/').next().unwrap_or(path);
        let name =
            format!("{STALE}/{:015}-{}-{file}", clock::now().as_millis(), &Digest::of(text.as_bytes()).hex()[..8]);
        self.folder.write(&name, text)
    }

    /// Looks at the lock of a task that somebody does, and makes one where there is none; whether it has ended.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn lock_ended(&self, path: &str) -> Result<Option<LockEnd>, FolderError> {
        let lock = format!("{path}{LOCK_ENDING}");
        match self.folder.read(&lock) {
            Ok(Some(found)) => {
                let found = FoundLock { text: &found.text, written: found.written, has_task: true };
                Ok(ended(found, clock::now(), self.here()))
            }
            Ok(None) => {
                let expires = Some(clock::now().after(LOCK_TIME));
                let ours = TaskLock { holder: "not named".to_owned(), host: None, pid: None, expires };
                let text = serde_json::to_string(&ours).expect("plain data with text keys");
                self.folder.write_new(&lock, &text).map(|_| None)
            }
            // A link, or no text: it locks nothing.
            Err(_) => self.folder.remove(&lock).map(|()| None),
        }
    }

    /// Removes the lock of a task.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn unlock(&self, path: &str) -> Result<(), FolderError> {
        self.folder.remove(&format!("{path}{LOCK_ENDING}"))
    }

    /// Removes locks whose task is not there, once they have ended.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn sweep_locks(&self) -> Result<(), FolderError> {
        let running = format!("tasks/{}", TaskFolder::Running.as_str());
        for lock in self.folder.files(&running)?.iter().filter(|file| file.ends_with(LOCK_ENDING)) {
            let (path, task) =
                (format!("{running}/{lock}"), format!("{running}/{}", lock.trim_end_matches(LOCK_ENDING)));
            if self.folder.has(&task) {
                continue;
            }
            let is_over = match self.folder.read(&path) {
                Ok(Some(found)) => {
                    let found = FoundLock { text: &found.text, written: found.written, has_task: false };
                    ended(found, clock::now(), self.here()).is_some()
                }
                Ok(None) => false,
                Err(_) => true,
            };
            if is_over {
                self.folder.remove(&path)?;
            }
        }
        Ok(())
    }

    fn here(&self) -> LookingHost<'_> {
        LookingHost { name: &self.host, alive: &|pid| ProcessId::of(pid).is_some() }
    }

    /// Which flight a request became.
    #[must_use]
    pub fn request(&self, request: &WaypointId) -> Option<KnownRequest> {
        let file = self.folder.read(&record(request)).ok().flatten()?;
        serde_json::from_str(&file.text).ok()
    }

    /// Remembers which flight a request became.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn remember(&self, request: &WaypointId, known: &KnownRequest) -> Result<(), FolderError> {
        self.put(&record(request), &serde_json::to_string(known).expect("plain data with text keys"))
    }

    /// All requests that are remembered.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn requests(&self) -> Result<Vec<(WaypointId, KnownRequest)>, FolderError> {
        let files = self.folder.files(&format!("{OWN}/requests"))?;
        let ids = files.iter().filter_map(|file| file.strip_suffix(".json")?.parse::<WaypointId>().ok());
        Ok(ids.filter_map(|id| Some((id.clone(), self.request(&id)?))).collect())
    }

    /// A name for this folder that no other folder has: its agents have it in theirs.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn id(&self) -> Result<String, FolderError> {
        let file = format!("{OWN}/id");
        let read = || self.folder.read(&file).ok().flatten().map(|found| found.text.trim().to_owned());
        if let Some(id) = read().filter(|id| id.parse::<WaypointId>().is_ok()) {
            return Ok(id);
        }
        let fresh = holdpoint_runtime::fresh::suffix();
        self.folder.write(&file, &fresh)?;
        Ok(fresh)
    }

    /// Reads a file that its gate needs; what is wrong with it is said.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn read(&self, path: &str) -> Result<Option<String>, FolderError> {
        match self.folder.read(path) {
            Ok(found) => Ok(found.map(|found| found.text)),
            Err(bad) => {
                self.say_bad(path, &BadFile::to_string(&bad))?;
                Ok(None)
            }
        }
    }
}

/// Where it is remembered which flight a request became.
fn record(request: &WaypointId) -> String {
    format!("{OWN}/requests/{request}.json")
}
