//! `inbox`: what waits for people.

use holdpoint_protocol::api::Inbox;

use crate::{
    args::people::InboxArgs,
    failure::{Exit, Failure},
    output,
    people::words,
    target::Target,
};

/// Lists it.
pub(super) async fn inbox(args: InboxArgs) -> Result<Exit, Failure> {
    let items = match Target::find(&args.place).await? {
        Some(target) => target.serve(async |client| Ok(client.inbox(args.flight.as_ref()).await?)).await?,
        None => Vec::new(),
    };
    if args.json {
        output::json(&Inbox { items, next: None });
    } else if items.is_empty() {
        output::out("nothing waits for a person");
    } else {
        items.iter().for_each(|item| output::out(&words::item(item)));
    }
    Ok(Exit::Success)
}
