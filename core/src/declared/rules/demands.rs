//! Rules for what a gate demands of what is handed off there.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    checkpoint::{CHECKPOINT_RETRIES_MAX, CHECKPOINTS_MAX, CheckpointRule, CheckpointSpec, TouchedPaths},
    workflow::GateSpec,
};

use super::{Findings, Roster, duty};
use crate::{checkpoints::DOCUMENT, gates::Duty, plan::path::At};

/// Holds the demands of a gate against every rule.
pub(super) fn check(at: At<'_>, gate: &GateSpec, roster: Option<Roster<'_>>, found: &mut Findings) {
    let demands = &gate.demands;
    let checkpoints = at.key("checkpoints");
    if demands.is_empty() {
        if demands.checkpoint_retries.is_some() {
            let message = "`checkpointRetries` says nothing without checkpoints";
            found.errors.add(at.key("checkpointRetries"), message, "add `checkpoints:`, or remove it");
        }
        return;
    }
    let duty = duty(gate, roster);
    if gate.require_human || duty == Duty::Judge {
        let (whose, hint) = if gate.require_human {
            ("people complete it", "write what they look at as `expectations`")
        } else {
            ("a verifier judges criteria and guards there", "write what has to hold as criteria or guards of the plan")
        };
        let key = if demands.checkpoints.is_empty() { at.key("document") } else { checkpoints };
        found.errors.add(key, format!("gate `{}` has no checkpoints: {whose}", gate.id), hint);
        return;
    }
    if let Some(document) = &demands.document {
        found.sentences(at.key("document").key("sections"), "sections", &document.sections);
    }
    if demands.checkpoint_retries.is_some_and(|retries| retries > CHECKPOINT_RETRIES_MAX) {
        let message = format!("`checkpointRetries` is more than {CHECKPOINT_RETRIES_MAX}");
        let hint = "an agent that needs more needs a person: `holdpoint retry` opens the gate again";
        found.errors.add(at.key("checkpointRetries"), message, hint);
    }
    if demands.checkpoints.len() > CHECKPOINTS_MAX {
        let message = format!("gate `{}` has more than {CHECKPOINTS_MAX} checkpoints", gate.id);
        found.errors.add(checkpoints.item(CHECKPOINTS_MAX), message, "leave some out");
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, one) in demands.checkpoints.iter().enumerate() {
        let here = checkpoints.item(i);
        if !seen.insert(&one.name) || (one.name.as_str() == DOCUMENT && demands.document.is_some()) {
            let message = format!("gate `{}` has two checkpoints with the name `{}`", gate.id, one.name);
            found.errors.add(
                here.key("name"),
                message,
                "give each its own name; `document` is that of the document itself",
            );
        }
        rule(here, gate, one, duty, found);
    }
}

fn rule(at: At<'_>, gate: &GateSpec, one: &CheckpointSpec, duty: Duty, found: &mut Findings) {
    let of_work = |key: &str, found: &mut Findings| {
        if duty != Duty::Make {
            let message = format!("`{key}` looks at work, and none is made at gate `{}`", gate.id);
            found.errors.add(at.key(key), message, "move it to the gate that makes the work");
        }
    };
    let of_document = |key: &str, found: &mut Findings| {
        if gate.demands.document.is_none() {
            let message = format!("`{key}` looks at a document, and gate `{}` has none", gate.id);
            found.errors.add(at.key(key), message, "add `document: {sections: […]}` to the gate");
        }
    };
    match &one.rule {
        None => {}
        Some(CheckpointRule::Section(title)) => {
            of_document("section", found);
            found.sentence(at.key("section"), "`section`", title);
        }
        Some(CheckpointRule::Matches(pattern)) => {
            of_document("matches", found);
            found.errors.regex(at.key("matches"), "`matches`", pattern);
        }
        Some(CheckpointRule::Lacks(pattern)) => {
            of_document("lacks", found);
            found.errors.regex(at.key("lacks"), "`lacks`", pattern);
        }
        Some(CheckpointRule::Touches(paths)) => {
            of_work("touches", found);
            if let TouchedPaths::Globs(globs) = paths {
                if globs.is_empty() {
                    found.errors.add(at.key("touches"), "`touches` is empty: no work could", "name at least one glob");
                }
                found.errors.globs(at.key("touches"), "touches", globs);
            }
        }
        Some(CheckpointRule::Guard(_)) => of_work("guard", found),
        Some(CheckpointRule::Command(command)) => {
            of_work("run", found);
            found.errors.command(at.key("run"), "`run`", &command.run);
            if let Some(timeout) = command.timeout {
                found.errors.duration(at.key("timeout"), "timeout", timeout);
            }
        }
    }
}
