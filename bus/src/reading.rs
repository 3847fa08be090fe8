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

use crate::{
    Bus,
    leader::{ALL, end_of, next_of},
};

/// What one answer may have: the broker ends it with the message that goes over it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) messages: usize,
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
    let end = end_of(bus, name, ALL).await?;
    let mut tries = 0;
    while *after < end {
        if let Some(last) = batch(bus, name, ALL, *after, LARGE, |message| take(&message)).await {
            *after = last;
            tries = 0;
            continue;
        }
        if next_of(bus, name, ALL, *after).await?.is_none() {
            // What was the end has left.
            *after = end;
            break;
        }
        tries += 1;
        if tries > TRIES_MAX {
            return Err(format!("nothing comes behind {}", after.0).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// One request: gives the messages under `filter` behind `after` to `take`, oldest first, as far as they come without a gap, and says
/// where the last one was. `None`: the server has no more, is behind, or was cut off.
pub(crate) async fn batch(
    bus: &Bus,
    stream: &str,
    filter: &str,
    after: Sequence,
    room: Room,
    mut take: impl FnMut(StreamMessage),
) -> Option<Sequence> {
    let client = bus.client();
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.ok()?;
    let mut lost = std::pin::pin!(bus.lost());
    let wanted = json!({"seq": after.0 + 1, "next_by_subj": filter, "batch": room.messages, "max_bytes": room.bytes})
        .to_string();
    client.publish_with_reply(format!("$JS.API.DIRECT.GET.{stream}"), inbox, wanted.into()).await.ok()?;
    let mut last = None;
    loop {
        let next = tokio::select! {
            next = tokio::time::timeout(SILENCE_MAX, answers.next()) => next,
            () = &mut lost => return last,
        };
        // The end of a batch has a status, as has the answer that there is none.
        let Some(message) = next.ok().flatten().filter(|message| message.status.is_none()) else { return last };
        // One got lost, and nothing behind it counts.
        let Some(message) = behind(last, message) else { return last };
        last = Some(Sequence(message.sequence));
        take(message);
    }
}

/// The message, if the one before it in the batch is that one. Senders choose their headers, and the broker adds its own behind them: the
/// last of a name is the broker's.
fn behind(before: Option<Sequence>, message: Message) -> Option<StreamMessage> {
    let last = message.headers.as_ref()?.get_last(LAST)?.as_str().parse();
    if last == Ok(before.unwrap_or_default().0) { StreamMessage::try_from(message).ok() } else { None }
}
