//! `workflow`: what a project declares. Nothing is started or sent here.

mod check;
mod mermaid;
mod new;
mod show;

use std::path::{Path, PathBuf};

use crate::{
    args::workflow::{WorkflowAction, WorkflowArgs},
    declared::{Declarations, NAME_ORG, NAME_WORKFLOW, ORG, PROJECT, read},
    failure::{Exit, Failure},
};

/// Does what is asked.
pub(super) async fn workflow(args: WorkflowArgs) -> Result<Exit, Failure> {
    match args.action {
        WorkflowAction::Check(args) => check::check(&args).await,
        WorkflowAction::Show(args) => show::show(&args).await,
        WorkflowAction::New(args) => new::new(&args),
    }
}

/// Reads these files, and the org chart: the named one, or the one in the folder of the first file.
fn declarations(projects: &[PathBuf], org: Option<&Path>) -> Result<Declarations, Failure> {
    let nearby = || projects.first().map(|first| first.with_file_name(ORG)).filter(|path| path.exists());
    let org = org.map(Path::to_path_buf).or_else(nearby);
    Ok(Declarations {
        projects: projects.iter().map(|path| read(path, NAME_WORKFLOW)).collect::<Result<_, _>>()?,
        org: org.as_deref().map(|path| read(path, NAME_ORG)).transpose()?,
    })
}
