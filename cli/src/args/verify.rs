//! Flags of `verify`.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::ids::WaypointId;

/// `verify`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint verify\n  \
    holdpoint verify --work feature --base main --markdown summary.md\n  \
    holdpoint verify plan.yaml --waypoint retry-backoff --work origin/main..agent/retry\n  \
    git diff main | holdpoint verify --work - --base main --json\n  \
    npm ci && holdpoint verify --here\n\n\
    The change is judged as a verifier judges a handoff: in the sandbox, with the tests as on the base, its path rules and the observer. \
    Nothing lands, and no broker or fleet is started. Without a plan `verify` in the project.yaml of the base says what a change has to \
    show; where it says nothing, all tests of the project have to pass. In a job of GitHub Actions findings are annotations as well, and \
    the summary of the job has the verdict.\n\n\
    Exit codes: 0 shown; 1 not shown; 2 usage, plan or change; 3 environment (sandbox, git).")]
pub(crate) struct VerifyArgs {
    /// The plan file (YAML) whose waypoint the change is work on
    pub(crate) plan: Option<PathBuf>,
    /// Which waypoint of the plan, where it has several
    #[arg(long, value_name = "WAYPOINT", requires = "plan")]
    pub(crate) waypoint: Option<WaypointId>,
    /// The change: a branch, tag or commit; a range; a file with a patch, or `-` for one on standard input
    #[arg(long, value_name = "REF|A..B|PATCH", default_value = "HEAD", allow_hyphen_values = true)]
    pub(crate) work: String,
    /// The commit it is judged against [default: where it left the default branch, or its first parent]
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Take what is installed here (ignored folders of the working tree, caches of the home) instead of setting an environment up
    #[arg(long)]
    pub(crate) here: bool,
    /// The program that judges criteria without a check
    #[arg(long, value_name = "CMD")]
    pub(crate) judge: Option<String>,
    /// The configuration file (TOML); variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write what is wrong as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// Write problems that have a place as a report of GitLab's Code Quality
    #[arg(long, value_name = "FILE")]
    pub(crate) codequality: Option<PathBuf>,
    /// Write a summary as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the verdict as a signed in-toto statement: a DSSE envelope in one line
    #[arg(long, value_name = "FILE")]
    pub(crate) attest: Option<PathBuf>,
    /// The key that signs it: a .creds file, or one with a seed [default: this user's, made on first use]
    #[arg(long, value_name = "FILE", requires = "attest")]
    pub(crate) key: Option<PathBuf>,
    /// Write what each run printed, a file for each
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// Print the verdict as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
