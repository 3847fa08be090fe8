//! Time, output, file size and processes: what ends a program that wants too much.

use std::time::Duration;

use holdpoint_sandbox::{Ended, Property, Stream};

use crate::lab::{Lab, runs, text};

const SIGXFSZ: i32 = 25;

#[tokio::test]
async fn time_up_ends_the_tree() {
    for (mut lab, word) in Lab::both().into_iter().zip(["7771011", "7771012"]) {
        lab.profile.limits.wall = Duration::from_millis(700);
        let outcome = lab.run(&format!("setsid sleep {word} & sleep {word}")).await;
        assert_eq!(outcome.ended, Ended::TimedOut);
        assert!(!runs(word));
    }
}

#[tokio::test]
async fn flood_is_ended_at_the_cap() {
    for mut lab in Lab::both() {
        lab.profile.limits.output_bytes = 100_000;
        let outcome = lab.run("yes & yes >&2").await;
        assert_eq!(outcome.ended, Ended::OutputLimit);
        assert_eq!(outcome.stdout.len() + outcome.stderr.len(), 100_000);
    }
}

#[tokio::test]
async fn output_up_to_the_cap_is_kept_whole() {
    let mut lab = Lab::full();
    lab.profile.limits.output_bytes = 3_000_000;
    let outcome = lab.run("head -c 2000000 /dev/zero; head -c 1000000 /dev/zero >&2").await;
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert_eq!((outcome.stdout.len(), outcome.stderr.len()), (2_000_000, 1_000_000));
}

#[tokio::test]
async fn tail_is_told_while_the_program_runs() {
    let lab = Lab::full();
    let (sender, mut receiver) = tokio::sync::mpsc::channel(16);
    let command = lab.command("echo first; while ! test -e go; do :; done");
    let run = lab.sandbox.run(&command, Some(sender));
    let watch = async {
        let chunk = receiver.recv().await.unwrap();
        std::fs::write(lab.scratch().join("go"), "").unwrap();
        chunk
    };
    let (outcome, chunk) = tokio::join!(run, watch);
    assert_eq!(outcome.unwrap().ended, Ended::Exited(0));
    assert_eq!((chunk.stream, text(&chunk.bytes)), (Stream::Stdout, "first\n".to_owned()));
}

#[tokio::test]
async fn big_file_ends_the_program() {
    for mut lab in Lab::both() {
        lab.profile.limits.file_size_bytes = 10_000;
        let outcome = lab.run("exec head -c 20000 /dev/zero > big").await;
        assert_eq!(outcome.ended, Ended::Signalled(SIGXFSZ));
        assert_eq!(std::fs::metadata(lab.scratch().join("big")).unwrap().len(), 10_000);
    }
}

#[tokio::test]
async fn number_of_processes_is_limited_where_that_is_promised() {
    let mut lab = Lab::full();
    lab.profile.limits.processes = Some(310);
    let code = "import os,time\nn=0\ntry:\n  while n<1000:\n    if os.fork()==0: time.sleep(600)\n    n+=1\nexcept OSError: pass\nprint(n)";
    let outcome = lab.run(&format!("/usr/bin/python3 -c '{code}'")).await;
    let report = outcome.properties.iter().find(|report| report.property == Property::ProcessesLimited).unwrap();
    let count: u32 = text(&outcome.stdout).trim().parse().unwrap();
    assert_eq!(report.enforced(), count < 310, "{count}");
}
