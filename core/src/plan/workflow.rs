//! A workflow's own file: `workflow:` with its gates (spec GATE-1). Conditions, escalation and forks are not read yet: their
//! keys are refused by name.

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId, WaypointId},
    workflow::{GateSpec, WorkflowSpec},
};

use super::{error::Problems, fields::Fields, tree::Node};

const WORKFLOW_KEYS: &[&str] = &["name", "description", "gates"];
const GATE_KEYS: &[&str] = &["id", "role", "description", "canReject", "requireHuman", "people", "timeout"];

/// Reads the one workflow of a file.
pub(super) fn read(root: &Node, problems: &mut Problems) -> Option<WorkflowSpec> {
    let file = Fields::open(root, "the file", &["workflow"], problems)?;
    file.demand("workflow", "add `workflow:` with `name` and `gates`", problems);
    let fields = Fields::open(file.get("workflow", problems)?, "`workflow`", WORKFLOW_KEYS, problems)?;
    fields.demand("name", "name the workflow, such as `name: reviewed`", problems);
    fields.demand("gates", "add `gates:` with one item for each gate, in order", problems);
    let name = fields.id("name", WaypointId::try_new, problems);
    let description = fields.text("description", problems);
    let gates = fields.list("gates", problems, gate);
    Some(WorkflowSpec { name: name?.to_string(), description, gates })
}

fn gate(node: &Node, problems: &mut Problems) -> Option<GateSpec> {
    let fields = Fields::open(node, "a gate", GATE_KEYS, problems)?;
    fields.demand("id", "give the gate an id, such as `id: verify`", problems);
    fields.demand("role", "say whose turn it is, such as `role: verifier`", problems);
    let id = fields.id("id", GateId::try_new, problems);
    let role = fields.id("role", RoleId::try_new, problems);
    Some(GateSpec {
        description: fields.text("description", problems),
        can_reject: fields.flag("canReject", problems).unwrap_or(false),
        require_human: fields.flag("requireHuman", problems).unwrap_or(false),
        people: fields.ids("people", AgentName::try_new, problems),
        timeout: fields.duration("timeout", problems),
        id: id?,
        role: role?,
    })
}
