//! Reading everything about a waypoint back, in order: its journal and the handoffs of every role.

use std::collections::HashSet;

use holdpoint_bus::{
    Stored,
    auth::{PastSenders, Signed, TrustRoots},
    handoffs,
    journal::ReadError,
    past,
};
use holdpoint_core::standing;
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::HandedHead,
    codec::{self, Encoding},
    facts::Harness,
    ids::{FlightId, RoleId, WaypointId, role},
    journal::Sequence,
    streams,
    subjects::{self, JournalKey},
};

use crate::shell::Shell;

/// Journal entries and handoffs of one waypoint, oldest first.
pub(crate) async fn of_waypoint(
    shell: &Shell,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<HistoryLine>, ReadError> {
    let (mut lines, mut ours) = (Vec::new(), HashSet::new());
    for role in shell.roles().handing() {
        let stream = streams::handoff(&role);
        let handoffs = past::of_waypoint(&shell.bus, &role, flight, waypoint).await?;
        lines.extend(handoffs.iter().map(|stored| line(&stream, stored)));
        if role.as_str() == role::VERIFIER {
            ours = by_ours(&shell.trust.roots(), &role, &stream, &handoffs);
        }
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
    standing::vouch(&mut lines, |reference| !ours.contains(reference));
    standing::mark(&mut lines);
    Ok(lines)
}

/// The references of what keys of our own harness signed; `handoffs` are all of one waypoint and role, oldest first.
fn by_ours(roots: &TrustRoots, role: &RoleId, stream: &str, handoffs: &[Stored]) -> HashSet<String> {
    let mut senders = PastSenders::new(roots);
    let ours = handoffs.iter().filter(|stored| {
        let Stored { subject, payload, time: at, .. } = stored;
        let signed = Signed { subject, payload, signature: stored.signature.as_deref(), at: *at };
        let head = HandedHead::decode(payload, stored.content_type.as_deref());
        head.is_ok_and(|head| {
            senders.verify(role, &head.agent, stored.jwt.as_deref(), signed) == Ok(Harness::Holdpoint)
        })
    });
    ours.map(|stored| reference(stream, stored)).collect()
}

fn reference(stream: &str, stored: &Stored) -> String {
    format!("{stream}/{}", stored.sequence.0)
}

/// One artifact or entry by its `STREAM/SEQUENCE`. Of a report it is said what its waypoint's journal and keys say of it.
pub(crate) async fn by_reference(shell: &Shell, reference: &str) -> Result<Option<HistoryLine>, ReadError> {
    let Some((stream, sequence)) = reference.split_once('/') else { return Ok(None) };
    // What an agent saw is named with its digest.
    let sequence = sequence.split('@').next().unwrap_or_default();
    let known = shell.roles().handing().iter().any(|role| streams::handoff(role) == stream);
    let Some(sequence) = sequence.parse().ok().filter(|_| known || stream == streams::JOURNAL) else {
        return Ok(None);
    };
    let Some(stored) = handoffs::get(&shell.bus, stream, Sequence(sequence)).await? else { return Ok(None) };
    let alone = line(stream, &stored);
    let on = subjects::parse_handed(&stored.subject).filter(|_| alone.artifact.get("receipt").is_some());
    let Some((flight, waypoint)) = on.and_then(|on| Some((on.flight, on.waypoint?))) else { return Ok(Some(alone)) };
    let lines = of_waypoint(shell, &flight, &waypoint).await?;
    let vouched = lines.into_iter().find(|line| line.reference == alone.reference);
    // Published on a subject of its waypoint, it is there.
    Ok(vouched.map(|line| HistoryLine { standing: None, ..line }))
}

fn line(stream: &str, stored: &Stored) -> HistoryLine {
    let kind = stored.schema.as_deref().and_then(|s| s.split('/').next()).unwrap_or("unknown");
    let encoding = Encoding::from_content_type(stored.content_type.as_deref());
    let artifact = encoding.and_then(|encoding| codec::decode(&stored.payload, encoding));
    HistoryLine {
        at: stored.time,
        kind: kind.to_owned(),
        reference: reference(stream, stored),
        // What cannot be read is shown as it is: a history hides nothing.
        artifact: artifact
            .unwrap_or_else(|_| serde_json::Value::String(String::from_utf8_lossy(&stored.payload).into_owned())),
        standing: None,
    }
}
