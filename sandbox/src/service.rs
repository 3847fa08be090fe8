//! Starting our own long-lived processes: a broker, a role process.
//!
//! They are trusted and run without a sandbox, but with a small environment, a process group of their own (a Ctrl-C at
//! the terminal is for us to pass on) and their output in a log file. The supervisor restarts them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin};

use crate::process::ProcessId;

/// Variables a service gets from us, besides those it is given.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];

/// How long a service lives in relation to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Its process group is killed when its [`RunningService`] is dropped.
    Bound,
    /// As `Bound`, and its standard input is a pipe that we hold: it sees the end of input when we die, however we die.
    BoundByPipe,
    /// It survives us.
    Detached,
}

/// A long-lived process of our own.
#[derive(Debug, Clone)]
pub struct ServiceSpec {
    /// The program; looked up in `PATH` unless it has a slash.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables besides `PATH`, `HOME` and `LANG`, which it gets from us.
    pub env: Vec<(OsString, OsString)>,
    /// Its directory; ours when `None`.
    pub dir: Option<PathBuf>,
    /// File that both its outputs are appended to; created with mode 0600.
    pub log: PathBuf,
    /// How long it lives.
    pub lifetime: Lifetime,
}

/// Why a service was not started.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The program is not installed, or not in `PATH`.
    #[error("{} is not installed, or not in PATH", program.display())]
    NotFound {
        /// The program as asked for.
        program: PathBuf,
    },
    /// The program is there but could not be started.
    #[error("start {}", program.display())]
    Start {
        /// The program as asked for.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The log file cannot be opened.
    #[error("open log file {}", log.display())]
    Log {
        /// The file.
        log: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Starting services.
#[derive(Debug)]
pub struct Service;

/// A service that was started. Dropping it ends the service, unless it is detached.
#[derive(Debug)]
pub struct RunningService {
    child: Child,
    pid: u32,
    control: Option<ChildStdin>,
    detached: bool,
}

impl Service {
    /// Starts a service. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The program is missing or does not start, or the log file cannot be opened.
    pub fn spawn(spec: &ServiceSpec) -> Result<RunningService, ServiceError> {
        let log_error = |source| ServiceError::Log { log: spec.log.clone(), source };
        let log = open_log(spec).map_err(log_error)?;
        let log_too = log.try_clone().map_err(log_error)?;
        let mut command = tokio::process::Command::new(&spec.program);
        command.args(&spec.args).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(spec.env.iter().map(|(key, value)| (key, value)));
        if let Some(dir) = &spec.dir {
            command.current_dir(dir);
        }
        let piped = spec.lifetime == Lifetime::BoundByPipe;
        command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(log).stderr(log_too).process_group(0);
        let mut child = command.spawn().map_err(|source| spawn_error(spec, source))?;
        let control = child.stdin.take();
        let pid = child.id().unwrap_or_default();
        Ok(RunningService { child, pid, control, detached: spec.lifetime == Lifetime::Detached })
    }
}

fn open_log(spec: &ServiceSpec) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().create(true).append(true).mode(0o600).open(&spec.log)
}

/// "No such file" is said of a missing program and of a missing directory alike; users need to know which.
fn spawn_error(spec: &ServiceSpec, source: std::io::Error) -> ServiceError {
    let dir_there = spec.dir.as_ref().is_none_or(|dir| dir.is_dir());
    if source.kind() == std::io::ErrorKind::NotFound && dir_there {
        return ServiceError::NotFound { program: spec.program.clone() };
    }
    ServiceError::Start { program: spec.program.clone(), source }
}

impl RunningService {
    /// Its number. It may be another process's once the service was waited for.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its identity, to be kept in a file; `None` when it has ended already.
    #[must_use]
    pub fn id(&self) -> Option<ProcessId> {
        self.child.id().and_then(ProcessId::of)
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn try_wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for its end. The control pipe stays open meanwhile. May be cancelled and called again.
    ///
    /// # Errors
    /// The system cannot tell.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Closes the control pipe: the service sees the end of its input and is expected to end.
    pub fn close_control(&mut self) {
        self.control = None;
    }

    /// Asks it to end (SIGTERM to the process itself). No effect when it has ended.
    pub fn terminate(&self) {
        if let Some(id) = self.id() {
            // Fails only when it ended in between.
            let _ = id.terminate();
        }
    }

    /// Ends it and its process group (SIGKILL). No effect when it was waited for.
    pub fn kill(&self) {
        // `id` is `None` once it was reaped, and before that its number cannot be recycled.
        let group = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(group) = group {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        if !self.detached {
            self.kill();
        }
    }
}

/// Completes when standard input ends: the process that started this one with [`Lifetime::BoundByPipe`] is gone.
///
/// Must not be used by a process whose input is not such a pipe.
pub async fn starter_gone() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A plain thread: a blocking task of the runtime would hold up its shutdown.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = sender.send(());
    });
    let _ = receiver.await;
}

#[cfg(test)]
mod tests;
