//! Recording that a flight leaves the broker. Its messages are deleted by somebody else, with a key that may.

use holdpoint_bus::{api::ApiFailure, journal::ReadError};
use holdpoint_engine::flight::retirable;
use holdpoint_protocol::{
    Digest,
    export::{Cut, HandoffsEnd, Seal},
    ids::{AgentName, FlightId},
    journal::{Entry, Record, Sequence},
    retire::{RetireAnswer, RetireQuery, Retired},
    subjects::{self, JournalKey},
    version,
};
use holdpoint_runtime::{
    clock,
    telemetry::{ErrorChain, fields},
};

use crate::{
    books::{Books, BooksError, Checked},
    flight::failure,
    shell::Shell,
};

/// Retires a flight that is over and whose journals still end where its export does.
pub(crate) async fn retire(shell: &Shell, query: RetireQuery, by: AgentName) -> Result<RetireAnswer, ApiFailure> {
    let RetireQuery { flight, seal, export } = query;
    let cut = sealed(shell, &flight, &seal)?;
    let mut books = match Books::load(shell, &flight).await {
        Ok(books) => books,
        Err(BooksError::Retired { entry, retired, .. }) if retired.export == export => {
            return Ok(RetireAnswer { entry, handoffs: retired.handoffs });
        }
        Err(error) => return Err(failure(&error)),
    };
    retirable(&books.flight, &books.waypoints)
        .map_err(|open| ApiFailure::new(409, format!("flight {flight} is not over: {open}")))?;
    let exported = cut.journals.into_iter().map(|end| (end.waypoint, end.sequence));
    if books.ends() != exported.collect() {
        return Err(ApiFailure::new(409, format!("flight {flight} went on after it was exported: export it again")));
    }
    let entry = append(shell, &mut books, by, export, &cut.handoffs).await?;
    shell.ended.saw(&flight, books.ends());
    tracing::info!({ fields::FLIGHT } = %flight, %export, { fields::STREAM_SEQ } = entry.0, "retired: its messages may be deleted");
    Ok(RetireAnswer { entry, handoffs: cut.handoffs })
}

/// Where the export of the flight ends, as an orchestrator signed it.
fn sealed(shell: &Shell, flight: &FlightId, seal: &Seal) -> Result<Cut, ApiFailure> {
    let refused = |why: &str| ApiFailure::new(400, format!("the seal of the export of {flight} {why}"));
    let cut: Cut = serde_json::from_slice(&seal.payload).map_err(|error| refused(&format!("is damaged: {error}")))?;
    let subject = subjects::seal(flight);
    if !shell.trust.roots().is_orchestrators(&subject, &seal.payload, &seal.signature, cut.at) {
        return Err(refused("is not signed by an orchestrator of this fleet"));
    }
    if cut.flight == *flight { Ok(cut) } else { Err(refused(&format!("is of the flight {}", cut.flight))) }
}

async fn append(
    shell: &Shell,
    books: &mut Books,
    by: AgentName,
    export: Digest,
    handoffs: &[HandoffsEnd],
) -> Result<Sequence, ApiFailure> {
    let retired = Retired {
        schema_version: version::CURRENT,
        flight: books.id().clone(),
        by,
        export,
        handoffs: handoffs.to_vec(),
        record: Record::at(clock::now()),
    };
    match books.append(shell, None, Entry::Retired(Box::new(retired)), None).await {
        Ok(()) => Ok(books.ends().get(&None).copied().unwrap_or_default()),
        Err(error) if error.is_race() => {
            Err(ApiFailure::new(503, format!("flight {} changed at this moment: try again", books.id())))
        }
        Err(error) => Err(ApiFailure::new(500, ErrorChain(&error).to_string())),
    }
}

/// That a flight left, for whom asks about it; `None` if it did not.
pub(crate) async fn left(shell: &Shell, flight: &FlightId) -> Result<Option<BooksError>, ReadError> {
    let Some(last) = shell.journal.last(&JournalKey::flight(flight)).await? else { return Ok(None) };
    let checked = Checked::of(&shell.trust.roots(), &last);
    Ok(match checked.entry() {
        Some(Entry::Retired(retired)) => Some(BooksError::retired(last.sequence, retired)),
        _ => None,
    })
}
