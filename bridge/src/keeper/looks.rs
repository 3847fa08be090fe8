//! What the keeper does in the folder, a look at a time: no look waits for a fleet.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    Digest,
    api::{HistoryLine, InboxItem},
    ids::WaypointId,
    plan::Priority,
    view::WaypointView,
};

use super::REQUESTS_OPEN_MAX;
use crate::{
    desk::{BridgeDesk, FoundTask, KnownRequest},
    folder::FolderError,
    message::{Party, clarify_file, messages},
    moves::{TaskFolder, resting},
    name::{BadTaskName, TaskKind, TaskName, parent},
    projection::{Lineage, gate_scores},
    text::{self, MarkedText},
};

/// A request that was found twice as it is.
pub(super) struct NewFile {
    pub(super) name: TaskName,
    pub(super) text: String,
    pub(super) digest: Digest,
}

/// The requests that are to be submitted, by priority, and what all of them say. What is wrong with other files is said.
pub(super) fn new_requests(
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
        let is_pending = known.as_ref().is_none_or(|known| !known.submitted);
        let is_request = name.kind != TaskKind::Exec && (is_pending || spot == (TaskFolder::Queue, TaskKind::New));
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
            Some(_) | None if text.trim().is_empty() => {
                desk.say_bad(&path, "line 1: it is empty: write what is wanted")?;
            }
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
pub(super) fn place(desk: &BridgeDesk, view: &WaypointView) -> Result<(), FolderError> {
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
    let words = format!("A person decides: {reason}.\n\n{}", holdpoint_text::shown::lines(next));
    desk.put(&path, &text::feedback(view.id.as_str(), None, &words))
}

/// Writes what follows from a waypoint's history: messages that are new, and the results of its gates.
pub(super) fn show(desk: &BridgeDesk, view: &WaypointView, history: &[HistoryLine]) -> Result<(), FolderError> {
    let id = &view.id;
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
    for score in gate_scores(view, history) {
        desk.put(&score.path(id), &written(&score))?;
    }
    desk.put(&mark, &last.to_string())
}

/// Tasks that a plan proposes are in the journal once it was handed in, and come back one by one as their turns open. One that somebody
/// picked up before goes back.
pub(super) fn early_tasks(
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
pub(super) fn asked_files(
    desk: &BridgeDesk,
    ids: &BTreeSet<WaypointId>,
) -> Result<Vec<(WaypointId, String)>, FolderError> {
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
pub(super) fn asking(desk: &BridgeDesk, item: &InboxItem) -> Result<Option<String>, FolderError> {
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
pub(super) fn withdrawn(desk: &BridgeDesk, id: &WaypointId) -> Result<(), FolderError> {
    let path = clarify_file(id);
    let text = desk.read(&path)?.unwrap_or_default();
    if MarkedText::read(&text).answer().is_some() {
        desk.keep(&path, &text)?;
        desk.say(
            id.as_str(),
            None,
            "Its question does not wait any more, and the answer was not needed: it is kept in stale/.",
        )?;
    }
    desk.folder().remove(&path)
}

fn written(value: &impl serde::Serialize) -> String {
    format!("{}\n", serde_json::to_string(value).expect("plain data with text keys"))
}
