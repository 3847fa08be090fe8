//! One process of the fleet: started, started again when it dies, ended with us.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use holdpoint_runtime::process::{CONTROL_PIPE, DRAIN_DEADLINE};
use holdpoint_sandbox::service::{Lifetime, RunningService, Service, ServiceSpec};
use holdpoint_text::shown;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    failure::{Exit, Failure, chain},
    state::Slot,
};

/// Starts again within [`RESTARTS_WINDOW`] before it is given up: another start does not fix a process that dies so
/// often.
const RESTARTS_MAX: usize = 20;
const RESTARTS_WINDOW: Duration = Duration::from_secs(600);
/// The first pause before a start; it doubles up to the longest one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Starts in a row that may say that the environment lacks something. A broker that was just killed is back by then.
const LACKING_MAX: u32 = 8;
/// What a process gets beyond its own drain deadline before it is killed.
const DRAIN_GRACE: Duration = Duration::from_secs(5);
/// How much of a log an error shows.
const LOG_LINES: usize = 6;
const LOG_TAIL_LEN: usize = 4 << 10;

/// What is wanted of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Running,
    Drained,
    Gone,
}

/// A process that is kept running.
#[derive(Debug)]
pub(super) struct Child {
    label: String,
    wanted: watch::Sender<Wanted>,
    /// Until it has ended.
    task: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts it and keeps it running. Failures that a restart does not fix go to `trouble`.
    pub(super) fn start(label: String, spec: ServiceSpec, slot: Slot, trouble: mpsc::Sender<Failure>) -> Self {
        let (wanted, receiver) = watch::channel(Wanted::Running);
        let name = label.clone();
        let task = tokio::spawn(async move {
            if let Err(failure) = keep(&label, &spec, &slot, receiver).await {
                // The first failure is enough.
                let _ = trouble.try_send(failure);
            }
        });
        Self { label: name, wanted, task: Some(task) }
    }

    /// Asks it to end in order.
    pub(super) fn drain(&self) {
        self.wanted.send_replace(Wanted::Drained);
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        self.wanted.send_replace(Wanted::Gone);
    }

    /// Its name, while it has not ended.
    pub(super) fn still_there(&self) -> Option<&str> {
        self.task.as_ref().filter(|task| !task.is_finished()).map(|_| self.label.as_str())
    }

    /// Waits until it is gone. May be cancelled and called again.
    pub(super) async fn ended(&mut self) {
        if let Some(task) = &mut self.task {
            // A panic of the task has ended the process too: it held the handle.
            let _ = task.await;
            self.task = None;
        }
    }
}

/// This executable again, with these arguments.
pub(super) fn spec(args: Vec<OsString>, mut env: Vec<(OsString, OsString)>, log: PathBuf) -> ServiceSpec {
    env.push((CONTROL_PIPE.into(), "1".into()));
    ServiceSpec { program: own_program(), args, env, dir: None, log, lifetime: Lifetime::BoundByPipe }
}

/// This executable. A file that was replaced since can still be started through the kernel's name for it.
pub(super) fn own_program() -> PathBuf {
    let own = std::env::current_exe().ok().filter(|path| path.is_file());
    own.unwrap_or_else(|| "/proc/self/exe".into())
}

async fn keep(
    label: &str,
    spec: &ServiceSpec,
    slot: &Slot,
    mut wanted: watch::Receiver<Wanted>,
) -> Result<(), Failure> {
    let mut restarts = Restarts::default();
    let mut lacking = 0;
    loop {
        let mut running = Service::spawn(spec)
            .map_err(|error| Failure::environment("process", format!("cannot start {label}: {}", chain(&error)), ""))?;
        slot.used_by(running.id())?;
        let status = tokio::select! {
            status = running.wait() => Some(status),
            () = no_longer(&mut wanted) => None,
        };
        let Some(status) = status else {
            end(&mut running, &mut wanted).await;
            return slot.used_by(None);
        };
        let status =
            status.map_err(|error| Failure::environment("process", format!("{label} was lost: {error}"), ""))?;
        let exit = status.code().and_then(|code| u8::try_from(code).ok()).map(Exit::of);
        lacking = if exit == Some(Exit::Environment) { lacking + 1 } else { 0 };
        if let Some(exit) = exit.filter(|exit| *exit == Exit::Usage || lacking >= LACKING_MAX) {
            return Err(died(exit, label, status, &spec.log));
        }
        tracing::warn!(label, %status, "a process of the fleet died");
        let Some(pause) = restarts.next(Instant::now()) else {
            return Err(died(Exit::Environment, label, status, &spec.log));
        };
        if tokio::time::timeout(pause, no_longer(&mut wanted)).await.is_ok() {
            return Ok(());
        }
    }
}

/// Waits until the process is to end. Nobody left to ask for it is as good as asking.
async fn no_longer(wanted: &mut watch::Receiver<Wanted>) {
    let _ = wanted.wait_for(|wanted| *wanted != Wanted::Running).await;
}

/// In order if there is time, else the hard way.
async fn end(running: &mut RunningService, wanted: &mut watch::Receiver<Wanted>) {
    running.terminate();
    let in_order = tokio::time::timeout(DRAIN_DEADLINE + DRAIN_GRACE, running.wait());
    tokio::select! {
        ended = in_order => if ended.is_ok() { return },
        _ = wanted.wait_for(|wanted| *wanted == Wanted::Gone) => {}
    }
    running.kill();
    // Killed: there is nothing left to do if the system cannot tell.
    let _ = running.wait().await;
}

/// When it was started again, and how long to wait before the next time.
#[derive(Debug, Default)]
struct Restarts {
    recent: VecDeque<Instant>,
}

impl Restarts {
    /// The pause before the next start; `None` when there were too many.
    fn next(&mut self, now: Instant) -> Option<Duration> {
        while self.recent.front().is_some_and(|at| now.duration_since(*at) > RESTARTS_WINDOW) {
            self.recent.pop_front();
        }
        if self.recent.len() >= RESTARTS_MAX {
            return None;
        }
        let doublings = u32::try_from(self.recent.len()).unwrap_or(u32::MAX).min(16);
        self.recent.push_back(now);
        Some(PAUSE_MIN.saturating_mul(1 << doublings).min(PAUSE_MAX))
    }
}

fn died(exit: Exit, label: &str, status: ExitStatus, log: &Path) -> Failure {
    let message = format!("{label} cannot be kept running ({status}):\n{}", log_tail(log));
    Failure::Other { exit, code: "process", message, hint: format!("its log is {}", log.display()) }
}

/// The last lines of a log.
fn log_tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let tail = bytes.get(bytes.len().saturating_sub(LOG_TAIL_LEN)..).unwrap_or_default();
    let text = String::from_utf8_lossy(tail);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default();
    last.iter().map(|line| shown::lines(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_too_many_starts_are_given_up() {
        let mut restarts = Restarts::default();
        let now = Instant::now();
        let pauses: Vec<_> = std::iter::from_fn(|| restarts.next(now)).collect();
        assert_eq!(pauses.len(), RESTARTS_MAX);
        assert_eq!(pauses.first(), Some(&PAUSE_MIN));
        assert_eq!(pauses.last(), Some(&PAUSE_MAX));
        assert!(restarts.next(now + RESTARTS_WINDOW + PAUSE_MIN).is_some());
    }

    #[test]
    fn the_end_of_a_log_is_shown_without_control_characters() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("x.log");
        fs::write(&log, "one\n\n\u{1b}[31mtwo\n").unwrap();
        assert_eq!(log_tail(&log), "one\ntwo");
        assert_eq!(log_tail(&dir.path().join("none")), "");
    }
}
