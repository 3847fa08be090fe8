//! Declared workflows: checking, showing and beginning them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `workflow`
#[derive(Debug, Args)]
#[command(
    after_help = "A workflow is an ordered list of gates; at each one role has the turn. A project declares its workflows in \
    project.yaml, and who has which role in org.yaml (docs/workflows.md):\n\n  \
    holdpoint workflow new review --out project.yaml\n  \
    holdpoint workflow new review --org --out org.yaml\n  \
    holdpoint workflow check\n  \
    holdpoint workflow show review --mermaid\n\n\
    Plans name what the repository declares on the commit that they stand on (`workflow: NAME`), in addition to fly, fly-approved and \
    one-gate."
)]
pub(crate) struct WorkflowArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: WorkflowAction,
}

/// What to do with workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowAction {
    /// Check declared workflows and their org chart; report every problem at once
    Check(WorkflowCheckArgs),
    /// Show the gates of a workflow, or list all workflows
    Show(WorkflowShowArgs),
    /// Print a workflow to begin with, every key explained
    New(WorkflowNewArgs),
}

/// `workflow check`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint workflow check\n  \
    holdpoint workflow check sales.yaml publishing.yaml --org org.yaml --json\n  \
    holdpoint workflow check --keys /etc/holdpoint/keys\n\n\
    All problems are reported at once, each with its file, line and column, and what to do about it. \
    A FILE with `roles:` is an org chart, by which the others are checked. Without one and without --org, org.yaml \
    in the folder of the first FILE is read; without an org chart, roles are not checked. \
    Exit 0: sound; warnings stand on standard error. 2: something is wrong.")]
pub(crate) struct WorkflowCheckArgs {
    /// Workflow files (YAML) [default: project.yaml]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The org chart (YAML) [default: org.yaml in the folder of the first FILE]
    #[arg(long, value_name = "FILE")]
    pub(crate) org: Option<PathBuf>,
    /// The keys of the fleet (`holdpoint keys`): warn of agents in the org chart that have none
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `workflow show`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint workflow show\n  \
    holdpoint workflow show fly-approved\n  \
    holdpoint workflow show sales --file sales.yaml --mermaid > sales.mmd")]
pub(crate) struct WorkflowShowArgs {
    /// A built-in workflow, or one of the file; without it all are listed
    #[arg(required_if_eq("mermaid", "true"))]
    pub(crate) name: Option<String>,
    /// The workflow file [default: project.yaml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The org chart [default: org.yaml in the folder of the workflow file]
    #[arg(long, value_name = "FILE")]
    pub(crate) org: Option<PathBuf>,
    /// Print a Mermaid flowchart
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
    /// Print the workflow as it would be recorded with a flight; without NAME an array of all
    #[arg(long)]
    pub(crate) json: bool,
}

/// `workflow new`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint workflow new review\n  \
    holdpoint workflow new sales --out project.yaml && holdpoint workflow new sales --org --out org.yaml")]
pub(crate) struct WorkflowNewArgs {
    /// What it is for
    #[arg(value_enum)]
    pub(crate) kind: Starter,
    /// The org chart that goes with it, instead of the workflow
    #[arg(long)]
    pub(crate) org: bool,
    /// Write this file, which must not be there yet, instead of printing
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Workflows to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Starter {
    /// Build, verify, and a person approves
    Review,
    /// Build, verify, and an audit of what is sensitive
    Security,
    /// From a prospect to a signature
    Sales,
    /// From a draft to its publication
    Publishing,
}
