//! The Docker engine: whether there is one, what its command line does better than a library, and cleaning up.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus, Output},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_sandbox::ProcessId;
use holdpoint_tests::world::eventually_every;
pub(crate) use holdpoint_tests::{ports::free_port, say};

/// The label of everything that these tests make; its value is the number of the process.
pub(crate) const LABEL: &str = "holdpoint-test";
/// How names of compose projects begin; the number of the process follows.
pub(crate) const PROJECT: &str = "holdpoint-test-";
/// Where compose keeps the project's name.
const PROJECT_LABEL: &str = "com.docker.compose.project";
/// What the tests run, as `cargo xtask images --debug` tags it.
pub(crate) const TAG: &str = "debug";
/// Each look at a container starts a program.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The engine, to one test at a time.
pub(crate) struct Engine {
    _turn: MutexGuard<'static, ()>,
}

impl Engine {
    /// The engine with its images; `None` where there is none, which is said loudly.
    ///
    /// # Panics
    /// There is none and `CI` is `true`, or there is one without images.
    pub(crate) fn take() -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !succeeds(&["version", "--format", "{{.Server.Version}}"]) {
            let words = "NOT RUN: no Docker engine answers, so nothing was shown about the fleet in containers";
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{words}");
            say(&format!("\n*** {words} ***\n"));
            return None;
        }
        for image in ["keys", "broker", "orchestrator", "agent", "otlp-sink"] {
            let image = format!("holdpoint/{image}:{TAG}");
            assert!(succeeds(&["image", "inspect", &image]), "no image {image}: run `cargo xtask images --debug`");
        }
        sweep();
        Some(Self { _turn: turn })
    }
}

/// Runs `docker` and gives what it printed.
#[track_caller]
pub(crate) fn docker(args: &[&str]) -> String {
    let output = output(args);
    assert!(output.status.success(), "docker {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Whether `docker` ends well with these.
pub(crate) fn succeeds(args: &[&str]) -> bool {
    output(args).status.success()
}

/// Waits until the health check of a container says so.
#[track_caller]
pub(crate) fn until_healthy(container: &str) {
    eventually_every(LOOK_EVERY, &format!("{container} to be healthy"), || {
        let state = docker(&["inspect", "--format", "{{.State.Running}} {{.State.Health.Status}}", container]);
        assert!(!state.starts_with("false"), "{container} has ended: {}", logs(container));
        (state == "true healthy").then_some(())
    });
}

/// The end of what a container has said.
pub(crate) fn logs(container: &str) -> String {
    let output = output(&["logs", "--tail", "40", container]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn output(args: &[&str]) -> Output {
    let ended = Command::new("docker").args(args).output();
    // No program, no engine: as a shell says it.
    ended.unwrap_or_else(|error| {
        let status = ExitStatus::from_raw(127 << 8);
        Output { status, stdout: Vec::new(), stderr: error.to_string().into_bytes() }
    })
}

/// Removes what killed tests have left. Nothing without our label is looked at.
fn sweep() {
    let ours = |kind: &[&str]| -> Vec<String> {
        let label = format!("{{{{.Label \"{LABEL}\"}}}}");
        let id = if kind == ["volume", "ls"] { "{{.Name}}" } else { "{{.ID}}" };
        let format = format!("{id} {label} {{{{.Label \"{PROJECT_LABEL}\"}}}}");
        let listed = docker(&[kind, &["--format", &format]].concat());
        let dead = |pid: &str| pid.parse().is_ok_and(|pid: u32| ProcessId::of(pid).is_none());
        let left = |line: &str| {
            let mut words = line.split(' ');
            let (id, label, project) = (words.next()?, words.next()?, words.next()?);
            let pid = if label.is_empty() { project.strip_prefix(PROJECT)? } else { label };
            dead(pid).then(|| id.to_owned())
        };
        listed.lines().filter_map(left).collect()
    };
    for container in ours(&["ps", "--all"]) {
        succeeds(&["rm", "--force", "--volumes", &container]);
    }
    for network in ours(&["network", "ls"]) {
        succeeds(&["network", "rm", &network]);
    }
    for volume in ours(&["volume", "ls"]) {
        succeeds(&["volume", "rm", &volume]);
    }
}
