//! `workflow check`: everything that is wrong with declarations, at once.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use holdpoint_bus::auth::KeyFolder;
use holdpoint_planfile::{
    declared::{self, CheckedDeclarations, DeclaredFile},
    gates::Workflow,
    plan::{PlanError, PlanErrors},
};
use holdpoint_protocol::{ids::AgentName, org::OrgChart, workflow::WorkflowSpec};
use serde::Serialize;
use serde_json::json;

use super::{PROJECT, declarations};
use crate::{
    args::workflow::WorkflowCheckArgs,
    declared::Declarations,
    failure::{Exit, Failure},
    output,
};

/// A sound workflow; its JSON form is a part of what `--json` prints.
#[derive(Debug, Serialize)]
struct Sound<'a> {
    file: &'a str,
    name: &'a str,
    gates: usize,
    /// Why no fleet runs it.
    not_run_yet: Vec<String>,
}

/// Looks at the files and says what was found.
pub(super) async fn check(args: &WorkflowCheckArgs) -> Result<Exit, Failure> {
    let declarations = sorted(declarations(&projects(args), args.org.as_deref())?, args.org.is_some())?;
    let keys = args.keys.as_deref().map(keys).transpose()?;
    let CheckedDeclarations { projects, chart, errors, warnings } = declarations.check(keys.as_ref()).await?;
    warnings.iter().for_each(|warning| output::err(warning.render("warning: ").trim_end()));
    if declarations.org.is_none() {
        output::err(
            "warning: there is no org chart, so roles were not checked: pass --org FILE, or put org.yaml into the folder of the workflow file",
        );
    }
    if !errors.is_empty() {
        return Ok(refuse(errors, &warnings, args.json));
    }
    let sound: Vec<Sound<'_>> = declarations
        .projects
        .iter()
        .zip(&projects)
        .flat_map(|((file, _), workflows)| workflows.iter().map(|spec| Sound::of(file, spec, chart.as_ref())))
        .collect();
    let roles = chart.as_ref().map(|chart| chart.roles.len());
    if args.json {
        output::json(&json!({"ok": true, "workflows": sound, "roles": roles, "warnings": warnings}));
        return Ok(Exit::Success);
    }
    for Sound { file, name, gates, not_run_yet } in &sound {
        output::out(&format!("{file}: {name} is sound: gates {gates}"));
        if !not_run_yet.is_empty() {
            output::out(&format!("  cannot be run: {}", not_run_yet.join(", ")));
        }
    }
    if let (Some((file, _)), Some(roles)) = (&declarations.org, roles) {
        output::out(&format!("{file} is sound: roles {roles}"));
    }
    Ok(Exit::Success)
}

/// The files to look at. A chart that is named may be looked at alone.
fn projects(args: &WorkflowCheckArgs) -> Vec<PathBuf> {
    let default = PathBuf::from(PROJECT);
    match &args.files[..] {
        [] if args.org.is_some() && !default.exists() => Vec::new(),
        [] => vec![default],
        files => files.to_vec(),
    }
}

/// Takes the org chart out of the files, which `*.yaml` names like any other: it is the one that the workflows are checked by.
fn sorted(found: Declarations, is_named: bool) -> Result<Declarations, Failure> {
    let is_chart = |(file, bytes): &(String, Vec<u8>)| declared::is_org_chart(DeclaredFile { file, bytes });
    let (mut charts, projects): (Vec<_>, Vec<_>) = found.projects.into_iter().partition(is_chart);
    if is_named {
        charts.extend(found.org.clone());
    }
    // The same chart may be named twice.
    charts.dedup_by(|one, other| one.1 == other.1);
    if let [(one, _), .., (other, _)] = &charts[..] {
        let message = format!("{one} and {other} are org charts, and workflows are checked by one");
        return Err(Failure::usage(
            "arguments",
            message,
            "name one of them, and check the workflows of each by themselves",
        ));
    }
    Ok(Declarations { org: charts.pop().or(found.org), projects })
}

/// The names that a fleet's keys count for.
fn keys(dir: &Path) -> Result<BTreeSet<AgentName>, Failure> {
    let folder = KeyFolder::open(dir)?;
    let counting = folder.issued().into_iter().filter(|(_, standing)| standing.counts());
    Ok(counting.map(|(issued, _)| issued.name.clone()).collect())
}

fn refuse(errors: Vec<PlanError>, warnings: &[PlanError], json: bool) -> Exit {
    let errors = PlanErrors { errors };
    output::err(errors.render().trim_end());
    if json {
        output::json(&json!({"ok": false, "errors": errors.errors, "warnings": warnings}));
    }
    Exit::Usage
}

impl<'a> Sound<'a> {
    fn of(file: &'a str, spec: &'a WorkflowSpec, chart: Option<&OrgChart>) -> Self {
        Self { file, name: &spec.name, gates: spec.all_gates().count(), not_run_yet: not_run_yet(spec, chart) }
    }
}

/// What keeps a fleet from running a workflow: how its gates are with the people of the org chart.
pub(super) fn not_run_yet(spec: &WorkflowSpec, chart: Option<&OrgChart>) -> Vec<String> {
    let error = Workflow::try_new(&declared::resolve(spec.clone(), chart)).err();
    error.into_iter().map(|error| error.to_string()).collect()
}
