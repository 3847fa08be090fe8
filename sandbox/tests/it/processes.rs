//! The whole tree ends; nobody outside is seen or signalled.

use std::io::Write;
use std::process::Stdio;

use holdpoint_sandbox::{Ended, Property, SandboxError};

use crate::lab::{Lab, SHIM, runs, soon};

#[tokio::test]
async fn daemon_does_not_outlive_the_run() {
    for (lab, word) in Lab::both().into_iter().zip(["7770011", "7770012"]) {
        lab.ok(&format!(
            "(setsid sh -c 'setsid sleep {word} & touch started' & ) ; while ! test -e started; do :; done"
        ))
        .await;
        assert!(!runs(word));
    }
}

#[tokio::test]
async fn dropped_run_ends_the_tree() {
    for (lab, word) in Lab::both().into_iter().zip(["7770021", "7770022"]) {
        let command = lab.command(&format!("setsid sleep {word}"));
        {
            let run = lab.sandbox.run(&command, None);
            tokio::pin!(run);
            tokio::select! {
                _ = &mut run => panic!("it ended by itself"),
                () = soon("the program runs", || runs(word)) => {}
            }
        }
        soon("the program has ended", || !runs(word)).await;
    }
}

#[tokio::test]
async fn a_run_that_is_to_end_ends_the_tree_and_keeps_the_output() {
    for (lab, word) in Lab::both().into_iter().zip(["7770041", "7770042"]) {
        let command = lab.command(&format!("echo said; setsid sleep {word}"));
        let end = soon("the program runs", || runs(word));
        let outcome = lab.sandbox.run_until(&command, None, end).await.unwrap();
        assert_eq!((outcome.ended, outcome.tree_ended), (Ended::Signalled(9), true));
        assert_eq!(outcome.stdout, b"said\n");
        assert!(!runs(word));
    }
}

#[tokio::test]
async fn death_of_the_harness_ends_the_tree() {
    let lab = Lab::full();
    let word = "7770031";
    let command = serde_json::to_vec(&lab.command(&format!("setsid sleep {word} & setsid sleep {word}"))).unwrap();
    let mut harness = std::process::Command::new(SHIM).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    harness.stdin.take().unwrap().write_all(&command).unwrap();
    soon("the program runs", || runs(word)).await;
    harness.kill().unwrap();
    harness.wait().unwrap();
    soon("the program has ended", || !runs(word)).await;
}

#[tokio::test]
async fn harness_can_be_neither_signalled_nor_read() {
    let pid = std::process::id();
    for lab in Lab::both() {
        lab.refused(&format!("kill -0 {pid}")).await;
        let outcome =
            lab.run(&format!("cat /proc/{pid}/environ; cat /proc/{pid}/maps; readlink /proc/{pid}/exe")).await;
        let promised =
            outcome.properties.iter().find(|report| report.property == Property::NoForeignProcesses).unwrap();
        assert!(!promised.enforced() || outcome.stdout.is_empty(), "{promised:?}");
    }
}

#[tokio::test]
async fn death_of_the_supervisor_inside_ends_the_run() {
    // As first of its namespace it cannot even be killed from inside.
    for (lab, ended) in Lab::both().into_iter().zip([Ended::Exited(3), Ended::Signalled(9)]) {
        assert_eq!(lab.run("kill -9 $PPID; exit 3").await.ended, ended);
    }
}

#[tokio::test]
async fn no_capability_and_no_file_is_handed_on() {
    let lab = Lab::full();
    assert_eq!(lab.ok("grep -c 'Cap\\(Prm\\|Eff\\|Inh\\|Amb\\):.0000000000000000' /proc/self/status").await, "4\n");
    assert_eq!(
        lab.ok("echo /proc/self/fd/*").await.trim(),
        "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3"
    );
}

#[tokio::test]
async fn huge_pages_are_the_programs_to_choose_also_where_its_starter_has_none() {
    nix::sys::prctl::set_thp_disable(true).unwrap();
    for lab in Lab::both() {
        assert_eq!(lab.ok("grep THP_enabled /proc/self/status").await.split_whitespace().last(), Some("1"));
    }
}

#[tokio::test]
async fn tracing_is_refused() {
    for lab in Lab::both() {
        let code = "import ctypes; l=ctypes.CDLL(None); exit(l.ptrace(0,0,0,0) == 0)";
        lab.ok(&format!("/usr/bin/python3 -c '{code}'")).await;
    }
}

#[tokio::test]
async fn what_cannot_be_promised_is_refused_before_anything_runs() {
    let lab = Lab::plain();
    let strict = holdpoint_sandbox::Sandbox::new(SHIM).without_namespaces();
    let error = strict.run(&lab.command("touch ran"), None).await.unwrap_err();
    let SandboxError::NotEnforceable { properties } = error else { panic!("{error}") };
    assert!(properties.contains(&Property::Loopback));
    assert!(!lab.scratch().join("ran").exists());
    let waived = lab.run("true").await;
    let loopback = waived.properties.iter().find(|report| report.property == Property::Loopback).unwrap();
    assert!(!loopback.enforced());
}
