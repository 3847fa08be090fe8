//! `workflow show`: a workflow as a table, a flowchart or JSON; or a list of all.

use std::path::PathBuf;

use holdpoint_planfile::{
    declared::CheckedDeclarations,
    plan::{PlanErrors, closest, span_written},
    workflows,
};
use holdpoint_protocol::{
    org::OrgChart,
    workflow::{GateOrFork, GateSpec, JoinStrategy, RejectionStrategy, WorkflowSpec},
};
use holdpoint_text::shown;

use super::{
    PROJECT,
    check::not_run_yet,
    declarations,
    mermaid::{escalations, flowchart},
};
use crate::{
    args::workflow::WorkflowShowArgs,
    failure::{Exit, Failure},
    output,
};

/// What is there to show.
struct Known {
    workflows: Vec<(String, WorkflowSpec)>,
    chart: Option<OrgChart>,
}

/// Shows one workflow, or lists all.
pub(super) async fn show(args: &WorkflowShowArgs) -> Result<Exit, Failure> {
    let known = Known::find(args).await?;
    let Some(name) = &args.name else {
        if args.json {
            output::json(&known.workflows.iter().map(|(_, spec)| spec).collect::<Vec<_>>());
        } else {
            output::out(&list(&known.workflows));
        }
        return Ok(Exit::Success);
    };
    let spec = known.named(name)?;
    if args.json {
        output::json(spec);
    } else if args.mermaid {
        output::out(flowchart(spec).trim_end());
    } else {
        output::out(&table(spec, known.chart.as_ref()));
    }
    Ok(Exit::Success)
}

impl Known {
    /// The built-in workflows, and those of the file that is named or is here.
    async fn find(args: &WorkflowShowArgs) -> Result<Self, Failure> {
        let built_in = workflows::all_built_in().iter().map(|spec| ("built in".to_owned(), spec.clone()));
        let mut workflows: Vec<(String, WorkflowSpec)> = built_in.collect();
        let asked = args.name.as_deref().and_then(workflows::built_in);
        // Built-in workflows can be shown no matter which files are here.
        let here = || Some(PathBuf::from(PROJECT)).filter(|path| asked.is_none() && path.exists());
        let file: Vec<PathBuf> = args.file.clone().or_else(here).into_iter().collect();
        let declarations = declarations(&file, args.org.as_deref())?;
        let CheckedDeclarations { projects, chart, errors, .. } = declarations.check(None).await?;
        if !errors.is_empty() {
            return Err(PlanErrors { errors }.into());
        }
        for ((file, _), specs) in declarations.projects.into_iter().zip(projects) {
            workflows.extend(specs.into_iter().map(|spec| (file.clone(), spec)));
        }
        Ok(Self { workflows, chart })
    }

    fn named(&self, name: &str) -> Result<&WorkflowSpec, Failure> {
        let names = || self.workflows.iter().map(|(_, spec)| spec.name.as_str());
        self.workflows.iter().map(|(_, spec)| spec).find(|spec| spec.name == name).ok_or_else(|| {
            let hint = match closest(name, names()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there are: {}; --file names a workflow file", names().collect::<Vec<_>>().join(", ")),
            };
            Failure::usage("not_found", format!("there is no workflow {}", shown::line(name)), hint)
        })
    }
}

fn list(workflows: &[(String, WorkflowSpec)]) -> String {
    let rows = workflows.iter().map(|(file, spec)| {
        let gates: Vec<&str> = spec.gates.iter().map(|item| item.id().as_str()).collect();
        vec![spec.name.clone(), shown::line(file).into_owned(), gates.join(" → ")]
    });
    columns(&["NAME", "WHERE", "GATES"], rows)
}

fn table(spec: &WorkflowSpec, chart: Option<&OrgChart>) -> String {
    let mut rows = Vec::new();
    for (i, item) in spec.gates.iter().enumerate() {
        match item {
            GateOrFork::Gate(gate) => rows.push(row(spec, chart, gate, i)),
            GateOrFork::Fork(fork) => {
                let join = match fork.join_strategy {
                    JoinStrategy::All => "all of",
                    JoinStrategy::Any => "any of",
                    JoinStrategy::Majority => "most of",
                };
                let mut head = vec![String::new(); COLUMNS.len()];
                (head[0], head[1]) = (fork.id.to_string(), join.to_owned());
                head[COLUMNS.len() - 1] = fork.when.as_deref().map(shown::line).unwrap_or_default().into_owned();
                rows.push(head);
                for branch in &fork.branches {
                    let mut row = row(spec, chart, branch, i);
                    row[0] = format!("  {}", row[0]);
                    rows.push(row);
                }
            }
        }
    }
    let description = spec.description.as_deref().map(shown::line);
    let title = description.map_or_else(|| spec.name.clone(), |text| format!("{}: {text}", spec.name));
    let mut text = format!("{title}\n{}", columns(&COLUMNS, rows.into_iter()));
    let not_run = not_run_yet(spec, chart);
    if !not_run.is_empty() {
        text += &format!("\ncannot be run: {}", not_run.join(", "));
    }
    text
}

const COLUMNS: [&str; 7] = ["GATE", "ROLE", "BY", "REJECTS TO", "TIMEOUT", "ESCALATES TO", "WHEN"];

fn row(spec: &WorkflowSpec, chart: Option<&OrgChart>, gate: &GateSpec, item: usize) -> Vec<String> {
    let for_people = chart.and_then(|chart| chart.roles.get(&gate.role)).is_some_and(|role| role.require_human);
    let by = if gate.require_human || for_people { "people" } else { "" };
    let rejects = match (gate.can_reject, spec.rejection_strategy) {
        (false, _) => String::new(),
        (true, RejectionStrategy::Origin) => spec.gates.first().map(|item| item.id().to_string()).unwrap_or_default(),
        (true, RejectionStrategy::Previous) => {
            spec.gates.get(item.wrapping_sub(1)).map(|item| item.id().to_string()).unwrap_or_default()
        }
        (true, RejectionStrategy::Named) => gate.reject_to.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    vec![
        gate.id.to_string(),
        gate.role.to_string(),
        by.to_owned(),
        rejects,
        gate.timeout.map(span_written).unwrap_or_default(),
        escalations(gate),
        gate.when.as_deref().map(shown::line).unwrap_or_default().into_owned(),
    ]
}

/// Rows under their headings. An empty column is left out.
fn columns(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut rows: Vec<Vec<String>> = rows.collect();
    let used: Vec<bool> = (0..headings.len()).map(|n| rows.iter().any(|row| !row[n].is_empty())).collect();
    rows.insert(0, headings.iter().map(ToString::to_string).collect());
    let width = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().filter(|(n, _)| used[*n]);
        let cells = cells.map(|(n, cell)| format!("{cell:<width$}", width = widths[n]));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
