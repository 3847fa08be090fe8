//! What a completion has to say, and what its sender learns where it does not (GATE-7, GATE-22).
//!
//! A completion comes from outside: as an artifact, as the JSON object that a program prints, or over the line of its
//! turn. A [`Lesson`] says what is wrong with it.

mod lesson;

use std::collections::BTreeMap;

use holdpoint_planfile::{
    checkpoints::{self, Block, WrittenDocument},
    proposal,
};
use holdpoint_protocol::{
    artifact::Completion,
    checkpoint::{CheckpointStatement, GateDocument},
    reason::BlockReason,
    state::Outcome,
};
pub use lesson::{Code, CompletionRules, Lesson, elsewhere, human_required, too_long};
use lesson::{
    bad_document, block_reason_unexpected, invalid_block_reason, missing_blockers, missing_summary, word, wrong_task,
};
pub(crate) use lesson::{empty_blockers, invalid_outcome, not_ready, reject_not_allowed};
use serde_json::{Map, Value, json};

/// A completion that says enough.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidCompletion {
    /// What the turn came to; never `skip`.
    pub outcome: Outcome,
    /// One or two sentences.
    pub summary: String,
    /// What has to change.
    pub blockers: Vec<String>,
    /// What kind of obstacle it is; only of what is blocked.
    pub block_reason: Option<BlockReason>,
    /// What else the next agent to get the work has to know.
    pub rejection_notes: Option<String>,
    /// The gate's document, with what came of its checkpoints.
    pub document: Option<GateDocument>,
    /// Anything.
    pub metadata: BTreeMap<String, Value>,
}

/// Reads the JSON object of a completion, as a program prints it or an artifact has it.
///
/// # Errors
/// A [`Lesson`]: the first thing that is wrong.
pub fn read(object: &Map<String, Value>, wanted: CompletionRules<'_>) -> Result<ValidCompletion, Lesson> {
    let given = |key: &str| object.get(key).filter(|value| !value.is_null());
    let named = ["task", "taskId", "task_id", "waypoint", "waypoint_id"].into_iter().find_map(given);
    if let Some(other) = named.and_then(Value::as_str).filter(|named| *named != wanted.waypoint.as_str()) {
        return Err(wrong_task(other, wanted));
    }
    let outcome = match given("outcome") {
        None => None,
        Some(value) => {
            let read = serde_json::from_value::<Outcome>(value.clone()).ok();
            Some(read.ok_or_else(|| invalid_outcome(&word(value), wanted))?)
        }
    };
    let texts = |value: &Value| -> Option<Vec<String>> {
        let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect()
    };
    let blockers = given("blockers").and_then(texts);
    let text = |key: &str| given(key).and_then(Value::as_str).map(str::to_owned);
    let metadata = given("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let rejection_notes = text("rejectionNotes").or_else(|| text("rejection_notes"));
    let summary = text("summary").unwrap_or_default();
    let obstacle = given("block_reason").or_else(|| given("blockReason"));
    let obstacle = obstacle.map(|value| {
        serde_json::from_value::<BlockReason>(value.clone()).map_err(|_| invalid_block_reason(&word(value)))
    });
    let obstacle = obstacle.transpose()?;
    let written = match text("document") {
        Some(text) => checkpoints::read_document(text.as_bytes(), "document").map_err(|wrong| bad_document(&wrong))?,
        None => WrittenDocument::default(),
    };
    let said = match &written.block {
        // A document that is blocked says so for its writer, whatever else is said.
        Some(Block { reason, details }) => {
            let blockers = blockers.or_else(|| Some(vec![details.clone()]));
            let summary = if summary.trim().is_empty() { details.clone() } else { summary };
            check(Some(Outcome::Blocked), summary, blockers, obstacle.or(Some(*reason)), wanted)?
        }
        None => check(outcome, summary, blockers, obstacle, wanted)?,
    };
    let mut statements = written.statements;
    statements.extend(stated(given("checkpoints"))?);
    let proposed = given("proposal").map(proposal::of_json).transpose().map_err(|wrong| bad_document(&wrong))?;
    let document = GateDocument {
        text: written.text,
        title: written.title,
        proposal: proposed.or(written.proposal),
        checkpoints: checkpoints::stated(statements),
        ..GateDocument::default()
    };
    let metadata = metadata.into_iter().collect();
    Ok(ValidCompletion { rejection_notes, metadata, document: validated(said.outcome, document, wanted)?, ..said })
}

/// What a completion says of checkpoints besides its document.
fn stated(given: Option<&Value>) -> Result<Vec<CheckpointStatement>, Lesson> {
    given.map_or(Ok(Vec::new()), |list| {
        serde_json::from_value(list.clone()).map_err(|error| lesson::bad_checkpoints(&error))
    })
}

/// The document with what came of the gate's checkpoints; `None`: the gate demands nothing, and there is none. Only what is
/// complete has to meet them.
fn validated(
    outcome: Outcome,
    document: GateDocument,
    wanted: CompletionRules<'_>,
) -> Result<Option<GateDocument>, Lesson> {
    let Some(demands) = wanted.demands.filter(|demands| !demands.is_empty()) else {
        return Ok(Some(document).filter(|document| !document.text.is_empty()).map(unproposed));
    };
    let validation = checkpoints::validate_document(demands, &document, &[]);
    let document = GateDocument { checkpoints: validation.checkpoints, ..document };
    if outcome == Outcome::Complete && !validation.handoff_ready {
        return Err(not_ready(demands, document));
    }
    Ok(Some(if demands.proposes.is_some() { document } else { unproposed(document) }))
}

/// The document of a gate that proposes nothing.
fn unproposed(document: GateDocument) -> GateDocument {
    GateDocument { proposal: None, ..document }
}

/// Holds the artifact of an agent against its gate.
///
/// # Errors
/// A [`Lesson`]: the first thing that is wrong.
pub fn of_agent(completion: &Completion, wanted: CompletionRules<'_>) -> Result<ValidCompletion, Lesson> {
    if completion.waypoint_id != *wanted.waypoint {
        return Err(wrong_task(completion.waypoint_id.as_str(), wanted));
    }
    let blockers = Some(completion.blockers.clone()).filter(|blockers| !blockers.is_empty());
    let Completion { outcome, summary, block_reason, .. } = completion;
    let said = check(*outcome, summary.clone(), blockers, *block_reason, wanted)?;
    let document = completion.document.as_deref().cloned().unwrap_or_default();
    Ok(ValidCompletion {
        rejection_notes: completion.rejection_notes.clone(),
        metadata: completion.metadata.clone(),
        document: validated(said.outcome, document, wanted)?,
        ..said
    })
}

fn check(
    outcome: Option<Outcome>,
    summary: String,
    blockers: Option<Vec<String>>,
    block_reason: Option<BlockReason>,
    wanted: CompletionRules<'_>,
) -> Result<ValidCompletion, Lesson> {
    let (is_named, outcome) = (outcome.is_some(), outcome.unwrap_or(wanted.default));
    if outcome == Outcome::Skip {
        return Err(invalid_outcome("skip", wanted));
    }
    if outcome == Outcome::NeedsReview && !wanted.can_reject {
        return Err(reject_not_allowed(wanted));
    }
    if summary.trim().is_empty() {
        return Err(missing_summary(wanted));
    }
    if block_reason.is_some() && outcome != Outcome::Blocked {
        return Err(block_reason_unexpected(outcome));
    }
    let mut blockers = blockers;
    // A completion that names no outcome says with its summary why it is not complete.
    if !is_named && outcome != Outcome::Complete && blockers.is_none() {
        blockers = Some(vec![summary.clone()]);
    }
    if outcome != Outcome::Complete {
        match &blockers {
            None => return Err(missing_blockers(outcome)),
            Some(all) if all.iter().all(|blocker| blocker.trim().is_empty()) => return Err(empty_blockers(outcome)),
            Some(_) => {}
        }
    }
    let blockers = blockers.unwrap_or_default().into_iter().filter(|blocker| !blocker.trim().is_empty()).collect();
    Ok(ValidCompletion {
        outcome,
        summary,
        blockers,
        block_reason,
        rejection_notes: None,
        document: None,
        metadata: BTreeMap::new(),
    })
}

/// What is too vague to act on, of the blockers of a completion; it is taken all the same.
#[must_use]
pub fn vague(blockers: &[String]) -> Vec<&str> {
    const PHRASES: [&str; 8] = [
        "not good enough",
        "needs more work",
        "needs some work",
        "has some issues",
        "does not work",
        "is not right",
        "could be better",
        "please fix it",
    ];
    let is_vague = |blocker: &&str| {
        let plain = blocker.trim().trim_end_matches(['.', '!', '?']).to_lowercase();
        let concrete = plain.contains(|c: char| c.is_ascii_digit() || "`'\"/_:()".contains(c));
        (plain.split_whitespace().count() <= 2 && !concrete) || PHRASES.contains(&plain.as_str())
    };
    blockers.iter().map(String::as_str).filter(is_vague).collect()
}

/// The warning for vague blockers, as errors are; `None` where there are none.
#[must_use]
pub fn warning(blockers: &[String]) -> Option<Value> {
    let vague = vague(blockers);
    if vague.is_empty() {
        return None;
    }
    let listed: Vec<String> = vague.iter().map(|blocker| format!("- {blocker:?}: what exactly?")).collect();
    let message = format!(
        "Some blockers are too vague to act on:\n{}\n\nSay what is wrong where, such as \"Section 4 names the wrong release \
         date: it was in May\". The completion was taken as it is.",
        listed.join("\n")
    );
    Some(json!({"warning": "vague_blockers", "message": message, "vagueBlockers": vague}))
}

#[cfg(test)]
mod tests;
