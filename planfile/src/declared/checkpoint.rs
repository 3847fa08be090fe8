//! Reading checkpoints: how each is established (DOC-3).

use holdpoint_protocol::{
    checkpoint::{
        CheckpointCommand, CheckpointRule, CheckpointSpec, NeededTool, PathKind, ProposalRule, ReportPart, TouchedPaths,
    },
    ids::CriterionId,
    plan::{CHECK_TIMEOUT_DEFAULT, Check, EvidenceLevel},
};

use crate::yaml::{
    error::Problems,
    fields::{Fields, one_of, word},
    tree::{Node, Value},
};

/// The name of the checkpoint that a gate with a document has besides its own.
pub const DOCUMENT: &str = "document";
/// The name of the checkpoint that a gate which proposes has besides its own.
pub const PROPOSAL: &str = "proposal";

/// The keys by which a checkpoint is established; one at most.
const RULE_KEYS: &[&str] = &["section", "matches", "lacks", "touches", "proposal", "guard", "report", "run"];
/// The keys that say more of a command.
const COMMAND_KEYS: &[&str] = &["timeout", "expect", "network", "writes_tree", "needs"];
/// The keys of a checkpoint.
pub(super) const CHECKPOINT_KEYS: &[&str] = &[
    "name",
    "section",
    "matches",
    "lacks",
    "touches",
    "proposal",
    "guard",
    "report",
    "run",
    "timeout",
    "expect",
    "network",
    "writes_tree",
    "needs",
    "required",
];
/// The keys of what a command needs.
const NEED_KEYS: &[&str] = &["tool", "probe"];
/// The checkpoints of a list.
pub(super) fn checkpoints(key: &str, fields: &Fields<'_>, problems: &mut Problems) -> Vec<CheckpointSpec> {
    fields.list(key, problems, checkpoint)
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
    for key in COMMAND_KEYS.iter().filter(|key| fields.has(key) && !fields.has("run")) {
        problems.add(fields.at, format!("`{key}` says nothing without `run`"), "remove it");
    }
    let text = |key: &str, problems: &mut Problems| fields.text(key, problems);
    let rule = match rules.first().copied() {
        None => None,
        Some("section") => Some(CheckpointRule::Section(text("section", problems)?)),
        Some("matches") => Some(CheckpointRule::Matches(text("matches", problems)?)),
        Some("lacks") => Some(CheckpointRule::Lacks(text("lacks", problems)?)),
        Some("touches") => Some(CheckpointRule::Touches(touched(&fields, problems)?)),
        Some("proposal") => {
            let rule = fields.choice("proposal", "a rule for proposals", &ProposalRule::WORDS, problems)?;
            Some(CheckpointRule::Proposal(rule))
        }
        Some("guard") => Some(CheckpointRule::Guard(fields.id("guard", CriterionId::try_new, problems)?)),
        Some("report") => {
            let part = fields.choice("report", "a part of a report", &ReportPart::WORDS, problems)?;
            Some(CheckpointRule::Report(part))
        }
        Some(_) => Some(CheckpointRule::Command(command(&fields, problems)?)),
    };
    Some(CheckpointSpec { name: name?, rule, required: fields.flag("required", problems).unwrap_or(true) })
}

fn command(fields: &Fields<'_>, problems: &mut Problems) -> Option<CheckpointCommand> {
    let needs = fields.list("needs", problems, need);
    let check = Check {
        expect: fields.text("expect", problems),
        timeout: fields.duration("timeout", problems).unwrap_or(CHECK_TIMEOUT_DEFAULT),
        network: fields.flag("network", problems).unwrap_or(false),
        writes_tree: fields.flag("writes_tree", problems).unwrap_or(false),
        ..check(fields.text("run", problems)?)
    };
    Some(CheckpointCommand { check, needs })
}

/// What a command needs: a program, or a tool with a probe.
fn need(node: &Node, problems: &mut Problems) -> Option<NeededTool> {
    if !matches!(node.value, Value::Map(_)) {
        return word(node, "an item of `needs`", problems).map(|program| on_path(program.text));
    }
    let fields = Fields::open(node, "an item of `needs`", NEED_KEYS, problems)?;
    fields.demand("tool", "name it, such as `tool: cargo-audit`", problems);
    fields.demand("probe", "say how one sees that it is there, such as `probe: cargo audit --version`", problems);
    Some(NeededTool { tool: fields.text("tool", problems)?, probe: fields.text("probe", problems)? })
}

fn touched(fields: &Fields<'_>, problems: &mut Problems) -> Option<TouchedPaths> {
    if fields.get("touches", problems).is_some_and(|node| matches!(node.value, Value::List(_))) {
        return Some(TouchedPaths::Globs(fields.texts("touches", problems)));
    }
    let kinds = [("tests", PathKind::Tests), ("docs", PathKind::Docs)];
    fields.choice("touches", "a kind of paths, nor a list of globs", &kinds, problems).map(TouchedPaths::Kind)
}

/// That a program is on the checks' `PATH`.
pub(super) fn on_path(program: &str) -> NeededTool {
    NeededTool { tool: program.to_owned(), probe: format!("command -v '{}'", program.replace('\'', "'\\''")) }
}

/// A command as a check that says nothing else.
pub(super) fn check(command: String) -> Check {
    Check {
        command,
        expect: None,
        red_first: false,
        timeout: CHECK_TIMEOUT_DEFAULT,
        network: false,
        writes_tree: false,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    }
}
