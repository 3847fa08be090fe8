//! Time, output, file size and processes: what ends a program that wants too much.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_sandbox::{Ended, OutputStream, Property, Tap};

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
async fn a_tap_sees_the_output_while_the_program_runs() {
    let lab = Lab::full();
    let command = lab.command("echo first; while ! test -e go; do :; done");
    let go = lab.scratch().join("go");
    let tap = Tap::new(move |stream, bytes| {
        assert_eq!((stream, text(bytes)), (OutputStream::Stdout, "first\n".to_owned()));
        std::fs::write(&go, "").unwrap();
    });
    // Without what the tap does the program would run into its time limit.
    assert_eq!(lab.sandbox.run(&command, Some(&tap)).await.unwrap().ended, Ended::Exited(0));
}

#[tokio::test]
async fn a_tap_sees_all_that_is_kept_and_nothing_beyond() {
    let mut lab = Lab::full();
    lab.profile.limits.output_bytes = 300_000;
    let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let into = Arc::clone(&seen);
    let tap = Tap::new(move |stream, bytes| {
        let mut seen = into.lock().unwrap();
        let (out, err) = &mut *seen;
        if stream == OutputStream::Stdout { out } else { err }.extend_from_slice(bytes);
    });
    let command = lab.command("seq 1 20000 >&2; seq 1 100000");
    let outcome = lab.sandbox.run(&command, Some(&tap)).await.unwrap();
    assert_eq!(outcome.ended, Ended::OutputLimit);
    let (out, err) = &*seen.lock().unwrap();
    assert_eq!((out, err), (&outcome.stdout, &outcome.stderr));
    assert_eq!(out.len() + err.len(), 300_000);
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

const MIB: u64 = 1 << 20;

/// Takes memory for ever, in one process or in many small ones, in a file in memory, or without a name for it.
const MEMORY_FLOODS: [&str; 4] = [
    "exec python3 -c 'a=[]\nwhile True: a.append(bytearray(8<<20))'",
    "exec python3 -c 'import os,time\nfor _ in range(64):\n  if os.fork()==0:\n    a=bytearray(16<<20); time.sleep(600)\ntime.sleep(600)'",
    "exec python3 -c 'import mmap,time\na=[]\nfor _ in range(64):\n  m=mmap.mmap(-1,16<<20); m.write(bytes(16<<20)); a.append(m)\ntime.sleep(600)'",
    "exec python3 -c 'import os,time\nfor i in range(64): os.write(os.memfd_create(str(i)), bytes(16<<20))\ntime.sleep(600)'",
];

#[tokio::test]
async fn memory_in_sum_is_limited_without_control_groups() {
    // With groups and without namespaces: see `escapes`.
    for mut lab in Lab::both_without_groups() {
        lab.profile.limits.memory_bytes = Some(256 * MIB);
        for flood in MEMORY_FLOODS {
            let outcome = lab.run(flood).await;
            assert_eq!(outcome.ended, Ended::MemoryLimit, "{flood} {}", lab.by(Property::MemoryLimited).await);
        }
        assert_eq!(lab.ok("python3 -c 'a=bytearray(100<<20); print(len(a)>>20)'").await, "100\n");
    }
}

/// Fills the disk: one file, many files, many empty files in many folders, files without a name.
const DISK_FLOODS: [(u64, &str); 4] = [
    (64, "exec cat /dev/zero > big"),
    (64, "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done"),
    (
        2,
        "exec python3 -c 'import os\nfor d in range(10**6):\n  os.mkdir(str(d))\n  for f in range(1000): open(f\"{d}/{f}\",\"w\").close()'",
    ),
    (
        64,
        "exec python3 -c 'import os\nf=open(\"gone\",\"wb\"); os.unlink(\"gone\")\nwhile True: f.write(bytes(1<<20))'",
    ),
];

#[tokio::test]
async fn disk_space_in_sum_is_limited() {
    for mut lab in Lab::both() {
        // More than a fast disk takes before the watch looks: it must not be what ends the flood.
        lab.profile.limits.file_size_bytes = 1 << 35;
        for (mib, flood) in DISK_FLOODS {
            lab.profile.limits.disk_bytes = Some(mib * MIB);
            assert_eq!(lab.run(flood).await.ended, Ended::DiskLimit, "{flood}");
            lab.empty_scratch();
        }
        lab.profile.limits.disk_bytes = Some(64 * MIB);
        lab.ok("head -c 20000000 /dev/zero > fits && sleep 1").await;
    }
}

#[tokio::test]
async fn files_that_were_there_before_are_nobodys_excess() {
    let mut lab = Lab::full();
    std::fs::write(lab.scratch().join("before"), vec![1; 20 << 20]).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    lab.profile.limits.disk_bytes = Some(10 * MIB);
    lab.ok("sleep 1").await;
}

#[tokio::test]
async fn control_groups_are_gone_after_the_run() {
    let mut lab = Lab::full();
    lab.profile.limits.memory_bytes = Some(256 * MIB);
    let group = lab.ok("cat /proc/self/cgroup").await;
    let left =
        group.lines().filter_map(|line| line.rsplit_once('/')).filter(|(_, name)| name.starts_with("holdpoint-"));
    for (_, name) in left {
        let found = std::process::Command::new("find").args(["/sys/fs/cgroup", "-name", name]).output().unwrap();
        assert_eq!(text(&found.stdout), "");
    }
}
