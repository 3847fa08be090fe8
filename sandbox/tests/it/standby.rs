//! Sandboxes that are set up before there is a program for them.

use holdpoint_sandbox::{Ended, Network, Standby};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::{Lab, soon, text};

/// Processes that this one started and that have not ended.
fn children() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids = lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<i32>>());
    pids.map(Pid::from_raw).filter(|pid| !is_zombie(*pid)).collect()
}

fn is_zombie(pid: Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains("State:\tZ"))
}

/// A sandbox that has been set up and waits.
async fn standing_by(lab: &Lab) -> (Standby<'_>, Pid) {
    let standby = lab.sandbox.stand_by(Network::Loopback).await;
    let [pid] = children()[..] else { panic!("one waits: {:?}", children()) };
    soon("the inner stage runs", || {
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok_and(|list| !list.is_empty())
    })
    .await;
    (standby, pid)
}

#[tokio::test]
async fn a_program_runs_in_the_sandbox_that_waits() {
    for lab in Lab::both() {
        let (_standby, _) = standing_by(&lab).await;
        assert_eq!(lab.ok("echo said").await, "said\n");
        soon("none waits any more", || children().is_empty()).await;
        assert_eq!(lab.ok("echo again").await, "again\n");
    }
}

#[tokio::test]
async fn a_sandbox_that_nobody_needed_ends() {
    for lab in Lab::both() {
        let (standby, _) = standing_by(&lab).await;
        drop(standby);
        soon("it has ended", || children().is_empty()).await;
    }
}

#[tokio::test]
async fn one_waits_at_most() {
    let lab = Lab::full();
    let (_standby, waits) = standing_by(&lab).await;
    let _again = lab.sandbox.stand_by(Network::Loopback).await;
    assert_eq!(children(), [waits]);
}

#[tokio::test]
async fn a_program_with_another_network_leaves_it_waiting() {
    let mut lab = Lab::full();
    lab.profile.network = Network::Host;
    let (_standby, waits) = standing_by(&lab).await;
    lab.ok("true").await;
    assert_eq!(children(), [waits]);
}

#[tokio::test]
async fn a_program_runs_although_the_one_that_waited_was_killed() {
    let lab = Lab::full();
    let (_standby, waits) = standing_by(&lab).await;
    kill(waits, Signal::SIGKILL).unwrap();
    soon("it has ended", || is_zombie(waits)).await;
    assert_eq!(lab.ok("echo said").await, "said\n");
}

#[tokio::test]
async fn limits_hold_for_a_program_in_a_sandbox_that_waited() {
    for mut lab in Lab::both() {
        lab.profile.limits.memory_bytes = Some(64 << 20);
        let (_standby, _) = standing_by(&lab).await;
        let fill = "x = bytearray(256 << 20); x[::4096] = b'x' * len(x[::4096]); print(len(x))";
        let outcome = lab.run(&format!("/usr/bin/python3 -c \"{fill}\"; sleep 60")).await;
        assert_eq!(outcome.ended, Ended::MemoryLimit, "{}{}", text(&outcome.stdout), text(&outcome.stderr));
    }
}

#[tokio::test]
async fn a_sandbox_that_waits_sees_as_little_as_any() {
    let lab = Lab::full();
    let pid = std::process::id();
    let (_standby, _) = standing_by(&lab).await;
    lab.refused(&format!("kill -0 {pid}")).await;
    let (_standby, _) = standing_by(&lab).await;
    lab.refused(&format!("ls {}", lab.outside().display())).await;
}
