//! Which turns are dead: their entries name themselves by their subjects, so nothing else is read.

use holdpoint_bus::journal::ReadError;
use holdpoint_core::pages::{self, Page};
use holdpoint_protocol::{
    api::{DeadQuery, DeadTurn, DeadTurns},
    journal::{Dead, Entry, Sequence},
    subjects::{self, JournalKey},
};

use crate::shell::Shell;

/// Entries that one page looks at: each is one question to the broker.
const LOOKED_AT_MAX: usize = 1_000;
/// Bytes that are kept free for the place where the next page goes on.
const REST_LEN: usize = 512;

/// A page of turns that were given up and are the last word on their waypoint, oldest first.
pub(crate) async fn page(shell: &Shell, query: &DeadQuery) -> Result<DeadTurns, ReadError> {
    let after = query.after.unwrap_or_default();
    let mut subjects = shell.journal.replay_subjects(&subjects::journal_deaths(query.flight.as_ref()), after).await?;
    let mut once: Vec<(JournalKey, Sequence)> = Vec::new();
    let (mut seen, mut next, mut read) = (0, None, after);
    while let Some(stored) = subjects.next().await? {
        if seen == LOOKED_AT_MAX {
            next = Some(read);
            break;
        }
        (seen, read) = (seen + 1, stored.sequence);
        once.extend(subjects::parse_journal(&stored.subject).map(|key| (key, stored.sequence)));
    }
    if next.is_some() {
        subjects.close().await;
    }
    let mut page = Page::new(pages::PAGE_LEN - REST_LEN);
    let mut behind = after;
    for (key, sequence) in once {
        let Some(turn) = turn(shell, key, sequence).await? else { continue };
        if !page.take(turn) {
            // All up to the last one that had room.
            next = Some(behind);
            break;
        }
        behind = sequence;
    }
    Ok(DeadTurns { turns: page.finish().0, next })
}

/// The turn that an entry gives up, if it is the last word on its waypoint.
async fn turn(shell: &Shell, key: JournalKey, sequence: Sequence) -> Result<Option<DeadTurn>, ReadError> {
    let last = shell.journal.last(&key).await?;
    // The entry behind it reopened the turn.
    let Some(last) = last.filter(|last| last.sequence == sequence && last.is_orchestrators(&shell.trust.roots()))
    else {
        return Ok(None);
    };
    let entry = Entry::decode(&last.subject, &last.payload, last.content_type.as_deref());
    if let (Ok(Entry::Dead(dead)), Some(waypoint)) = (entry, key.waypoint) {
        let Dead { turn, role, deaths, overdue, record, .. } = *dead;
        return Ok(Some(DeadTurn { flight: key.flight, waypoint, turn, role, since: record.at, deaths, overdue }));
    }
    tracing::error!(sequence = sequence.0, "ALARM: an entry that gives a turn up cannot be read");
    Ok(None)
}
