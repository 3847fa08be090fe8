//! Flags of `pr`.

use clap::{Args, ValueEnum};
use holdpoint_protocol::ids::FlightId;

use super::Place;

/// What one request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PerRequest {
    /// All that landed.
    Flight,
    /// One waypoint; each stands on the one that landed before it.
    Waypoint,
}

/// `pr`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint pr latest --dry-run\n  \
    holdpoint pr harden-client-0a1b2c3d --draft\n  \
    holdpoint pr harden-client-0a1b2c3d --per waypoint --into main\n\n\
    The branch is pushed with your git, and the request is opened by `gh`, or by `glab` where the remote's address names GitLab: with what was \
    wanted, each verdict with its evidence, what verifiers doubt, attempts, cost, and how to audit it. Where the program is not there, title \
    and text are printed.\n\n\
    Exit codes: 0 done; 1 nothing landed yet; 2 usage; 3 git or the program failed.")]
pub(crate) struct PrArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// One request for all that landed, or one for each waypoint
    #[arg(long, value_enum, default_value = "flight")]
    pub(crate) per: PerRequest,
    /// Open it as a draft
    #[arg(long)]
    pub(crate) draft: bool,
    /// The branch that it is to be merged into [default: the forge's]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// The remote that is pushed to
    #[arg(long, value_name = "NAME", default_value = "origin")]
    pub(crate) remote: String,
    /// Print title and text; push and open nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the requests as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
