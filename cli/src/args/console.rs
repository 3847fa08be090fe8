//! `console`: the fleet in a browser.

use std::net::SocketAddr;

use clap::Args;
use holdpoint_protocol::ids::AgentName;

use super::Place;

/// `console`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint console\n  \
    holdpoint console --as human-ann --port 4280\n  \
    holdpoint console --nats tls://fleet.example:4222 --creds ann.creds --read-only\n\n\
    Prints an address of this machine's loopback: open it in a browser. It holds a secret, and anyone who has it acts in your name; \
    another start prints another. Shows flights, waypoints with their attempts, diffs and evidence, what waits for people, and \
    the agents, as it happens; buttons answer, approve, send back, retry, cancel, pause and resume, signed with the key that \
    this command runs with. Ctrl-C ends it; flights are not touched by that.")]
pub(crate) struct ConsoleArgs {
    /// In whose name buttons act, in a local fleet; that person's key is made when it is first used [default: human-<your user name>]
    #[arg(long = "as", value_name = "human-NAME")]
    pub(crate) person: Option<AgentName>,
    /// Show only: no button acts
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The port on the loopback; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Listen there instead of on the loopback: for a container whose port is published on its machine's loopback alone
    #[arg(long, value_name = "ADDR:PORT", requires = "published_as", conflicts_with = "port")]
    pub(crate) listen: Option<SocketAddr>,
    /// Under which host and port a browser reaches --listen; requests that name another are refused
    #[arg(long, value_name = "HOST:PORT", requires = "listen")]
    pub(crate) published_as: Option<String>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the address as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
