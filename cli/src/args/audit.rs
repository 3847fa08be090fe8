//! `export`, `audit` and `attest`: taking a flight's account away, checking it, saying outside what it shows.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::Place;

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    holdpoint export harden-client-0a1b2c3d --with-evidence\n  \
    holdpoint audit harden-client-0a1b2c3d.export.jsonl\n  \
    holdpoint export harden-client-0a1b2c3d --folder handoffs\n\n\
    The file holds every journal entry and every handoff as it was sent, with signatures and the keys that count, one \
    JSON object a line. `holdpoint audit` checks it anywhere, without a broker. With --folder documents are written for people instead, \
    DIR/WAYPOINT/NNN-GATE-KIND.md in the order of `holdpoint history`: call it again, and what is new is added; files that \
    somebody edited are left alone.")]
pub(crate) struct ExportArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// Where to write it; `-` for standard output [default: FLIGHT.export.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write a document for each artifact and entry into this folder: an empty one, or that of an earlier export of the flight
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "force", "with_evidence", "with_work"])]
    pub(crate) folder: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Put the bytes of all evidence in, not only their digests
    #[arg(long)]
    pub(crate) with_evidence: bool,
    /// Put in what landed, as bundles that git can unpack
    #[arg(long)]
    pub(crate) with_work: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was written as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `audit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint audit harden-client-0a1b2c3d\n  \
    holdpoint audit harden-client-0a1b2c3d.export.jsonl --trust trust.json --json\n  \
    holdpoint audit --all\n\n\
    Checked are: the chain of every journal and its end, the signature of each entry and of each handoff that one answers, and the role of its key, \
    each decision (taken again by the rules), what each acceptance and landing rests on, and evidence by its digests. \
    The first broken link is named. Exit code 0: sound; 1: broken.")]
pub(crate) struct AuditArgs {
    /// A file that `holdpoint export` or `archive` wrote, or a flight, which is exported first, with its evidence
    #[arg(value_name = "FLIGHT|FILE", required_unless_present = "all")]
    pub(crate) what: Option<String>,
    /// Every flight of the fleet, one after another
    #[arg(long, conflicts_with = "what")]
    pub(crate) all: bool,
    /// Whose signatures count (trust.json); without it a local fleet's own, or those named in the file
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<PathBuf>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the result as one JSON object; with --all an array of them
    #[arg(long)]
    pub(crate) json: bool,
}

/// `attest`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  holdpoint attest harden-client-0a1b2c3d retry-backoff > retry-backoff.intoto.jsonl\n\n\
    Prints one DSSE envelope a line: an in-toto statement with SLSA's verification summary on the landed commit, signed \
    by the fleet's orchestrator."
)]
pub(crate) struct AttestArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// The waypoints; without any, all that landed
    pub(crate) waypoints: Vec<WaypointId>,
    /// Where to write the envelopes [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// As without: envelopes are JSON anyway
    #[arg(long)]
    pub(crate) json: bool,
}
