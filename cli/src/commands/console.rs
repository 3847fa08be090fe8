//! `console`: pages on the loopback.

use serde_json::json;

use super::look::own_state;
use crate::{
    args::console::ConsoleArgs,
    client::Client,
    console::{
        Plans,
        beside::{Wanted, not_listening, open},
    },
    failure::{Exit, Failure},
    interrupt::Interrupts,
    output,
    target::Target,
};

/// Serves pages until Ctrl-C.
pub(super) async fn console(args: ConsoleArgs) -> Result<Exit, Failure> {
    let target = Target::for_person(&args.place, args.person.as_ref()).await?;
    let mut interrupts = Interrupts::listen()?;
    let work = async |client: &Client| {
        tokio::select! {
            served = Box::pin(serve(client, &args)) => served,
            () = interrupts.next() => Ok(()),
        }
    };
    target.serve_to_the_end(work).await?;
    Ok(Exit::Success)
}

async fn serve(client: &Client, args: &ConsoleArgs) -> Result<(), Failure> {
    client.somebody_there().await?;
    let state = own_state(&args.place).await?;
    let plans = Plans::on(args.place.repo.clone(), state.is_none());
    let wanted = Wanted::on_loopback(args.port);
    let listen = args.listen.unwrap_or(wanted.listen);
    let (published_as, read_only) = (args.published_as.clone(), args.read_only);
    let console = open(client, Wanted { listen, published_as, read_only }, Some(plans), state).await?;
    if args.json {
        output::json(&json!({"url": console.address()}));
    } else {
        output::out(&format!("console  {}", console.address()));
        output::err("open it in a browser on this machine; anyone who has it acts in your name. Ctrl-C ends it");
    }
    console.serve().await.map_err(|error| not_listening(listen, &error))
}
