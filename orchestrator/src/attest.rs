//! Saying outside what was verified, under this orchestrator's key: it is an orchestrator that verified.

use holdpoint_account::attest;
use holdpoint_bus::api::ApiFailure;
use holdpoint_protocol::{
    attestation::{AttestQuery, Envelope, PAYLOAD_TYPE},
    journal::Entry,
    subjects::JournalKey,
};
use holdpoint_runtime::telemetry::ErrorChain;

use crate::{books::Books, flight::failure, shell::Shell};

/// The signed statement on a waypoint that landed.
pub(crate) async fn attest(shell: &Shell, query: &AttestQuery) -> Result<Envelope, ApiFailure> {
    let AttestQuery { flight, waypoint } = query;
    // Read from its beginning: what is said has to be in a sound journal.
    let books = Books::load(shell, flight).await.map_err(|error| failure(&error))?;
    let unlanded = || {
        ApiFailure::new(409, format!("waypoint {waypoint} of {flight} has not landed: there is no commit to attest"))
    };
    let landed = books.flight.landing(waypoint).ok_or_else(unlanded)?;
    let last = shell.journal.last(&JournalKey::waypoint(flight, waypoint)).await;
    let last = last.map_err(|error| ApiFailure::new(503, ErrorChain(&error).to_string()))?.ok_or_else(unlanded)?;
    let entry = Entry::decode(&last.subject, &last.payload, last.content_type.as_deref());
    let decided = match entry.map_err(|error| ApiFailure::new(500, ErrorChain(&error).to_string()))? {
        Entry::Decided(decided) if last.is_orchestrators(&shell.trust.roots()) => decided,
        _ => return Err(unlanded()),
    };
    let statement = attest::statement(&books.flight.submitted, &decided, landed, env!("CARGO_PKG_VERSION"));
    let payload = serde_json::to_vec(&statement).map_err(|error| ApiFailure::new(500, error.to_string()))?;
    Ok(shell.bus.signer().envelope(PAYLOAD_TYPE, &payload))
}
