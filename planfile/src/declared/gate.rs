//! Reading gates and forks (spec GATE-1, GATE-29).

use holdpoint_protocol::{
    ids::{AgentName, GateId, RoleId},
    org::Plane,
    workflow::{Escalation, ForkKind, ForkSpec, GateKind, GateOrFork, GateSpec, JoinStrategy},
};

use super::{demands, outcomes::by_outcome};
use crate::yaml::{error::Problems, fields::Fields, json::metadata, place::Position, tree::Node};

/// The keys of a gate.
pub(super) const GATE_KEYS: &[&str] = &[
    "id",
    "role",
    "type",
    "description",
    "canReject",
    "when",
    "requireHuman",
    "people",
    "timeout",
    "escalateTo",
    "rejectTo",
    "expectations",
    "tips",
    "outcomeHelp",
    "document",
    "proposes",
    "childWorkflow",
    "checkpoints",
    "checkpointRetries",
    "checks",
    "threshold",
    "metadata",
];
/// The type of a gate at which a role that makes work only looks at it.
const INSPECTION: &str = "inspection";
/// The type of a gate at which children do the work.
const CHILDREN: &str = "children";
/// The type of a gate whose turns make work, whatever the org chart says of its role.
const MAKES: &str = "build";
/// The keys of a fork.
pub(super) const FORK_KEYS: &[&str] = &["id", "type", "description", "branches", "joinStrategy", "when", "metadata"];

/// The gates and forks of a workflow.
pub(super) struct Items {
    pub(super) items: Vec<GateOrFork>,
    /// Whether none was left out because it could not be read.
    pub(super) whole: bool,
}

/// Reads the gates and forks of a workflow.
pub(super) fn items(workflow: &Fields<'_>, problems: &mut Problems) -> Items {
    let mut whole = true;
    let items = workflow.list("gates", problems, |node, problems| {
        let read = if is_fork(node) {
            fork(node, &mut whole, problems).map(GateOrFork::Fork)
        } else {
            gate(node, problems).map(GateOrFork::Gate)
        };
        whole &= read.is_some();
        read
    });
    Items { items, whole }
}

fn is_fork(node: &Node) -> bool {
    // A value that is no mapping is reported as no gate; here it is only looked at.
    let unread = &mut Problems::default();
    let keys = Fields::free(node, "a gate", "", unread);
    keys.is_some_and(|keys| {
        keys.has("branches") || keys.text("type", unread).is_some_and(|kind| kind == "fork" || !keys.has("role"))
    })
}

fn fork(node: &Node, whole: &mut bool, problems: &mut Problems) -> Option<ForkSpec> {
    let fields = Fields::open(node, "a fork", FORK_KEYS, problems)?;
    fields.demand("id", "give the fork an id, such as `id: reviews`", problems);
    fields.demand("type", "say `type: fork`", problems);
    fields.demand("branches", "add `branches:` with the gates that are open at the same time", problems);
    let kinds = [("fork", Some(ForkKind::Fork)), (INSPECTION, None), (CHILDREN, None), (MAKES, None)];
    if fields.choice("type", "a type of gate", &kinds, problems) == Some(None) {
        let hint = "write `type: fork`, or remove `branches`";
        problems.add(fields.at, "a gate of another type is one gate and has no branches", hint);
    }
    let joins = [("all", JoinStrategy::All), ("any", JoinStrategy::Any), ("majority", JoinStrategy::Majority)];
    Some(ForkSpec {
        id: id(&fields, problems),
        kind: ForkKind::Fork,
        description: fields.text("description", problems),
        branches: fields.list("branches", problems, |node, problems| {
            let read = branch(node, problems);
            *whole &= read.is_some();
            read
        }),
        join_strategy: fields.choice("joinStrategy", "a join strategy", &joins, problems).unwrap_or_default(),
        when: fields.text("when", problems),
        metadata: metadata(&fields, problems),
    })
}

fn branch(node: &Node, problems: &mut Problems) -> Option<GateSpec> {
    if is_fork(node) {
        problems.add(node.at, "a branch of a fork is a fork", "put its branches into the outer fork");
        return None;
    }
    gate(node, problems)
}

fn gate(node: &Node, problems: &mut Problems) -> Option<GateSpec> {
    let fields = Fields::open(node, "a gate", GATE_KEYS, problems)?;
    fields.demand("id", "give the gate an id, such as `id: verify`", problems);
    fields.demand("role", "say whose turn it is, such as `role: verifier`", problems);
    let id = id(&fields, problems);
    let role = fields.id("role", RoleId::try_new, problems);
    let roles = fields.id_or_ids("escalateTo", RoleId::try_new, problems);
    let types = [(INSPECTION, Some(GateKind::Inspection)), (CHILDREN, Some(GateKind::Children)), (MAKES, None)];
    let kind = fields.choice("type", "a type of gate", &types, problems);
    let read = GateSpec {
        kind: kind.flatten(),
        plane: kind.filter(Option::is_none).map(|_| Plane::Build),
        description: fields.text("description", problems),
        can_reject: fields.flag("canReject", problems).unwrap_or(false),
        require_human: fields.flag("requireHuman", problems).unwrap_or(false),
        people: fields.ids("people", AgentName::try_new, problems),
        timeout: fields.duration("timeout", problems),
        escalations: roles.into_iter().map(Escalation::from).collect(),
        when: fields.text("when", problems),
        child_workflow: fields.text("childWorkflow", problems),
        reject_to: fields.id("rejectTo", GateId::try_new, problems),
        expectations: fields.texts("expectations", problems),
        tips: fields.texts("tips", problems),
        outcome_help: by_outcome(&fields, "outcomeHelp", problems, |help, key, problems| help.text(key, problems)),
        demands: demands::read(&fields, problems),
        metadata: metadata(&fields, problems),
        // Only now: all problems of a gate are found, also of one without a role.
        ..GateSpec::new(id, role?)
    };
    Some(read)
}

/// The id. A missing or invalid id gets a stand-in: the file is refused anyway, and the gate keeps its place in the order.
fn id(fields: &Fields<'_>, problems: &mut Problems) -> GateId {
    let Position { line, column } = fields.at;
    let stand_in = || GateId::try_new(format!("unnamed-{line}-{column}")).expect("letters, digits and `-`");
    fields.id("id", GateId::try_new, problems).unwrap_or_else(stand_in)
}
