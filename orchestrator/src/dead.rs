//! Which turns are dead: their entries name themselves by their subjects, so nothing else is read.

use holdpoint_bus::journal::ReadError;
use holdpoint_protocol::pages::{self, Page};
use holdpoint_protocol::{
    api::{DeadQuery, DeadTurn, DeadTurns},
    journal::{Dead, Entry, EntryKind, Sequence},
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
    let (filter, roots) = (key.filter(), shell.trust.roots());
    let first = shell.journal.next_under(&filter, Sequence(sequence.0.saturating_sub(1))).await?;
    let Some(given_up) = first.filter(|first| first.sequence == sequence && first.is_orchestrators(&roots)) else {
        return Ok(None);
    };
    let (mut behind, edit) = (sequence, key.entry(&EntryKind::Revised));
    while let Some(later) = shell.journal.next_under(&filter, behind).await? {
        // Any entry but the edit of a document reopened the turn.
        if later.subject != edit && later.is_orchestrators(&roots) {
            return Ok(None);
        }
        behind = later.sequence;
    }
    let entry = Entry::decode(&given_up.subject, &given_up.payload, given_up.content_type.as_deref());
    if let (Ok(Entry::Dead(dead)), Some(waypoint)) = (entry, key.waypoint) {
        let Dead { turn, role, deaths, overdue, record, .. } = *dead;
        return Ok(Some(DeadTurn { flight: key.flight, waypoint, turn, role, since: record.at, deaths, overdue }));
    }
    tracing::error!(sequence = sequence.0, "ALARM: an entry that gives a turn up cannot be read");
    Ok(None)
}
