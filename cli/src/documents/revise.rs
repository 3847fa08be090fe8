//! A person's edit of a document as a signed act.

use holdpoint_planfile::document::{EditedDocument, edited};
use holdpoint_protocol::artifact::{Act, Origin, Revise, ReviseBody};

use super::PlacedDocument;
use crate::{
    client::Client,
    failure::Failure,
    people::act::{About, perform},
};

/// Takes the edited file of a document; where it is and whether anything was sent, because nothing is where nothing differs. `file`
/// is only the name under which problems are reported.
pub(crate) async fn revise(
    client: &Client,
    old: &PlacedDocument,
    file: &str,
    bytes: &[u8],
) -> Result<(About, bool), Failure> {
    let PlacedDocument { document: old, of, demands } = old;
    let Some((flight, waypoint)) = of.clone() else {
        let hint = "revise one that a gate hands on: `holdpoint history WAYPOINT` lists them";
        return Err(Failure::usage("no_document", format!("{} is no document of a gate", old.reference), hint));
    };
    let EditedDocument { gate, document, is_changed } = edited(old, demands, file, bytes)?;
    let about = About { flight, waypoint: Some(waypoint) };
    if is_changed {
        let origin = Origin { source_refs: vec![old.reference.clone()], ..about.origin() };
        let body = ReviseBody { agent: client.bus().name().clone(), gate, document: Box::new(document) };
        perform(client, &about, &Act::Revise(Box::new(Revise::new(origin, body)))).await?;
    }
    Ok((about, is_changed))
}
