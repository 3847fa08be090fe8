//! Reading whole streams without a consumer: archivists and migrators may make none. The broker answers one request with many messages
//! (direct gets in batches), each of which names the one before it in the batch.

use std::time::Duration;

use async_nats::Message;
use futures::StreamExt as _;
use holdpoint_protocol::journal::Sequence;
use serde_json::json;

use crate::{Bus, journal::end_of, message::header};

/// Messages of one answer, and their bytes.
const BATCH_LEN: u64 = 1_000;
const BATCH_BYTES: u64 = 16 << 20;
/// How long the broker may be silent within an answer.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often an answer is asked for again that was cut off or came from a server that is behind.
const TRIES_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);

/// The header with a message's place in its stream.
const SEQUENCE: &str = "Nats-Sequence";
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
    take: &mut impl FnMut(&Message),
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // As the stream's leader has it: any server may answer for the rest, and some may be behind.
    let end = end_of(bus, name, ">").await?;
    let mut tries = 0;
    while *after < end {
        let before = *after;
        batch(bus, name, after, take).await?;
        if *after > before {
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

/// One request: gives out what comes of it without a gap, and moves `after` on.
async fn batch(
    bus: &Bus,
    name: &str,
    after: &mut Sequence,
    take: &mut impl FnMut(&Message),
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let client = bus.client();
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await?;
    let wanted = json!({"seq": after.0 + 1, "next_by_subj": ">", "batch": BATCH_LEN, "max_bytes": BATCH_BYTES});
    let subject = format!("$JS.API.DIRECT.GET.{name}");
    client.publish_with_reply(subject, inbox, wanted.to_string().into()).await?;
    let mut before = 0;
    // The end of a batch has a status, as has the answer that there is none.
    while let Ok(Some(message)) = tokio::time::timeout(SILENCE_MAX, answers.next()).await
        && message.status.is_none()
    {
        let (Some(sequence), Some(last)) = (number(&message, SEQUENCE), number(&message, LAST)) else { break };
        // One got lost.
        if last != before {
            break;
        }
        take(&message);
        (before, *after) = (sequence, Sequence(sequence));
    }
    Ok(())
}

fn number(message: &Message, name: &str) -> Option<u64> {
    header(message.headers.as_ref()?, name)?.parse().ok()
}
