//! What a confinement keeps a tool from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::super::confined::at_once;
use super::super::{Confinement, Limit, Tool, ToolError};
use super::{sh, soon};
use crate::process::ProcessId;

pub(super) fn limits(dir: &Path) -> Confinement {
    Confinement {
        read: Vec::new(),
        write: vec![dir.to_owned()],
        memory_bytes: 512 << 20,
        cpu: Duration::from_secs(30),
        file_bytes: 1 << 20,
    }
}

/// Python itself, not what may stand for it in `PATH`, and where it is installed.
async fn python(program: &str) -> (Tool, PathBuf) {
    let where_is_it = "import sys; print(sys.executable, sys.base_prefix)";
    let answer = Tool::new("python3").args(["-c", where_is_it]).run_ok().await.unwrap().stdout;
    let answer = String::from_utf8(answer).unwrap();
    let (executable, prefix) = answer.trim().split_once(' ').unwrap();
    (Tool::new(executable).args(["-c", program]), PathBuf::from(prefix))
}

async fn prints(program: &str, limits: Confinement) -> Vec<u8> {
    let (tool, prefix) = python(program).await;
    tool.confined(Confinement { read: vec![prefix], ..limits }).run_ok().await.unwrap().stdout
}

#[tokio::test]
async fn only_named_paths_are_within_reach() {
    let [own, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let secret = other.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let line = format!(
        "echo mine > mine; cat mine; cat {0} || echo closed; echo x > {0}.new || echo closed",
        secret.display()
    );
    let run = |confinement| sh(&line).dir(own.path()).confined(confinement).run_ok();
    let output = run(limits(own.path())).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "mine\nclosed\nclosed\n");
    let reading = Confinement { read: vec![secret.clone()], ..limits(own.path()) };
    assert_eq!(run(reading).await.unwrap().stdout, b"mine\nsecretclosed\n");
    assert!(!other.path().join("secret.new").exists());
}

#[tokio::test]
async fn no_socket_can_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let program = "import socket\ntry: socket.socket()\nexcept PermissionError: print('refused')";
    assert_eq!(prints(program, limits(dir.path())).await, b"refused\n");
    assert_eq!(python(program).await.0.run_ok().await.unwrap().stdout, b"");
}

#[tokio::test]
async fn memory_beyond_the_limit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let program = "try: bytearray(1 << 30)\nexcept MemoryError: print('refused')";
    assert_eq!(prints(program, limits(dir.path())).await, b"refused\n");
}

#[tokio::test]
async fn processor_time_and_file_size_are_limits_that_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let busy = Confinement { cpu: Duration::from_secs(1), ..limits(dir.path()) };
    let ended = sh("while :; do :; done").confined(busy).run().await;
    assert!(matches!(ended, Err(ToolError::OverLimit { limit: Limit::ProcessorTime(1), .. })), "{ended:?}");
    let big = sh("exec cat /dev/zero > big").dir(dir.path()).confined(limits(dir.path()));
    let ended = big.run().await;
    assert!(matches!(ended, Err(ToolError::OverLimit { limit: Limit::FileSize(0x10_0000), .. })), "{ended:?}");
}

#[tokio::test]
async fn a_confined_tool_that_only_waits_ends_at_twice_its_time_by_a_limit_that_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let given = Duration::from_millis(100);
    let ended = sh("sleep 600").timeout(given).confined(limits(dir.path())).run().await;
    let Err(ToolError::OverLimit { limit, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!((limit, limit.to_string()), (Limit::WallTime(given * 2), "200ms of wall time".to_owned()));
}

#[tokio::test]
async fn only_some_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let line = "echo + >> log; sleep 0.1; echo - >> log";
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..3 * at_once() {
        runs.spawn(sh(line).dir(dir.path()).confined(limits(dir.path())).run_ok());
    }
    for run in runs.join_all().await {
        run.unwrap();
    }
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let (mut running, mut most) = (0_usize, 0);
    for line in log.lines() {
        running = if line == "+" { running + 1 } else { running - 1 };
        most = most.max(running);
    }
    assert_eq!(log.lines().count(), 6 * at_once());
    assert!((2..=at_once()).contains(&most), "{most} of {}", at_once());
}

/// This test is also the harness that is killed: it starts itself once more.
#[tokio::test]
async fn everything_confined_ends_when_its_harness_is_killed() {
    const NOTE: &str = "HOLDPOINT_TEST_NOTE";
    const NAME: &str = "tool::tests::confined::everything_confined_ends_when_its_harness_is_killed";
    if let Some(note) = std::env::var_os(NOTE) {
        let note = Path::new(&note);
        let line = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", note.display());
        sh(&line).confined(limits(note.parent().unwrap())).run().await.unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("pid");
    let mut harness = Command::new(std::env::current_exe().unwrap());
    harness.args(["--exact", NAME, "--nocapture"]).env(NOTE, &note).stdout(Stdio::null()).stderr(Stdio::null());
    let mut harness = harness.spawn().unwrap();
    soon(|| note.exists()).await;
    let pid = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    assert!(ProcessId::of(pid).is_some());
    harness.kill().unwrap();
    harness.wait().unwrap();
    soon(|| ProcessId::of(pid).is_none()).await;
}
