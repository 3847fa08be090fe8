//! `mcp`: a server of the Model Context Protocol on standard input and output (GATE-21). Nothing else writes to standard output.
//!
//! - `server`: the protocol; `lines`: what its client writes, with half characters replaced, and what is too long answered (`line_id`: under which id); one call at a time, and what was begun is finished.
//! - `offer`: tools with their descriptions and schemas; `reply`: what a call comes to, refusals as words that teach.
//! - `fleet`: the tools of a person or operator; `completion`: what is completed; `turn`: the tools in an agent's turn.

mod completion;
mod fleet;
mod line_id;
mod lines;
mod offer;
mod reply;
mod server;
mod turn;

use std::path::PathBuf;

use holdpoint_harness::ask;

use crate::{
    args::mcp::McpArgs,
    failure::{Exit, Failure},
    target::Target,
};

/// Serves tools until the client goes.
pub(super) async fn mcp(args: McpArgs) -> Result<Exit, Failure> {
    match std::env::var_os(ask::SOCKET_VARIABLE) {
        Some(line) => {
            check_without_keys(&args)?;
            let turn = turn::Turn::of(PathBuf::from(line));
            server::serve(turn.offer(), async |name, arguments| turn.call(&name, arguments).await).await?;
        }
        None => {
            Target::check(&args.place, args.person.as_ref())?;
            let fleet = fleet::Fleet::of(args);
            server::serve(fleet::offer(), async |name, arguments| fleet.call(&name, arguments).await).await?;
        }
    }
    Ok(Exit::Success)
}

/// Refuses flags of people in an agent's turn: whatever acts in a person's name there would be the agent.
fn check_without_keys(args: &McpArgs) -> Result<(), Failure> {
    if args.person.is_none() && args.flight.is_none() && args.place.overrides().is_empty() {
        return Ok(());
    }
    let message = "--as, --flight, --nats, --creds and --tls-… cannot be used in an agent's turn";
    Err(Failure::usage("keys_in_turn", message, "leave them out: the tools there are about the turn, and need no key"))
}
