//! `handoffs`: the records of failed exchanges, the last of each (RETRY-7).

use std::collections::HashMap;

use holdpoint_protocol::{
    api::HistoryLine,
    artifact::{Artifact as _, ExchangeError, ExchangeRecord, ExchangeStatus},
    ids::{FlightId, WaypointId},
};
use holdpoint_text::shown;
use serde::Serialize;

use crate::{
    args::handoffs::HandoffsArgs,
    client::Client,
    failure::{Exit, Failure},
    output,
    people::find::{has_waypoint, known},
    target::Target,
};

/// A record, and where it is.
#[derive(Debug, Serialize)]
struct Kept {
    flight: FlightId,
    #[serde(rename = "ref")]
    reference: String,
    status: &'static str,
    #[serde(flatten)]
    record: ExchangeRecord,
}

/// Lists the exchanges that failed.
pub(super) async fn handoffs(args: HandoffsArgs) -> Result<Exit, Failure> {
    let target = match &args.flight {
        Some(_) => Some(Target::existing(&args.place).await?),
        None => Target::find(&args.place).await?,
    };
    let kept = match target {
        Some(target) => target.serve(async |client| read(client, &args).await).await?,
        None => Vec::new(),
    };
    for kept in &kept {
        if args.json {
            output::json_line(kept);
        } else {
            output::out(&readable(kept));
        }
    }
    if kept.is_empty() && !args.json {
        output::out("no exchange with an agent's program failed");
    }
    Ok(Exit::Success)
}

async fn read(client: &Client, args: &HandoffsArgs) -> Result<Vec<Kept>, Failure> {
    let flight = match &args.flight {
        Some(flight) => known(client, flight).await?.flight,
        None => match client.flights().await?.into_iter().next() {
            Some(newest) => newest.flight,
            None => return Ok(Vec::new()),
        },
    };
    let view = client.status(&flight).await?;
    let waypoints: Vec<WaypointId> = match &args.waypoint {
        Some(named) => vec![has_waypoint(&view, named)?],
        None => view.waypoints.into_iter().map(|waypoint| waypoint.id).collect(),
    };
    let mut all = Vec::new();
    for waypoint in &waypoints {
        all.extend(last_of_each(client.history(&flight, waypoint).await?, &flight));
    }
    all.retain(|kept| !args.failed || kept.record.final_status != Some(ExchangeStatus::Recovered));
    all.sort_by_key(|kept| kept.record.produced_at);
    Ok(all)
}

/// The last record of each exchange: it says all that those before it say.
fn last_of_each(lines: Vec<HistoryLine>, flight: &FlightId) -> Vec<Kept> {
    let mut last: HashMap<(String, String), Kept> = HashMap::new();
    for line in lines.into_iter().filter(|line| line.kind == ExchangeRecord::KIND) {
        // Anybody's agent may have written it: what is no record is not shown as one.
        let Ok(record) = serde_json::from_value::<ExchangeRecord>(line.artifact) else { continue };
        let status = record.final_status.map_or("open", ExchangeStatus::as_str);
        let key = (record.agent.to_string(), record.exchange.clone());
        last.insert(key, Kept { flight: flight.clone(), reference: line.reference, status, record });
    }
    last.into_values().collect()
}

/// One line: when, how it ended, whose it is, what was wrong; below it each try, and where its whole output is.
fn readable(kept: &Kept) -> String {
    let Kept { reference, status, record, .. } = kept;
    let error = &record.original_error;
    let criterion = record.criterion.as_ref().map(|criterion| format!(" on {criterion}")).unwrap_or_default();
    let mut text = format!(
        "{}  {status}  {} {}{criterion}  {}  {reference}",
        record.produced_at,
        record.waypoint_id,
        shown::line(&record.component),
        tries(record.attempts.len()),
    );
    let mut push = |number: usize, error: &ExchangeError| {
        let output = error.output.map(|output| format!("  ({output})")).unwrap_or_default();
        text.push_str(&format!("\n  {number}. {}: {}{output}", error.kind.as_str(), shown::line(&error.details)));
    };
    push(0, error);
    for (number, error) in (1..).zip(&record.attempts).filter_map(|(n, attempt)| Some((n, attempt.error.as_ref()?))) {
        push(number, error);
    }
    text
}

fn tries(attempts: usize) -> String {
    match attempts {
        1 => "1 retry".to_owned(),
        n => format!("{n} retries"),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    fn line(reference: &str, exchange: &str, final_status: Option<&str>, tries: usize) -> HistoryLine {
        let error = json!({"kind": "malformed", "details": "no\u{1b}[2J JSON", "output_sample": "x"});
        let attempt = json!({"attempt": 1, "at": "2026-01-01T00:00:00.000Z", "command": "a", "prompt": "p", "output_sample": "", "error": error});
        let artifact = json!({
            "schema_version": "1.0", "artifact_id": "a-1", "waypoint_id": "w1", "produced_by_role": "builder",
            "produced_at": "2026-01-01T00:00:00.000Z", "source_refs": [], "turn": "t-1", "delivery": 1, "agent": "builder-1",
            "exchange": exchange, "component": "builder", "original_error": error, "attempts": vec![attempt; tries],
            "final_status": final_status
        });
        let kind = ExchangeRecord::KIND.to_owned();
        HistoryLine { at: Timestamp::from_millis(0), kind, reference: reference.to_owned(), artifact, standing: None }
    }

    #[test]
    fn of_each_exchange_the_last_record_is_shown_and_nothing_that_moves_a_cursor() {
        let lines = vec![line("H/1", "x", None, 0), line("H/2", "x", Some("recovered"), 1), line("H/3", "y", None, 0)];
        let mut kept = last_of_each(lines, &"f1".parse().unwrap());
        kept.sort_by(|a, b| a.reference.cmp(&b.reference));
        let told: Vec<_> = kept.iter().map(|kept| (kept.reference.as_str(), kept.status)).collect();
        assert_eq!(told, [("H/2", "recovered"), ("H/3", "open")]);
        let text = readable(&kept[0]);
        assert!(
            text.contains("recovered  w1 builder  1 retry") && text.contains("1. malformed: no\\u{1b}[2J JSON"),
            "{text}"
        );
    }
}
