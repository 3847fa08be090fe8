//! The commit of work that is handed off: written alike by everybody, so that it says nothing but its tree.

use holdpoint_protocol::{Timestamp, ids::WaypointId};
use holdpoint_text::commit::{self, Maker};
use holdpoint_workspace::CommitMeta;

/// The author of every commit that Holdpoint makes: name and address.
pub const AUTHOR: (&str, &str) = ("Holdpoint", "holdpoint@localhost");

/// How the commit of a turn's work is written. `opened`: when the turn was opened, so that every delivery of the same result gives the
/// same commit but for the maker's name.
#[must_use]
pub fn handed_commit(waypoint: &WaypointId, title: &str, maker: Maker<'_>, opened: Timestamp) -> CommitMeta {
    CommitMeta {
        name: AUTHOR.0.to_owned(),
        email: AUTHOR.1.to_owned(),
        epoch_seconds: u64::try_from(opened.as_seconds()).unwrap_or_default(),
        message: commit::handoff(waypoint, title, maker),
    }
}
