//! `init`, `diff`, `forget`, `purge` and `adopt`: beginning, looking at work, putting flights out of sight, leaving nothing behind,
//! and taking flights along.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::Place;
use crate::people::works::AttemptName;

/// `init`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint init\n  \
    holdpoint init --repo ../client --out ../client-plan.yaml\n\n\
    How the project is set up and tested is known by its files; project.yaml says it where there is none yet, and counts once it is \
    committed. What runs all tests is the plan's guard as well. Work of one step needs no plan: holdpoint run --task TITLE --builder CMD.")]
pub(crate) struct InitArgs {
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Where to write it [default: plan.yaml in the repository's folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print what was written as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `diff`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint diff retry-backoff\n  \
    holdpoint diff retry-backoff --attempt 1 | git apply --stat\n\n\
    The patch is of the commit that an attempt handed off, on the commit it began with; of one that failed, or was ended, it is of \
    the files that it left, which a line on standard error says. `holdpoint history WAYPOINT` lists the attempts. Files that are not text are only named.")]
pub(crate) struct DiffArgs {
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// The flight; without it the newest one that has such a waypoint
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
    /// Which attempt, from 1, or `latest`, or N@AGENT for what one of its agents handed over; without it the last one that there is work of
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<AttemptName>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `forget`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint forget harden-client-0a1b2c3d\n\n\
    `holdpoint status` lists it no more, `holdpoint status --all` does. Nothing is deleted: its journal, its evidence and its \
    branch stay, and every other command finds it by its id.")]
pub(crate) struct ForgetArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// List it again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `purge`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint purge --dry-run\n  holdpoint purge --repo ../client\n\n\
    Everything that Holdpoint keeps for a repository is in one folder outside of it: keys, journals, evidence, logs, and flights that \
    were archived there. Flights that did not land are gone with it. Clones that `take` made are \
    removed, unless they have work that is nowhere else: those are named, and stay. Branches with accepted work are yours: they are \
    listed, with the command that deletes them, and stay.")]
pub(crate) struct PurgeArgs {
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Say what would be removed, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what there was as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `adopt`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint adopt ~/old/client\n\n\
    A repository that was moved on its disk finds its flights by itself, and a copy says where those of its original are. One that was \
    moved to another disk or restored from a backup cannot be told from a copy: this says that it is the repository that was there. \
    Nothing may be at the old place any more, and this one has no flights of its own.")]
pub(crate) struct AdoptArgs {
    /// Where the repository was
    pub(crate) place: PathBuf,
    /// Where it is now
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
}
