//! Rules for what a gate demands of what is handed off there.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    checkpoint::{
        CHECKPOINT_RETRIES_MAX, CHECKPOINTS_MAX, CheckpointRule, CheckpointSpec, GateDemands, SCORE_MAX, TouchedPaths,
    },
    workflow::GateSpec,
};

use super::{
    super::command,
    roster::{Findings, Roster, duty},
};
use crate::{
    declared::checkpoint::{DOCUMENT, PROPOSAL},
    gates::Duty,
    yaml::path::At,
};

/// Holds the demands of a gate against every rule.
pub(super) fn check(at: At<'_>, gate: &GateSpec, roster: Option<Roster<'_>>, found: &mut Findings) {
    let demands = &gate.demands;
    let checkpoints = at.key("checkpoints");
    if demands.is_empty() {
        let alone =
            [("checkpointRetries", demands.checkpoint_retries.is_some()), ("threshold", demands.threshold.is_some())];
        for (key, _) in alone.into_iter().filter(|(_, is_there)| *is_there) {
            let message = format!("`{key}` says nothing without checkpoints");
            found.errors.add(at.key(key), message, "add `checkpoints:`, or remove it");
        }
        return;
    }
    let duty = duty(gate, roster);
    if gate.require_human {
        let key = match demands {
            GateDemands { checkpoints: own, .. } if !own.is_empty() => checkpoints,
            GateDemands { proposes: Some(_), .. } => at.key("proposes"),
            _ => at.key("document"),
        };
        let message = format!("gate `{}` has no checkpoints: people complete it", gate.id);
        found.errors.add(key, message, "write what they look at as `expectations`");
        return;
    }
    if demands.proposes.is_some() && duty != Duty::Complete {
        let message = format!("gate `{}` does not complete anything, so that it cannot propose", gate.id);
        found.errors.add(at.key("proposes"), message, "let a gate before it propose");
    }
    if duty == Duty::Judge {
        of_judge(at, gate, found);
    } else {
        let key = if demands.plan_checks { "checks" } else { "threshold" };
        if demands.plan_checks || demands.threshold.is_some() {
            let message = format!("`checks` and `threshold` are a verifier's, and gate `{}` is none's", gate.id);
            found.errors.add(at.key(key), message, "move them to the gate that judges the work");
        }
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
        let implied = match one.name.as_str() {
            DOCUMENT => demands.document.is_some(),
            PROPOSAL => demands.proposes.is_some(),
            _ => false,
        };
        if !seen.insert(&one.name) || implied {
            let message = format!("gate `{}` has two checkpoints with the name `{}`", gate.id, one.name);
            found.errors.add(
                here.key("name"),
                message,
                "give each its own name; `document` and `proposal` are those of the document and the proposal themselves",
            );
        }
        rule(here, gate, one, duty, found);
    }
}

/// What a gate says that a verifier does not do.
fn of_judge(at: At<'_>, gate: &GateSpec, found: &mut Findings) {
    if gate.demands.document.is_some() {
        let message = format!("gate `{}` has no document: a verifier hands over its report", gate.id);
        found.errors.add(at.key("document"), message, "remove it");
    }
    if gate.demands.checkpoint_retries.is_some() {
        let message = "`checkpointRetries` says nothing of a verifier: the work goes back to who makes it";
        found.errors.add(at.key("checkpointRetries"), message, "remove it: `max_reworks` of the plan bounds it");
    }
    if gate.demands.threshold.is_some_and(|threshold| threshold > SCORE_MAX) {
        let message = format!("`threshold` is more than {SCORE_MAX}");
        found.errors.add(at.key("threshold"), message, "a score is of 100");
    }
}

fn rule(at: At<'_>, gate: &GateSpec, one: &CheckpointSpec, duty: Duty, found: &mut Findings) {
    let of_work = |key: &str, found: &mut Findings| {
        if duty == Duty::Complete {
            let message = format!("`{key}` looks at work, and none is made or judged at gate `{}`", gate.id);
            found.errors.add(at.key(key), message, "move it to the gate that makes the work, or to one that judges it");
        }
    };
    let of_document = |key: &str, found: &mut Findings| {
        if gate.demands.document.is_none() {
            let message = format!("`{key}` looks at a document, and gate `{}` has none", gate.id);
            found.errors.add(at.key(key), message, "add `document: {sections: […]}` to the gate");
        }
    };
    match &one.rule {
        None if duty == Duty::Judge => {
            let message = format!("a verifier states nothing, and `{}` says not how it is established", one.name);
            found.errors.add(
                at.key("name"),
                message,
                "add `report:`, `touches:` or `run:`, or make it a criterion of the plan",
            );
        }
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
        Some(CheckpointRule::Guard(_)) if duty == Duty::Judge => {
            let message = "a verifier judges every guard of the plan".to_owned();
            found.errors.add(at.key("guard"), message, "write `report: guards`");
        }
        Some(CheckpointRule::Proposal(_)) if gate.demands.proposes.is_none() => {
            let message = format!("`proposal` looks at what is proposed, and gate `{}` proposes nothing", gate.id);
            found.errors.add(at.key("proposal"), message, "write `proposes: true` at the gate, or remove it");
        }
        Some(CheckpointRule::Proposal(_)) => {}
        Some(CheckpointRule::Guard(_)) => of_work("guard", found),
        Some(CheckpointRule::Report(_)) if duty != Duty::Judge => {
            let message = format!("`report` looks at a verifier's report, and gate `{}` has none", gate.id);
            found.errors.add(at.key("report"), message, "move it to the gate that judges the work");
        }
        Some(CheckpointRule::Report(_)) => {}
        Some(CheckpointRule::Command(command)) => {
            of_work("run", found);
            command::command(at, command, &mut found.errors);
        }
    }
}
