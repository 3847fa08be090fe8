//! Reading `project.yaml`: one `workflow:`, or several `workflows:` (spec GATE-1), the people to notify of stuck work, and what
//! plans of the project leave out. Gates are read by [`super::gate`].

use std::collections::BTreeMap;

use holdpoint_protocol::{
    ids::{AgentName, WaypointId},
    plan::EnvironmentSpec,
    workflow::{Effect, RejectionStrategy, WorkflowSpec},
};

use super::{
    gate,
    outcomes::{OUTCOMES, by_outcome},
};
use crate::{
    plan::{
        change::{ChangeRules, change_rules},
        environment::environment,
    },
    yaml::{
        error::Problems,
        fields::Fields,
        tree::{FileKind, Node},
    },
};

/// What messages about such files say.
pub(crate) const KIND: FileKind = FileKind {
    name: "workflow file",
    least: "a workflow file has at least `workflow:` with `name` and `gates`, `environment:`, `suite:` or `verify:`",
    depth: "a workflow needs eight levels; only `metadata` may have a few more",
};

/// The keys of the file.
pub(crate) const FILE_KEYS: &[&str] =
    &["workflow", "workflows", "owner", "stakeholders", "environment", "suite", "verify"];
/// The keys of a workflow.
pub(crate) const WORKFLOW_KEYS: &[&str] =
    &["name", "description", "defaultOutcome", "rejectionStrategy", "gates", "outcomes"];
/// A workflow as it was read.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) spec: WorkflowSpec,
    /// Whether every gate could be read, so that their order says something.
    pub(crate) whole: bool,
}

/// All workflows of a file.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) workflows: Vec<Declared>,
    /// Whether there can be only one: it is below `workflow`.
    pub(crate) single: bool,
    /// Who is notified of stuck work of any of them.
    pub(crate) owner: Option<AgentName>,
    pub(crate) stakeholders: Vec<AgentName>,
    pub(crate) defaults: ProjectDefaults,
}

/// What a project declares for plans that say nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectDefaults {
    /// What its trees depend on; [none](EnvironmentSpec::is_none) where the file says so.
    pub environment: Option<EnvironmentSpec>,
    /// The command that runs all of its tests.
    pub suite: Option<String>,
    /// How changes are judged that were made elsewhere.
    pub verify: Option<ChangeRules>,
}

/// Reads what plans leave out.
pub(crate) fn defaults(file: &Fields<'_>, problems: &mut Problems) -> ProjectDefaults {
    ProjectDefaults {
        environment: environment(file, problems),
        suite: file.text("suite", problems),
        verify: change_rules(file, problems),
    }
}

/// Reads a project file.
pub(crate) fn read(root: &Node, problems: &mut Problems) -> Option<Project> {
    let file = Fields::open(root, "the file", FILE_KEYS, problems)?;
    let single = !file.has("workflows");
    if !single && file.has("workflow") {
        problems.add(root.at, "`workflow` and `workflows` are both given", "keep one: `workflows` is a list");
    }
    if single && !["environment", "suite", "verify"].into_iter().any(|key| file.has(key)) {
        file.demand("workflow", "add `workflow:` with `name` and `gates`", problems);
    }
    let mut workflows = file.list("workflows", problems, workflow);
    let lone = file.get("workflow", problems).and_then(|node| workflow(node, problems));
    // Where both are given the file is refused, and the rules go by the list.
    workflows.extend(lone.filter(|_| single));
    let owner = file.id("owner", AgentName::try_new, problems);
    let stakeholders = file.ids("stakeholders", AgentName::try_new, problems);
    for Declared { spec, .. } in &mut workflows {
        spec.owner.clone_from(&owner);
        spec.stakeholders.clone_from(&stakeholders);
    }
    Some(Project { workflows, single, owner, stakeholders, defaults: defaults(&file, problems) })
}

fn workflow(node: &Node, problems: &mut Problems) -> Option<Declared> {
    let fields = Fields::open(node, "a workflow", WORKFLOW_KEYS, problems)?;
    fields.demand("name", "name the workflow, such as `name: reviewed`", problems);
    let name = fields.id("name", WaypointId::try_new, problems);
    let strategies = [
        ("origin", RejectionStrategy::Origin),
        ("previous", RejectionStrategy::Previous),
        ("named", RejectionStrategy::Named),
    ];
    let read = gate::items(&fields, problems);
    Some(Declared {
        whole: read.whole,
        spec: WorkflowSpec {
            // Without a name the file is refused; what else is wrong with the workflow is still found.
            name: name.map_or_else(|| format!("unnamed-{}", fields.at.line), |name| name.to_string()),
            description: fields.text("description", problems),
            gates: read.items,
            default_outcome: fields.choice("defaultOutcome", "an outcome", &OUTCOMES, problems),
            rejection_strategy: fields
                .choice("rejectionStrategy", "a rejection strategy", &strategies, problems)
                .unwrap_or_default(),
            outcomes: by_outcome(&fields, "outcomes", problems, |outcomes, key, problems| {
                let effects = [("advance", Effect::Advance), ("reject", Effect::Reject), ("hold", Effect::Hold)];
                outcomes.choice(key, "what an outcome can lead to", &effects, problems)
            }),
            owner: None,
            stakeholders: Vec::new(),
            listed: BTreeMap::new(),
        },
    })
}
