//! `holdpoint-verifier`: the verifier as a process of its own, for lean images.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use holdpoint_harness::agent::process;

/// Takes verifier turns from the broker until it is asked to end.
#[derive(Debug, Parser)]
#[command(name = "holdpoint-verifier", version)]
struct Args {
    /// The configuration file (TOML). `HOLDPOINT__…` variables win over it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn main() -> ExitCode {
    holdpoint_sandbox::shim::maybe_run();
    holdpoint_sandbox::observer::maybe_run();
    holdpoint_harness::ask::maybe_run();
    holdpoint_harness::acp::maybe_run();
    holdpoint_harness::over_http::maybe_run();
    holdpoint_outline::maybe_run();
    let args = Args::parse();
    process::main(holdpoint_verifier_agent::ROLE, args.config.as_deref(), holdpoint_verifier_agent::run)
}
