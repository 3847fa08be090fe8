//! Workflows that are declared otherwise while work is under way (GATE-12), through real processes.

use std::net::TcpListener;

use holdpoint_tests::world::{Finished, RunningProcess, World, eventually, scrape};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// A workflow of gates that people complete.
fn declared(gates: &[&str]) -> String {
    let gate = |gate: &&str| format!("    - {{id: {gate}, role: lead, requireHuman: true, timeout: 8h}}\n");
    format!("workflow:\n  name: signed\n  gates:\n{}", gates.iter().map(gate).collect::<String>())
}

const PLAN: &str = "plan: papers\nworkflow: signed\nwaypoints:\n  - {id: w, goal: Read it.}\n";

/// A folder that is in no repository, in which a paper is signed.
struct Desk(World);

impl Desk {
    fn new() -> Self {
        let world = World::new(&[]);
        world.write("desk/project.yaml", &declared(&["read", "sign"]));
        world.write("desk/plan.yaml", PLAN);
        Self(world)
    }

    fn holdpoint(&self, args: &[&str]) -> Finished {
        let mut command = self.0.command(args);
        command.current_dir(self.0.path("desk"));
        self.0.start_with(command).finish()
    }

    fn reload(&self, more: &[&str]) -> Finished {
        self.holdpoint(&[&["org", "reload", "--json"], more].concat())
    }
}

fn result(reload: &Finished) -> Value {
    reload.json()["flights"][0]["result"].clone()
}

#[test]
fn work_in_a_gate_that_a_reload_removes_goes_on_at_the_one_before_it() {
    let desk = Desk::new();
    desk.0.write("desk/project.yaml", &declared(&["read", "sign"]).replacen(", timeout: 8h", "", 1));
    let run = desk.holdpoint(&["run", "plan.yaml", "--json"]);
    assert_eq!(run.expect(1).waypoint("w")["gate"], "read");
    assert_eq!(run.stderr.matches("gate `read` waits for people").count(), 1, "a warning is said once: {run}");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    desk.holdpoint(&["approve", "w", "--as", "human-ada"]).expect(0);
    assert_eq!(result(desk.reload(&["--check"]).expect(0)), "same");

    desk.0.write("desk/project.yaml", &declared(&["read"]));
    let differs = desk.reload(&["--check"]);
    assert_eq!(result(differs.expect(1)), "differs");
    assert_eq!(differs.json()["flights"][0]["drift"][0]["removed"][0], "sign");
    let script = desk.reload(&["--as", "script-1"]);
    assert_eq!(result(script.expect(1)), "refused");
    assert_eq!(script.json()["flights"][0]["error"]["code"], "human_required");

    desk.0.write("desk/project.yaml", &declared(&["read", "read"]));
    let unsound = desk.reload(&["--as", "human-ada"]);
    assert!(unsound.expect(2).stderr.contains("project.yaml:"), "{unsound}");
    let view = desk.holdpoint(&["status", &flight, "--json"]).expect(0).waypoint("w");
    assert_eq!((&view["gate"], &view["status"]), (&"sign".into(), &"waiting".into()));

    desk.0.write("desk/project.yaml", &declared(&["read"]));
    assert_eq!(result(desk.reload(&["--as", "human-ada"]).expect(0)), "reloaded");
    let view = desk.holdpoint(&["status", &flight, "--json"]).expect(0).waypoint("w");
    assert_eq!((&view["gate"], &view["reason_code"]), (&"read".into(), &"reconfigured".into()));
    desk.holdpoint(&["approve", "w", "--as", "human-ada"]).expect(0);
    let over = desk.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(over.expect(0).json()["status"], "accepted");
    desk.holdpoint(&["export", &flight, "--out", "flight.jsonl", "--force"]).expect(0);
    desk.holdpoint(&["audit", "flight.jsonl"]).expect(0);
}

/// A folder that is in no repository, in which the draft is finished once there is a file `go`.
struct Draft {
    world: World,
    agents: [String; 3],
}

impl Draft {
    fn new() -> Self {
        let world = World::new(&[]);
        world.write("desk/project.yaml", &Self::checked_by("reader"));
        world.write("desk/plan.yaml", "plan: draft\nworkflow: drafts\nwaypoints:\n  - {id: w, goal: Write it.}\n");
        let go = world.path("desk/go").display().to_string();
        let waits = format!("cat > /dev/null; until [ -e {go} ]; do sleep 0.1; done; echo Done.");
        let agent = |role: &str, script: &str| format!("{role}={}", world.program(&format!("{role}.sh"), script));
        let reads = "cat > /dev/null; echo Read.";
        let agents = [agent("writer", &waits), agent("reader", reads), agent("critic", reads)];
        Self { world, agents }
    }

    fn checked_by(role: &str) -> String {
        format!(
            "workflow:\n  name: drafts\n  gates:\n    - {{id: write, role: writer}}\n    - {{id: check, role: {role}}}\n"
        )
    }

    fn start(&self, args: &[&str], agents: &[String]) -> RunningProcess {
        let agents = agents.iter().flat_map(|agent| ["--agent", agent]);
        let args: Vec<&str> = args.iter().copied().chain(agents).collect();
        let mut command = self.world.command(&args);
        command.current_dir(self.world.path("desk"));
        self.world.start_with(command)
    }

    /// Ends the draft, and the flight with it: who checked it.
    fn checked(&self, run: RunningProcess) -> String {
        self.world.write("desk/go", "");
        assert_eq!(run.finish().expect(0).json()["status"], "accepted");
        let task = self.start(&["task", "w", "--json"], &[]).finish().expect(0).json();
        task["gateHistory"][1]["agent"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_reload_starts_the_agents_of_a_role_that_it_brings_to_a_flight() {
    let draft = Draft::new();
    let mut run = draft.start(&["run", "plan.yaml", "--json"], &draft.agents);
    run.until_said("its agents have no work before a reload brings one");
    run.until("the writer", || run_said_flight(&draft));
    draft.world.write("desk/project.yaml", &Draft::checked_by("critic"));
    run.until_said("gate check goes from reader to critic");
    run.until_said(": reloaded");
    assert_eq!(draft.checked(run), "critic-1");
}

#[test]
fn a_reload_says_which_role_has_no_program_and_the_flight_is_resumed_with_one() {
    let draft = Draft::new();
    let mut run = draft.start(&["run", "plan.yaml", "--json"], &draft.agents[..2]);
    let flight = run.until("the writer", || run_said_flight(&draft));
    draft.world.write("desk/project.yaml", &Draft::checked_by("critic"));
    run.until_said("no program is configured for agents of the role critic");
    run.until_said("goes on by the workflows it had");
    run.signal(Signal::SIGINT);
    run.finish().expect(130);

    let mut run = draft.start(&["run", "--resume", &flight, "--json"], &draft.agents[2..]);
    let reloaded = run.until("the reload", || {
        let reload = draft.start(&["org", "reload", "--as", "human-ada", "--json"], &[]).finish();
        (reload.code == 0).then_some(reload)
    });
    assert_eq!(result(&reloaded), "reloaded");
    assert_eq!(draft.checked(run), "critic-1");
}

/// The flight, once its writer has the turn.
fn run_said_flight(draft: &Draft) -> Option<String> {
    let status = draft.start(&["status", "--json"], &[]).finish();
    if status.code != 0 {
        return None;
    }
    let flight = status.json()[0]["flight"].as_str()?.to_owned();
    let view = draft.start(&["status", &flight, "--json"], &[]).finish().expect(0).waypoint("w");
    (view["gate"] == "write").then_some(flight)
}

#[test]
fn people_who_join_or_leave_a_role_can_act_or_cannot_after_a_reload() {
    let desk = Desk::new();
    let chart = |lead: &str| format!("roles:\n  lead: {{agents: [{lead}], requireHuman: true}}\n");
    desk.0.write("desk/org.yaml", &chart("human-ada"));
    let run = desk.holdpoint(&["run", "plan.yaml", "--json"]);
    let flight = run.expect(1).json()["flight"].as_str().unwrap().to_owned();
    let approve = |person: &str| desk.holdpoint(&["approve", "w", "--as", person, "--json"]);
    assert_eq!(approve("human-bob").expect(1).json()["error"]["code"], "not_allowed");
    desk.0.write("desk/org.yaml", &chart("human-bob"));
    let differs = desk.holdpoint(&["org", "reload", "--check"]);
    let told = format!("{flight}: workflow signed: role lead has other members (1)\n");
    assert!(differs.expect(1).stdout.starts_with(&told), "{differs}");
    let members = desk.reload(&["--check"]).json()["flights"][0]["drift"][0]["members"].clone();
    assert_eq!(members, json!([{"role": "lead", "from": 1, "to": 1}]));
    assert_eq!(result(desk.reload(&["--as", "human-ada"]).expect(0)), "reloaded");
    for gate in ["read", "sign"] {
        // Approving is answered when it is recorded; the next gate may open a moment later.
        eventually(gate, || {
            let status = desk.holdpoint(&["status", &flight, "--json"]);
            (status.expect(0).waypoint("w")["gate"] == gate).then_some(())
        });
        assert_eq!(approve("human-ada").expect(1).json()["error"]["code"], "not_allowed");
        approve("human-bob").expect(0);
    }
    assert_eq!(desk.holdpoint(&["run", "--resume", &flight, "--json"]).expect(0).json()["status"], "accepted");
}

#[test]
fn a_fleet_that_runs_watches_the_files_and_takes_no_guard_away_by_itself() {
    let world = World::new(&[("readme", "x\n"), ("project.yaml", &declared(&["read", "sign"]))]);
    world.plan(PLAN);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = world.command(&["up", "--builder", "true"]);
    command.env("HOLDPOINT__METRICS__LISTEN", address.to_string());
    let mut up = world.start_with(command);
    up.until_said("serves");
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml"]);
    let flight = submitted.expect(0).stdout.trim().to_owned();
    eventually("the first gate", || {
        let status = world.holdpoint(&["status", &flight, "--json"]);
        (status.code == 0 && status.waypoint("w")["gate"] == "read").then_some(())
    });

    world.write("repo/project.yaml", &declared(&["read", "sign", "file"]));
    up.until_said(&format!("{flight}: workflow signed: gates added: file"));
    up.until_said(&format!("{flight}: reloaded"));
    world.write("repo/project.yaml", &declared(&["sign"]));
    up.until_said("holdpoint org reload --as human-NAME");
    world.write("repo/project.yaml", "workflow: [\n");
    up.until_said("flights go on by the workflows they had");
    // No orchestrator saw them.
    up.until("the count", || {
        scrape(address).filter(|text| text.lines().any(|line| line == "holdpoint_workflow_config_invalid_total 1"))
    });
    let view = world.holdpoint(&["status", &flight, "--json"]).expect(0).waypoint("w");
    assert_eq!(view["gate"], "read");
}
