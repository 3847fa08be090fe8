//! `bench`, as small as it gets: what it prints and what it leaves. Figures of a busy machine say nothing.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::lab::Lab;

/// How long something that must happen may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// Every figure that scripts may rely on.
const FIGURES: [&str; 14] = [
    "throughput",
    "p50_ms",
    "p99_ms",
    "p50_ms_c1",
    "cpu_s_per_1000",
    "messages_per_waypoint",
    "bytes_per_waypoint",
    "yardstick_throughput",
    "yardstick_p50_ms_c1",
    "yardstick_agents_throughput",
    "ratio",
    "ratio_agents",
    "cpu_ratio_agents",
    "ratio_p50_c1",
];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_small_benchmark_gives_every_figure_for_both_kinds_of_broker() {
    let lab = Lab::new();
    let work = lab.path("work");
    fs::create_dir(&work).unwrap();
    let args = ["bench", "handoff", "--waypoints", "20", "--concurrency", "4", "--json", "--dir", "work"];
    let answer = lab.run(&args);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    for sync in ["default_sync", "always"] {
        for figure in FIGURES {
            let found = number(&report[sync][figure]);
            // So little work may take less CPU time than the kernel counts in.
            let least = if figure.starts_with("cpu_") { 0.0 } else { f64::MIN_POSITIVE };
            assert!(found.is_finite() && found >= least, "{sync}.{figure} is {found}");
        }
        let messages = number(&report[sync]["messages_per_waypoint"]);
        assert!((5.0..=9.0).contains(&messages), "{sync}: {messages} messages a waypoint");
        assert_eq!(report[sync]["messages"].as_array().map(Vec::len), Some(messages.round() as usize));
        let processes = report[sync]["processes"].as_array().unwrap();
        let names: Vec<_> = processes.iter().filter_map(|process| process["process"].as_str()).collect();
        assert_eq!(names, ["driver", "broker", "orchestrator", "builders", "verifiers"]);
        assert!(processes.iter().all(|process| number(&process["peak_rss_mib"]) > 1.0));
    }
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0, "nothing is left");
}

#[test]
fn open_waypoints_and_thinking_builders_are_measured() {
    let lab = Lab::new();
    let rows = ["--open", "5,10", "--per-flight", "5", "--waypoints", "10", "--builders", "1,2", "--think-ms", "5"];
    let answer = lab.run(&[&["bench", "scale", "--json"], &rows[..]].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    let open = report["open"].as_array().unwrap();
    assert_eq!(open.iter().map(|row| row["open"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 10]);
    // Two flights of five, each with its submission, and what was flown besides them.
    assert!(open[1]["journal_entries"].as_u64().unwrap() > 12);
    for figure in ["throughput", "orchestrator_rss_mib", "broker_rss_mib", "restart_s"] {
        assert!(open.iter().all(|row| number(&row[figure]) > 0.0), "{figure}");
    }
    let thinking = report["thinking"].as_array().unwrap();
    assert!(thinking.len() == 2 && thinking.iter().all(|row| number(&row["efficiency"]) > 0.0));
}

#[test]
fn rounds_of_flights_are_flown_and_archived() {
    let lab = Lab::new();
    let answer = lab.run(&["bench", "flights", "--flights", "5", "--rounds", "2", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["flights"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 3]);
    for row in rows {
        for figure in ["flown_s", "archived_s", "export_mib"] {
            assert!(number(&row[figure]) > 0.0, "{figure} in {row}");
        }
        assert!(number(&row["left"]["stored_mib"]) < number(&row["full"]["stored_mib"]) / 2.0, "{row}");
    }
}

#[test]
fn verdicts_are_measured_at_every_level_without_a_broker() {
    let lab = Lab::new();
    let work = lab.path("work");
    fs::create_dir(&work).unwrap();
    let small =
        ["--tests", "20", "--runners", "unittest", "--work-ms", "0", "--rounds", "1", "--dir", "work", "--json"];
    let none = lab.path("none");
    let answer = lab.run_with(&[&["bench", "verdict"], &small[..]].concat(), &[("HOLDPOINT_NATS_SERVER", &none)]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["work"].as_str().unwrap()).collect::<Vec<_>>(), ["fix", "feature", "wide"]);
    for row in rows {
        assert!(number(&row["check_s"]) > 0.0, "{row}");
        let levels = row["levels"].as_array().unwrap();
        assert_eq!(levels.iter().map(|level| level["level"].as_str().unwrap()).collect::<Vec<_>>(), ["fast", "strict"]);
        let runs: Vec<u64> = levels.iter().map(|level| level["runs"].as_u64().unwrap()).collect();
        assert!(runs[0] > 0 && runs[0] < runs[1], "{row}");
        assert!(levels.iter().all(|level| number(&level["verdict_s"]) > 0.0 && number(&level["ratio"]) > 0.0), "{row}");
    }
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0, "nothing is left");
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let lab = Lab::new();
    let cases: [(&[&str], &str); 8] = [
        (&["handoff", "--waypoints", "0"], "--waypoints is from 1"),
        (&["handoff", "--waypoints", "10", "--concurrency", "11"], "not more than --waypoints"),
        (&["handoff", "--agents", "0"], "--agents is from 1"),
        (&["scale", "--open", "10,5"], "smallest first"),
        (&["scale", "--think-ms", "0"], "--think-ms is from 1"),
        (&["verdict", "--tests", "3"], "3 tests"),
        (&["verdict", "--rounds", "0"], "nothing to measure"),
        (&["flights", "--flights", "3", "--rounds", "4"], "--rounds is from 2"),
    ];
    for (args, words) in cases {
        lab.run(&[&["bench"], args].concat()).refuses(2, &[words]);
    }
    lab.run(&["bench", "handoff", "--waypoints", "many"]).refuses(2, &["--waypoints"]);
}

#[test]
fn without_a_broker_there_is_no_benchmark() {
    let lab = Lab::new();
    let none = lab.path("none");
    let answer = lab.run_with(&["bench", "handoff"], &[("HOLDPOINT_NATS_SERVER", &none)]);
    answer.refuses(3, &["no nats-server"]);
}

#[test]
fn an_interrupted_benchmark_leaves_no_process_and_no_folder() {
    let lab = Lab::new();
    let work = lab.path("work");
    fs::create_dir(&work).unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_holdpoint"))
        .args(["bench", "handoff", "--waypoints", "1000000", "--concurrency", "2", "--dir"])
        .arg(&work)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Said before its processes are started, so it may be interrupted anywhere.
    let mut stderr = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(stderr.any(|line| line.unwrap().contains("default sync")));
    wait_until("processes run", || has_processes(&work));
    assert!(Command::new("kill").args(["-INT", &bench.id().to_string()]).status().unwrap().success());
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    wait_until("all processes are gone", || !has_processes(&work));
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process runs that names something below this folder.
fn has_processes(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap().as_bytes();
    let names_it = |line: &[u8]| line.split(|byte| *byte == 0).any(|arg| arg.starts_with(folder) && arg != folder);
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| names_it(&line)))
}

#[test]
fn a_fleet_with_nothing_to_do_is_measured_process_by_process_and_leaves_nothing() {
    let lab = Lab::new();
    let work = lab.path("work");
    fs::create_dir(&work).unwrap();
    let sizes = ["--builders", "2", "--verifiers", "1", "--repairs", "1", "--seconds", "1"];
    let answer = lab.run(&[&["bench", "idle", "--json", "--dir", "work"][..], &sizes].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    let rows: Vec<(&str, u64)> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["processes"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("broker", 1), ("orchestrator", 1), ("builder", 2), ("verifier", 1), ("repair", 1)]);
    assert!(number(&report["percent"]).is_finite());
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0, "nothing is left");
    lab.run(&["bench", "idle", "--builders", "0"]).refuses(2, &["0 agents of the role builder"]);
}
