//! Full disks: what the operator sees, and that the flight goes on when there is room again.
//!
//! Each disk is a small one of the test's own.

use holdpoint_protocol::Digest;
use holdpoint_tests::{
    account::SoakAccount,
    checker,
    disk::SmallDisk,
    world::{RunningProcess, World},
};

const PLAN: &str = r#"
plan: roomy
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;
/// Waits for leave, so that the disk can fill up meanwhile. Its output is bigger than what is left then.
const BUILDER: &str = "touch \"$HOME/began\"\n\
                       while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\n\
                       [ -e \"$(dirname \"$0\")/small\" ] || head -c 300000 /dev/urandom > big\necho done > result";

/// What the system says of a full disk, and what git says of one. The first failure that the operator hears of may be either.
const LACK: [&str; 2] = ["No space left on device", "Out of diskspace"];

/// As [`BUILDER`], but it takes back what it wrote and says that it failed.
const TIDY_BUILDER: &str = "touch \"$HOME/began\"\n\
                            while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\n\
                            head -c 900000 /dev/urandom > big || { rm big; exit 1; }\necho done > result";

struct Place {
    world: World,
    disk: SmallDisk,
}

impl Place {
    /// A world with a small disk at a folder below the repository's state folder.
    fn new(below: &str) -> Option<Self> {
        let world = World::new(&[("kept", "as it was\n")]);
        world.plan(PLAN);
        world.program("builder.sh", BUILDER);
        let git = world.path("repo/.git").canonicalize().unwrap();
        let digits: String = Digest::of(git.as_os_str().as_encoded_bytes()).hex().chars().take(12).collect();
        let disk = SmallDisk::mount(&world.path(&format!("state/repo-{digits}")).join(below), 48)?;
        Some(Self { world, disk })
    }

    fn start(&self) -> RunningProcess {
        let builder = self.world.path("plan/builder.sh");
        let mut command = self.world.command(&self.world.run_args(&["--builder", builder.to_str().unwrap()]));
        command.env("HOLDPOINT__AGENT__ACK_WAIT", "2s").env("HOLDPOINT__ORCHESTRATOR__HANDOFF_ACK_WAIT", "2s");
        self.world.start_with(command)
    }

    /// Fills the disk while the builder waits, lets it go on, and gives room again once the command has said so.
    fn filled_in_flight(&self) {
        let mut running = self.start();
        self.begun(&mut running);
        self.disk.fill();
        self.world.write("plan/go", "");
        running.until_said_one_of(&LACK);
        self.disk.free();
        self.accepted(running);
    }

    /// Waits until the builder's program has begun.
    fn begun(&self, running: &mut RunningProcess) {
        let mark = || Some(self.world.state_folder()?.join("agents/builder-1/homes/builder/began"));
        running.until("the builder's program", || mark().filter(|mark| mark.exists()));
    }

    fn accepted(&self, running: RunningProcess) {
        let finished = running.finish();
        finished.expect(0);
        assert_eq!(finished.waypoint("w")["attempts"], 1, "a full disk is no attempt: {finished}");
        let branch = finished.json()["branch"].as_str().unwrap().to_owned();
        assert_eq!(self.world.git(&["show", &format!("{branch}:result")]), "done\n");
        assert_eq!(checker::findings(&SoakAccount::of(&self.world)), Vec::<String>::new());
    }
}

#[test]
fn a_full_disk_under_the_agents_is_told_and_the_turn_is_done_when_there_is_room() {
    let Some(place) = Place::new("agents") else { return };
    place.filled_in_flight();
}

#[test]
fn a_program_that_failed_for_lack_of_room_alone_is_no_attempt_although_its_failure_could_be_stored() {
    let Some(place) = Place::new("agents") else { return };
    place.world.program("builder.sh", TIDY_BUILDER);
    let mut running = place.start();
    place.begun(&mut running);
    place.disk.fill_but(300_000);
    place.world.write("plan/go", "");
    running.until_said_one_of(&["make room there"]);
    place.disk.free();
    place.accepted(running);
}

#[test]
fn a_full_disk_under_the_orchestrator_is_told_and_the_work_is_taken_when_there_is_room() {
    let Some(place) = Place::new("orchestrator") else { return };
    place.filled_in_flight();
}

#[test]
fn a_full_disk_under_the_broker_loses_nothing_that_it_acknowledged() {
    let Some(place) = Place::new("broker") else { return };
    place.filled_in_flight();
}

#[test]
fn a_state_folder_without_room_stops_a_flight_before_it_begins() {
    let Some(place) = Place::new("") else { return };
    place.disk.fill();
    place.world.write("plan/go", "");
    let finished = place.start().finish();
    finished.expect(3);
    assert!(finished.stderr.contains(LACK[0]), "{finished}");
    place.disk.free();
    place.accepted(place.start());
}
