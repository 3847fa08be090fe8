//! Several gates at the same time, through real processes (GATE-29).

use holdpoint_tests::world::{Finished, World};
use serde_json::Value;

const CHART: &str = r#"
roles:
  backend: {agents: [backend-1]}
  security: {agents: [security-1]}
  tech-writer: {agents: [docs-1]}
  reviewer: {agents: [reviewer-1, reviewer-2]}
  po: {agents: [human-xav], requireHuman: true}
"#;

const BOTH: &str = r#"
workflow:
  name: both
  gates:
    - {id: implement, role: backend}
    - id: parallel-review
      type: fork
      branches:
        - {id: security, role: security, canReject: true}
        - {id: docs, role: tech-writer, canReject: true}
      joinStrategy: all
    - {id: approve, role: po, timeout: 1h}
"#;

const MAJORITY: &str = r#"
workflow:
  name: majority
  gates:
    - {id: implement, role: backend}
    - id: panel
      type: fork
      branches:
        - {id: first, role: reviewer, canReject: true}
        - {id: second, role: reviewer, canReject: true, tips: [Say no]}
        - {id: third, role: po, canReject: true, timeout: 1h}
      joinStrategy: majority
"#;

/// Does its part, and more once it knows what both reviewers lack.
const BACKEND: &str = r#"
prompt=$(cat)
case $prompt in
  *"no threat model"*) case $prompt in *"no manual"*) echo 'Done, with both.' ;; *) exit 3 ;; esac ;;
  *"no manual"*) exit 4 ;;
  *) echo 'Done.' ;;
esac"#;

/// Sends the first work back.
fn lacks(what: &str) -> String {
    format!(
        r#"cat > /dev/null
if grep -q '"outcome": "needs_review"' "$HOLDPOINT_TURN_FILE"; then echo 'It is fine.'; exit; fi
echo '{{"outcome": "needs_review", "summary": "It lacks something.", "blockers": ["{what}"]}}'"#
    )
}

const REVIEWER: &str = r#"
case $(cat) in
  *"Say no"*) echo '{"outcome": "needs_review", "summary": "No.", "blockers": ["everything"]}' ;;
  *) echo 'Yes.' ;;
esac"#;

/// A folder that is in no repository, with a workflow, its roles and their programs.
struct Desk(World);

impl Desk {
    fn new(workflow: &str, name: &str, programs: &[(&str, u32, &str)]) -> Self {
        let world = World::new(&[]);
        world.write("desk/project.yaml", workflow);
        world.write("desk/org.yaml", CHART);
        let plan = format!("plan: {name}\nworkflow: {name}\nwaypoints:\n  - {{id: w, goal: Do it.}}\n");
        world.write("desk/plan.yaml", &plan);
        let config: String = programs
            .iter()
            .map(|(role, count, script)| {
                let program = world.program(&format!("{role}.sh"), script);
                format!("[agents.{role}]\ncommand = {program:?}\ncount = {count}\n")
            })
            .collect();
        world.write("desk/holdpoint.toml", &config);
        Self(world)
    }

    fn holdpoint(&self, args: &[&str]) -> Finished {
        let mut command = self.0.command(args);
        command.current_dir(self.0.path("desk"));
        self.0.start_with(command).finish()
    }

    fn fly(&self) -> Finished {
        self.holdpoint(&["run", "plan.yaml", "--json", "--config", "holdpoint.toml"])
    }

    fn visits(&self) -> Vec<[String; 3]> {
        let task = self.holdpoint(&["task", "w", "--json"]).expect(0).json();
        let visits = task["gateHistory"].as_array().unwrap().iter();
        visits
            .map(|visit| ["gate", "agent", "outcome"].map(|key| visit[key].as_str().unwrap_or("-").to_owned()))
            .collect()
    }

    fn is_sound(&self, flight: &str) {
        self.holdpoint(&["export", flight, "--out", "flight.jsonl", "--force"]).expect(0);
        self.holdpoint(&["audit", "flight.jsonl"]).expect(0);
    }
}

fn flight_of(run: &Finished) -> String {
    run.json()["flight"].as_str().unwrap().to_owned()
}

fn left<'a>(visits: &'a [[String; 3]], gate: &str) -> Vec<&'a str> {
    visits.iter().filter(|[at, ..]| at == gate).map(|[_, _, outcome]| outcome.as_str()).collect()
}

#[test]
fn reviewers_at_the_same_time_send_work_back_once_with_what_each_of_them_said() {
    let (security, docs) = (lacks("no threat model"), lacks("no manual"));
    let programs = [("backend", 1, BACKEND), ("security", 1, &*security), ("tech-writer", 1, &*docs)];
    let desk = Desk::new(BOTH, "both", &programs);
    desk.holdpoint(&["workflow", "check"]).expect(0);
    let run = desk.fly();
    assert_eq!(run.expect(1).waypoint("w")["gate"], "approve");
    let flight = flight_of(&run);
    assert_eq!(run.waypoint("w")["sent_back"], 1, "{run}");
    desk.holdpoint(&["approve", "w", "--as", "human-xav"]).expect(0);
    let over = desk.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(over.expect(0).json()["status"], "accepted");
    let visits = desk.visits();
    for gate in ["security", "docs"] {
        assert_eq!(left(&visits, gate), ["needs_review", "complete"], "{visits:?}");
    }
    assert_eq!(left(&visits, "implement"), ["complete", "complete"]);
    desk.is_sound(&flight);
}

#[test]
fn a_majority_of_different_voters_goes_on_over_one_rejection() {
    let programs = [("backend", 1, BACKEND), ("reviewer", 2, REVIEWER)];
    let desk = Desk::new(MAJORITY, "majority", &programs);
    let run = desk.fly();
    let waypoint = run.expect(1).waypoint("w");
    assert_eq!((&waypoint["gate"], &waypoint["status"]), (&Value::from("panel"), &Value::from("waiting")), "{run}");
    let flight = flight_of(&run);
    let status = desk.holdpoint(&["status", &flight]);
    let told = "fork panel (first complete; second rejected; third waits for a person)";
    assert!(status.stdout.contains(told), "{status}");
    let branches = waypoint["branches"].as_array().unwrap();
    assert_ne!(branches[0]["by"], branches[1]["by"], "one agent votes once");
    desk.holdpoint(&["approve", "w", "--as", "human-xav"]).expect(0);
    let over = desk.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(over.expect(0).json()["status"], "accepted");
    let visits = desk.visits();
    assert_eq!((left(&visits, "second"), left(&visits, "third")), (vec!["needs_review"], vec!["complete"]));
    desk.is_sound(&flight);
}
