//! `attest`: signed statements on landed work.

use std::{
    io::{self, Write as _},
    path::Path,
};

use holdpoint_protocol::attestation::Envelope;

use crate::{
    args::audit::AttestArgs,
    failure::{Exit, Failure},
    output,
    people::find,
    target::Target,
};

/// Prints an envelope a line.
pub(super) async fn attest(args: AttestArgs) -> Result<Exit, Failure> {
    let target = Target::existing(&args.place).await?;
    let envelopes: Vec<Envelope> = target
        .serve(async |client| {
            let view = find::known(client, &args.flight).await?;
            let named = args.waypoints.iter().map(|waypoint| find::has_waypoint(&view, waypoint));
            let mut waypoints = named.collect::<Result<Vec<_>, _>>()?;
            let flight = view.flight;
            if waypoints.is_empty() {
                waypoints.extend(view.waypoints.into_iter().filter(|w| w.commit.is_some()).map(|w| w.id));
            }
            let mut envelopes = Vec::new();
            for waypoint in &waypoints {
                envelopes.push(client.attest(&flight, waypoint).await?);
            }
            Ok(envelopes)
        })
        .await?;
    if envelopes.is_empty() {
        let message = format!("nothing of {} has landed: there is no commit to attest", args.flight);
        return Err(Failure::usage("not_found", message, "`holdpoint status FLIGHT` shows what landed"));
    }
    let lines = envelopes.iter().map(|one| serde_json::to_string(one).expect("plain data with text keys") + "\n");
    let text: String = lines.collect();
    match &args.out {
        None => {
            output::noted(output::json_lines().write_all(text.as_bytes()));
        }
        Some(path) => std::fs::write(path, text).map_err(|error| unwritable(path, &error))?,
    }
    Ok(Exit::Success)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::environment("attest", message, "name another place with --out FILE")
}
