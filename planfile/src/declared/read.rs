//! Reading files of declarations without holding them to any rule.

use holdpoint_protocol::workflow::WorkflowSpec;

use super::{
    file::{DeclaredFile, File},
    org, project,
};
use crate::yaml::{error::PlanErrors, fields::Fields};

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
/// As [`crate::plan::read`]. It reports only what cannot be read: the rules are [`super::check()`]'s.
pub fn read(text: &str, file: &str) -> Result<Vec<WorkflowSpec>, PlanErrors> {
    let mut opened = File::open(DeclaredFile { file, bytes: text.as_bytes() }, &project::KIND);
    let project = opened.root.as_ref().and_then(|root| project::read(root, &mut opened.problems));
    match (project, opened.problems.is_empty()) {
        (Some(project), true) => Ok(project.workflows.into_iter().map(|declared| declared.spec).collect()),
        _ => Err(opened.problems.finish(file, opened.text)),
    }
}
