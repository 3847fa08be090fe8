//! Reading `checks` of a gate or a plan: a preset, or commands by name (SDLC-3).

use holdpoint_protocol::{
    checkpoint::{CheckpointCommand, CheckpointRule, CheckpointSpec, NeededTool},
    ids::CriterionId,
};

use super::{
    checkpoint::{check, on_path},
    presets,
};
use crate::yaml::{
    error::Problems,
    fields::{Fields, word},
    tree::{Node, Value},
    words::{not_an_id, quoted},
};

/// Which of `checks` a gate waits for by itself, whatever the score is (SDLC-3).
const REQUIRED_CHECKS: [&str; 3] = ["syntax", "tests", "build"];
/// What `checks` may be.
const CHECKS_HINT: &str =
    "write `rust`, `python`, `node` or `auto`, or commands by name, such as `checks: {tests: make test}`";

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
