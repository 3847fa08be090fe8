//! Rules for the command of a checkpoint, or of a check that a plan names.

use holdpoint_protocol::checkpoint::{CheckpointCommand, NEEDS_MAX};

use crate::yaml::{findings::PlanProblems, path::At};

/// Bytes of the name of a tool.
const TOOL_BYTES_MAX: usize = 100;

/// Holds a command against every rule.
pub(crate) fn command(at: At<'_>, CheckpointCommand { check, needs }: &CheckpointCommand, errors: &mut PlanProblems) {
    errors.command(at.key("run"), "`run`", &check.command);
    errors.duration(at.key("timeout"), "timeout", check.timeout);
    if let Some(expect) = &check.expect {
        errors.regex(at.key("expect"), "`expect`", expect);
    }
    let here = at.key("needs");
    if needs.len() > NEEDS_MAX {
        let message = format!("a command needs {} programs, more than {NEEDS_MAX}", needs.len());
        errors.add(here.item(NEEDS_MAX), message, "name those that may be missing");
        return;
    }
    for (i, need) in needs.iter().enumerate() {
        errors.name(here.item(i).key("tool"), "`tool`", &need.tool, TOOL_BYTES_MAX);
        errors.command(here.item(i).key("probe"), "`probe`", &need.probe);
    }
}
