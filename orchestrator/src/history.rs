//! Reading everything about a waypoint back, in order: its journal and the handoffs of every role.

use holdpoint_bus::{Bus, Stored, handoffs, journal::ReadError, past};
use holdpoint_core::standing;
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    codec::{self, Encoding},
    ids::{FlightId, WaypointId, role},
    journal::Sequence,
    streams,
    subjects::JournalKey,
};

use crate::shell::Shell;

/// Journal entries and handoffs of one waypoint, oldest first.
pub(crate) async fn of_waypoint(
    shell: &Shell,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<HistoryLine>, ReadError> {
    let mut lines = Vec::new();
    for name in role::HANDING {
        let role = role::id(name);
        let stream = streams::handoff(&role);
        let handoffs = past::of_waypoint(&shell.bus, &role, flight, waypoint).await?;
        lines.extend(handoffs.iter().map(|stored| line(&stream, stored)));
    }
    for key in [JournalKey::waypoint(flight, waypoint), JournalKey::flight(flight)] {
        let entries = shell.journal.read(&key).await?;
        let entries = entries.iter().map(|stored| {
            let signed = stored.is_orchestrators(&shell.trust.roots());
            HistoryLine { standing: (!signed).then_some(Standing::Unsigned), ..line(streams::JOURNAL, stored) }
        });
        lines.extend(entries.filter(|line| key.waypoint.is_some() || line.artifact["waypoint"] == waypoint.as_str()));
    }
    // Handoffs stand before the entries of the same millisecond: a cause before what it led to.
    lines.sort_by_key(|line| line.at);
    standing::mark(&mut lines);
    Ok(lines)
}

/// One artifact or entry by its `STREAM/SEQUENCE`.
pub(crate) async fn by_reference(bus: &Bus, reference: &str) -> Result<Option<HistoryLine>, ReadError> {
    let Some((stream, sequence)) = reference.split_once('/') else { return Ok(None) };
    // What an agent saw is named with its digest.
    let sequence = sequence.split('@').next().unwrap_or_default();
    let known = role::HANDING.iter().any(|name| streams::handoff(&role::id(name)) == stream);
    let Some(sequence) = sequence.parse().ok().filter(|_| known || stream == streams::JOURNAL) else {
        return Ok(None);
    };
    let stored = handoffs::get(bus, stream, Sequence(sequence)).await?;
    Ok(stored.map(|stored| line(stream, &stored)))
}

fn line(stream: &str, stored: &Stored) -> HistoryLine {
    let kind = stored.schema.as_deref().and_then(|s| s.split('/').next()).unwrap_or("unknown");
    let encoding = Encoding::from_content_type(stored.content_type.as_deref());
    let artifact = encoding.and_then(|encoding| codec::decode(&stored.payload, encoding));
    HistoryLine {
        at: stored.time,
        kind: kind.to_owned(),
        reference: format!("{stream}/{}", stored.sequence.0),
        // What cannot be read is shown as it is: a history hides nothing.
        artifact: artifact
            .unwrap_or_else(|_| serde_json::Value::String(String::from_utf8_lossy(&stored.payload).into_owned())),
        standing: None,
    }
}
