//! Artifacts as documents: one by its reference, or those of a whole flight as files.

mod folder;
pub(crate) mod revise;

use std::path::{Path, PathBuf};

use holdpoint_planfile::document::{ArtifactDocument, TurnPast, demands, file_name, pasts};
use holdpoint_protocol::{
    api::{FoundArtifact, HistoryLine, Standing},
    checkpoint::GateDemands,
    ids::{FlightId, WaypointId},
};
use serde::Serialize;

use crate::{client::Client, failure::Failure, people::find};
pub(crate) use folder::FileState;

/// What an export of documents came to.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    /// The flight.
    pub(crate) flight: FlightId,
    /// Where they are.
    pub(crate) folder: PathBuf,
    /// Every document, in order.
    pub(crate) files: Vec<WrittenFile>,
    /// What has none.
    pub(crate) left_out: Vec<LeftOutDocument>,
}

/// A document in a folder.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenFile {
    /// Its path in the folder.
    pub(crate) file: String,
    /// The artifact or entry.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// What was done with it.
    pub(crate) state: FileState,
}

/// An artifact or entry without a document.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOutDocument {
    /// It.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// Why.
    pub(crate) why: String,
}

/// A document, and where it is.
#[derive(Debug)]
pub(crate) struct PlacedDocument {
    /// It.
    pub(crate) document: ArtifactDocument,
    /// The flight and waypoint, where it is of one.
    pub(crate) of: Option<(FlightId, WaypointId)>,
    /// What its gate demands of it.
    pub(crate) demands: GateDemands,
}

/// The document of an artifact or entry, with what the history of its waypoint says of it.
pub(crate) async fn find(client: &Client, reference: &str) -> Result<PlacedDocument, Failure> {
    let FoundArtifact { line, flight, waypoint } = client.artifact(reference).await?;
    // An entry of the flight's journal may name a waypoint inside.
    let named = || line.artifact["waypoint"].as_str().and_then(|waypoint| waypoint.parse::<WaypointId>().ok());
    let of = flight.zip(waypoint.or_else(named));
    let history = match &of {
        Some((flight, waypoint)) => client.history(flight, waypoint).await?,
        None => Vec::new(),
    };
    let found = history.iter().zip(pasts(&history)).find(|(of, _)| of.reference == line.reference);
    let document = match found {
        Some((line, past)) => ArtifactDocument::of(line, past),
        None => ArtifactDocument::of(&line, TurnPast::default()),
    };
    let demands = document.gate().map(|gate| demands(&history, gate)).unwrap_or_default();
    Ok(PlacedDocument { document, of, demands })
}

/// A document as text.
pub(crate) fn rendered(document: &ArtifactDocument) -> Result<String, Failure> {
    document.render().map_err(|error| {
        let hint = format!("`holdpoint artifact {} --json` prints it", document.reference);
        Failure::usage("no_document", error.to_string(), hint)
    })
}

/// Writes a document for everything that the histories of a flight's waypoints have.
pub(crate) async fn export(client: &Client, flight: &FlightId, dir: &Path) -> Result<Exported, Failure> {
    let view = find::known(client, flight).await?;
    let mut folder = folder::DocumentFolder::open(dir, &view.flight)?;
    let mut exported =
        Exported { flight: view.flight.clone(), folder: dir.to_owned(), files: Vec::new(), left_out: Vec::new() };
    for waypoint in &view.waypoints {
        let history = client.history(&view.flight, &waypoint.id).await?;
        each(&history, |file, document| {
            match document.render() {
                Err(why) => {
                    exported.left_out.push(LeftOutDocument { reference: document.reference, why: why.to_string() });
                }
                Ok(text) => {
                    let file = format!("{}/{file}", waypoint.id);
                    let state = folder.put(&file, &text)?;
                    exported.files.push(WrittenFile { file, reference: document.reference, state });
                }
            }
            Ok(())
        })?;
    }
    folder.close()?;
    Ok(exported)
}

/// Gives the documents of a history one after another, with the names of their files. A forged entry has a place and no document.
fn each(
    history: &[HistoryLine],
    mut put: impl FnMut(String, ArtifactDocument) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (at, (line, past)) in history.iter().zip(pasts(history)).enumerate() {
        if line.standing == Some(Standing::Unsigned) {
            continue;
        }
        let document = ArtifactDocument::of(line, past);
        put(file_name(at + 1, &document), document)?;
    }
    Ok(())
}
