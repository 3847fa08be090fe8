//! `diff` and `fetch --attempt`: what an attempt changed, as a patch or as a branch.

use holdpoint_engine::flight;
use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_runtime::mirror::{MirrorStore, from_wire};
use holdpoint_sandbox::TemporaryFolder;
use holdpoint_workspace::{InputLimits, Mirror};
use serde_json::json;

use crate::{
    args::{FetchArgs, first::DiffArgs},
    branch,
    client::Client,
    failure::{Exit, Failure, chain},
    ground, output,
    people::works::{self, AttemptName, AttemptWork},
    target::Target,
    temporary,
};

/// The largest patch that is printed, in bytes.
const PATCH_BYTES_MAX: usize = 16 << 20;

/// Prints the patch.
pub(super) async fn diff(args: DiffArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let (patch, work) = target.serve(async |client| patch(client, &args).await).await?;
    say_caveat(&work);
    output::of_others(&patch);
    Ok(Exit::Success)
}

async fn patch(client: &Client, args: &DiffArgs) -> Result<(Vec<u8>, AttemptWork), Failure> {
    let attempt = args.attempt.clone().unwrap_or(AttemptName::Latest);
    let (flight, waypoint, work) = works::find(client, args.flight.as_ref(), &args.waypoint, attempt).await?;
    let (_dir, mirror) = mirror(client, &flight, &waypoint, &work).await?;
    let patch = mirror.patch(&from_wire(&work.base), &from_wire(&work.commit), PATCH_BYTES_MAX).await;
    let patch = patch.map_err(|error| unfetched(&waypoint, &error))?;
    let patch = patch.ok_or_else(|| {
        let message = format!("the patch is larger than {} MiB", PATCH_BYTES_MAX >> 20);
        let hint = "`holdpoint fetch WAYPOINT --attempt N` writes a branch of it: look at that with git";
        Failure::usage("too_large", message, hint)
    })?;
    Ok((patch, work))
}

/// Writes a branch that has the work of an attempt.
pub(super) async fn fetch(args: &FetchArgs, attempt: &AttemptName) -> Result<Exit, Failure> {
    let repo = ground::find(&args.place.repo).await?;
    let named = waypoint(args)?;
    let target = Target::existing(&args.place).await?;
    let (waypoint, branch, work) = target
        .serve(async |client| {
            let (flight, waypoint, work) = works::find(client, args.of.as_ref(), &named, attempt.clone()).await?;
            // Git has looked at everything in it before any of it comes to the repository.
            let (_dir, mirror) = mirror(client, &flight, &waypoint, &work).await?;
            let commit = mirror.commit(&from_wire(&work.commit)).await.map_err(|error| unfetched(&waypoint, &error))?;
            if commit.parents.as_slice() != [from_wire(&work.base)] {
                let message = format!("attempt {} of {waypoint} has no commit of its own", work.attempt);
                return Err(Failure::usage("nothing_handed_off", message, "it changed nothing of what it began with"));
            }
            let theirs = if let AttemptName::By(_, agent) = attempt { format!("-{agent}") } else { String::new() };
            let branch = flight::attempt_branch(&flight, &waypoint, work.attempt) + &theirs;
            branch::write_attempt(client, &repo, &branch, &work).await?;
            Ok((waypoint, branch, work))
        })
        .await?;
    say_caveat(&work);
    let AttemptWork { attempt, base, commit, .. } = &work;
    if args.json {
        output::json(
            &json!({"waypoint": waypoint, "attempt": attempt, "branch": branch, "base": base, "head": commit}),
        );
    } else {
        output::out(&format!("{branch} is at {}", commit.short()));
    }
    Ok(Exit::Success)
}

/// Ids of flights and waypoints are spelled alike.
fn waypoint(args: &FetchArgs) -> Result<WaypointId, Failure> {
    let named = args.flight.as_ref().and_then(|name| name.as_str().parse().ok());
    named.ok_or_else(|| {
        let message = "--attempt needs the waypoint whose attempt it is";
        Failure::usage("no_waypoint", message, "`holdpoint fetch WAYPOINT --attempt N`")
    })
}

fn say_caveat(work: &AttemptWork) {
    if let Some(caveat) = works::caveat(work) {
        output::err(&caveat);
    }
}

/// A mirror that has the work, which lives as long as the folder.
async fn mirror(
    client: &Client,
    flight: &FlightId,
    waypoint: &WaypointId,
    work: &AttemptWork,
) -> Result<(TemporaryFolder, Mirror), Failure> {
    let dir = temporary::folder()?;
    let mirrors = MirrorStore::new(dir.path().join("mirrors"), InputLimits::default());
    let mirror = mirrors.ensure(client.bus(), flight, &work.bundles).await;
    let mirror = mirror.map_err(|error| unfetched(waypoint, &error))?;
    Ok((dir, mirror))
}

fn unfetched(waypoint: &WaypointId, error: &dyn std::error::Error) -> Failure {
    let message = format!("cannot get the work of {waypoint}: {}", chain(error));
    Failure::environment("not_fetched", message, "call it again")
}
