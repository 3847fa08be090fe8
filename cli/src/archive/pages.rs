//! Reading the messages of a flight, page by page, as they are stored.

use holdpoint_protocol::{
    export::{ExportPlace, Message, MessageQuery},
    journal::Sequence,
};

use crate::{client::Client, failure::Failure};

/// Gives every message that a query asks for to `take`, whole and in order; the place of the last one, or where the query
/// began.
pub(crate) async fn each_message(
    client: &Client,
    mut query: MessageQuery,
    mut take: impl FnMut(Message) -> Result<(), Failure>,
) -> Result<ExportPlace, Failure> {
    let mut begun: Option<Message> = None;
    let mut last = query.after.sequence;
    loop {
        let page = client.messages(&query).await?;
        for message in page.messages {
            last = last.max(message.sequence);
            // The rest of a message that was too large for one answer.
            match begun.as_mut().filter(|begun| begun.sequence == message.sequence) {
                Some(begun) => begun.payload.extend(message.payload),
                None => {
                    if let Some(whole) = begun.replace(message) {
                        take(whole)?;
                    }
                }
            }
        }
        let Some(next) = page.next else { break };
        query.after = next;
    }
    if let Some(whole) = begun {
        take(whole)?;
    }
    Ok(place_behind(last))
}

/// Where to go on behind a message.
fn place_behind(sequence: Sequence) -> ExportPlace {
    ExportPlace { sequence, ..ExportPlace::default() }
}
