//! `logs`: what agents say while they work.

use clap::Args;
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::Place;

/// `logs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint logs retry-backoff\n  \
    holdpoint logs retry-backoff --follow --json | jq -r .text\n\n\
    Prints what the programs of the waypoint's agents say as they say it: `said` a line of the agent's words, `tool` a tool \
    call, `doing` what the harness does. Ends with the turn that is open; with --follow it goes on over later turns until the \
    waypoint is over. An agent sends 10 lines at once and 100 a minute; the last ones always come.\n\n\
    These lines are not stored: nothing that was said before this command began is here. What was recorded of a turn, its whole \
    output among it, is in the artifacts of `holdpoint history WAYPOINT`: `holdpoint artifact REF` shows one, and `evidence` \
    in its `ledger` names the output for `holdpoint artifact sha256:…`.")]
pub(crate) struct LogsArgs {
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// The flight; without it the newest one that has such a waypoint
    #[arg(long, value_name = "FLIGHT")]
    pub(crate) flight: Option<FlightId>,
    /// Go on with later turns, until the waypoint is over
    #[arg(long)]
    pub(crate) follow: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}
