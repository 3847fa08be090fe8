//! `keys`: what can be typed about keys and credentials of a fleet.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holdpoint_protocol::ids::{AgentName, PoolId, RoleId};
use holdpoint_runtime::config::TimeSpan;

/// Most credentials of one role that `keys init` makes. `keys add` makes more.
const COUNT_MAX: i64 = 1_000;
/// Most brokers of a cluster: more than five make writes slower and nothing safer.
const BROKERS_MAX: i64 = 5;
/// Characters of a name in Kubernetes: 63, less what is put behind it.
const NAME_MAX: usize = 40;

/// `keys`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint keys init --dir keys\n  \
    holdpoint keys add operator ann --dir keys --expires 90d --out ann.creds\n  \
    holdpoint keys revoke builder-3 --dir keys\n\n\
    All of these work on files only; no broker has to run. Where a broker has to be told, they say so.")]
pub(crate) struct KeysArgs {
    /// The command
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

/// The commands of `keys`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make the keys of a fleet and credentials of every role, as far as they are missing
    Init(InitArgs),
    /// Make credentials for one more agent, orchestrator or person
    Add(AddArgs),
    /// The roles of the fleet's agents, besides builder, verifier and repair
    Role(RoleArgs),
    /// Take credentials back
    Revoke(RevokeArgs),
    /// Give a role a new signing key and sign its credentials again
    Rotate(RotateArgs),
    /// List all credentials that were made, and whether they count
    List(ListArgs),
    /// Show what a .creds file says, and check it
    Show(ShowArgs),
    /// Print the part of a nats-server's configuration that says who is who
    ServerConfig(ServerConfigArgs),
    /// Print the keys as Secrets of Kubernetes, for `kubectl apply -f -`
    Secrets(SecretsArgs),
}

/// Where the keys are.
#[derive(Debug, Args)]
pub(crate) struct Dir {
    /// The folder of the keys
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// `keys init`
#[derive(Debug, Args)]
#[command(after_help = "What is there already is left as it is, so the command can be repeated at every start. \
    A name that was revoked is not made again.\n\n\
    In DIR:\n  \
    authority/                secret: keep it away from every process\n  \
    trust.json                whose word counts, for every process\n  \
    broker/accounts.conf      for `include` in the nats-server's configuration\n  \
    <role>/<role>-<n>.creds   a process takes a free one with --creds-dir DIR/<role>")]
pub(crate) struct InitArgs {
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// How many builders have credentials
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) builders: u32,
    /// How many verifiers
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) verifiers: u32,
    /// How many repair agents
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) repairs: u32,
    /// How many orchestrators
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) orchestrators: u32,
    /// How many operators
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) operators: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys add`
#[derive(Debug, Args)]
#[command(after_help = "Signed offline: no broker has to be told, and the credentials work at once. \
    An orchestrator's key stands in trust.json too; processes take that over within seconds.\n\n\
    Examples:\n  \
    holdpoint keys add operator ann --dir keys --out - > ann.creds\n  \
    holdpoint keys add verifier verifier-gpu --dir keys --harness\n\n\
    An agent's key says whose harness it is for. Its holder cannot change that: give one that was \
    made with --harness to processes of Holdpoint only.")]
pub(crate) struct AddArgs {
    /// What they are for: builder, verifier, repair, orchestrator, operator, archivist, migrator, or a role of `keys role add`
    pub(crate) role: RoleId,
    /// The name; no two users have the same
    pub(crate) name: AgentName,
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// Whose turns an agent takes: the whole fleet's, or one flight's
    #[arg(long, value_name = "POOL", default_value = "fleet")]
    pub(crate) pool: PoolId,
    /// For a process of Holdpoint's own; without it what a verifier reports is recorded as a foreign harness's
    #[arg(long)]
    pub(crate) harness: bool,
    /// How long they count, as 12h or 30d; without it for good, a migrator's for a day
    #[arg(long, value_name = "SPAN")]
    pub(crate) expires: Option<TimeSpan>,
    /// Where to write them, `-` for standard output [default: DIR/<role>/<name>.creds]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object, without the credentials
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys role`
#[derive(Debug, Args)]
pub(crate) struct RoleArgs {
    /// The command
    #[command(subcommand)]
    pub(crate) command: RoleCommand,
}

/// The commands of `keys role`.
#[derive(Debug, Subcommand)]
pub(crate) enum RoleCommand {
    /// Give the fleet a role of agents, for gates of declared workflows
    Add(RoleAddArgs),
}

/// `keys role add`
#[derive(Debug, Args)]
#[command(
    after_help = "The role gets a signing key, and credentials <role>-1 to <role>-N in DIR/<role>. Reload the broker (SIGHUP); \
    orchestrators take the new trust.json over by themselves and make the role's streams. Nobody else is \
    disturbed. Repeating the command makes what is missing.\n\n\
    A role is not removed again, because its handoffs are part of journals. A fleet has at most 12.\n\n\
    Examples:\n  \
    holdpoint keys role add architect --dir keys --agents 4\n  \
    holdpoint keys role add backend --builds --dir keys"
)]
pub(crate) struct RoleAddArgs {
    /// Its name, as gates and the org chart have it
    pub(crate) role: RoleId,
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// Its turns make work, as a builder's do (`plane: build`): it cannot read how work is judged
    #[arg(long)]
    pub(crate) builds: bool,
    /// How many agents have credentials
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=COUNT_MAX))]
    pub(crate) agents: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys revoke`
#[derive(Debug, Args)]
#[command(after_help = "Counts at the broker once it has read DIR/broker/accounts.conf again (SIGHUP), which also \
    ends the user's connections. What an orchestrator wrote before stays part of the journals.")]
pub(crate) struct RevokeArgs {
    /// The name in the credentials, or their public key (U…)
    pub(crate) name_or_key: String,
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys rotate`
#[derive(Debug, Args)]
#[command(after_help = "1. holdpoint keys rotate ROLE --dir DIR\n\
    2. reload the broker (SIGHUP): now both keys count\n\
    3. restart the processes of the role, one after the other: they read their new credentials\n\
    4. holdpoint keys rotate ROLE --dir DIR --drop-old, and reload the broker again\n\n\
    Credentials that are not in their place any more are named: revoke them and add new ones \
    before step 4.")]
pub(crate) struct RotateArgs {
    /// The role: builder, verifier, repair, orchestrator, operator, or one of `keys role add`
    pub(crate) role: RoleId,
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// End the old key: what it signed counts no more
    #[arg(long)]
    pub(crate) drop_old: bool,
    /// With --drop-old: also while credentials that it signed are in use
    #[arg(long, requires = "drop_old")]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys show`
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1: the credentials do not count by the trust roots in DIR.")]
pub(crate) struct ShowArgs {
    /// The .creds file
    pub(crate) file: PathBuf,
    /// A folder with trust.json, to check whether the credentials count
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `keys server-config`
#[derive(Debug, Args)]
pub(crate) struct ServerConfigArgs {
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
}

/// `keys secrets`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    holdpoint keys secrets --dir keys --brokers 3 | kubectl apply --namespace holdpoint --server-side -f -\n\n\
    Prints a List: the ConfigMap NAME-trust, the Secret NAME-broker, and a Secret NAME-<role>-keys for each role of agents \
    and for orchestrators. The authority's secrets and people's credentials are in none. What it prints is secret. \
    With more brokers than one it keeps a password for their routes in DIR/broker/routes.password. \
    Repeat it after each change of DIR; docs/kubernetes.md says what then has to be restarted.")]
pub(crate) struct SecretsArgs {
    /// The folder of the keys
    #[command(flatten)]
    pub(crate) dir: Dir,
    /// What every name begins with: that of the chart's release
    #[arg(long, value_name = "NAME", default_value = "holdpoint", value_parser = label)]
    pub(crate) name: String,
    /// How many brokers form the cluster
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=BROKERS_MAX))]
    pub(crate) brokers: u32,
}

/// The name of a thing in Kubernetes, short enough for what is put behind it.
fn label(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label =
        text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.ends_with('-') && text.chars().all(plain);
    if is_label && text.len() <= NAME_MAX {
        return Ok(text.to_owned());
    }
    Err(format!("write up to {NAME_MAX} of a-z, 0-9 and -, a letter first"))
}
