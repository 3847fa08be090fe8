//! `archive`: what can be typed.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::ids::FlightId;
use holdpoint_runtime::config::TimeSpan;

use super::Place;

/// `archive`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint archive harden-client-0a1b2c3d\n  \
    holdpoint archive --older-than 30d --to /srv/archive --evidence\n  \
    holdpoint archive --older-than 30d --nats nats://127.0.0.1:4222 --creds archivist.creds --to /srv/archive\n\n\
    For each flight: its export is written to DIR, with what landed as bundles, synced, read back and audited. Then an \
    orchestrator records that the flight left, and its journals and handoffs are deleted. Last, blobs are deleted that no \
    message of any flight names, if nobody uploads or names them for the time of --grace. A command that is interrupted \
    is called again and goes on. No entry or handoff is deleted that is not in an export. Without --evidence the output of \
    checks is deleted with the flight; snapshots, transcripts and work that did not land are in no export.\n\n\
    Only a flight is archived in which everything landed or was cancelled: end what is held with `holdpoint cancel`. Its id \
    is not free again. `holdpoint audit FILE` checks an archive, `holdpoint fetch --from FILE` writes its branch.\n\n\
    A fleet elsewhere wants an archivist's key, the only one that may delete: `holdpoint keys add archivist NAME`.")]
pub(crate) struct ArchiveArgs {
    /// The flights
    #[arg(value_name = "FLIGHT", required_unless_present = "older_than")]
    pub(crate) flights: Vec<FlightId>,
    /// All flights that are over and in which nothing happened for so long, as 12h or 30d
    #[arg(long, value_name = "SPAN", conflicts_with = "flights")]
    pub(crate) older_than: Option<TimeSpan>,
    /// The folder for the exports [default: `archive` in the state folder of a local fleet]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Put the bytes of all evidence in, not only their digests
    #[arg(long, visible_alias = "with-evidence")]
    pub(crate) evidence: bool,
    /// How long uploads are listened to before blobs are deleted: longer than an agent takes from storing a blob to handing it off
    #[arg(long, value_name = "SPAN", default_value = "10m")]
    pub(crate) grace: TimeSpan,
    /// Leave the blobs for another time
    #[arg(long)]
    pub(crate) keep_blobs: bool,
    /// Say what would be archived, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was done as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
