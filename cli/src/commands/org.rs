//! `org`: the workflows and the org chart of a project, for flights that are under way.

use holdpoint_protocol::ids::FlightId;
use serde_json::json;

use crate::{
    args::org::{OrgAction, OrgArgs, ReloadArgs},
    failure::{Exit, Failure},
    output,
    people::find,
    reload::{Files, Outcome, Reloaded, Why, count_unsound, open_flights, reload},
    target::{Remote, Target},
};

/// Does what is asked.
pub(super) async fn org(args: OrgArgs) -> Result<Exit, Failure> {
    match args.action {
        OrgAction::Reload(args) => Box::pin(reload_all(args)).await,
    }
}

async fn reload_all(args: ReloadArgs) -> Result<Exit, Failure> {
    let ReloadArgs { project, org, flights, check, acting } = args;
    let files = Files::of(&acting.place.repo, project.as_deref(), org.as_deref()).await?;
    let declared = match files.workflows().await {
        Ok(declared) => declared,
        Err(failure) => {
            // The orchestrator of a local fleet that is at rest would count for nobody.
            if !check && let Some(remote) = Remote::named(&acting.place)? {
                count_unsound(&remote.connect().await?, &failure).await;
            }
            return Err(failure);
        }
    };
    let target = if check {
        Target::existing(&acting.place).await?
    } else {
        Target::for_person(&acting.place, acting.person.as_ref()).await?
    };
    let why = if check { Why::Check } else { Why::Command };
    let work = async |client: &_| {
        let mut meant = if flights.is_empty() { open_flights(client).await? } else { Vec::new() };
        for named in &flights {
            meant.push(find::known(client, named).await?.flight);
        }
        // One that cannot be asked keeps no other from it.
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for flight in &meant {
            match Box::pin(reload(client, flight, &declared, why, None)).await {
                Ok(reloaded) => all.push(reloaded),
                Err(failure) => failed.push((flight.clone(), failure)),
            }
        }
        Ok((all, failed))
    };
    let (all, mut failed): (Vec<Reloaded>, Vec<(FlightId, Failure)>) = target.serve(work).await?;
    if let Some((_, failure)) = failed.pop_if(|_| flights.len() == 1) {
        return Err(failure);
    }
    if acting.json {
        let failed: Vec<_> =
            failed.iter().map(|(flight, failure)| json!({"flight": flight, "failure": failure.to_json()})).collect();
        output::json(&json!({"flights": all, "failed": failed}));
    } else if all.is_empty() && failed.is_empty() {
        output::out("no flight is under way: nothing to reload");
    } else {
        all.iter().flat_map(Reloaded::lines).for_each(|line| output::out(&line));
        for (flight, failure) in &failed {
            output::err(&format!("{flight}: it keeps the workflows it had:"));
            failure.report(false);
        }
    }
    if let Some((_, failure)) = failed.first() {
        return Ok(failure.exit());
    }
    let left = all.iter().any(|one| matches!(one.result, Outcome::Refused { .. } | Outcome::Differs));
    Ok(if left { Exit::Incomplete } else { Exit::Success })
}
