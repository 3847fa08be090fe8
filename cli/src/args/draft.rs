//! Flags of `draft`.

use std::path::PathBuf;

use clap::Args;
use holdpoint_runtime::config::Dialect;

use super::{
    CommandFlags,
    places::{dialect, variable_name},
};

/// Most turns of one draft.
const ROUNDS_MAX: i64 = 10;

/// `draft`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint draft 'Retries back off, and can be configured' --agent claude\n  \
    holdpoint draft --issue issue.md --agent ../agent.sh --out backoff.yaml\n\n\
    The agent writes the plan in its sandbox, with a map of the repository, the schema of plans, and what makes a plan good. Its checks are \
    then tried on the base in the verifier's sandbox. The draft goes back to the agent, with everything that is wrong, while it cannot be \
    flown, or an agent that does nothing would be accepted: a guard is red, a check with `red_first` is green, all checks of a waypoint \
    are green, or a waypoint has no scope. Nothing is written but the plan, and only `holdpoint run` flies it.\n\n\
    Exit codes: 0 the plan is written; 1 no draft was good after all rounds, and the last one is kept next to it; 2 usage or \
    configuration; 3 environment (sandbox, git).")]
pub(crate) struct DraftArgs {
    /// What is wanted
    #[arg(value_name = "TEXT", required_unless_present = "issue", conflicts_with = "issue")]
    pub(crate) wanted: Option<String>,
    /// What is wanted, as a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) issue: Option<PathBuf>,
    /// The program that drafts: an agent that `holdpoint doctor` lists by name, such as `claude`, or a shell command line with the task on its
    /// standard input [default: the builder's of the configuration]
    #[arg(long, value_name = "CMD", visible_alias = "builder")]
    agent: Option<String>,
    /// In which form it prints what it does, as `run --dialect`
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// A variable of yours that it gets, besides those of a preset; may be repeated
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pass_env: Vec<String>,
    /// Give it a copy of its login (a token refreshed there can log you out: prefer a key in a variable)
    #[arg(long)]
    with_login: bool,
    /// How often it may draft
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=ROUNDS_MAX))]
    pub(crate) rounds: u32,
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Where to write the plan [default: plan.yaml in the repository's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// The configuration file (TOML); flags and variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl DraftArgs {
    /// What would be said to `run`.
    pub(crate) fn commands(&self) -> CommandFlags {
        CommandFlags {
            builder: self.agent.clone(),
            dialect: self.dialect,
            pass_env: self.pass_env.clone(),
            with_login: self.with_login,
            config: self.config.clone(),
            ..CommandFlags::default()
        }
    }

    /// Where the plan goes.
    pub(crate) fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| self.repo.join("plan.yaml"))
    }
}
