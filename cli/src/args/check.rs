//! Flags of `check`.

use std::path::PathBuf;

use clap::Args;

use super::{CommandFlags, Place, TaskFlags};

/// `check`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint check plan.yaml\n  \
    holdpoint check plan.yaml --repo ../client --builder claude --judge ./judge.sh --json\n  \
    holdpoint check plan.yaml --nats nats://fleet:4222 --creds me.creds\n\n\
    Looks at the plan (every problem at once, with its line), the repository and the plan's base, the programs, the \
    configuration, the sandbox and the broker, with the flags that `run` would be given. Guards and checks that have to be \
    red first are tried on the base, as the verifier would. No fleet is started, and nothing is written. \
    Exit 0: `run` would take it; warnings stand on standard error. 2: plan, configuration or repository are wrong. \
    3: this machine lacks something (`holdpoint doctor` shows what).")]
pub(crate) struct CheckArgs {
    /// The plan file (YAML)
    #[arg(required_unless_present = "work")]
    pub(crate) plan: Option<PathBuf>,
    /// Work without a plan file
    #[command(flatten)]
    pub(crate) task: TaskFlags,
    /// Try no check on the base
    #[arg(long)]
    pub(crate) no_try: bool,
    /// What the fleet would run
    #[command(flatten)]
    pub(crate) commands: CommandFlags,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
