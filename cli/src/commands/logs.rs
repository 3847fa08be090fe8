//! `logs`: what agents' programs say while they run.

use std::time::Duration;

use holdpoint_protocol::{
    ids::{FlightId, WaypointId},
    state::Status,
    view::WaypointView,
};
use holdpoint_text::{live::Spoken, shown, units};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    args::logs::LogsArgs,
    client::{Client, is_passing},
    failure::{Exit, Failure},
    live::Listening,
    output,
    people::find::flight_with,
    target::Target,
    typed::typed,
};

/// How often it is looked which turn is open.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long lines are waited for that were on their way when the turn ended.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Prints the lines of a waypoint as they come.
pub(super) async fn logs(args: LogsArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    target
        .serve(async |client| {
            let (flight, waypoint) = flight_with(client, args.flight.as_ref(), &args.waypoint).await?;
            follow(client, &flight, &waypoint, &args).await
        })
        .await?;
    Ok(Exit::Success)
}

async fn follow(client: &Client, flight: &FlightId, waypoint: &WaypointId, args: &LogsArgs) -> Result<(), Failure> {
    let listening = Listening::open(client, flight, Some(waypoint)).await;
    let mut live = listening.map_err(|error| {
        Failure::environment("not_listening", format!("cannot listen to agents: {error}"), "is the fleet running?")
    })?;
    output::err(&not_stored(flight, waypoint));
    loop {
        let since = Instant::now();
        let view = match client.status_now(flight).await {
            Ok(view) => Some(view),
            Err(error) if is_passing(&error) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(view) = view {
            live.learn(&view).iter().for_each(|spoken| print(spoken, args.json));
            live.warning().into_iter().for_each(|warning| output::err(&warning));
            let found = view.waypoints.iter().find(|known| known.id == *waypoint);
            if let Some(over) = found.and_then(|found| over(found, args.follow)) {
                listen(&mut live, LAST_LINES, args.json).await;
                output::err(&over);
                return Ok(());
            }
        }
        listen(&mut live, LOOK_EVERY.max(since.elapsed()), args.json).await;
    }
}

/// Prints what comes in this time.
async fn listen(live: &mut Listening, time: Duration, json: bool) {
    let until = Instant::now() + time;
    while let Ok(spoken) = tokio::time::timeout_at(until, live.next()).await {
        print(&spoken, json);
    }
}

/// Why nothing more comes, if nothing does.
fn over(waypoint: &WaypointView, follows: bool) -> Option<String> {
    let open = waypoint.turn.is_some() || waypoint.branches.iter().any(|branch| branch.turn.is_some());
    let ended = match waypoint.status {
        Status::Complete | Status::Blocked | Status::Failed | Status::Cancelled => true,
        Status::Pending | Status::Running | Status::Waiting => false,
    };
    let what = if ended { "is over" } else { "has no open turn at the moment; --follow waits for the next one" };
    (!open && (ended || !follows)).then(|| format!("{} ({}) {what}", waypoint.id, waypoint.status))
}

fn not_stored(flight: &FlightId, waypoint: &WaypointId) -> String {
    let history = typed(&format!("holdpoint history {waypoint} --flight {flight}"));
    format!("live lines are not stored, and those from before are not here. The record: {history}")
}

fn print(spoken: &Spoken, json: bool) {
    if json {
        output::json_line(&value(spoken));
        return;
    }
    let Spoken { from, line } = spoken;
    let left_out = if line.left_out > 0 { format!("  ({} left out before)", line.left_out) } else { String::new() };
    let text = shown::line(&line.text);
    output::out(&format!("{}  {}  {:<5}  {text}{left_out}", units::seconds(line.at), from.agent, line.kind.as_str()));
}

fn value(Spoken { from, line }: &Spoken) -> Value {
    json!({
        "at": line.at, "flight": from.flight, "waypoint": from.waypoint, "role": from.role, "agent": from.agent,
        "turn": line.turn, "kind": line.kind, "text": line.text, "left_out": line.left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::flight;

    #[test]
    fn without_an_open_turn_it_ends_and_with_follow_only_when_the_waypoint_is_over() {
        let mut waypoint = flight().waypoints.remove(0);
        for (status, follows, ends) in [
            (Status::Complete, true, true),
            (Status::Failed, true, true),
            (Status::Waiting, true, false),
            (Status::Waiting, false, true),
            (Status::Pending, true, false),
        ] {
            waypoint.status = status;
            assert_eq!(over(&waypoint, follows).is_some(), ends, "{status:?} {follows}");
        }
    }
}
