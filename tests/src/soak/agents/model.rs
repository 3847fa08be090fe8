//! The scripted model as a process of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde::Deserialize;

use crate::world::root;

/// A model that runs until this is dropped.
pub(super) struct Model {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// A request that took a step.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    /// How many messages it had.
    pub(super) messages: u64,
}

impl Model {
    /// Starts one that says this, one step for each request.
    pub(super) fn start(steps: &[&str], log: &Path) -> Result<Self, String> {
        let mut command = Command::new("python3");
        command.arg(root().join("tests/agents/model.py")).arg("--log").arg(log).arg("--").args(steps);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        let port = read.and_then(Result::ok).and_then(|_| line.trim().parse().ok());
        let model = Self { child, port: port.unwrap_or_default(), log: log.to_owned() };
        port.map(|_| model).ok_or_else(|| format!("the scripted model does not start: {line}"))
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// What it was asked so far.
    pub(super) fn requests(&self) -> Result<Vec<Request>, String> {
        let text = fs::read_to_string(&self.log).map_err(|_| "the model was never asked".to_owned())?;
        text.lines().map(|line| serde_json::from_str(line).map_err(|error| error.to_string())).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
