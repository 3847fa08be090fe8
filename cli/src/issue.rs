//! Reading an issue: a file, or standard input.

use std::path::Path;

use holdpoint_planfile::plan::{self, ISSUE_BYTES_MAX, PlanTask};

use crate::{bounded, failure::Failure};

/// What an issue asks for.
pub(crate) fn read(file: &Path) -> Result<PlanTask, Failure> {
    let name = file.display().to_string();
    let bytes = bounded::read_or_stdin(file, ISSUE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read the issue {name}: {error}");
        Failure::usage("issue_unreadable", message, "--issue names a file of text, or `-` for standard input")
    })?;
    Ok(plan::read_issue(&bytes, &name)?)
}
