//! What an attempt changed: its objects are fetched into a mirror of the console's own, and git, confined, shows the
//! difference.

use std::time::Duration;

use holdpoint_console::Patch;
use holdpoint_protocol::{
    artifact::{Artifact as _, BuildArtifact},
    ids::{FlightId, WaypointId},
    turn::TurnRequest,
};
use holdpoint_runtime::mirror::{MirrorStore, from_wire};
use holdpoint_sandbox::TemporaryFolder;
use holdpoint_workspace::InputLimits;
use tokio::sync::Semaphore;

use crate::{
    client::Client,
    failure::{Failure, chain},
    people::turn,
    temporary,
};

/// The longest difference that is shown, in bytes.
const PATCH_BYTES_MAX: usize = 1 << 20;
/// How long fetching and comparing may take.
const TIMEOUT: Duration = Duration::from_secs(50);
/// Differences that are made at once.
const AT_ONCE: usize = 2;

/// The mirrors, as long as the console runs.
pub(super) struct Work {
    mirrors: MirrorStore,
    places: Semaphore,
    _dir: TemporaryFolder,
}

impl Work {
    /// In a temporary folder.
    pub(super) fn new() -> Result<Self, Failure> {
        let dir = temporary::folder()?;
        let mirrors = MirrorStore::new(dir.path().join("mirrors"), InputLimits::default());
        Ok(Self { mirrors, places: Semaphore::new(AT_ONCE), _dir: dir })
    }

    /// What the work of this build artifact changed on the base of its turn.
    pub(super) async fn patch(
        &self,
        client: &Client,
        flight: &FlightId,
        waypoint: &WaypointId,
        reference: &str,
    ) -> Result<Patch, Failure> {
        let _place = self.places.acquire().await;
        let making = self.make(client, flight, waypoint, reference);
        let late = || Failure::environment("late", "the work could not be fetched in time", "try it again");
        tokio::time::timeout(TIMEOUT, making).await.unwrap_or_else(|_| Err(late()))
    }

    async fn make(
        &self,
        client: &Client,
        flight: &FlightId,
        waypoint: &WaypointId,
        reference: &str,
    ) -> Result<Patch, Failure> {
        let lines = client.history_now(flight, waypoint).await?;
        let missing = || Failure::usage("not_found", "there is no such work of this waypoint", "");
        let line = lines.into_iter().find(|line| line.reference == reference && line.kind == BuildArtifact::KIND);
        let built: BuildArtifact =
            line.and_then(|line| serde_json::from_value(line.artifact).ok()).ok_or_else(missing)?;
        let (Some(commit), Some(bundle)) = (built.commit, built.bundle) else { return Ok(Patch::Nothing) };
        let turn = turn::of_waypoint(client, flight, waypoint, &built.turn).await?;
        let TurnRequest::Build(request) = turn.request else { return Err(missing()) };
        let mut bundles = request.bundles;
        bundles.push(bundle);
        let mirror = self.mirrors.ensure(client.bus(), flight, &bundles).await.map_err(|error| {
            Failure::environment("not_fetched", format!("cannot fetch the work: {}", chain(&error)), "try it again")
        })?;
        let patch = mirror.patch(&from_wire(&request.base), &from_wire(&commit), PATCH_BYTES_MAX).await?;
        Ok(match patch {
            None => Patch::TooLong(PATCH_BYTES_MAX),
            Some(bytes) if bytes.is_empty() => Patch::Nothing,
            Some(bytes) => Patch::Text(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }
}
