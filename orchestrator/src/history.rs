//! Reading everything about a waypoint back, in order: its journal and the handoffs of every role, a page at a time.
//!
//! How much is stored is its senders' to choose: nothing here holds more than a page of it, and the API lets few read at once.

mod sources;

use std::collections::HashSet;

use holdpoint_account::standing::Answers;
use holdpoint_bus::{
    Stored,
    auth::{PastSenders, SignedMessage},
    handoffs,
    journal::ReadError,
    past,
};
use holdpoint_protocol::{
    Timestamp,
    api::{FoundArtifact, History, HistoryLine, HistoryQuery, Standing},
    artifact::HandedHead,
    codec::{self, Encoding},
    facts::Harness,
    ids::{FlightId, RoleId, WaypointId, role},
    journal::Sequence,
    names::PLAN_KINDS,
    pages, streams, subjects,
};
use serde_json::Value;
pub(crate) use sources::Sources;

use crate::shell::Shell;

/// Bytes of one artifact as JSON that are shown, so that its line fits into a message; of a longer one it is said how long it is.
const ARTIFACT_LEN_MAX: usize = 7 << 20;
/// Different JWTs of verifiers of one waypoint by which a receipt's maker is looked for, the first ones.
const JWTS_MAX: usize = 1_024;

/// A page of the journal entries and handoffs of one waypoint, oldest first.
pub(crate) async fn page(shell: &Shell, query: &HistoryQuery) -> Result<History, ReadError> {
    let HistoryQuery { flight, waypoint, after } = query;
    let answers = answers(shell, flight, waypoint).await?;
    let mut sources = Sources::open(shell, flight, waypoint, after).await?;
    let (mut page, mut places, mut doubtful, mut more) =
        (pages::Page::new(pages::PAGE_LEN), after.clone(), Vec::new(), false);
    while let Some((stream, stored)) = sources.next().await? {
        let Some(shown) = line_of(shell, &stream, &stored, waypoint) else {
            places = sources.places();
            continue;
        };
        let lacks = answers.lacks(&shown);
        if !page.take(shown) {
            more = true;
            break;
        }
        places = sources.places();
        if lacks {
            doubtful.push((stream, stored));
        }
    }
    let ours = by_ours(shell, flight, waypoint, &doubtful).await?;
    let (mut lines, _) = page.finish();
    for line in &mut lines {
        let foreign = !ours.contains(&line.reference);
        answers.mark(line, foreign);
    }
    Ok(History { lines, next: more.then_some(places) })
}

/// As it is shown; `None` for an entry of the flight that is about other waypoints.
fn line_of(shell: &Shell, stream: &str, stored: &Stored, waypoint: &WaypointId) -> Option<HistoryLine> {
    let shown = line(stream, stored);
    if stream != streams::JOURNAL {
        return Some(shown);
    }
    let of_waypoint = subjects::parse_journal(&stored.subject).is_some_and(|key| key.waypoint.is_some());
    if !of_waypoint && !is_about(&shown.artifact, waypoint) {
        return None;
    }
    let signed = stored.is_orchestrators(&shell.trust.roots());
    Some(HistoryLine { standing: (!signed).then_some(Standing::Unsigned), ..shown })
}

/// Whether an entry of the flight is about this waypoint: as it landed, or as a child or parent of those that were added.
fn is_about(entry: &Value, waypoint: &WaypointId) -> bool {
    let is_it = |named: &Value| *named == waypoint.as_str();
    let added = entry["waypoints"].as_array().into_iter().flatten();
    is_it(&entry["waypoint"]) || is_it(&entry["parent"]) || added.map(|child| &child["id"]).any(is_it)
}

/// What the journal says of the handoffs.
async fn answers(shell: &Shell, flight: &FlightId, waypoint: &WaypointId) -> Result<Answers, ReadError> {
    let mut answers = Answers::default();
    let mut journal = Sources::of_journal(shell, flight, waypoint).await?;
    while let Some((stream, stored)) = journal.next().await? {
        if let Some(entry) = line_of(shell, &stream, &stored, waypoint) {
            answers.entry(&entry);
        }
    }
    for reference in answers.wanted().to_vec() {
        if let Some((stream, stored)) = find(shell, &reference).await? {
            answers.handoff(&line(&stream, &stored));
        }
    }
    Ok(answers)
}

/// The references of those of these reports that keys of our own harness signed.
async fn by_ours(
    shell: &Shell,
    flight: &FlightId,
    waypoint: &WaypointId,
    reports: &[(String, Stored)],
) -> Result<HashSet<String>, ReadError> {
    let mut ours = HashSet::new();
    for role in role::JUDGING.map(role::id) {
        ours.extend(by_ours_of(shell, flight, waypoint, &role, reports).await?);
    }
    Ok(ours)
}

/// The same of the reports of one role.
async fn by_ours_of(
    shell: &Shell,
    flight: &FlightId,
    waypoint: &WaypointId,
    role: &RoleId,
    reports: &[(String, Stored)],
) -> Result<Vec<String>, ReadError> {
    let stream = streams::handoff(role);
    let reports: Vec<&Stored> = reports.iter().filter(|(of, _)| *of == stream).map(|(_, stored)| stored).collect();
    if reports.is_empty() {
        return Ok(Vec::new());
    }
    let roots = shell.trust.roots();
    let mut senders = PastSenders::new(&roots);
    // Reports come without the JWT that the plans before them showed.
    for (jwt, at) in shown_jwts(shell, role, flight, waypoint).await? {
        senders.learn(role, &jwt, at);
    }
    let ours = reports.into_iter().filter(|stored| {
        let Stored { subject, payload, time: at, .. } = stored;
        let signed = SignedMessage { subject, payload, signature: stored.signature.as_deref(), at: *at };
        let head = HandedHead::decode(payload, stored.content_type.as_deref());
        head.is_ok_and(|head| {
            let signer = senders.verify(role, &head.agent, stored.jwt.as_deref(), signed);
            signer == Ok(Harness::Holdpoint)
        })
    });
    Ok(ours.map(|stored| reference(&stream, stored)).collect())
}

/// The JWTs that plans of a waypoint showed, with the time of the first that did.
async fn shown_jwts(
    shell: &Shell,
    role: &RoleId,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<(String, Timestamp)>, ReadError> {
    let mut shown: Vec<(String, Timestamp)> = Vec::new();
    for kind in PLAN_KINDS {
        let mut plans = past::heads_of_kind(&shell.bus, role, flight, waypoint, kind).await?;
        while let Some(plan) = plans.next().await? {
            let (at, jwt) = (plan.time, plan.jwt);
            if let Some(jwt) = jwt.filter(|jwt| shown.len() < JWTS_MAX && !shown.iter().any(|(one, _)| one == jwt)) {
                shown.push((jwt, at));
            }
        }
    }
    Ok(shown)
}

fn reference(stream: &str, stored: &Stored) -> String {
    format!("{stream}/{}", stored.sequence.0)
}

/// The message under a `STREAM/SEQUENCE`, with its stream.
async fn find(shell: &Shell, reference: &str) -> Result<Option<(String, Stored)>, ReadError> {
    let Some((stream, sequence)) = reference.split_once('/') else { return Ok(None) };
    // What an agent saw is named with its digest.
    let sequence = sequence.split('@').next().unwrap_or_default();
    let known = shell.roles().handing().iter().any(|role| streams::handoff(role) == stream);
    let Some(sequence) = sequence.parse().ok().filter(|_| known || stream == streams::JOURNAL) else {
        return Ok(None);
    };
    let stored = handoffs::get(&shell.bus, stream, Sequence(sequence)).await?;
    Ok(stored.map(|stored| (stream.to_owned(), stored)))
}

/// One artifact or entry by its `STREAM/SEQUENCE`. Of a report it is said what its waypoint's journal and keys say of it.
pub(crate) async fn by_reference(shell: &Shell, reference: &str) -> Result<Option<FoundArtifact>, ReadError> {
    let Some((stream, stored)) = find(shell, reference).await? else { return Ok(None) };
    let (flight, waypoint) = whose(&stored.subject);
    let mut line = line(&stream, &stored);
    if let (Some(flight), Some(waypoint), Some(_)) = (&flight, &waypoint, line.artifact.get("receipt")) {
        let answers = answers(shell, flight, waypoint).await?;
        let ours = by_ours(shell, flight, waypoint, &[(stream, stored)]).await?;
        let foreign = !ours.contains(&line.reference);
        answers.mark(&mut line, foreign);
        line.standing = None;
    }
    Ok(Some(FoundArtifact { line, flight, waypoint }))
}

/// The flight and the waypoint that the subject of a handoff or an entry names.
fn whose(subject: &str) -> (Option<FlightId>, Option<WaypointId>) {
    let of_handoff = subjects::parse_handed(subject).map(|on| (on.flight, on.waypoint));
    let on = of_handoff.or_else(|| subjects::parse_journal(subject).map(|key| (key.flight, key.waypoint)));
    on.map_or((None, None), |(flight, waypoint)| (Some(flight), waypoint))
}

fn line(stream: &str, stored: &Stored) -> HistoryLine {
    let kind = stored.schema.as_deref().and_then(|s| s.split('/').next()).unwrap_or("unknown");
    let encoding = Encoding::from_content_type(stored.content_type.as_deref());
    let artifact = encoding.and_then(|encoding| codec::decode(&stored.payload, encoding));
    // A message that cannot be read is shown as it is: a history hides nothing.
    let artifact =
        artifact.unwrap_or_else(|_| serde_json::Value::String(String::from_utf8_lossy(&stored.payload).into_owned()));
    let len = pages::json_len(&artifact);
    let long =
        || format!("{len} bytes, more than the {ARTIFACT_LEN_MAX} that are shown: `holdpoint export` has all of it");
    HistoryLine {
        at: stored.time,
        kind: kind.to_owned(),
        reference: reference(stream, stored),
        artifact: if len > ARTIFACT_LEN_MAX { serde_json::Value::String(long()) } else { artifact },
        standing: None,
    }
}
