//! Sandboxes that are set up before there is a program for them.

use holdpoint_sandbox::{Ended, Network, Standby};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::{Lab, soon, text};

/// The processes that a process has started and not waited for.
fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether a process has ended, perhaps without having been waited for.
fn is_over(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

fn end(pid: u32) {
    kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
}

/// A sandbox that has been set up and waits, with its two processes.
async fn standing_by(lab: &Lab) -> (Standby<'_>, u32, u32) {
    let standby = lab.sandbox.stand_by(Network::Loopback).await;
    let outer = standby.waits().unwrap();
    soon("the inner stage is there", || !children(outer).is_empty()).await;
    (standby, outer, children(outer)[0])
}

#[tokio::test]
async fn a_program_runs_in_the_sandbox_that_waits() {
    for lab in Lab::both() {
        let (standby, outer, _) = standing_by(&lab).await;
        assert_eq!(lab.ok("echo said").await, "said\n");
        assert_eq!(standby.waits(), None);
        soon("it has ended with the program", || is_over(outer)).await;
        assert_eq!(lab.ok("echo again").await, "again\n");
    }
}

#[tokio::test]
async fn a_sandbox_that_nobody_needed_ends() {
    for lab in Lab::both() {
        let (standby, outer, inner) = standing_by(&lab).await;
        drop(standby);
        soon("both processes have ended", || is_over(outer) && is_over(inner)).await;
    }
}

#[tokio::test]
async fn one_waits_at_most_as_long_as_the_one_that_began_it_wants() {
    let lab = Lab::full();
    let (standby, outer, _) = standing_by(&lab).await;
    let second = lab.sandbox.stand_by(Network::Loopback).await;
    assert_eq!(second.waits(), None);
    drop(second);
    assert_eq!(standby.waits(), Some(outer));
}

#[tokio::test]
async fn a_program_with_another_network_leaves_it_waiting() {
    let mut lab = Lab::full();
    lab.profile.network = Network::Host;
    let (standby, outer, _) = standing_by(&lab).await;
    lab.ok("true").await;
    assert_eq!(standby.waits(), Some(outer));
}

#[tokio::test]
async fn a_program_runs_although_one_that_waited_was_killed() {
    for lab in Lab::both() {
        for inner_too in [false, true] {
            let (_standby, outer, inner) = standing_by(&lab).await;
            end(if inner_too { inner } else { outer });
            soon("it has ended", || is_over(outer)).await;
            assert_eq!(lab.ok("echo said").await, "said\n");
        }
    }
}

#[tokio::test]
async fn another_one_waits_in_the_place_of_one_that_was_killed() {
    let lab = Lab::full();
    let (_standby, outer, _) = standing_by(&lab).await;
    end(outer);
    soon("it has ended", || is_over(outer)).await;
    let (again, other, _) = standing_by(&lab).await;
    assert_ne!(other, outer);
    assert_eq!(again.waits(), Some(other));
}

#[tokio::test]
async fn limits_hold_for_a_program_in_a_sandbox_that_waited() {
    for mut lab in Lab::both() {
        lab.profile.limits.memory_bytes = Some(64 << 20);
        lab.profile.limits.disk_bytes = Some(8 << 20);
        let (_standby, ..) = standing_by(&lab).await;
        let fill = "x = bytearray(256 << 20); x[::4096] = b'x' * len(x[::4096]); print(len(x))";
        let outcome = lab.run(&format!("/usr/bin/python3 -c \"{fill}\"; sleep 60")).await;
        assert_eq!(outcome.ended, Ended::MemoryLimit, "{}{}", text(&outcome.stdout), text(&outcome.stderr));
        let (_standby, ..) = standing_by(&lab).await;
        let outcome = lab.run("head -c 64M /dev/zero > big; sleep 60").await;
        assert_eq!(outcome.ended, Ended::DiskLimit, "{}", text(&outcome.stderr));
    }
}

#[tokio::test]
async fn a_program_in_a_sandbox_that_waited_sees_as_little_as_any() {
    let lab = Lab::full();
    let (_standby, ..) = standing_by(&lab).await;
    lab.refused(&format!("kill -0 {}", std::process::id())).await;
    let (_standby, ..) = standing_by(&lab).await;
    lab.refused(&format!("ls {}", lab.outside().display())).await;
}
