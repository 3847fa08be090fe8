//! What a project declares: its workflows (`project.yaml`) and who has which role (`org.yaml`); spec GATE-1 to GATE-3.
//!
//! The files are read as plans are: every problem is found at once, each with its place and what to do about it.
//! Warnings are apart: with them alone a declaration is sound. Nothing is read from disk here, and no predicate is
//! evaluated.

mod condition;
pub(crate) mod demands;
mod gate;
mod org;
pub mod presets;
mod project;
mod resolve;
pub(crate) mod rules;
mod timeouts;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::{
    ids::AgentName,
    org::OrgChart,
    workflow::{GateOrFork, WorkflowSpec},
};

pub use condition::Conditions;
pub use project::ProjectDefaults;
pub use resolve::resolve;
use timeouts::default_timeout;

use crate::yaml::{
    error::{PlanError, PlanErrors, Problems},
    fields::Fields,
    findings::PlanProblems,
    path::At,
    place::Position,
    source,
    tree::{self, FileKind, Node},
};
use project::{Declared, Project};
use rules::{Findings, Roster};

/// The largest file in bytes. Workflows are recorded with each flight, so they have to stay small.
pub const FILE_BYTES_MAX: usize = 256 << 10;

/// A file as it was found. Of a larger one only one byte more than [`FILE_BYTES_MAX`] has to be given.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredFile<'a> {
    /// The name under which its problems are reported.
    pub file: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// What came of looking at declarations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedDeclarations {
    /// The workflows of each file that could be read, in order; sound if there are no errors.
    pub projects: Vec<Vec<WorkflowSpec>>,
    /// The org chart, without the agents that have no key.
    pub chart: Option<OrgChart>,
    /// What is wrong.
    pub errors: Vec<PlanError>,
    /// What will not work as it may be meant.
    pub warnings: Vec<PlanError>,
}

/// Looks at project files and the org chart that they share. `keys` are the names that agents and people have keys for;
/// without them everybody is taken to exist. Without a chart roles are not checked.
#[must_use]
pub fn check(
    projects: &[DeclaredFile<'_>],
    org: Option<DeclaredFile<'_>>,
    keys: Option<&BTreeSet<AgentName>>,
    conditions: Conditions<'_>,
) -> CheckedDeclarations {
    let mut checked = CheckedDeclarations::default();
    let chart = org.map(|source| {
        let mut file = File::open(source, &org::KIND);
        let chart = file.root.as_ref().and_then(|root| org::read(root, &mut file.problems));
        let whole = file.problems.is_empty();
        if let Some(chart) = &chart {
            file.locate(rules::chart(chart, keys));
        }
        file.close(&mut checked);
        (chart, whole)
    });
    // A chart that is no chart at all says of no role that it is unknown.
    let roster = match &chart {
        Some((Some(chart), whole)) => Some(Roster { chart, whole: *whole }),
        _ => None,
    };
    for source in projects {
        let mut file = File::open(*source, &project::KIND);
        let project = file.root.as_ref().and_then(|root| project::read(root, &mut file.problems));
        if let Some(project) = project {
            file.locate(find(&project, roster, conditions));
            checked.projects.push(project.workflows.into_iter().map(|declared| declared.spec).collect());
        }
        file.close(&mut checked);
    }
    checked.chart = chart.and_then(|(chart, _)| chart).map(|chart| without_keyless(chart, keys));
    checked
}

/// Holds workflows that came without their file against the rules of [`check`]; `at` is their list. What an org chart says is in them,
/// and held against the chart where that is: here it is left out. Conditions are looked at where they are evaluated.
pub(crate) fn validate(at: At<'_>, workflows: &[WorkflowSpec], found: &mut PlanProblems) {
    let mut findings = Findings { errors: std::mem::take(found), ..Findings::default() };
    let declared = workflows.iter().cloned().map(|spec| Declared { spec: without_chart(spec), whole: true });
    let declared: Vec<Declared> = declared.collect();
    rules::names(at, &declared, &mut findings);
    for (i, one) in declared.iter().enumerate() {
        rules::workflow(at.item(i), one, None, &|_| Ok(()), &mut findings);
    }
    *found = findings.errors;
}

/// The workflow without those who complete its gates, and to whom these escalate: who can is known by the chart.
fn without_chart(mut spec: WorkflowSpec) -> WorkflowSpec {
    let gates = spec.gates.iter_mut().flat_map(|item| match item {
        GateOrFork::Gate(gate) => std::slice::from_mut(gate),
        GateOrFork::Fork(fork) => fork.branches.as_mut_slice(),
    });
    for gate in gates {
        gate.people.clear();
        gate.escalations.clear();
    }
    spec
}

/// Whether this is an org chart and no file of workflows, sound or not: it has `roles`, and neither `workflow` nor `workflows`.
#[must_use]
pub fn is_org_chart(source: DeclaredFile<'_>) -> bool {
    let mut file = File::open(source, &org::KIND);
    let fields = file.root.as_ref().and_then(|root| Fields::free(root, "the file", "", &mut file.problems));
    fields.is_some_and(|fields| fields.has("roles") && !fields.has("workflow") && !fields.has("workflows"))
}

/// Reads a file of workflows that need no org chart.
///
/// # Errors
/// As [`crate::plan::read`]. It reports only what cannot be read: the rules are [`check`]'s.
pub fn read(text: &str, file: &str) -> Result<Vec<WorkflowSpec>, PlanErrors> {
    let mut opened = File::open(DeclaredFile { file, bytes: text.as_bytes() }, &project::KIND);
    let project = opened.root.as_ref().and_then(|root| project::read(root, &mut opened.problems));
    match (project, opened.problems.is_empty()) {
        (Some(project), true) => Ok(project.workflows.into_iter().map(|declared| declared.spec).collect()),
        _ => Err(opened.problems.finish(file, opened.text)),
    }
}

/// What a project file declares for plans that say nothing of it. Nothing else in the file is looked at.
///
/// # Errors
/// What is wrong with that.
pub fn defaults(source: DeclaredFile<'_>) -> Result<ProjectDefaults, PlanErrors> {
    let mut file = File::open(source, &project::KIND);
    let fields = file.root.as_ref().and_then(|root| Fields::free(root, "the file", "", &mut file.problems));
    let defaults = fields.map(|fields| project::defaults(&fields, &mut file.problems)).unwrap_or_default();
    let mut found = Findings::default();
    rules::defaults(&defaults, &mut found);
    file.locate(found);
    if file.problems.is_empty() { Ok(defaults) } else { Err(file.problems.finish(file.name, file.text)) }
}

fn find(project: &Project, roster: Option<Roster<'_>>, conditions: Conditions<'_>) -> Findings {
    let mut found = Findings::default();
    rules::notified(project, roster, &mut found);
    rules::defaults(&project.defaults, &mut found);
    if project.single {
        let at = At::ROOT;
        for declared in &project.workflows {
            rules::workflow(at.key("workflow"), declared, roster, conditions, &mut found);
        }
        return found;
    }
    let at = At::ROOT.key("workflows");
    if project.workflows.is_empty() {
        found.errors.add(at, "the file has no workflows", "add one item for each workflow");
    }
    rules::names(at, &project.workflows, &mut found);
    for (i, declared) in project.workflows.iter().enumerate() {
        rules::workflow(at.item(i), declared, roster, conditions, &mut found);
    }
    found
}

fn without_keyless(mut chart: OrgChart, keys: Option<&BTreeSet<AgentName>>) -> OrgChart {
    if let Some(keys) = keys {
        chart.roles.values_mut().for_each(|role| role.agents.retain(|agent| keys.contains(agent)));
    }
    chart
}

/// A file while it is looked at.
struct File<'a> {
    name: &'a str,
    text: &'a str,
    root: Option<Node>,
    problems: Problems,
    warnings: Problems,
}

impl<'a> File<'a> {
    fn open(source: DeclaredFile<'a>, kind: &FileKind) -> Self {
        let DeclaredFile { file: name, bytes } = source;
        let mut problems = Problems::default();
        if bytes.len() > FILE_BYTES_MAX {
            let message = format!("the file is larger than {} KiB", FILE_BYTES_MAX >> 10);
            problems.add(Position::START, message, "leave long texts to documents of the project");
            return Self { name, text: "", root: None, problems, warnings: Problems::default() };
        }
        let (text, whole) = match source::text_of(bytes, &mut problems) {
            Ok(text) => (text, true),
            Err(before) => (before, false),
        };
        let root = if whole { tree::load(text, kind, &mut problems) } else { None };
        Self { name, text, root, problems, warnings: Problems::default() }
    }

    fn locate(&mut self, found: Findings) {
        let Some(root) = &self.root else { return };
        self.warnings = self.problems.another();
        self.warnings.locate(found.warnings, root);
        self.problems.locate(found.errors, root);
    }

    fn close(self, checked: &mut CheckedDeclarations) {
        checked.errors.extend(self.problems.finish(self.name, self.text).errors);
        checked.warnings.extend(self.warnings.finish(self.name, self.text).errors);
    }
}
