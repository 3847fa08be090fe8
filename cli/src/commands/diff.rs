//! `diff`: what an attempt changed.

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{VerificationPurpose, VerificationRequest},
    ids::WaypointId,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::mirror::{MirrorStore, from_wire};
use holdpoint_workspace::InputLimits;

use crate::{
    args::first::DiffArgs,
    client::Client,
    failure::{Exit, Failure, chain},
    output,
    people::find::newest_with,
    target::Target,
};

/// The largest patch that is printed, in bytes.
const PATCH_BYTES_MAX: usize = 16 << 20;

/// Prints the patch.
pub(super) async fn diff(args: DiffArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let patch = target.serve(async |client| patch(client, &args).await).await?;
    output::of_others(&patch);
    Ok(Exit::Success)
}

async fn patch(client: &Client, args: &DiffArgs) -> Result<Vec<u8>, Failure> {
    let flight = match &args.flight {
        Some(flight) => flight.clone(),
        None => newest_with(client, &args.waypoint).await?,
    };
    let history = client.history(&flight, &args.waypoint).await?;
    let request = handed_off(history, args.attempt).ok_or_else(|| nothing(&args.waypoint, args.attempt))?;
    let dir = tempfile::tempdir().map_err(|error| {
        let message = format!("cannot make a temporary folder: {error}");
        Failure::environment("temporary_folder", message, "TMPDIR names the place of temporary folders")
    })?;
    let mirrors = MirrorStore::new(dir.path().join("mirrors"), InputLimits::default());
    let unfetched = |error: &dyn std::error::Error| {
        let message = format!("cannot get the work of {}: {}", args.waypoint, chain(error));
        Failure::environment("not_fetched", message, "call it again")
    };
    let mirror = mirrors.ensure(client.bus(), &flight, &request.bundles).await.map_err(|error| unfetched(&error))?;
    let (base, tree) = (from_wire(&request.base), from_wire(&request.tree));
    let patch = mirror.patch(&base, &tree, PATCH_BYTES_MAX).await.map_err(|error| unfetched(&error))?;
    patch.ok_or_else(|| {
        let message = format!("the patch is larger than {} MiB", PATCH_BYTES_MAX >> 20);
        Failure::usage("too_large", message, "look at the branch with git, once it has landed")
    })
}

/// What was to be verified of the attempt that is meant.
fn handed_off(history: Vec<HistoryLine>, attempt: Option<u32>) -> Option<VerificationRequest> {
    let turns =
        history.into_iter().rev().filter(|line| line.kind == "turn" && line.standing != Some(Standing::Unsigned));
    turns.filter_map(|line| serde_json::from_value::<Turn>(line.artifact).ok()).find_map(|turn| {
        let TurnRequest::Verify(request) = turn.request else { return None };
        let meant =
            request.purpose == VerificationPurpose::Handoff && attempt.is_none_or(|attempt| attempt == turn.attempt);
        meant.then_some(*request)
    })
}

fn nothing(waypoint: &WaypointId, attempt: Option<u32>) -> Failure {
    let message = match attempt {
        Some(attempt) => format!("attempt {attempt} of {waypoint} handed no work off"),
        None => format!("no attempt of {waypoint} has handed work off yet"),
    };
    Failure::usage("nothing_handed_off", message, format!("`holdpoint history {waypoint}` lists its attempts"))
}
