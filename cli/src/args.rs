//! What can be typed: commands, flags, and the help that teaches them.

pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod bridge;
pub(crate) mod budget;
mod check;
pub(crate) mod console;
pub(crate) mod dead;
pub(crate) mod draft;
pub(crate) mod first;
pub(crate) mod handoffs;
pub(crate) mod keys;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod observe;
pub(crate) mod org;
pub(crate) mod people;
mod places;
pub(crate) mod pr;
mod process;
pub(crate) mod revise;
pub(crate) mod taking;
pub(crate) mod task;
#[cfg(test)]
mod tests;
pub(crate) mod traces;
pub(crate) mod unknown;
pub(crate) mod verify;
pub(crate) mod workflow;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_runtime::config::TimeSpan;

use crate::people::works::AttemptName;

pub(crate) use check::CheckArgs;
pub(crate) use first::InitArgs;
pub(crate) use places::{CommandFlags, FleetFlags, Place};
pub(crate) use process::{AgentArgs, AgentRole, ProcessArgs};
pub(crate) use task::{TaskFlags, Work};

/// Builders build, an independent verifier judges by evidence, and only what was shown to be right lands.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version, about, max_term_width = 110)]
#[command(after_help = "Begin with: holdpoint doctor, then holdpoint run --help.\n\n\
    A flight or waypoint can be named by the beginning of its name where no other begins so. `latest` is the flight that was submitted \
    last; of the waypoints the one that began to wait last for what the command does (approve, reject, answer, retry, hand-in, \
    release), else the one to which something happened last; and the last attempt that there is work of.\n\n\
    Exit codes: 0 done, all waypoints accepted; 1 ended, not all accepted; 2 usage, plan or configuration; \
    3 environment (broker, sandbox, git); 130 interrupted, the flight can be resumed.")]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fly a plan against a repository, from its first waypoint to the branch with what was accepted
    Run(RunArgs),
    /// Look at everything that `run` would refuse, without flying
    Check(CheckArgs),
    /// Judge a change that was made elsewhere: a branch, a range or a patch
    Verify(verify::VerifyArgs),
    /// Write a plan for the repository at hand, to begin with
    Init(InitArgs),
    /// Have an agent write a plan for what is wanted
    Draft(draft::DraftArgs),
    /// Check, show and begin the workflows that a project declares
    Workflow(workflow::WorkflowArgs),
    /// Have running flights go on by what a project declares now
    Org(org::OrgArgs),
    /// Keep a fleet running for several flights, until Ctrl-C
    Up(UpArgs),
    /// Hand a plan to a running fleet and print the flight's id
    Submit(SubmitArgs),
    /// Show a fleet in a browser on this machine, and act on what waits
    Console(console::ConsoleArgs),
    /// Follow a flight until it ends
    Watch(WatchArgs),
    /// Show how a flight stands, or list all flights
    Status(StatusArgs),
    /// Show all artifacts and decisions of a waypoint, in order
    History(HistoryArgs),
    /// Print what an attempt changed, as a patch
    Diff(first::DiffArgs),
    /// Leave a flight out of the list; nothing is deleted
    Forget(first::ForgetArgs),
    /// List and remove everything that is kept for a repository
    Purge(first::PurgeArgs),
    /// Make flights this repository's own that were flown from where it was before
    Adopt(first::AdoptArgs),
    /// Show what the agents of a waypoint say and do while they do it
    Logs(logs::LogsArgs),
    /// List what went wrong when agents' programs handed over their results
    Handoffs(handoffs::HandoffsArgs),
    /// Show one artifact, or the bytes of evidence
    Artifact(ArtifactArgs),
    /// Edit the document of a gate: later turns get it as it is then
    Revise(revise::ReviseArgs),
    /// Print what happens at gates as JSON lines: transitions, rejections, timeouts, conflicts, loops
    Events(observe::EventsArgs),
    /// Show work gate by gate: what is where now and for whom it waits, and how long gates take
    Gates(observe::GatesArgs),
    /// Show a waypoint as a task: a document with front matter
    Task(observe::TaskArgs),
    /// Report on agents and on delivery (DORA)
    Report(observe::ReportArgs),
    /// Write the branch with a flight's accepted work
    Fetch(FetchArgs),
    /// Open a pull request or merge request with what a flight landed
    Pr(pr::PrArgs),
    /// Write everything about a flight into one file, as it was sent
    Export(audit::ExportArgs),
    /// Take flights that are over off the broker, each into a file that `audit` can check
    Archive(archive::ArchiveArgs),
    /// Move everything that a fleet's broker keeps to another broker, or from one to three
    Migrate(migrate::MigrateArgs),
    /// Check a flight's account: chain, signatures, decisions, evidence; name the first broken link
    #[command(visible_alias = "replay")]
    Audit(audit::AuditArgs),
    /// Print signed statements on landed work, for people outside
    Attest(audit::AttestArgs),
    /// List what waits for a person, with the commands that move it on
    Inbox(people::InboxArgs),
    /// Answer an agent's question
    Answer(people::AnswerArgs),
    /// Complete a gate for people: the work goes on
    Approve(people::ApproveArgs),
    /// Send work back from a gate for people
    Reject(people::RejectArgs),
    /// Serve tasks and completions as tools (MCP) on standard input and output
    Mcp(mcp::McpArgs),
    /// Let people and programs who only know files take part: a folder as an agent and an operator
    Bridge(bridge::BridgeArgs),
    /// Raise limits of a flight or a waypoint
    Budget(budget::BudgetArgs),
    /// Show where a flight's tokens and money went
    Cost(budget::CostArgs),
    /// Have blocked, failed or dead work tried again
    Retry(people::RetryArgs),
    /// Take over an agents' turn: work on it yourself
    Take(taking::TakeArgs),
    /// Hand in your work on a turn that you took over
    HandIn(taking::HandInArgs),
    /// Give a turn back that you took over
    Release(taking::ReleaseArgs),
    /// End a flight, or one waypoint of it
    Cancel(people::CancelArgs),
    /// Open no turn of a flight until it is resumed
    Pause(people::SteerArgs),
    /// Let a paused flight go on
    Resume(people::SteerArgs),
    /// List the turns that kill their agents, and have them tried again
    Dead(dead::DeadArgs),
    /// Check broker, git, sandbox, clock and state folder
    Doctor(DoctorArgs),
    /// Tell whether a process of this machine or container is well
    Health(HealthArgs),
    /// Make, add, revoke and rotate the keys of a fleet
    Keys(keys::KeysArgs),
    /// Measure this machine: the protocol and git work, each against a yardstick
    Bench(bench::BenchArgs),
    /// Print the traces of a flight from a file of `otlp-sink`
    Trace(traces::TraceArgs),
    /// Receive traces where there is no collector, and write them to a file
    OtlpSink(traces::SinkArgs),
    /// Print the schemas, names and AsyncAPI document that agents of your own are written from
    Schema(SchemaArgs),
    /// Try an agent of your own against the contract, without a fleet
    AgentCheck(AgentCheckArgs),
    /// Print a shell's completion script
    Completion(CompletionArgs),
    /// Write the manual pages of all commands into a folder
    Man(ManArgs),
    /// Run one orchestrator process
    Orchestrator(ProcessArgs),
    /// Run one agent process
    Agent(AgentArgs),
}

/// `run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint run plan.yaml --builder claude\n  \
    holdpoint run plan.yaml --repo ../client --config holdpoint.toml --builders 3\n  \
    holdpoint run --task 'Read the contract' --agent default=claude\n  \
    gh issue view 12 --json title,body --jq '.title, .body' | holdpoint run --issue - --builder claude\n  \
    holdpoint run --resume harden-client-0a1b2c3d\n\n\
    The command line of --builder is run with `sh -c` in a clone of its own, in a sandbox, with the task in Markdown on \
    its standard input; it edits files. Your working tree and branches are not touched: what was accepted stands on the \
    branch holdpoint/<flight>. Ctrl-C leaves the flight resumable. Work of one step needs no plan file: --task, --issue.")]
pub(crate) struct RunArgs {
    /// The plan file (YAML)
    #[arg(required_unless_present_any = ["resume", "work"])]
    pub(crate) plan: Option<PathBuf>,
    /// Work without a plan file
    #[command(flatten)]
    pub(crate) task: TaskFlags,
    /// Go on with a flight that was interrupted; its fleet's commands are remembered, but for those that --builder and --agent
    /// name now
    #[arg(long, value_name = "FLIGHT", conflicts_with_all = ["plan", "work", "repair", "judge", "builders", "verifiers", "config"])]
    pub(crate) resume: Option<FlightId>,
    /// What the fleet runs
    #[command(flatten)]
    pub(crate) commands: CommandFlags,
    /// Serve a console as long as this runs, in your name, and say its address; the command stays while something waits for people
    #[arg(long, conflicts_with = "nats")]
    pub(crate) console: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what happens as JSON, one object a line, and at last the result; for scripts
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_events: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `up`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    holdpoint up --builders 2 --builder ./agent.sh &\n  \
    holdpoint submit plan.yaml\n  \
    holdpoint watch FLIGHT\n\n\
    Prints the broker's address and the place of credentials for --nats and --creds. Ctrl-C or SIGTERM ends it; flights \
    that are under way go on with the next `up`.")]
pub(crate) struct UpArgs {
    /// The repository whose fleet it is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// What the fleet runs
    #[command(flatten)]
    pub(crate) commands: CommandFlags,
    /// Serve a console as well, in your name, and print its address (see `holdpoint console --help`); done anyway where the
    /// output is a terminal
    #[arg(long)]
    pub(crate) console: bool,
    /// Serve no console
    #[arg(long, conflicts_with = "console")]
    pub(crate) no_console: bool,
    /// Print the addresses as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `submit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint submit plan.yaml\n  \
    holdpoint submit --task 'Read the contract' --goal 'List what it obliges us to' --tag legal\n  \
    holdpoint submit --issue issue.md\n  \
    holdpoint submit plan.yaml --nats nats://fleet:4222 --creds me.creds")]
pub(crate) struct SubmitArgs {
    /// The plan file (YAML)
    #[arg(required_unless_present = "work")]
    pub(crate) plan: Option<PathBuf>,
    /// Work without a plan file
    #[command(flatten)]
    pub(crate) task: TaskFlags,
    /// Settings of the fleet
    #[command(flatten)]
    pub(crate) fleet: FleetFlags,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the flight as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `watch`
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what happens as JSON, one object a line, and at last the result; for scripts
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_events: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `status`
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The flight; without it all flights are listed, newest first
    pub(crate) flight: Option<FlightId>,
    /// List forgotten flights too
    #[arg(long, conflicts_with = "flight")]
    pub(crate) all: bool,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print JSON: the flight as `run --json` does, or an array of flights
    #[arg(long)]
    pub(crate) json: bool,
}

/// `history`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint history retry-backoff\n  holdpoint diff retry-backoff --attempt 1\n  \
    holdpoint artifact sha256:…\n\n\
    First a line for each attempt, with its verdict and why; then every artifact and decision, in order.")]
pub(crate) struct HistoryArgs {
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// The flight; without it the newest one that has such a waypoint
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `artifact`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint artifact HP_HANDOFF_BUILDER/42\n  \
    holdpoint artifact HP_HANDOFF_BUILDER/42 --markdown > build.md\n  holdpoint artifact sha256:…\n\n\
    References are printed by `holdpoint history WAYPOINT`. A document has YAML front matter (id, stage, status, handoff_ready, \
    checkpoints, retry_count, …), every other field below `artifact`, and the words of the artifact as its text. \
    `holdpoint export FLIGHT --folder DIR` writes those of a whole flight.")]
pub(crate) struct ArtifactArgs {
    /// STREAM/SEQUENCE, or sha256:… for the bytes of evidence
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print an artifact as a document: Markdown with front matter
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print an artifact as one JSON object; evidence is printed as it is
    #[arg(long)]
    pub(crate) json: bool,
}

/// `fetch`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint fetch harden-client-0a1b2c3d\n  \
    holdpoint fetch retry-backoff --attempt 1\n  \
    holdpoint fetch --from harden-client-0a1b2c3d.export.jsonl.gz --repo ~/src/client\n\n\
    The branch is holdpoint/FLIGHT; that of an attempt is holdpoint/FLIGHT-WAYPOINT-attempt-N, with one commit on the commit that the \
    attempt began with. One that is there already is moved forward, or left alone. A file is audited first; no fleet has to run \
    for it.")]
pub(crate) struct FetchArgs {
    /// The flight; with --attempt a waypoint
    #[arg(required_unless_present = "from")]
    pub(crate) flight: Option<FlightId>,
    /// Write the work of this attempt at the waypoint instead, from 1, `latest`, or N@AGENT for what one of its agents handed over: also the
    /// files that a failed one left
    #[arg(long, value_name = "N", conflicts_with = "from", requires = "flight")]
    pub(crate) attempt: Option<AttemptName>,
    /// The flight of the waypoint; without it the newest one that has such a waypoint
    #[arg(long = "flight", value_name = "FLIGHT", requires = "attempt")]
    pub(crate) of: Option<FlightId>,
    /// Take its work from a file that `archive` or `export --with-work` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "flight")]
    pub(crate) from: Option<PathBuf>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the branch as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The repository whose state folder and fleet are looked at
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `health`
#[derive(Debug, Args)]
#[command(after_help = "Example, in a container:\n  \
    HEALTHCHECK --interval=2s --timeout=330s CMD [\"holdpoint\", \"health\", \"--hold\", \"5m\"]\n\n\
    With --hold the first answer of a process that is well comes at once, and each further one after SPAN, or as soon as it is \
    not well any more: one process asks all the time, instead of a new one every few seconds.\n\n\
    A process says every 2 s in the file of `health.file` that it turns and that its connection to the broker stands. \
    Exit code 0: it said so in the last 15 s. 1: it did not. 2: no file is configured.")]
pub(crate) struct HealthArgs {
    /// The configuration file of the process (TOML); variables HOLDPOINT__SECTION__KEY override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Go on looking for so long before it says once more that the process is well, as 5m
    #[arg(long, value_name = "SPAN")]
    pub(crate) hold: Option<TimeSpan>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `schema`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint schema\n  holdpoint schema turn\n  holdpoint schema asyncapi\n  \
    holdpoint schema --out schemas/\n\n\
    Without a NAME the streams, consumers, subjects, headers and schemas are listed. docs/external-agents.md is the guide.")]
pub(crate) struct SchemaArgs {
    /// A schema; `plan` for plan files, `asyncapi` for the AsyncAPI document, `names` for streams, consumers, subjects and headers
    pub(crate) name: Option<String>,
    /// Write files into this folder instead: all of them, or the one of NAME
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON: the list of schemas and names, or the files that were written
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agent-check`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint agent-check --role verifier -- python3 verifier.py\n  \
    holdpoint agent-check --role builder --port 4333\n\n\
    Starts a private broker with fresh keys, gives the program its credentials (HOLDPOINT_NATS_URL, HOLDPOINT_CREDS), and \
    leads it through whole turns, a stop, a refusal, redelivery, a superseded turn and SIGTERM. Prints each sentence of the \
    contract with what was seen, and a hint. Without a command it waits for an agent that you start yourself; then nothing \
    is killed. Exit 0: it keeps the contract; 1: it does not.")]
pub(crate) struct AgentCheckArgs {
    /// What the agent does
    #[arg(long, value_enum)]
    pub(crate) role: AgentRole,
    /// Seconds that one turn may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=3600))]
    pub(crate) patience: u64,
    /// The port of the private broker, on this machine only [default: any free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the findings as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The agent's program and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// `completion`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint completion bash > ~/.local/share/bash-completion/completions/holdpoint")]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Shells that completion is written for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    /// Bash
    Bash,
    /// Z shell
    Zsh,
    /// Fish
    Fish,
}

/// `man`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint man ~/.local/share/man/man1 && man holdpoint-run")]
pub(crate) struct ManArgs {
    /// The folder; it is made where it is missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// The command that a line is.
#[cfg(test)]
fn parsed(line: &str) -> Result<Command, clap::error::ErrorKind> {
    let words = std::iter::once("holdpoint").chain(line.split(' '));
    <Cli as clap::Parser>::try_parse_from(words).map(|cli| cli.command).map_err(|error| error.kind())
}
