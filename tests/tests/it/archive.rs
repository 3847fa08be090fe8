//! Flights that are over leave the broker for a file, and everything that was promised of them can still be shown from it.

use std::{fs, path::PathBuf};

use holdpoint_faults::{ORDER, PROCESS, STOPPED};
use holdpoint_tests::world::{Finished, RunningProcess, World, eventually};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

const PLAN: &str = "plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  \
    - {id: one, title: t, goal: g, criteria: [{id: c, statement: s, check: 'grep one a'}]}\n  \
    - {id: two, title: t, goal: g, depends_on: [one], criteria: [{id: c, statement: s, check: 'grep two a'}]}\n";

/// A world with a builder that makes both waypoints.
struct Archive {
    world: World,
    builder: String,
}

impl Archive {
    fn new() -> Self {
        let world = World::new(&[("a", "begin\n")]);
        world.plan(PLAN);
        let builder = world.program("builder.sh", "if grep -q one a; then echo two >> a; else echo one >> a; fi");
        Self { world, builder }
    }

    /// Flies the plan; the flight.
    fn fly(&self) -> Value {
        let flown = self.world.fly(&self.builder, &[]);
        assert_eq!(flown.expect(0).json()["status"], "accepted");
        flown.json()
    }

    fn archive(&self, flight: &str, more: &[&str]) -> Finished {
        let mut args = vec!["archive", flight, "--grace", "1s", "--json"];
        args.extend(more);
        self.world.holdpoint(&args)
    }

    fn listed(&self) -> String {
        self.world.holdpoint(&["status"]).expect(0).stdout.clone()
    }

    fn trust(&self) -> PathBuf {
        self.world.state_folder().unwrap().join("keys/trust.json")
    }

    /// Audits a file by the fleet's own keys.
    fn audit(&self, file: &str) -> Value {
        let audited = self.world.holdpoint(&["audit", file, "--trust", self.trust().to_str().unwrap(), "--json"]);
        audited.expect(0).json()
    }
}

fn id(flight: &Value) -> &str {
    flight["flight"].as_str().unwrap()
}

#[test]
fn an_archived_flight_is_gone_from_the_broker_and_whole_in_its_file() {
    let place = Archive::new();
    let world = &place.world;
    let (gone, stays) = (place.fly(), place.fly());
    let archived = place.archive(id(&gone), &["--evidence"]);
    let report = archived.expect(0).json();
    let (one, file) = (&report["archived"][0], report["archived"][0]["file"].as_str().unwrap());
    assert_eq!((&one["flight"], &one["messages"]), (&gone["flight"], &one["deleted"]), "{report}");
    assert!(report["blobs_deleted"].as_u64() > Some(0), "{report}");
    assert!(report["bytes_after"].as_u64() < report["bytes_before"].as_u64(), "{report}");

    assert!(!place.listed().contains(id(&gone)) && place.listed().contains(id(&stays)));
    let resumed = ["run", "--resume", id(&gone)];
    for args in
        [&["status", id(&gone)][..], &["history", "one", "--flight", id(&gone)], &["export", id(&gone)], &resumed]
    {
        let refused = world.holdpoint(args);
        refused.expect(2);
    }
    let refused = place.archive(id(&gone), &[]);
    assert!(refused.expect(2).stderr.contains("was archived on"), "{refused}");

    let audited = place.audit(file);
    assert_eq!((&audited["sound"], &audited["evidence_bytes"]), (&true.into(), &true.into()), "{audited}");
    // What stays has lost nothing that it shares with what left: both have one snapshot, and the same output of checks.
    world.holdpoint(&["audit", id(&stays)]).expect(0);
    let branch = gone["branch"].as_str().unwrap();
    world.git(&["branch", "-D", branch]);
    world.holdpoint(&["fetch", "--from", file]).expect(0);
    assert_eq!(world.git(&["rev-parse", branch]).trim(), gone["head"].as_str().unwrap());
    // The fleet goes on.
    assert_ne!(id(&place.fly()), id(&gone));
}

#[test]
fn a_flight_with_work_that_can_go_on_stays_until_it_is_cancelled() {
    let place = Archive::new();
    let world = &place.world;
    let idle = world.program("idle.sh", "true");
    let held = world.fly(&idle, &[]);
    let flight = held.expect(1).json();
    let refused = place.archive(id(&flight), &[]);
    assert!(refused.expect(2).stderr.contains("one can still go on"), "{refused}");
    let old = world.holdpoint(&["archive", "--older-than", "1ms", "--grace", "1s", "--json"]);
    assert_eq!(
        (old.expect(0).json()["left"][0].as_str(), &old.json()["archived"]),
        (Some(id(&flight)), &serde_json::json!([]))
    );
    world.holdpoint(&["cancel", id(&flight)]).expect(0);
    eventually("the flight to be over", || {
        let dry = world.holdpoint(&["archive", "--older-than", "1ms", "--dry-run", "--json"]).expect(0).json();
        assert!(dry["bytes_before"].as_u64() > Some(0) && dry.get("bytes_after").is_none(), "{dry}");
        (dry["would_archive"][0] == flight["flight"]).then_some(())
    });
    let report = place.archive(id(&flight), &[]);
    assert_eq!(report.expect(0).json()["archived"][0]["flight"], flight["flight"]);
    let listed = place.listed();
    assert!(listed.contains("1 flight") && listed.contains("holdpoint audit FILE"), "{listed}");
    assert_eq!(place.audit(report.json()["archived"][0]["file"].as_str().unwrap())["sound"], true);
}

/// Stops `archive` at a step, and kills it there.
fn killed(world: &World, flight: &str, order: &str) {
    world.write(&format!("faults/{ORDER}"), order);
    let mut command = world.command(&["archive", flight, "--grace", "1s", "--json"]);
    command.env(PROCESS, "archive");
    let mut running: RunningProcess = world.start_with(command);
    let stopped = world.path(&format!("faults/{STOPPED}"));
    let pid: i32 = running.until(order, || fs::read_to_string(&stopped).ok()?.parse().ok());
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    running.finish();
    fs::remove_dir_all(world.path("faults")).unwrap();
}

#[test]
fn a_command_that_is_killed_anywhere_goes_on_when_it_is_called_again() {
    let place = Archive::new();
    for order in [
        "archive after keep-export 1",
        "archive before retire 1",
        "archive after retire 1",
        "archive after delete 2",
        "archive before delete 5",
        "archive after delete 5",
    ] {
        let flight = place.fly();
        killed(&place.world, id(&flight), order);
        let before = place.listed().contains(id(&flight));
        assert_eq!(before, order.contains("keep-export") || order.contains("before retire"), "{order}");
        let again = place.archive(id(&flight), &[]);
        let is_finished = order == "archive after delete 5";
        again.expect(if is_finished { 2 } else { 0 });
        assert!(!place.listed().contains(id(&flight)), "{order}");
        let file = place.world.state_folder().unwrap().join(format!("archive/{}.export.jsonl.gz", id(&flight)));
        assert_eq!(place.audit(file.to_str().unwrap())["sound"], true, "{order}");
    }
}

#[test]
fn two_commands_that_archive_the_same_flight_leave_one_sound_file() {
    let place = Archive::new();
    let flight = place.fly();
    let both = [(), ()].map(|()| place.world.start(&["archive", id(&flight), "--grace", "1s", "--json"]));
    let mut codes = both.map(|running| running.finish().code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 2], "one of them is late");
    let file = place.world.state_folder().unwrap().join(format!("archive/{}.export.jsonl.gz", id(&flight)));
    assert_eq!(place.audit(file.to_str().unwrap())["sound"], true);
}

/// As after a restore from a backup that is older than the archive.
#[test]
fn an_earlier_archive_with_other_entries_is_kept() {
    let place = Archive::new();
    let (other, flight) = (place.fly(), place.fly());
    let archived = place.archive(id(&other), &[]).expect(0).json();
    let earlier = fs::read(archived["archived"][0]["file"].as_str().unwrap()).unwrap();
    let folder = place.world.state_folder().unwrap().join("archive");
    let file = folder.join(format!("{}.export.jsonl.gz", id(&flight)));
    fs::write(&file, &earlier).unwrap();

    place.world.holdpoint(&["archive", "--older-than", "30d", "--grace", "1s"]).expect(0);
    assert_eq!(fs::read(&file).unwrap(), earlier, "a flight that is too young");
    let archived = place.archive(id(&flight), &[]);
    assert!(archived.expect(0).stderr.contains("earlier archive"), "{archived}");
    assert_eq!(place.audit(file.to_str().unwrap())["sound"], true);
    let files = fs::read_dir(&folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    assert_eq!(files.filter(|bytes| *bytes == earlier).count(), 2, "under its own name, and aside");
}

/// The snapshot of the flight that left is the same as that of the one that begins: its upload is answered "already there".
#[test]
fn blobs_that_are_used_again_while_they_are_about_to_be_deleted_stay() {
    let place = Archive::new();
    let world = &place.world;
    let gone = place.fly();
    let mut archiving = world.start(&["archive", id(&gone), "--grace", "20s", "--evidence", "--json"]);
    archiving.until_said("are named by no message");
    let flown = place.fly();
    let report = archiving.finish();
    let report = report.expect(0).json();
    assert!(report["blobs_spared"].as_u64() > Some(0), "{report}");
    let audited = world.holdpoint(&["audit", id(&flown), "--json"]);
    assert_eq!(audited.expect(0).json()["evidence_bytes"], true);
    let branch = flown["branch"].as_str().unwrap();
    world.git(&["branch", "-D", branch]);
    world.holdpoint(&["fetch", id(&flown)]).expect(0);
    assert_eq!(world.git(&["rev-parse", branch]).trim(), flown["head"].as_str().unwrap());
}
