//! `diff`: what an attempt changed.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{VerificationPurpose, VerificationRequest},
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::mirror::{MirrorStore, from_wire};
use holdpoint_workspace::InputLimits;

use crate::{
    args::first::DiffArgs,
    client::Client,
    failure::{Exit, Failure, chain},
    output,
    people::find::flight_with,
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
    let flight = flight_with(client, args.flight.as_ref(), &args.waypoint).await?;
    let history = client.history(&flight, &args.waypoint).await?;
    let all = handed_off(history);
    let meant = all.iter().find(|(attempt, _)| args.attempt.is_none_or(|wanted| wanted == *attempt));
    let (_, request) = meant.ok_or_else(|| nothing(args, &all))?;
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

/// A piece of work that was to be verified, with the attempt that made it.
type HandedOff = (u32, VerificationRequest);

/// What was to be verified, newest first.
fn handed_off(history: Vec<HistoryLine>) -> Vec<HandedOff> {
    let turns =
        history.into_iter().rev().filter(|line| line.kind == "turn" && line.standing != Some(Standing::Unsigned));
    let turns = turns.filter_map(|line| serde_json::from_value::<Turn>(line.artifact).ok());
    let requests = turns.filter_map(|turn| match turn.request {
        TurnRequest::Verify(request) => Some((turn.attempt, *request)),
        _ => None,
    });
    requests.filter(|(_, request)| request.purpose == VerificationPurpose::Handoff).collect()
}

fn nothing(DiffArgs { waypoint, attempt, .. }: &DiffArgs, all: &[HandedOff]) -> Failure {
    let there: BTreeSet<u32> = all.iter().map(|(attempt, _)| *attempt).collect();
    let there: Vec<String> = there.into_iter().map(|attempt| attempt.to_string()).collect();
    let history = format!("`holdpoint history {waypoint}` lists its attempts");
    let (message, hint) = match attempt {
        Some(attempt) if !there.is_empty() => {
            let hint = format!("work was handed off by attempt {}; {history}", there.join(", "));
            (format!("attempt {attempt} of {waypoint} handed no work off"), hint)
        }
        _ => (format!("no attempt of {waypoint} has handed work off yet"), history),
    };
    Failure::usage("nothing_handed_off", message, hint)
}
