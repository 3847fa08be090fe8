//! `events`, `gates` and `report`: what happens at gates, and what it comes to.

use clap::{
    Args,
    builder::{PossibleValuesParser, RangedU64ValueParser},
};
use holdpoint_account::events::KINDS;
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::Place;

/// Flights that are read where none is named.
const LAST: usize = 50;
/// More than a broker keeps: every journal of a flight is read.
const LAST_MAX: u64 = 1_000_000;
/// Days of each span of a trend.
const TREND_DAYS: u32 = 7;

/// Which flights are read. Flags of a command's own come before it, and `--json` behind it: help lists them in that
/// order.
#[derive(Debug, Args)]
pub(crate) struct Flights {
    /// The flight; without it all that are open, and the newest others
    pub(crate) flight: Option<FlightId>,
    /// How many of the newest flights, where none is named
    #[arg(long, value_name = "N", default_value_t = LAST, value_parser = RangedU64ValueParser::<usize>::new().range(1..=LAST_MAX))]
    pub(crate) last: usize,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `events`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint events harden-client-0a1b2c3d\n  \
    holdpoint events harden-client-0a1b2c3d --waypoint retry-backoff --type gate_transition\n  \
    holdpoint events --follow --type gate_rejection --type gate_timeout | jq -r .message\n\n\
    One JSON object a line, oldest first: event, timestamp, taskId (the waypoint), flight, project (the plan), workflow, and \
    what the event is about; `ref` is where it is written (`holdpoint artifact REF`). Durations are in seconds. Events follow \
    from the journals and handoffs: the same flight gives the same lines whenever it is asked for. docs/workflows.md has the \
    fields of each type.")]
pub(crate) struct EventsArgs {
    /// Go on with what happens from now on, until Ctrl-C or the end of the flight
    #[arg(long)]
    pub(crate) follow: bool,
    /// Of this waypoint only
    #[arg(long, value_name = "WAYPOINT")]
    pub(crate) waypoint: Option<WaypointId>,
    /// Of this type only; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_parser = PossibleValuesParser::new(KINDS))]
    pub(crate) kinds: Vec<String>,
    /// Which flights
    #[command(flatten)]
    pub(crate) flights: Flights,
    /// Print JSON lines, which is what it prints anyway
    #[arg(long)]
    pub(crate) json: bool,
}

/// `gates`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint gates\n  \
    holdpoint gates harden-client-0a1b2c3d --json\n\n\
    Shows for each gate of each workflow: the work that is there now, for whom it waits and since when; and of what went \
    through how long it took (median, 90th percentile, longest), how much was sent back, skipped, late. A gate that nothing \
    came to is there as well.")]
pub(crate) struct GatesArgs {
    /// Which flights
    #[command(flatten)]
    pub(crate) flights: Flights,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `report`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint report\n  \
    holdpoint report --by-agent\n  \
    holdpoint report --trend --days 14\n  \
    holdpoint report harden-client-0a1b2c3d --dora --json\n\n\
    By agent: turns and what they came to, work that landed or was sent back, conflicts, deaths, time. DORA: landings a day, \
    lead time from a waypoint's first gate to its landing, the share of changes that were held, and how long a hold took to \
    be restored. Trend: of each gate how much it sent back and how long it took in the last days, and in as many days before. \
    Without a flag all three.")]
pub(crate) struct ReportArgs {
    /// What each agent and person did, and what became of it
    #[arg(long)]
    pub(crate) by_agent: bool,
    /// Deployment frequency, lead time, change failure rate, time to restore
    #[arg(long)]
    pub(crate) dora: bool,
    /// Which gates send back more or less than in as many days before
    #[arg(long)]
    pub(crate) trend: bool,
    /// How many days the trend compares
    #[arg(long, value_name = "N", default_value_t = TREND_DAYS, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub(crate) days: u32,
    /// Which flights
    #[command(flatten)]
    pub(crate) flights: Flights,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `task`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint task retry-backoff\n  \
    holdpoint task retry-backoff --flight harden-client-0a1b2c3d --json | jq .gateHistory\n\n\
    Prints the waypoint as a document with front matter: id, title, status (ready, in_progress, blocked, complete), created, \
    updated, routing, gate, gateHistory with what everybody said, reviewContext, tests, tags, metadata; below it the goal. \
    docs/workflows.md has the fields.")]
pub(crate) struct TaskArgs {
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// The flight; without it the newest that has such a waypoint
    #[arg(long, value_name = "FLIGHT")]
    pub(crate) flight: Option<FlightId>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
