//! `bench` and its parts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `bench`
#[derive(Debug, Args)]
#[command(
    after_help = "Each benchmark runs a yardstick with it, in the same run and on the same machine: what counts is the ratio. \
    Everything is made in a temporary folder and removed again. Figures of a debug build mean nothing."
)]
pub(crate) struct BenchArgs {
    /// Which.
    #[command(subcommand)]
    pub(crate) bench: Bench,
}

/// All benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Waypoints with agents that do nothing, through the full protocol, against a raw program on the same broker
    Handoff(HandoffArgs),
    /// What a waypoint costs while many others are open, and how busy builders are that think
    Scale(ScaleArgs),
    /// What a workflow of many gates costs: in memory, and on a fleet against `fly`
    Gates(GatesArgs),
    /// How fast accepted work lands, by the number of verifiers, against what these could do
    Landing(LandingArgs),
    /// What a fleet costs that has nothing to do
    Idle(IdleArgs),
    /// What a flight costs whose work is nothing, against a shell script that does the same with plain git
    Flight(FlightArgs),
    /// Many small flights that are flown and archived, and whether anything grows
    Flights(FlightsArgs),
    /// What git work costs a waypoint, against plain git doing the same
    Workspace(WorkspaceArgs),
    /// What a verdict costs at each level of evidence, against the check alone
    Verdict(VerdictArgs),
    /// How often a suite that takes time runs, and how long a flight is, against a pipeline with a merge queue
    Verification(VerificationArgs),
    /// One of the other processes of a benchmark
    #[command(hide = true)]
    Peer(PeerArgs),
}

/// What all benchmarks share.
#[derive(Debug, Args)]
pub(crate) struct BenchPlace {
    /// Where the temporary folder is made; the broker's store is in it, so name a disk that is like yours
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the figures as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bench handoff`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench handoff\n  \
    holdpoint bench handoff --waypoints 10000 --concurrency 128 --sync default --json\n\n\
    One waypoint is submit, build, verify, decision: a flight of its own. Orchestrator, broker, builders and verifiers \
    are processes of their own, with the accounts, keys and turn loop that every flight has; only the work of a turn is \
    nothing. The yardstick is a minimal program on the raw client that publishes and consumes as many messages of the \
    same sizes: awaited acknowledgements, pull consumers in another process, double acknowledgements. It runs with one \
    connection for that process, and with one per agent: what is aimed at in throughput and CPU time is against the second.")]
pub(crate) struct HandoffArgs {
    /// Waypoints of each measurement
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) waypoints: usize,
    /// How many are under way at once
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) concurrency: usize,
    /// Builders, and verifiers [default: as --concurrency, at most 32]
    #[arg(long, value_name = "N")]
    pub(crate) agents: Option<usize>,
    /// When the broker writes to the disk
    #[arg(long, value_enum, default_value_t = SyncChoice::Both)]
    pub(crate) sync: SyncChoice,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// When the broker writes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SyncChoice {
    /// Every now and then, as it does by itself
    Default,
    /// Before each acknowledgement (`sync_interval: always`)
    Always,
    /// One measurement of each
    Both,
}

/// `bench scale`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench scale\n  \
    holdpoint bench scale --open 1000,10000,100000 --json\n  \
    holdpoint bench scale --open '' --builders 1,4,16\n\n\
    First, flights are opened whose turns nobody takes, and further waypoints are measured next to them: what they cost \
    must not depend on how many are open. The orchestrator is then killed, and the time is taken until another one knows \
    how every open flight stands. Second, builders think for a while about each turn: the more of them, the more is done.")]
pub(crate) struct ScaleArgs {
    /// How many waypoints are open: a row each, the smallest first; empty for none
    #[arg(long, value_name = "N,…", default_value = "1000,10000", value_parser = numbers)]
    pub(crate) open: Numbers,
    /// Waypoints of each flight that stays open
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) per_flight: usize,
    /// Waypoints that are measured in each row
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) waypoints: usize,
    /// How many builders think: a row each; empty for none
    #[arg(long, value_name = "N,…", default_value = "1,2,4,8,16,32", value_parser = numbers)]
    pub(crate) builders: Numbers,
    /// How long a builder thinks about a turn, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    pub(crate) think_ms: u64,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench gates`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench gates\n  \
    holdpoint bench gates --gates 20 --waypoints 4100 --json\n  \
    holdpoint bench gates --waypoints 0\n\n\
    The workflow is build, verification and reviews, some with a condition. In memory the machine takes waypoints through \
    all gates: the time of a step, the size of entries, and what grows with the waypoints of a flight. Then flights of it \
    are flown on fleets of their own, without and with conditions, between two flights by the built-in workflow `fly`:\n\
    transitions a second are compared.")]
pub(crate) struct GatesArgs {
    /// Gates of the workflow
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) gates: usize,
    /// How many of its reviews have a condition
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) conditions: usize,
    /// Waypoints that are measured in each flight, at most 4100; 0 for none
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) waypoints: usize,
    /// Waypoints that are taken through all gates in memory
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub(crate) in_memory: usize,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench landing`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench landing\n  \
    holdpoint bench landing --waypoints 128 --verifiers 2,4 --check-ms 500 --json\n\n\
    Builders change a file of their own each, all from the same base; a verdict takes a while and no processor time. \
    The yardstick is what the verifiers could do if nothing else took time: each work is verified once, as it lands.")]
pub(crate) struct LandingArgs {
    /// Waypoints of each flight, at most 1000
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) waypoints: usize,
    /// Builders
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) builders: usize,
    /// How many verifiers there are: a row each
    #[arg(long, value_name = "N,…", default_value = "1,2,4,8", value_parser = numbers)]
    pub(crate) verifiers: Numbers,
    /// How long a verdict takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    pub(crate) check_ms: u64,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench idle`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint bench idle --builders 12 --verifiers 4 --repairs 3 --seconds 180\n\n\
    Broker, orchestrator and agents are the processes that a fleet has, without containers and their health checks. Nothing is submitted.")]
pub(crate) struct IdleArgs {
    /// Builders
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) builders: u32,
    /// Verifiers
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) verifiers: u32,
    /// Repair agents
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repairs: u32,
    /// For how long, in seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench flight`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint bench flight --dir /dev/shm --builders 1,4 --json\n\n\
    `holdpoint run` with an agent and a check that take no time, and plain git: clone, edit, commit, fetch, check in a working tree, \
    merge. On a disk the search for free inodes drowns everything else: name a folder in memory.")]
pub(crate) struct FlightArgs {
    /// Waypoints of a flight
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) waypoints: usize,
    /// How many builders there are: a row each
    #[arg(long, value_name = "N,…", default_value = "1,4", value_parser = numbers)]
    pub(crate) builders: Numbers,
    /// Times everything is measured
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: u32,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench verification`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench verification\n  \
    holdpoint bench verification --waypoints 6 --builders 3 --verifiers 1\n  \
    holdpoint bench verification --green 60 --tests --json\n\n\
    `holdpoint run` with a guard that sleeps, and a script that runs it on each branch and once more in its queue. Runs are those that the \
    reports say were made; the ideal is verifiers that are always busy with what each attempt needs.")]
pub(crate) struct VerificationArgs {
    /// Waypoints of a flight
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) waypoints: usize,
    /// Builders, which take a second each
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) builders: usize,
    /// How many verifiers, or runners of the script, there are: a row each
    #[arg(long, value_name = "N,…", default_value = "1,2,4", value_parser = numbers)]
    pub(crate) verifiers: Numbers,
    /// How long the suite takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    pub(crate) suite_ms: u64,
    /// Percent of the waypoints whose first attempt is green
    #[arg(long, value_name = "PERCENT", default_value_t = 100)]
    pub(crate) green: u32,
    /// Each work adds a test
    #[arg(long)]
    pub(crate) tests: bool,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench flights`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint bench flights --flights 10000 --rounds 10 --json\n\n\
    A flight is one waypoint: its builder makes a commit, which lands. Each round flies its share and takes it off the broker with \
    `holdpoint archive`; memory, open files and what the broker holds are shown before and after.")]
pub(crate) struct FlightsArgs {
    /// Flights of all rounds together
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) flights: usize,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// Several numbers with commas between them.
#[derive(Debug, Clone)]
pub(crate) struct Numbers(pub(crate) Vec<usize>);

fn numbers(text: &str) -> Result<Numbers, std::num::ParseIntError> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map(Numbers)
}

/// `bench workspace`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint bench workspace --files 5000 --commits 2000 --json")]
pub(crate) struct WorkspaceArgs {
    /// Files in the repository
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub(crate) files: u32,
    /// Commits in its history
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub(crate) commits: u32,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// `bench verdict`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint bench verdict\n  \
    holdpoint bench verdict --runners unittest,cargo --work-ms 5 --rounds 3 --json\n\n\
    A project with a suite is made, and three pieces of honest work on it: a file fixed behind a red test, a feature with \
    its tests, and eight files fixed at once. The verifier judges each at every level, in turns, without a broker. The \
    yardstick is the check alone, on the same files and outside of everything.")]
pub(crate) struct VerdictArgs {
    /// Tests in the suite
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) tests: u32,
    /// Processor time of each test, in milliseconds: a project each
    #[arg(long, value_name = "MS,…", value_delimiter = ',', default_values_t = [0, 5])]
    pub(crate) work_ms: Vec<u32>,
    /// Test runners [default: those that are there]
    #[arg(long, value_name = "RUNNER,…", value_enum, value_delimiter = ',')]
    pub(crate) runners: Vec<RunnerChoice>,
    /// Times everything is measured
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) rounds: u32,
    /// Where, and how it is printed
    #[command(flatten)]
    pub(crate) place: BenchPlace,
}

/// A test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerChoice {
    /// Python's own
    Unittest,
    /// pytest
    Pytest,
    /// cargo test
    Cargo,
}

/// `bench peer`
#[derive(Debug, Args)]
pub(crate) struct PeerArgs {
    /// The file that says what to do
    pub(crate) spec: PathBuf,
}
