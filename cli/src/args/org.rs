//! The workflows and the org chart of a project, for flights that are under way.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holdpoint_protocol::ids::FlightId;

use super::people::Acting;

/// `org`
#[derive(Debug, Args)]
pub(crate) struct OrgArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: OrgAction,
}

/// What to do with what a project declares.
#[derive(Debug, Subcommand)]
pub(crate) enum OrgAction {
    /// Have running flights go on by the workflows and the org chart as the files declare them now
    Reload(ReloadArgs),
}

/// `org reload`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint org reload --check\n  \
    holdpoint org reload --flight harden-client-0a1b2c3d --as human-ann\n\n\
    The files are checked first, all problems at once; a flight that cannot go on by them keeps what it had. Work in a \
    gate that is gone goes to the nearest earlier gate that is still there, or waits for a person; a gate that is another \
    role's has its turn open again; running work passes over gates that were added. \
    What removes or loosens a verifier's gate or one for people takes a person's key (human-NAME). \
    `run` and `up` watch the files and reload by themselves. \
    Exit 0: every flight is flown by what the files declare. 1: one is not. 2: something is wrong with the files.")]
pub(crate) struct ReloadArgs {
    /// The workflow file (YAML) [default: project.yaml of the working tree]
    #[arg(long, value_name = "FILE")]
    pub(crate) project: Option<PathBuf>,
    /// The org chart (YAML) [default: org.yaml in the folder of the workflow file]
    #[arg(long, value_name = "FILE")]
    pub(crate) org: Option<PathBuf>,
    /// Only this flight; may be given several times [default: all that are under way]
    #[arg(long = "flight", value_name = "FLIGHT")]
    pub(crate) flights: Vec<FlightId>,
    /// Send nothing: show where flights differ from the files
    #[arg(long)]
    pub(crate) check: bool,
    /// Who reloads
    #[command(flatten)]
    pub(crate) acting: Acting,
}
