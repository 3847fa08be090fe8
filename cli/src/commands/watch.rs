//! `watch` and `fetch`: following a flight that others fly, and taking its accepted work.

use holdpoint_protocol::{facts::Oid, ids::FlightId};
use holdpoint_workspace::UserRepo;
use serde_json::json;

use super::audit::own_trust;
use super::{
    diff,
    look::goes_on,
    run::{anything_landed, print, print_last_event, stays},
};
use crate::{
    archive,
    args::{FetchArgs, WatchArgs},
    branch,
    failure::{Exit, Failure},
    ground, output,
    people::find,
    progress,
    target::Target,
    view,
};

/// Follows a flight until only people can move it on.
pub(super) async fn watch(args: WatchArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let view = target
        .serve(async |client| {
            // An unknown flight is reported at once.
            let begun = find::known(client, &args.flight).await?;
            if let Some(command) = goes_on(&args.place, &begun).await? {
                output::err(&format!("interrupted: nobody flies it at the moment\nnext:  {command}"));
            }
            let (stays, events) = (stays(args.json || args.json_events), args.json_events);
            let how = progress::How { stays, events, repo: None, watcher: None };
            progress::follow(client, &begun.flight, Some(&begun), how).await
        })
        .await?;
    if args.json_events {
        print_last_event(&view);
    } else {
        print(&view, args.json);
    }
    Ok(view::exit(&view))
}

/// Writes the branch of a flight, whatever has landed so far.
pub(super) async fn fetch(args: FetchArgs) -> Result<Exit, Failure> {
    if let Some(attempt) = &args.attempt {
        return diff::fetch(&args, attempt).await;
    }
    let repo = ground::find(&args.place.repo).await?;
    let Some(flight) = &args.flight else { return unpack(&args, &repo).await };
    let target = Target::existing(&args.place).await?;
    let view = target
        .serve(async |client| {
            let view = find::known(client, flight).await?;
            if anything_landed(&view) {
                branch::write(client, &repo, &view).await?;
                branch::left_behind(&repo, &view).await?.iter().for_each(|note| output::err(note));
            }
            Ok(view)
        })
        .await?;
    if !anything_landed(&view) {
        let message = format!("nothing of the flight {} has landed yet", view.flight);
        let hint = "`holdpoint status FLIGHT` shows how it stands".to_owned();
        return Err(Failure::Other { exit: Exit::Incomplete, code: "nothing_landed", message, hint });
    }
    say(&args, &view.flight, &view.branch, &view.head);
    Ok(Exit::Success)
}

/// Writes the branch of a flight from a file.
async fn unpack(args: &FetchArgs, repo: &UserRepo) -> Result<Exit, Failure> {
    let Some(file) = &args.from else { return Ok(Exit::Success) };
    let unpacked = archive::unpack(file, own_trust(&args.place).await?)?;
    branch::write_from(repo, &unpacked).await?;
    say(args, &unpacked.flight, &unpacked.branch, &unpacked.head);
    Ok(Exit::Success)
}

fn say(args: &FetchArgs, flight: &FlightId, branch: &str, head: &Oid) {
    if args.json {
        output::json(&json!({"flight": flight, "branch": branch, "head": head}));
    } else {
        output::out(&format!("{branch} is at {}", head.short()));
    }
}
