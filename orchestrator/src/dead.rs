//! Which turns are dead: their entries name themselves by their subjects, so nothing else is read.

use holdpoint_bus::journal::ReadError;
use holdpoint_protocol::{
    api::DeadTurn,
    ids::FlightId,
    journal::{Dead, Entry, Sequence},
    subjects::{self, JournalKey},
};

use crate::shell::Shell;

/// Turns that were given up and are the last word on their waypoint, oldest first.
pub(crate) async fn list(shell: &Shell, flight: Option<&FlightId>) -> Result<Vec<DeadTurn>, ReadError> {
    let mut subjects = shell.journal.replay_subjects(&subjects::journal_deaths(flight), Sequence(0)).await?;
    let mut once: Vec<(JournalKey, Sequence)> = Vec::new();
    while let Some(stored) = subjects.next().await? {
        once.extend(subjects::parse_journal(&stored.subject).map(|key| (key, stored.sequence)));
    }
    let mut turns = Vec::new();
    for (key, sequence) in once {
        let last = shell.journal.last(&key).await?;
        // What stands behind it opened the turn anew.
        let Some(last) = last.filter(|last| last.sequence == sequence && last.is_orchestrators(&shell.trust.roots()))
        else {
            continue;
        };
        let entry = Entry::decode(&last.subject, &last.payload, last.content_type.as_deref());
        match (entry, key.waypoint) {
            (Ok(Entry::Dead(dead)), Some(waypoint)) => {
                let Dead { turn, role, deaths, overdue, record, .. } = *dead;
                turns.push(DeadTurn { flight: key.flight, waypoint, turn, role, since: record.at, deaths, overdue });
            }
            (Ok(_) | Err(_), _) => {
                tracing::error!(sequence = sequence.0, "ALARM: an entry that gives a turn up cannot be read");
            }
        }
    }
    Ok(turns)
}
