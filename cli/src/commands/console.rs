//! `console`: pages on the loopback.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use holdpoint_console::{Console, Settings};
use holdpoint_runtime::fresh;
use serde_json::json;

use crate::{
    args::console::ConsoleArgs,
    client::Client,
    console::Seen,
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
    target.serve(work).await?;
    Ok(Exit::Success)
}

async fn serve(client: &Client, args: &ConsoleArgs) -> Result<(), Failure> {
    client.somebody_there().await?;
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let settings = Settings {
        listen: args.listen.unwrap_or(loopback),
        names: args.published_as.iter().cloned().collect(),
        read_only: args.read_only,
        secrets: [fresh::nonce(), fresh::nonce(), fresh::nonce()],
    };
    let seen = Seen::of(client.clone()).await?;
    let console = Console::open(Arc::new(seen), settings).await.map_err(|error| not_listening(args, &error))?;
    if args.json {
        output::json(&json!({"url": console.address()}));
    } else {
        output::out(&format!("console  {}", console.address()));
        output::err("open it in a browser on this machine; whoever has it acts in your name. Ctrl-C ends it");
    }
    console.serve().await.map_err(|error| not_listening(args, &error))
}

fn not_listening(args: &ConsoleArgs, error: &std::io::Error) -> Failure {
    let at = args.listen.map_or_else(|| format!("127.0.0.1:{}", args.port), |at| at.to_string());
    Failure::environment("console", format!("cannot listen on {at}: {error}"), "choose another --port, or leave it out")
}
