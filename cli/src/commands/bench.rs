//! `bench`: benchmarks, each against a yardstick. `holdpoint_bench` decides what is measured and how.

use std::{fmt::Display, path::PathBuf, time::Duration};

use holdpoint_bench::{
    BenchError, Host, flight, flights, gates,
    handoff::{self, Sync},
    idle, landing, peer, scale, verdict, verification, workspace,
};
use holdpoint_bus::broker::ServerBinary;
use holdpoint_runtime::{config::Config, telemetry};
use serde::Serialize;
use tokio::sync::watch;

use crate::{
    args::bench::{
        Bench, BenchArgs, BenchPlace, FlightArgs, FlightsArgs, GatesArgs, HandoffArgs, IdleArgs, LandingArgs,
        RunnerChoice, ScaleArgs, SyncChoice, VerdictArgs, VerificationArgs, WorkspaceArgs,
    },
    failure::{Exit, Failure, chain},
    fleet::find_server,
    interrupt::Interrupts,
    output,
};

/// Runs one benchmark, or one of its other processes.
pub(super) async fn bench(args: BenchArgs) -> Result<Exit, Failure> {
    match args.bench {
        Bench::Handoff(args) => handoff(args).await,
        Bench::Scale(args) => scale(args).await,
        Bench::Gates(args) => gates(args).await,
        Bench::Landing(args) => landing(args).await,
        Bench::Idle(args) => idle(args).await,
        Bench::Flight(args) => flight(args).await,
        Bench::Verification(args) => verification(args).await,
        Bench::Flights(args) => flights(args).await,
        Bench::Workspace(args) => workspace(args).await,
        Bench::Verdict(args) => verdict(args).await,
        Bench::Peer(args) => {
            let _telemetry = telemetry::init(&Config::default().telemetry, "holdpoint-bench", "peer")
                .map_err(|error| Failure::usage("telemetry", chain(&error), ""))?;
            peer::run(&args.spec).await?;
            Ok(Exit::Success)
        }
    }
}

async fn handoff(args: HandoffArgs) -> Result<Exit, Failure> {
    let syncs = match args.sync {
        SyncChoice::Default => vec![Sync::Default],
        SyncChoice::Always => vec![Sync::Always],
        SyncChoice::Both => vec![Sync::Default, Sync::Always],
    };
    let HandoffArgs { waypoints, concurrency, agents, place, .. } = args;
    let args = handoff::HandoffArgs { waypoints, concurrency, agents, syncs };
    // Before anything is looked for or started.
    args.check()?;
    measure(&place, Some(find_server().await?), async |host| handoff::run(&args, host).await).await
}

async fn scale(args: ScaleArgs) -> Result<Exit, Failure> {
    let ScaleArgs { open, per_flight, waypoints, builders, think_ms, place } = args;
    let think = Duration::from_millis(think_ms);
    let args = scale::ScaleArgs { open: open.0, per_flight, waypoints, builders: builders.0, think };
    args.check()?;
    measure(&place, Some(find_server().await?), async |host| scale::run(&args, host).await).await
}

async fn gates(args: GatesArgs) -> Result<Exit, Failure> {
    let GatesArgs { gates, conditions, waypoints, in_memory, place } = args;
    let args = gates::GatesArgs { gates, conditions, waypoints, in_memory };
    args.check()?;
    let server = if waypoints == 0 { None } else { Some(find_server().await?) };
    measure(&place, server, async |host| gates::run(&args, host).await).await
}

async fn landing(args: LandingArgs) -> Result<Exit, Failure> {
    let LandingArgs { waypoints, builders, verifiers, check_ms, place } = args;
    let check = Duration::from_millis(check_ms);
    let args = landing::LandingArgs { waypoints, builders, verifiers: verifiers.0, check };
    args.check()?;
    measure(&place, Some(find_server().await?), async |host| landing::run(&args, host).await).await
}

async fn idle(args: IdleArgs) -> Result<Exit, Failure> {
    let IdleArgs { builders, verifiers, repairs, seconds, place } = args;
    let args = idle::IdleArgs { builders, verifiers, repairs, span: Duration::from_secs(seconds) };
    args.check()?;
    measure(&place, Some(find_server().await?), async |host| idle::run(&args, host).await).await
}

async fn flight(args: FlightArgs) -> Result<Exit, Failure> {
    let FlightArgs { waypoints, builders, rounds, place } = args;
    let args = flight::FlightArgs { waypoints, builders: builders.0, rounds };
    args.check()?;
    let program = own_program()?;
    measure(&place, Some(find_server().await?), async |host| flight::run(&args, &program, host).await).await
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::environment("no_program", format!("cannot tell where this program is: {error}"), "call it by its path")
    })
}

async fn verification(args: VerificationArgs) -> Result<Exit, Failure> {
    let VerificationArgs { waypoints, builders, verifiers, suite_ms, green, tests, place } = args;
    let suite = Duration::from_millis(suite_ms);
    let args = verification::VerificationArgs { waypoints, builders, verifiers: verifiers.0, suite, green, tests };
    args.check()?;
    let program = own_program()?;
    measure(&place, Some(find_server().await?), async |host| verification::run(&args, &program, host).await).await
}

async fn flights(args: FlightsArgs) -> Result<Exit, Failure> {
    let FlightsArgs { flights, rounds, place } = args;
    let args = flights::FlightsArgs { flights, rounds };
    args.check()?;
    measure(&place, Some(find_server().await?), async |host| flights::run(&args, host).await).await
}

async fn workspace(args: WorkspaceArgs) -> Result<Exit, Failure> {
    let WorkspaceArgs { files, commits, place } = args;
    let args = workspace::WorkspaceArgs { files, commits };
    measure(&place, Some(find_server().await?), async |host| workspace::run(&args, host).await).await
}

async fn verdict(args: VerdictArgs) -> Result<Exit, Failure> {
    let VerdictArgs { tests, work_ms, runners, rounds, place } = args;
    let runner = |choice: &RunnerChoice| match choice {
        RunnerChoice::Unittest => verdict::SuiteRunner::Unittest,
        RunnerChoice::Pytest => verdict::SuiteRunner::Pytest,
        RunnerChoice::Cargo => verdict::SuiteRunner::Cargo,
    };
    let runners = (!runners.is_empty()).then(|| runners.iter().map(runner).collect());
    let args = verdict::VerdictArgs { tests, work_ms, runners, rounds };
    args.check()?;
    measure(&place, None, async |host| verdict::run(&args, host).await).await
}

/// Runs a benchmark until its end or a signal, and prints what it found.
async fn measure<R: Serialize + Display>(
    place: &BenchPlace,
    server: Option<ServerBinary>,
    work: impl AsyncFnOnce(&Host) -> Result<R, BenchError>,
) -> Result<Exit, Failure> {
    if cfg!(debug_assertions) {
        output::err("warning: this is a debug build: its figures mean nothing; `cargo build --release` makes another");
    }
    let (stop, stopped) = watch::channel(false);
    let host = Host { server, dir: place.dir.clone(), progress: Box::new(output::err), stop: stopped };
    let mut interrupts = Interrupts::listen()?;
    let watching = async {
        interrupts.next().await;
        output::err("stopping");
        stop.send_replace(true);
        std::future::pending().await
    };
    let result = tokio::select! {
        result = Box::pin(work(&host)) => result,
        never = watching => never,
    };
    let report = result?;
    if place.json {
        output::json(&report);
    } else {
        output::out(report.to_string().trim_end());
    }
    Ok(Exit::Success)
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let message = chain(&error);
        match error {
            BenchError::Usage { hint, .. } => Self::usage("arguments", message, hint),
            BenchError::Broker(error) => error.into(),
            BenchError::Connect(error) => error.into(),
            BenchError::Interrupted => {
                Self::Other { exit: Exit::Interrupted, code: "interrupted", message, hint: String::new() }
            }
            BenchError::Io { .. } => Self::environment("io", message, "--dir names another place for its folder"),
            _ => Self::environment("bench", message, "try again; `holdpoint doctor` looks at the machine part by part"),
        }
    }
}
