//! `mcp`: tasks and completions as tools of the Model Context Protocol.

use clap::Args;
use holdpoint_protocol::ids::{AgentName, FlightId};

use super::Place;

/// `mcp`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint mcp --as human-ann\n  \
    holdpoint mcp --nats nats://fleet:4222 --creds human-ann.creds --flight harden-client-0a1b2c3d\n  \
    claude mcp add holdpoint -- holdpoint mcp --repo /home/ann/client --as human-ann\n\n\
    Speaks the protocol on standard input and output until its input ends; it is started by a client, such as an editor or \
    an agent. Tools: get_task (what is wanted at a gate), complete (completes a gate for people, signed with your key, as \
    `approve` and `reject` do), status (how a flight stands and what waits for people). Whatever calls them acts in your name.\n\n\
    In an agent's turn (HOLDPOINT_TURN_SOCKET is set) it has no keys, and its tools are get_task (the turn's file), context \
    (a part of it), complete (the completion of the turn, where it is one that is completed), status, ask and help, as \
    `holdpoint-ask` has them. docs/people.md says more.")]
pub(crate) struct McpArgs {
    /// In whose name, in a local fleet; that person's key is made when it is first used [default: human-<your user name>]
    #[arg(long = "as", value_name = "human-NAME")]
    pub(crate) person: Option<AgentName>,
    /// The flight that calls are about which name none
    #[arg(long, value_name = "FLIGHT")]
    pub(crate) flight: Option<FlightId>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
}
