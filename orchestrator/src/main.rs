//! `holdpoint-orchestrator`: the orchestrator as a binary of its own, for lean images.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use holdpoint_runtime::{
    config::Config,
    fresh,
    process::{self, exit},
    telemetry,
};

/// Runs a Holdpoint orchestrator.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    /// The configuration file (TOML). `HOLDPOINT__…` variables override it.
    #[arg(long)]
    config: Option<PathBuf>,
}

fn main() -> ExitCode {
    // Before any thread: this executable also evaluates conditions of gates.
    holdpoint_conditions::maybe_run();
    let ran = match process::runtime() {
        Ok(runtime) => runtime.block_on(run(Args::parse())),
        Err(error) => Err((exit::ENVIRONMENT, anyhow::Error::from(error).context("start the process"))),
    };
    match ran {
        Ok(code) => ExitCode::from(code),
        Err((code, error)) => {
            tracing::error!("{error:#}");
            ExitCode::from(code)
        }
    }
}

async fn run(args: Args) -> Result<u8, (u8, anyhow::Error)> {
    let config = Config::load(args.config.as_deref(), Vec::new()).map_err(|e| (exit::USAGE, e.into()))?;
    let instance = format!("orchestrator-{}", fresh::suffix());
    let _telemetry =
        telemetry::init(&config.telemetry, "holdpoint-orchestrator", &instance).map_err(|e| (exit::USAGE, e.into()))?;
    holdpoint_orchestrator::run(config).await.map_err(|error| {
        let code = if error.is_environment() { exit::ENVIRONMENT } else { exit::USAGE };
        (code, error.into())
    })
}
