//! Looking at files of declarations: each is read, and then held to the rules, with the org chart that they share.

use std::collections::BTreeSet;

use holdpoint_protocol::{ids::AgentName, org::OrgChart, workflow::WorkflowSpec};

use super::{
    condition::Conditions,
    file::{DeclaredFile, File},
    org,
    project::{self, Project, ProjectDefaults},
};
use crate::{
    rules::declared::{
        self as rules,
        roster::{Findings, Roster},
    },
    yaml::{
        error::{PlanError, PlanErrors},
        fields::Fields,
        path::At,
    },
};

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
            let Findings { errors, warnings } = rules::chart(chart, keys);
            file.locate(errors, warnings);
        }
        close(file, &mut checked);
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
            let Findings { errors, warnings } = find(&project, roster, conditions);
            file.locate(errors, warnings);
            checked.projects.push(project.workflows.into_iter().map(|declared| declared.spec).collect());
        }
        close(file, &mut checked);
    }
    checked.chart = chart.and_then(|(chart, _)| chart).map(|chart| without_keyless(chart, keys));
    checked
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
    let Findings { errors, warnings } = found;
    file.locate(errors, warnings);
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

fn close(file: File<'_>, checked: &mut CheckedDeclarations) {
    checked.errors.extend(file.problems.finish(file.name, file.text).errors);
    checked.warnings.extend(file.warnings.finish(file.name, file.text).errors);
}
