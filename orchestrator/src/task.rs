//! A waypoint as the document that `holdpoint task` shows, for people who ask by a request (GATE-21, GATE-35). The engine
//! says what the document has; here its flight's and its own journal are read, and those handoffs that they name.
//! However much was handed off besides, one message at a time is held.

use std::collections::HashSet;

use holdpoint_account::events::{FlightReader, Task, TaskGatherer};
use holdpoint_bus::{
    Stored,
    api::ApiFailure,
    auth::{PastSenders, SignedMessage},
    journal::ReadError,
};
use holdpoint_engine::audit::{EntryLine, HandoffLine};
use holdpoint_protocol::{
    ids::{FlightId, RoleId, TurnId, WaypointId},
    journal::{Cause, Entry},
    names::PLAN_KINDS,
    streams, subjects,
};
use holdpoint_runtime::telemetry::ErrorChain;

use crate::{history::Sources, shell::Shell};

/// What entries name.
#[derive(Default)]
struct Named {
    /// References of the handoffs that they answer.
    causes: HashSet<String>,
    /// The turns that they open.
    turns: HashSet<TurnId>,
}

/// The document as `holdpoint task --json` prints it.
pub(crate) async fn of(
    shell: &Shell,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<serde_json::Value, ApiFailure> {
    let read =
        read(shell, flight, waypoint).await.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))?;
    let task =
        read.ok_or_else(|| ApiFailure::new(404, format!("there is no waypoint {waypoint} in a flight {flight}")))?;
    serde_json::to_value(&task).map_err(|error| ApiFailure::new(500, format!("the task cannot be sent: {error}")))
}

async fn read(shell: &Shell, flight: &FlightId, waypoint: &WaypointId) -> Result<Option<Task>, ReadError> {
    // What entries answer, then these handoffs, then the entries once more: what an entry answers comes before it.
    let mut named = Named::default();
    let mut journal = Sources::of_journal(shell, flight, waypoint).await?;
    while let Some((_, stored)) = journal.next().await? {
        let entry = entry(shell, &stored).and_then(|line| line.entry.ok());
        let Some(entry) = entry else { continue };
        named.causes.extend(entry.record().cause.as_ref().map(Cause::reference));
        if let Entry::Turn(turn) = &entry {
            named.turns.insert(turn.turn_id.clone());
        }
    }
    let mut reader = FlightReader::default();
    for role in shell.roles().handing() {
        read_role(shell, &role, (flight, waypoint), &named, &mut reader).await?;
    }
    let mut tasks = TaskGatherer::of(waypoint.clone());
    let mut journal = Sources::of_journal(shell, flight, waypoint).await?;
    while let Some((_, stored)) = journal.next().await? {
        let Some(line) = entry(shell, &stored) else { continue };
        let Ok(entry) = &line.entry else { continue };
        let told = reader.entry(line.journal.waypoint.as_ref(), line.sequence, entry);
        tasks.take(&reader, &told, entry);
    }
    Ok(tasks.finish(&reader))
}

fn entry(shell: &Shell, stored: &Stored) -> Option<EntryLine> {
    let signed = stored.is_orchestrators(&shell.trust.roots());
    signed.then(|| EntryLine::read(&stored.exported(streams::JOURNAL), true)).flatten()
}

/// Reads those handoffs of a role that entries answer, and who planned for the turns that they opened.
async fn read_role(
    shell: &Shell,
    role: &RoleId,
    (flight, waypoint): (&FlightId, &WaypointId),
    named: &Named,
    reader: &mut FlightReader,
) -> Result<(), ReadError> {
    let roots = shell.trust.roots();
    let mut senders = PastSenders::new(&roots);
    let mut handoffs = Sources::of_role(shell, role, flight, waypoint).await?;
    while let Some((stream, stored)) = handoffs.next().await? {
        let is_plan = subjects::parse_handed(&stored.subject).is_some_and(|at| PLAN_KINDS.contains(&at.kind.as_str()));
        if !is_plan && !named.causes.contains(&format!("{stream}/{}", stored.sequence.0)) {
            continue;
        }
        let Some(mut line) = HandoffLine::read(&stored.exported(&stream)) else { continue };
        line.sender = match &line.body {
            Ok((head, _)) => senders.verify(role, &head.agent, stored.jwt.as_deref(), signed(&stored)),
            Err(error) => Err(error.clone()),
        };
        // A plan shows the key of what comes after it, no matter which turn it names.
        let turn = line.body.as_ref().ok().and_then(|(head, _)| head.turn.as_ref());
        if !is_plan || turn.is_some_and(|turn| named.turns.contains(turn)) {
            reader.handoff(&line, stored.time);
        }
    }
    Ok(())
}

fn signed(stored: &Stored) -> SignedMessage<'_> {
    let Stored { subject, payload, time: at, .. } = stored;
    SignedMessage { subject, payload, signature: stored.signature.as_deref(), at: *at }
}
