//! The program under test: started, killed, started again, asked to end.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use holdpoint_sandbox::service::{Lifetime, RunningService, Service, ServiceSpec};
use tokio::time::timeout;

use crate::failure::Failure;

/// Variables of ours begin so; the program gets none of them but those it needs.
const OURS: &str = "HOLDPOINT_";
/// How much of its output is shown.
const LOG_TAIL_LEN: usize = 2_000;

/// A program, or an agent that connects by itself.
#[derive(Debug)]
pub(super) struct Candidate {
    spec: Option<ServiceSpec>,
    running: Option<RunningService>,
}

impl Candidate {
    /// The program of this command line; `None` when there is none to start.
    pub(super) fn new(command: &[OsString], url: &str, creds: &Path, log: PathBuf) -> Self {
        let spec = command.split_first().map(|(program, args)| {
            let foreign = |(key, _): &(OsString, OsString)| !key.to_string_lossy().starts_with(OURS);
            let mut env: Vec<(OsString, OsString)> = std::env::vars_os().filter(foreign).collect();
            env.push(("HOLDPOINT_NATS_URL".into(), url.into()));
            env.push(("HOLDPOINT_CREDS".into(), creds.into()));
            let (program, args) = (program.into(), args.to_vec());
            ServiceSpec { program, args, env, dir: None, log, lifetime: Lifetime::Bound }
        });
        Self { spec, running: None }
    }

    /// Whether it is ours to start and end.
    pub(super) fn is_ours(&self) -> bool {
        self.spec.is_some()
    }

    /// Starts it, if there is a program.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        let Some(spec) = &self.spec else { return Ok(()) };
        let started = Service::spawn(spec).map_err(|error| {
            let message = format!("cannot start the agent: {}", crate::failure::chain(&error));
            Failure::usage("agent", message, "what stands behind -- is a program and its arguments")
        })?;
        self.running = Some(started);
        Ok(())
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.running.as_mut()?.try_wait().ok()??;
        Some(status.to_string())
    }

    /// Starts it again if it ended by itself; how it ended, if it did.
    pub(super) fn revive(&mut self) -> Result<Option<String>, Failure> {
        let ended = self.ended();
        if ended.is_some() {
            self.start()?;
        }
        Ok(ended)
    }

    /// Ends it and all that it started, at once.
    pub(super) async fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill();
            // Reaps it; it has no way to stay.
            let _ = running.wait().await;
        }
    }

    /// Asks it to end; how it did, if in time.
    pub(super) async fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        let mut running = self.running.take()?;
        running.terminate();
        timeout(patience, running.wait()).await.ok()?.ok()
    }

    /// The last of what it printed.
    pub(super) fn said(&self) -> String {
        let Some(spec) = &self.spec else { return String::new() };
        let log = std::fs::read(&spec.log).unwrap_or_default();
        let tail = log.get(log.len().saturating_sub(LOG_TAIL_LEN)..).unwrap_or_default();
        String::from_utf8_lossy(tail).into_owned()
    }
}
