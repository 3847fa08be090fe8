//! `dead`: turns that kill their agents.

use clap::{Args, Subcommand};
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::{
    Place,
    people::{Acting, RetryArgs, Whose},
};

/// `dead`
#[derive(Debug, Args)]
#[command(
    after_help = "A turn is dead when three agents took it and were never heard of again, or when it was opened \
    again three times and nobody answered (orchestrator.dead_after). Nobody works on it until somebody \
    has looked:\n\n  \
    holdpoint dead list\n  \
    holdpoint history WAYPOINT --flight FLIGHT\n  \
    holdpoint dead retry FLIGHT WAYPOINT"
)]
pub(crate) struct DeadArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: DeadAction,
}

/// What to do about dead turns.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadAction {
    /// List the turns that are dead
    List(DeadListArgs),
    /// Have a dead turn tried again, as `holdpoint retry` does
    Retry(DeadRetryArgs),
}

/// `dead list`
#[derive(Debug, Args)]
pub(crate) struct DeadListArgs {
    /// Of this flight only
    pub(crate) flight: Option<FlightId>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print an array of objects
    #[arg(long)]
    pub(crate) json: bool,
}

/// `dead retry`
#[derive(Debug, Args)]
pub(crate) struct DeadRetryArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// Who retries
    #[command(flatten)]
    pub(crate) acting: Acting,
}

impl From<DeadRetryArgs> for RetryArgs {
    fn from(args: DeadRetryArgs) -> Self {
        let DeadRetryArgs { flight, waypoint, acting } = args;
        let whose = Whose { waypoint, flight: Some(flight) };
        Self { whose, reworks: 0, from: None, only: true, note: None, acting }
    }
}
