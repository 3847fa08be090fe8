//! One agent alone (FLY-36): the same process makes the work, and runs the checks on it in the verifier's sandbox.
//!
//! Both halves are what builders and verifiers run. The agent's program takes part in turns that make work and in no other.

use std::sync::Arc;

use holdpoint_bus::Bus;
use holdpoint_harness::{
    agent::{
        Final, Job, PlanHandoff, WorkError, Worker,
        process::{self, RunError},
    },
    build_turn::BuildWorker,
};
use holdpoint_protocol::{
    ids::{RoleId, role},
    turn::TurnRequest,
};
use holdpoint_runtime::{config::Config, process::ProcessEnd};
use holdpoint_sandbox::Sandbox;
use holdpoint_verifier_agent::VerifyWorker;

/// The role of this agent.
pub const ROLE: &str = role::SOLO;

/// Below its state folder: where it runs checks.
const CHECKS: &str = "checks";

/// Runs the agent until it is asked to end. The executable has to be its own sandbox shim and its own observer:
/// `holdpoint_sandbox::shim::maybe_run` and `holdpoint_sandbox::observer::maybe_run` come first in its `main`.
///
/// # Errors
/// [`RunError`], with its exit code.
pub async fn run(config: Config) -> Result<ProcessEnd, RunError> {
    let make = BuildWorker::start(&config, role::id(ROLE), Sandbox::of_this_executable()).await;
    let make = make.map_err(|error| RunError::Start { exit_code: error.exit_code(), source: error.into() })?;
    let check = VerifyWorker::start(&for_checks(&config), Sandbox::of_this_executable()).await;
    let check = check.map_err(|error| RunError::Start { exit_code: error.exit_code(), source: error.into() })?;
    let properties = check.properties().to_vec();
    process::run(role::id(ROLE), SoloWorker { make, check }, &properties, &config).await
}

/// The configuration of the half that checks: a folder of its own, and nothing of what the program keeps. Every criterion has a
/// check, so that nobody judges.
fn for_checks(config: &Config) -> Config {
    let mut config = config.clone();
    let state_dir = config.agent.state_dir.clone();
    config.agent.state_dir = state_dir.join(CHECKS);
    config.agents.verifier.deny_paths.push(state_dir);
    config.agents.verifier.judge = None;
    config
}

/// Does the turns of an agent that checks its own work.
#[derive(Debug)]
struct SoloWorker {
    make: BuildWorker,
    check: VerifyWorker,
}

impl Worker for SoloWorker {
    async fn up(&self, bus: &Bus, role: &RoleId) {
        self.make.up(bus, role).await;
    }

    fn plan(&self, job: &Job) -> PlanHandoff {
        match &job.turn.request {
            TurnRequest::Verify(_) => self.check.plan(job),
            TurnRequest::Build(_) | TurnRequest::Complete(_) => self.make.plan(job),
        }
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        match &job.turn.request {
            TurnRequest::Verify(_) => Box::pin(self.check.work(job)).await,
            TurnRequest::Build(_) | TurnRequest::Complete(_) => Box::pin(self.make.work(job)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn checks_have_a_folder_of_their_own_and_reach_nothing_that_the_program_keeps() {
        let mut config = Config::default();
        config.agent.state_dir = "/state".into();
        config.agents.verifier.judge = Some("judge".to_owned());
        let checks = for_checks(&config);
        assert_eq!(checks.agent.state_dir, Path::new("/state/checks"));
        assert_eq!(checks.agents.verifier.deny_paths, [Path::new("/state")]);
        assert_eq!(checks.agents.verifier.judge, None);
    }
}
