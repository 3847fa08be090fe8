//! One open turn as a task of the folder: where its file belongs, and what was done with it.

use holdpoint_protocol::{Digest, ids::TurnId};

use crate::{
    desk::{BridgeDesk, FoundTask},
    folder::FolderError,
    lock::LockEnd,
    message::{clarify_file, feedback_file},
    moves::{Meaning, SdlcStage},
    name::{TaskKind, TaskName, parent},
    text::{self, MarkedText},
};

/// Looks that a task's file may be missing before it is written again: somebody moves it.
const MISSING_LOOKS_MAX: u32 = 2;

/// An open turn.
#[derive(Debug)]
pub struct OpenTask {
    /// Its row of the table.
    pub row: &'static SdlcStage,
    /// The name of its file where it begins.
    pub name: TaskName,
    /// The turn.
    pub turn: TurnId,
    /// What is wanted, as Markdown.
    pub body: String,
    /// Why the work is here again.
    pub sent_back: Option<String>,
    /// The clone that is worked in.
    pub clone: Option<String>,
    /// What the document under review said when it was handed over, with its path.
    pub reviewed: Option<(String, String)>,
}

/// What was seen so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskSeen {
    missing: u32,
    last: Option<Digest>,
}

/// What was done with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskLook {
    /// Nothing yet that ends its turn.
    Open,
    /// It was handed in.
    Done(HandedTask),
    /// It was sent back, with comments.
    SentBack(HandedTask, Vec<String>),
    /// Somebody asks.
    Asked(String),
}

/// A task that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandedTask {
    /// Its file.
    pub path: String,
    /// The text of that.
    pub text: String,
    /// The document that goes with it.
    pub document: Option<String>,
    /// The tasks that a plan names: their names and texts.
    pub tasks: Vec<(TaskName, String)>,
}

impl OpenTask {
    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        text::task(&self.name.waypoint, self.row.gate, &self.turn, self.clone.as_deref(), &self.body)
    }

    /// The path of its file where it begins.
    #[must_use]
    pub fn home(&self) -> String {
        BridgeDesk::path(self.row.home(self.sent_back.is_some()), &self.name)
    }

    /// Puts its file where it belongs as its turn opens. A file that was moved for this very turn stays.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn arrive(&self, desk: &BridgeDesk) -> Result<(), FolderError> {
        if let Some(why) = &self.sent_back {
            desk.say(self.name.waypoint.as_str(), Some(&self.turn), why)?;
        }
        let mut is_there = false;
        let mut leaving = Vec::new();
        for task in desk.tasks_of(&self.name.waypoint)? {
            let text = desk.read(&task.path)?.unwrap_or_default();
            let marked = MarkedText::read(&text);
            let meaning = self.row.meaning(task.spot);
            let stays = matches!(meaning, Meaning::Open | Meaning::Claimed)
                && (self.sent_back.is_none() || self.is_home(&task));
            match marked.turn() {
                Some(turn) if turn == self.turn.as_str() => is_there = true,
                None if matches!(meaning, Meaning::Done | Meaning::SentBack) => is_there = true,
                _ if stays && !is_there => {
                    desk.put_task(&task.path, &self.text())?;
                    is_there = true;
                }
                Some(_) => {
                    let is_of_this_gate = marked.gate() == Some(self.row.gate);
                    if is_of_this_gate
                        && self.sent_back.is_none()
                        && matches!(meaning, Meaning::Done | Meaning::SentBack)
                    {
                        desk.keep(&task.path, &text)?;
                        let words = "It was moved for a turn that is over, and the move does not count. Do it again for the turn that is open now.";
                        desk.say(self.name.waypoint.as_str(), Some(&self.turn), words)?;
                    }
                    leaving.push(task);
                }
                None => {}
            }
        }
        if !is_there {
            desk.put_task(&self.home(), &self.text())?;
        }
        for task in leaving.iter().filter(|task| task.path != self.home()) {
            desk.folder().remove(&task.path)?;
            desk.unlock(&task.path)?;
        }
        Ok(())
    }

    fn is_home(&self, task: &FoundTask) -> bool {
        task.spot == self.row.home(self.sent_back.is_some()) || Some(task.spot) == self.row.claimed
    }

    /// What was done with it since. What ends its turn has to be there, unchanged, in two looks.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn look(&self, desk: &BridgeDesk, seen: &mut TaskSeen) -> Result<TaskLook, FolderError> {
        let (look, digest) = self.found(desk, seen)?;
        let is_settled = seen.last == Some(digest);
        seen.last = Some(digest);
        Ok(if is_settled { look } else { TaskLook::Open })
    }

    fn found(&self, desk: &BridgeDesk, seen: &mut TaskSeen) -> Result<(TaskLook, Digest), FolderError> {
        let looked = match self.asked(desk)? {
            Some(question) => TaskLook::Asked(question),
            None => self.moved(desk, seen)?,
        };
        let digest = Digest::of(format!("{looked:?}").as_bytes());
        Ok((looked, digest))
    }

    /// A question that somebody wrote.
    fn asked(&self, desk: &BridgeDesk) -> Result<Option<String>, FolderError> {
        let text = desk.read(&clarify_file(&self.name.waypoint))?.unwrap_or_default();
        let marked = MarkedText::read(&text);
        Ok((!marked.is_marked() && !text.trim().is_empty()).then(|| text.trim().to_owned()))
    }

    fn moved(&self, desk: &BridgeDesk, seen: &mut TaskSeen) -> Result<TaskLook, FolderError> {
        let tasks = desk.tasks_of(&self.name.waypoint)?;
        if tasks.is_empty() {
            seen.missing += 1;
            if seen.missing >= MISSING_LOOKS_MAX {
                desk.put_task(&self.home(), &self.text())?;
            }
            return Ok(TaskLook::Open);
        }
        seen.missing = 0;
        let of = |wanted: &[Meaning]| -> Vec<&FoundTask> {
            tasks.iter().filter(|task| wanted.contains(&self.row.meaning(task.spot))).collect()
        };
        match of(&[Meaning::Done, Meaning::SentBack]).as_slice() {
            [] => {}
            [one] => return self.ended(desk, one),
            [_, _, ..] => {
                self.say(desk, "Its file is in several folders that mean different things: keep one of them.")?;
                return Ok(TaskLook::Open);
            }
        }
        if self.row.done.is_none() {
            return self.planned(desk);
        }
        for task in of(&[Meaning::Claimed]) {
            if let Some(end) = desk.lock_ended(&task.path)? {
                let why = match end {
                    LockEnd::Expired => "the time of its lock is over",
                    LockEnd::Dead => "the process that its lock names has ended",
                };
                self.put_back(desk, task, &format!("It is in the queue again: {why}."))?;
            }
        }
        if of(&[Meaning::Open, Meaning::Claimed]).is_empty() {
            for task in of(&[Meaning::Misplaced]) {
                let words = format!(
                    "It was moved to {}, which means nothing at gate `{}`: it is back.",
                    task.path, self.row.gate
                );
                self.put_back(desk, task, &words)?;
            }
        }
        Ok(TaskLook::Open)
    }

    /// A file that was moved to where it ends the turn.
    fn ended(&self, desk: &BridgeDesk, task: &FoundTask) -> Result<TaskLook, FolderError> {
        let Some(text) = desk.read(&task.path)? else { return Ok(TaskLook::Open) };
        if MarkedText::read(&text).turn().is_some_and(|turn| turn != self.turn.as_str()) {
            desk.keep(&task.path, &text)?;
            self.put_back(
                desk,
                task,
                "It was moved for a turn that is over: the move does not count, and the file is back.",
            )?;
            return Ok(TaskLook::Open);
        }
        if self.row.meaning(task.spot) == Meaning::SentBack {
            let comments = self.comments(desk, &text)?;
            if comments.is_empty() {
                self.put_back(
                    desk,
                    task,
                    "It was sent back without a word: write what has to change below its text, then move it.",
                )?;
                return Ok(TaskLook::Open);
            }
            let handed = HandedTask { path: task.path.clone(), text, ..HandedTask::default() };
            return Ok(TaskLook::SentBack(handed, comments));
        }
        let Some(document) = self.document(desk)? else { return Ok(TaskLook::Open) };
        Ok(TaskLook::Done(HandedTask { path: task.path.clone(), text, document, tasks: Vec::new() }))
    }

    /// The document of the gate, if it has one; `None`: it is not there yet.
    #[expect(clippy::option_option, reason = "a gate without a document waits for none")]
    fn document(&self, desk: &BridgeDesk) -> Result<Option<Option<String>>, FolderError> {
        let Some(kind) = self.row.document else { return Ok(Some(None)) };
        let path = kind.path(&self.name.waypoint);
        let text = desk.read(&path)?.filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.say(desk, &format!("It waits for {path}: write that, and leave the task's file where it is."))?;
        }
        Ok(text.map(Some))
    }

    /// What a reviewer wrote: into the task's file, into the document, or as feedback.
    fn comments(&self, desk: &BridgeDesk, text: &str) -> Result<Vec<String>, FolderError> {
        let mut all = text::comments(&self.body, MarkedText::read(text).body);
        if let Some((path, before)) = &self.reviewed {
            all.extend(text::comments(before, &desk.read(path)?.unwrap_or_default()));
        }
        let feedback = desk.read(&feedback_file(self.name.waypoint.as_str()))?.unwrap_or_default();
        if !MarkedText::read(&feedback).is_marked() {
            all.extend(text::comments("", &feedback));
        }
        Ok(all)
    }

    /// A plan is handed in by its files: it names each of the tasks in the queue, and each that it names is there.
    fn planned(&self, desk: &BridgeDesk) -> Result<TaskLook, FolderError> {
        let Some(kind) = self.row.document else { return Ok(TaskLook::Open) };
        let Some(plan) = desk.read(&kind.path(&self.name.waypoint))? else { return Ok(TaskLook::Open) };
        let mut tasks = Vec::new();
        for task in
            desk.tasks()?.into_iter().filter(|task| parent(&task.name.waypoint).as_ref() == Some(&self.name.waypoint))
        {
            let text = desk.read(&task.path)?.unwrap_or_default();
            if task.name.kind == TaskKind::Exec && !MarkedText::read(&text).is_marked() && !text.trim().is_empty() {
                tasks.push((task.name, text));
            }
        }
        tasks.sort_by(|one, other| one.0.waypoint.cmp(&other.0.waypoint));
        let named = named_tasks(&plan, &self.name);
        let written: Vec<_> = tasks.iter().map(|(name, _)| &name.waypoint).collect();
        let known = |name: &TaskName| desk.tasks_of(&name.waypoint).is_ok_and(|tasks| !tasks.is_empty());
        let missing = named.iter().find(|name| !written.contains(&&name.waypoint) && !known(name));
        let unnamed = tasks.iter().find(|(name, _)| !named.iter().any(|other| other.waypoint == name.waypoint));
        match (tasks.is_empty(), missing, unnamed) {
            (false, None, None) => {}
            (true, None, _) => return Ok(TaskLook::Open),
            (_, Some(name), _) => {
                self.say(
                    desk,
                    &format!(
                        "The plan names {name}, which is not in tasks/queue: write it, or take it out of the plan."
                    ),
                )?;
                return Ok(TaskLook::Open);
            }
            (_, None, Some((name, _))) => {
                self.say(
                    desk,
                    &format!(
                        "The plan does not name {name}: name each task, as a list item with the name of its file."
                    ),
                )?;
                return Ok(TaskLook::Open);
            }
        }
        let path = self.home();
        Ok(TaskLook::Done(HandedTask { path, text: plan.clone(), document: Some(plan), tasks }))
    }

    /// Puts its file back to where it begins, and says why.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn put_back(&self, desk: &BridgeDesk, task: &FoundTask, why: &str) -> Result<(), FolderError> {
        self.back(desk, &task.path, why)
    }

    /// The same of a file by its path.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn back(&self, desk: &BridgeDesk, path: &str, why: &str) -> Result<(), FolderError> {
        self.say(desk, why)?;
        let home = self.home();
        if path != home && !desk.folder().rename(path, &home)? {
            desk.folder().remove(path)?;
        }
        desk.unlock(path)
    }

    /// Removes what its turn leaves: locks and what was said of it.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn leave(&self, desk: &BridgeDesk) -> Result<(), FolderError> {
        if let Some(claimed) = self.row.claimed {
            desk.unlock(&BridgeDesk::path(claimed, &self.name))?;
        }
        desk.unsay(self.name.waypoint.as_str())
    }

    fn say(&self, desk: &BridgeDesk, words: &str) -> Result<(), FolderError> {
        desk.say(self.name.waypoint.as_str(), Some(&self.turn), words)
    }
}

/// The tasks of a request that a plan names, each once.
fn named_tasks(plan: &str, request: &TaskName) -> Vec<TaskName> {
    let words = plan.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let mut named: Vec<TaskName> = Vec::new();
    for word in words.map(|word| word.trim_matches('.')) {
        let file = if word.ends_with(".md") { word.to_owned() } else { format!("{word}.md") };
        let Ok(name) = TaskName::parse(&file) else { continue };
        let is_ours = name.kind == TaskKind::Exec && parent(&name.waypoint).as_ref() == Some(&request.waypoint);
        if is_ours && !named.iter().any(|other| other.waypoint == name.waypoint) {
            named.push(name);
        }
    }
    named
}

#[cfg(test)]
mod tests;
