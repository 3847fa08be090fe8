//! `handoffs`: what went wrong between programs and their harness.

use clap::Args;
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::Place;

/// `handoffs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint handoffs\n  \
    holdpoint handoffs harden-client-0a1b2c3d --failed\n  \
    holdpoint handoffs --waypoint retry-backoff --json | jq .original_error\n\n\
    An agent's program hands its result to its harness. Where that fails (no JSON, missing fields, cut off, stuck, crashed), it \
    is asked again in the same turn, and a record is kept: one line here for each exchange that failed at least once, with \
    what was wrong first, how often it was tried, and how it ended:\n  \
    recovered  a later try was good; the turn went on\n  \
    escalated  the retries are used up, or the same error came twice running; the turn failed\n  \
    fatal      the program ended badly; the turn failed\n  \
    open       it goes on, or its agent died in it\n\n\
    The whole output of each failed try: holdpoint artifact sha256:… (docs/contract.md, \"The exchange\").")]
pub(crate) struct HandoffsArgs {
    /// The flight [default: the newest]
    pub(crate) flight: Option<FlightId>,
    /// Of this waypoint only
    #[arg(long, value_name = "WAYPOINT")]
    pub(crate) waypoint: Option<WaypointId>,
    /// Leave out those that recovered
    #[arg(long)]
    pub(crate) failed: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one record a line, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
