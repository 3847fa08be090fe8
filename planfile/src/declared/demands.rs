//! Reading what a gate demands of what is handed off there: its document and its checkpoints (DOC-3, DOC-4).

use holdpoint_protocol::{
    checkpoint::{
        CHECKPOINT_RETRIES_MAX, CheckpointCommand, CheckpointRule, CheckpointSpec, DocumentSpec, GateDemands,
        NeededTool, PathKind, ProposalRule, ReportPart, SCORE_MAX, THRESHOLD_DEFAULT, TouchedPaths,
    },
    ids::CriterionId,
    plan::{CHECK_TIMEOUT_DEFAULT, Check, EvidenceLevel},
    proposal::ProposalBounds,
};

use super::presets;
use crate::yaml::{
    error::Problems,
    fields::{Fields, one_of, word},
    tree::{Node, Value},
    words::{not_an_id, quoted},
};

/// The keys of a document.
pub(super) const DOCUMENT_KEYS: &[&str] = &["sections"];
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
/// Which of `checks` a gate waits for by itself, whatever the score is (SDLC-3).
const REQUIRED_CHECKS: [&str; 3] = ["syntax", "tests", "build"];
/// What `checks` may be.
const CHECKS_HINT: &str =
    "write `rust`, `python`, `node` or `auto`, or commands by name, such as `checks: {tests: make test}`";

/// Reads the demands of a gate.
pub(super) fn read(gate: &Fields<'_>, problems: &mut Problems) -> GateDemands {
    let mut checkpoints = self::checkpoints("checkpoints", gate, problems);
    let checks = checks(gate, problems);
    let plan_checks = matches!(checks, Some(Checks::OfPlan));
    let default = checks.is_some().then_some(THRESHOLD_DEFAULT);
    if let Some(Checks::These(these)) = checks {
        checkpoints.extend(these);
    }
    GateDemands {
        document: gate.get("document", problems).and_then(|node| document(node, problems)),
        proposes: gate.flag("proposes", problems).filter(|proposes| *proposes).map(|_| ProposalBounds::default()),
        checkpoints,
        checkpoint_retries: gate.number("checkpointRetries", &(0..=u64::from(CHECKPOINT_RETRIES_MAX)), problems),
        plan_checks,
        threshold: gate.number("threshold", &(0..=u64::from(SCORE_MAX)), problems).or(default),
    }
}

/// The checkpoints of a list.
pub(super) fn checkpoints(key: &str, fields: &Fields<'_>, problems: &mut Problems) -> Vec<CheckpointSpec> {
    fields.list(key, problems, checkpoint)
}

/// What `checks` says.
pub(crate) enum Checks {
    /// What the plan checks, which is found for its repository where it does not say.
    OfPlan,
    /// These.
    These(Vec<CheckpointSpec>),
}

/// Reads `checks`: the word for a preset, or commands by name.
pub(crate) fn checks(fields: &Fields<'_>, problems: &mut Problems) -> Option<Checks> {
    let node = fields.get("checks", problems)?;
    if matches!(node.value, Value::Map(_)) {
        let named = Fields::free(node, "`checks`", CHECKS_HINT, problems)?;
        let each = named.entries().iter().filter_map(|(key, node)| by_name(&named, &key.name, node, problems));
        return Some(Checks::These(each.collect()));
    }
    let said = word(node, "`checks`", problems)?;
    if said.text == "auto" {
        return Some(Checks::OfPlan);
    }
    let preset = presets::named(said.text);
    if preset.is_none() {
        problems.add(said.at, format!("`checks: {}` is no preset", quoted(said.text)), CHECKS_HINT);
    }
    preset.map(|preset| Checks::These(preset.checks.clone()))
}

fn by_name(all: &Fields<'_>, name: &str, node: &Node, problems: &mut Problems) -> Option<CheckpointSpec> {
    let run = word(node, &format!("`{name}` of `checks`"), problems)?;
    let Ok(id) = CriterionId::try_new(name) else {
        let (message, hint) = not_an_id(name);
        problems.add(all.at, message, hint);
        return None;
    };
    let command = CheckpointCommand { check: check(run.text.to_owned()), needs: first_program(run.text) };
    let required = REQUIRED_CHECKS.contains(&name);
    Some(CheckpointSpec { name: id, rule: Some(CheckpointRule::Command(command)), required })
}

/// The program that a command begins with, where its name is plain.
fn first_program(run: &str) -> Vec<NeededTool> {
    let first = run.split_whitespace().next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let named = Some(first).filter(|first| !first.is_empty() && first.chars().all(is_plain));
    named.map(on_path).into_iter().collect()
}

/// That a program is on the checks' `PATH`.
fn on_path(program: &str) -> NeededTool {
    NeededTool { tool: program.to_owned(), probe: format!("command -v '{}'", program.replace('\'', "'\\''")) }
}

/// A command as a check that says nothing else.
fn check(command: String) -> Check {
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
