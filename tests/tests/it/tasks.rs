//! Work without a plan file, and without a workflow until its project declares one (GATE-11), through real processes.

use holdpoint_tests::world::{Finished, RunningProcess, World, eventually};

/// A folder that is in no repository.
struct Desk(World);

impl Desk {
    fn new() -> Self {
        let world = World::new(&[]);
        world.write("desk/readme", "x\n");
        Self(world)
    }

    fn start(&self, args: &[&str]) -> RunningProcess {
        let mut command = self.0.command(args);
        command.current_dir(self.0.path("desk"));
        self.0.start_with(command)
    }

    fn holdpoint(&self, args: &[&str]) -> Finished {
        self.start(args).finish()
    }

    fn visits(&self, waypoint: &str) -> Vec<String> {
        let task = self.holdpoint(&["task", waypoint, "--json"]).expect(0).json();
        let visits = task["gateHistory"].as_array().unwrap().iter();
        let word = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        visits.map(|visit| ["gate", "role", "outcome"].map(|key| word(&visit[key])).join(" ")).collect()
    }

    fn is_sound(&self, flight: &str) {
        self.holdpoint(&["export", flight, "--out", "flight.jsonl", "--force"]).expect(0);
        self.holdpoint(&["audit", "flight.jsonl"]).expect(0);
    }
}

fn flight_of(run: &Finished) -> String {
    run.json()["flight"].as_str().unwrap().to_owned()
}

#[test]
fn work_without_a_plan_and_without_a_workflow_is_complete_once_its_agent_says_so() {
    let desk = Desk::new();
    let lacking = desk.holdpoint(&["run", "--task", "Read the contract", "--json"]);
    assert!(lacking.expect(2).stderr.contains("--agent default='CMD'"), "{lacking}");
    let agent =
        desk.0.program("agent.sh", r#"case $(cat) in *"List what it says"*) echo 'It says x.' ;; *) exit 3 ;; esac"#);
    let named = format!("default={agent}");
    let said = ["--task", "Read the contract", "--goal", "List what it says", "--agent", &named, "--json"];
    desk.holdpoint(&[&["check"], &said[..]].concat()).expect(0);
    let run = desk.holdpoint(&[&["run"], &said[..]].concat());
    assert_eq!(run.expect(0).json()["status"], "accepted");
    assert_eq!(desk.visits("read-the-contract"), ["complete default complete"]);
    desk.is_sound(&flight_of(&run));
}

#[test]
fn work_without_a_plan_goes_by_the_first_workflow_of_its_project_or_by_a_named_one() {
    let desk = Desk::new();
    desk.0.write(
        "desk/project.yaml",
        "workflows:\n  - {name: read, gates: [{id: read, role: reader}]}\n  - {name: keep, gates: [{id: keep, role: keeper}]}\n",
    );
    desk.0.write("twice/project.yaml", "workflow: {name: t, gates: [{id: a, role: one}, {id: b, role: two}]}\n");
    let lacking = desk.holdpoint(&["run", "--task", "Zero", "--repo", "../twice"]);
    assert!(lacking.expect(2).stderr.contains("--agent one='CMD' --agent two='CMD'"), "every role at once: {lacking}");
    let agent = desk.0.program("agent.sh", "cat > /dev/null; echo done");
    let (reader, keeper) = (format!("reader={agent}"), format!("keeper={agent}"));
    let first = desk.holdpoint(&["run", "--task", "One", "--agent", &reader, "--json"]);
    assert_eq!(first.expect(0).json()["status"], "accepted");
    assert_eq!(desk.visits("one"), ["read reader complete"]);
    desk.holdpoint(&["run", "--task", "Two", "--workflow", "keep", "--agent", &keeper, "--json"]).expect(0);
    assert_eq!(desk.visits("two"), ["keep keeper complete"]);
    let unknown = desk.holdpoint(&["check", "--task", "Three", "--workflow", "kept", "--json"]);
    assert!(unknown.expect(2).stderr.contains("kept"), "{unknown}");
    let verified = desk.holdpoint(&["check", "--task", "Four", "--workflow", "fly", "--json"]);
    assert!(verified.expect(2).stderr.contains("--check CMD"), "{verified}");
}

#[test]
fn work_that_began_without_a_workflow_is_adopted_by_the_one_that_its_project_declares() {
    let desk = Desk::new();
    // It has the turn until it is stopped.
    let agent = desk.0.program("agent.sh", "cat > /dev/null; exec sleep 600");
    let named = format!("default={agent}");
    let mut run = desk.start(&["run", "--task", "Read it", "--agent", &named, "--json"]);
    run.until_said("flight ");
    eventually("the only gate", || {
        let status = desk.holdpoint(&["task", "read-it", "--json"]);
        (status.code == 0 && status.json()["gate"]["current"] == "complete").then_some(())
    });
    desk.0.write(
        "desk/project.yaml",
        "workflow:\n  name: signed\n  gates:\n    - {id: sign, role: lead, requireHuman: true, timeout: 8h}\n",
    );
    run.until_said("workflow signed adopts work that began without one, at its first gate");
    run.until_said(": reloaded");
    let run = run.finish();
    assert_eq!(run.expect(1).waypoint("read-it")["gate"], "sign");
    let flight = flight_of(&run);
    let same = desk.holdpoint(&["org", "reload", "--check", "--json"]);
    assert_eq!(same.expect(0).json()["flights"][0]["result"], "same");
    desk.holdpoint(&["approve", "read-it", "--as", "human-ada"]).expect(0);
    let over = desk.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(over.expect(0).json()["status"], "accepted");
    assert_eq!(desk.visits("read-it"), ["complete default skip", "sign lead complete"]);
    desk.is_sound(&flight);
}

#[test]
fn a_workflow_that_is_declared_already_adopts_work_by_command_and_finds_agents_of_its_roles() {
    let desk = Desk::new();
    desk.0.write("desk/project.yaml", "workflow: {name: read, gates: [{id: read, role: reader}]}\n");
    // It has the turn until it is taken back.
    let stuck = desk.0.program("stuck.sh", "cat > /dev/null; exec sleep 600");
    let reader = desk.0.program("reader.sh", "cat > /dev/null; echo 'It says x.'");
    let (stuck, reader) = (format!("default={stuck}"), format!("reader={reader}"));
    let said = ["run", "--task", "Read it", "--workflow", "one-gate", "--json"];
    let mut run = desk.start(&[&said[..], &["--agent", &stuck, "--agent", &reader]].concat());
    run.until_said("flight ");
    eventually("the only gate", || {
        let status = desk.holdpoint(&["task", "read-it", "--json"]);
        (status.code == 0 && status.json()["gate"]["current"] == "complete").then_some(())
    });
    let reloaded = desk.holdpoint(&["org", "reload", "--json"]);
    assert_eq!(reloaded.expect(0).json()["flights"][0]["result"], "reloaded");
    assert_eq!(run.finish().expect(0).json()["status"], "accepted");
    assert_eq!(desk.visits("read-it"), ["complete default skip", "read reader complete"]);
}
