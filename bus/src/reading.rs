//! Reading stored messages without a consumer: the broker answers one request with many messages (a direct get of a batch), each of
//! which names the one before it in the batch.
//!
//! A stream has room for a limited number of consumers, and each one made and given back costs the broker more than the reading of a
//! short journal. Any server that has the stream answers, also one that is behind: callers ask the leader where their reading ends.

use std::time::Duration;

use async_nats::{Message, jetstream::message::StreamMessage};
use futures::StreamExt as _;
use holdpoint_protocol::journal::Sequence;
use serde_json::json;

use crate::{Bus, journal::end_of};

/// What one answer may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) messages: usize,
    /// The broker gives one message at least, however long it is.
    pub(crate) bytes: usize,
}

/// For a reader that is alone.
pub(crate) const LARGE: Room = Room { messages: 500, bytes: 16 << 20 };
/// How long the broker may be silent within an answer.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often an answer is asked for again that was cut off or came from a server that is behind.
const TRIES_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);

/// The header with the place of the message before it in the batch.
const LAST: &str = "Nats-Last-Sequence";

/// Gives every message of a stream behind `after` to `take`, up to the last one now, and moves `after` there.
///
/// # Errors
/// Nothing can be said about what was not read.
pub(crate) async fn read_stream(
    bus: &Bus,
    name: &str,
    after: &mut Sequence,
    take: &mut impl FnMut(&StreamMessage),
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let end = end_of(bus, name, ">").await?;
    let mut tries = 0;
    while *after < end {
        let messages = batch(bus, name, ">", *after, LARGE).await;
        if let Some(last) = messages.last() {
            messages.iter().for_each(&mut *take);
            *after = Sequence(last.sequence);
            tries = 0;
            continue;
        }
        tries += 1;
        if tries > TRIES_MAX {
            return Err(format!("nothing comes behind {}", after.0).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// One request: the messages under `filter` behind `after`, oldest first, as far as they came without a gap. None: the server has no
/// more, is behind, or was cut off.
pub(crate) async fn batch(bus: &Bus, stream: &str, filter: &str, after: Sequence, room: Room) -> Vec<StreamMessage> {
    let client = bus.client();
    let inbox = client.new_inbox();
    let Ok(mut answers) = client.subscribe(inbox.clone()).await else { return Vec::new() };
    let wanted = json!({"seq": after.0 + 1, "next_by_subj": filter, "batch": room.messages, "max_bytes": room.bytes})
        .to_string();
    if client.publish_with_reply(format!("$JS.API.DIRECT.GET.{stream}"), inbox, wanted.into()).await.is_err() {
        return Vec::new();
    }
    let mut lost = std::pin::pin!(bus.lost());
    let (mut messages, mut before) = (Vec::new(), 0);
    loop {
        let next = tokio::select! {
            next = tokio::time::timeout(SILENCE_MAX, answers.next()) => next,
            () = &mut lost => return messages,
        };
        // The end of a batch has a status, as has the answer that there is none.
        let Ok(Some(message)) = next else { return messages };
        if message.status.is_some() {
            return messages;
        }
        // One got lost, and nothing behind it counts.
        let Some(message) = behind(before, message) else { return messages };
        before = message.sequence;
        messages.push(message);
    }
}

/// The message, if the one before it in the batch is the one with this sequence (0: it is the first). Senders choose their headers, and
/// the broker adds its own behind them: the last of a name is the broker's.
fn behind(before: u64, message: Message) -> Option<StreamMessage> {
    let last = message.headers.as_ref()?.get_last(LAST)?.as_str().parse();
    if last == Ok(before) { StreamMessage::try_from(message).ok() } else { None }
}
