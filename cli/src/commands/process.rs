//! `orchestrator` and `agent`: this executable as one of the processes.

use holdpoint_bus::auth::CredentialsLock;
use holdpoint_harness::build_turn;
use holdpoint_protocol::ids::role;
use holdpoint_runtime::{
    config::Config,
    fresh, own,
    telemetry::{self, TelemetryGuard},
};

use crate::{
    args::{AgentArgs, ProcessArgs},
    failure::{Exit, Failure, chain},
};

/// What a process has for as long as it runs.
struct Held {
    _telemetry: TelemetryGuard,
    _own: Option<CredentialsLock>,
}

/// Runs an orchestrator until it is asked to end.
pub(super) async fn orchestrator(args: ProcessArgs) -> Result<Exit, Failure> {
    let (config, _held) = begin(&args, role::ORCHESTRATOR)?;
    match holdpoint_orchestrator::run(config).await {
        Ok(code) => Ok(Exit::of(code)),
        Err(error) => {
            let exit = if error.is_environment() { Exit::Environment } else { Exit::Usage };
            Err(failed(exit, &error))
        }
    }
}

/// Runs an agent until it is asked to end.
pub(super) async fn agent(args: AgentArgs) -> Result<Exit, Failure> {
    let (config, _held) = begin(&args.process, args.role.as_str())?;
    let ended = match args.role.as_str() {
        role::BUILDER => Box::pin(holdpoint_builder_agent::run(config)).await,
        role::REPAIR => Box::pin(holdpoint_repair_agent::run(config)).await,
        role::VERIFIER => Box::pin(holdpoint_verifier_agent::run(config)).await,
        role::SOLO => Box::pin(holdpoint_builder_agent::solo::run(config)).await,
        _ => Box::pin(build_turn::process::run(args.role, &config)).await,
    };
    let ended = ended.map_err(|error| failed(Exit::of(error.exit_code()), &error))?;
    Ok(Exit::of(ended.exit_code()))
}

/// Reads the configuration, sets up logs, and takes credentials and a state folder.
fn begin(args: &ProcessArgs, role: &str) -> Result<(Config, Held), Failure> {
    let mut config = Config::load(args.config.as_deref(), args.overrides())?;
    let named = config.agent.name.as_ref().filter(|_| role != role::ORCHESTRATOR);
    let instance = named.map_or_else(|| format!("{role}-{}", fresh::suffix()), ToString::to_string);
    let guard = telemetry::init(&config.telemetry, &format!("holdpoint-{role}"), &instance).map_err(|error| {
        Failure::usage(
            "telemetry",
            chain(&error),
            "look at [telemetry] in the configuration and at the OTEL_ variables",
        )
    })?;
    let own = own::take(&mut config, role).map_err(|error| failed(Exit::of(error.exit_code()), &error))?;
    tracing::debug!(configuration = %config, "starting");
    Ok((config, Held { _telemetry: guard, _own: own }))
}

fn failed(exit: Exit, error: &dyn std::error::Error) -> Failure {
    Failure::Other { exit, code: "process", message: chain(error), hint: String::new() }
}
