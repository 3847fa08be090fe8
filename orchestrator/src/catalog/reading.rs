//! Journal entries as the broker gives them: the next ones are fetched while earlier ones are checked, on all cores.

use std::num::NonZero;

use futures::{Stream, StreamExt as _, stream};
use holdpoint_bus::{
    Stored,
    journal::{ReadError, Replay},
};
use holdpoint_protocol::subjects;
use tokio::sync::mpsc;

use super::Wanted;
use crate::{books::Checked, shell::Shell};

/// Batches that are fetched and wait to be checked.
const BATCHES_AHEAD: usize = 2;

/// The entries of wanted flights, checked a batch at a time: several batches at once, but given out in order.
pub(super) fn checked(
    shell: &Shell,
    entries: Replay,
    wanted: &Wanted<'_>,
) -> impl Stream<Item = impl Future<Output = Result<Vec<Checked>, ReadError>>> {
    fetched(entries).map(|batch| {
        // Begun before anybody waits for it.
        let checking = batch.map(|mut batch| {
            batch
                .retain(|stored| subjects::parse_journal(&stored.subject).is_some_and(|key| wanted.wants(&key.flight)));
            let roots = shell.trust.roots();
            tokio::task::spawn_blocking(move || Checked::all(&roots, &batch))
        });
        async {
            match checking?.await {
                Ok(checked) => Ok(checked),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The process ends.
                    Err(_) => Err(ReadError::Interrupted { filter: subjects::journals() }),
                },
            }
        }
    })
}

/// Entries as the broker gives them, fetched while earlier ones are checked and folded.
fn fetched(mut entries: Replay) -> impl Stream<Item = Result<Vec<Stored>, ReadError>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    tokio::spawn(async move {
        loop {
            let batch = entries.next_batch().await;
            // None after the last, which is sent as well: without it the reading was cut off.
            let is_last = batch.as_ref().map_or(true, Vec::is_empty);
            if sender.send(batch).await.is_err() || is_last {
                return;
            }
        }
    });
    stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Ok(batch)) if batch.is_empty() => None,
            Some(Ok(batch)) => Some((Ok(batch), Some(receiver))),
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Err(ReadError::Interrupted { filter: subjects::journals() }), None)),
        }
    })
}

/// Batches that are checked at once: one on each core, and one that comes meanwhile.
pub(super) fn batches_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get) + 1
}
