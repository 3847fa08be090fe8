//! Reading what a gate demands of what is handed off there: its document and its checkpoints (DOC-3, DOC-4).

use holdpoint_protocol::{
    checkpoint::{
        CHECKPOINT_RETRIES_MAX, CheckpointCommand, CheckpointRule, CheckpointSpec, DocumentSpec, GateDemands, PathKind,
        TouchedPaths,
    },
    ids::CriterionId,
};

use crate::plan::{
    error::Problems,
    fields::{Fields, one_of},
    tree::{Node, Value},
};

/// The keys of a document.
pub(super) const DOCUMENT_KEYS: &[&str] = &["sections"];
/// The keys by which a checkpoint is established; one at most.
const RULE_KEYS: &[&str] = &["section", "matches", "lacks", "touches", "guard", "run"];
/// The keys of a checkpoint.
pub(super) const CHECKPOINT_KEYS: &[&str] =
    &["name", "section", "matches", "lacks", "touches", "guard", "run", "timeout", "required"];

/// Reads the demands of a gate.
pub(super) fn read(gate: &Fields<'_>, problems: &mut Problems) -> GateDemands {
    GateDemands {
        document: gate.get("document", problems).and_then(|node| document(node, problems)),
        checkpoints: gate.list("checkpoints", problems, checkpoint),
        checkpoint_retries: gate.number("checkpointRetries", &(0..=u64::from(CHECKPOINT_RETRIES_MAX)), problems),
    }
}

fn document(node: &Node, problems: &mut Problems) -> Option<DocumentSpec> {
    let fields = Fields::open(node, "`document`", DOCUMENT_KEYS, problems)?;
    Some(DocumentSpec { sections: fields.texts("sections", problems) })
}

fn checkpoint(node: &Node, problems: &mut Problems) -> Option<CheckpointSpec> {
    let fields = Fields::open(node, "a checkpoint", CHECKPOINT_KEYS, problems)?;
    fields.demand("name", "name it, such as `name: design_complete`", problems);
    let name = fields.id("name", CriterionId::try_new, problems);
    let rules: Vec<&str> = RULE_KEYS.iter().copied().filter(|key| fields.has(key)).collect();
    if rules.len() > 1 {
        let hint = "make one checkpoint of each";
        problems.add(fields.at, format!("a checkpoint is established in one way, not by {}", one_of(rules)), hint);
        return None;
    }
    if fields.has("timeout") && !fields.has("run") {
        problems.add(fields.at, "`timeout` says nothing without `run`", "remove it");
    }
    let text = |key: &str, problems: &mut Problems| fields.text(key, problems);
    let rule = match rules.first().copied() {
        None => None,
        Some("section") => Some(CheckpointRule::Section(text("section", problems)?)),
        Some("matches") => Some(CheckpointRule::Matches(text("matches", problems)?)),
        Some("lacks") => Some(CheckpointRule::Lacks(text("lacks", problems)?)),
        Some("touches") => Some(CheckpointRule::Touches(touched(&fields, problems)?)),
        Some("guard") => Some(CheckpointRule::Guard(fields.id("guard", CriterionId::try_new, problems)?)),
        Some(_) => {
            let timeout = fields.duration("timeout", problems);
            Some(CheckpointRule::Command(CheckpointCommand { run: text("run", problems)?, timeout }))
        }
    };
    Some(CheckpointSpec { name: name?, rule, required: fields.flag("required", problems).unwrap_or(true) })
}

fn touched(fields: &Fields<'_>, problems: &mut Problems) -> Option<TouchedPaths> {
    if fields.get("touches", problems).is_some_and(|node| matches!(node.value, Value::List(_))) {
        return Some(TouchedPaths::Globs(fields.texts("touches", problems)));
    }
    let kinds = [("tests", PathKind::Tests), ("docs", PathKind::Docs)];
    fields.choice("touches", "a kind of paths, nor a list of globs", &kinds, problems).map(TouchedPaths::Kind)
}
