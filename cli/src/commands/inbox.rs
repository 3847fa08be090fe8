//! `inbox`: what waits for people, and what they should know although nothing waits.

use holdpoint_protocol::{api::InboxItem, ids::FlightId};
use serde_json::{Value, json};

use crate::{
    args::people::InboxArgs,
    client::Client,
    failure::{Exit, Failure},
    notify::{Event, Notices},
    output,
    people::{find, key, words},
    target::Target,
};

/// Lists it.
pub(super) async fn inbox(args: InboxArgs) -> Result<Exit, Failure> {
    let flight = args.flight.as_ref();
    Target::check(&args.place, args.person.as_ref())?;
    let mut me = args.person.clone().unwrap_or_else(key::default_name);
    let (items, notices) = match Target::find(&args.place).await? {
        Some(target) => {
            if target.fleet.is_none() {
                me = target.client.bus().name().clone();
            }
            let read = async |client: &Client| {
                let flight = match flight {
                    Some(named) => Some(find::known(client, named).await?.flight),
                    None => None,
                };
                let items = client.inbox(flight.as_ref()).await?;
                let notices = if args.notices { notices(client, flight.as_ref()).await? } else { Vec::new() };
                Ok((items, notices))
            };
            target.serve(read).await?
        }
        None => (Vec::new(), Vec::new()),
    };
    if args.json {
        output::json(&document(&items, args.notices.then_some(notices.as_slice())));
    } else if items.is_empty() {
        output::out("nothing waits for a person");
    } else {
        let (mine, others): (Vec<_>, Vec<_>) = items.iter().cloned().partition(|item| item.is_for(&me));
        words::items(&mine).iter().for_each(|item| output::out(item));
        if !others.is_empty() {
            output::out(&format!("for others than {me}:"));
            words::items(&others).iter().for_each(|item| output::out(item));
        }
    }
    if !args.json {
        notices.iter().for_each(|notice| output::out(&words::notice(notice)));
    }
    Ok(Exit::Success)
}

/// Flights that are over, then what is found in the journals of those that are open, or of the one that is named.
async fn notices(client: &Client, flight: Option<&FlightId>) -> Result<Vec<Event>, Failure> {
    let mut all = client.flights().await?;
    all.retain(|line| flight.is_none_or(|flight| *flight == line.flight));
    let open = all.iter().filter(|line| flight.is_some() || !line.status.is_over());
    let open: Vec<FlightId> = open.map(|line| line.flight.clone()).collect();
    let mut found = Notices::default();
    found.read_on(client, &open, &[]).await;
    let over = all.into_iter().filter(|line| line.status.is_over());
    let over = over.map(|line| Event::FlightOver { flight: line.flight, status: line.status });
    Ok(over.chain(found.found().iter().cloned()).collect())
}

fn document(items: &[InboxItem], notices: Option<&[Event]>) -> Value {
    let mut document = json!({"items": items});
    if let Some(notices) = notices {
        document["notices"] = notices.iter().map(Event::json).collect();
    }
    document
}
