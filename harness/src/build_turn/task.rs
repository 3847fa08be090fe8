//! What a program is given for a turn, of whatever kind: its input files, and a [`BackendTask`] that names them.

use std::path::PathBuf;

use holdpoint_protocol::{
    checkpoint::GateDemands,
    plan::TurnBudget,
    time::Millis,
    turn::{Feedback, Turn, TurnRequest},
};

use super::{
    folder::TurnFolder,
    workbench::{BuildError, write},
};
use crate::{ask::parts::MAP_FILE, backend::BackendTask};

/// What differs between the kinds of turns.
#[derive(Debug)]
pub(crate) struct Brief<'a> {
    /// What was wrong with the last handoff.
    pub(crate) feedback: Option<&'a Feedback>,
    /// The program's prompt.
    pub(crate) prompt: String,
    /// What it may use up.
    pub(crate) budget: TurnBudget,
    /// It looks, and changes nothing.
    pub(crate) looks: bool,
    /// Its conversation may be gone on with in a later turn.
    pub(crate) keeps: bool,
    /// What the work under review changed.
    pub(crate) diff_file: Option<PathBuf>,
    /// The folder with the documents of earlier gates.
    pub(crate) documents: Option<PathBuf>,
}

/// Writes the turn's input files and says what the program has to do.
pub(crate) fn task(turn: &Turn, folder: &TurnFolder, brief: Brief<'_>) -> Result<BackendTask, BuildError> {
    let Brief { feedback, prompt, budget, looks, keeps, diff_file, documents } = brief;
    let turn_file = folder.input().join("turn.json");
    write(&turn_file, &json(turn))?;
    let mut feedback_file = None;
    if let Some(feedback) = feedback {
        let file = folder.input().join("feedback.json");
        write(&file, &json(feedback))?;
        feedback_file = Some(file);
    }
    Ok(BackendTask {
        flight: turn.flight.clone(),
        waypoint: turn.waypoint.clone(),
        role: turn.role.clone(),
        attempt: turn.attempt,
        clone: folder.clone_dir(),
        looks,
        keeps,
        underlay: None,
        scratch: folder.scratch(),
        settings: folder.settings(),
        turn_file,
        feedback_file,
        diff_file,
        documents,
        document_file: demands(turn).filter(|demands| !demands.is_empty()).map(|_| folder.document()),
        map_file: Some(folder.input().join(MAP_FILE)).filter(|file| file.exists()),
        line: None,
        tap: None,
        prompt,
        wall: budget.wall.map(Millis::duration),
        output_bytes: budget.output,
        degraded: turn.allowance.is_some_and(|allowance| allowance.degraded),
        retry: 0,
        go_on: None,
    })
}

/// What the turn's gate demands of what is handed off.
pub(crate) fn demands(turn: &Turn) -> Option<&GateDemands> {
    match &turn.request {
        TurnRequest::Build(request) => Some(&request.context.demands),
        TurnRequest::Complete(request) => Some(&request.context.demands),
        TurnRequest::Verify(_) => None,
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("plain data with text keys has a JSON form")
}
