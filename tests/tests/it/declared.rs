//! Declared workflows with agents of any role, through real processes: with work in a repository, and from a folder without one.

mod bounds;
mod examples;

use std::path::Path;

use holdpoint_tests::world::{Finished, World};
use serde_json::{Value, json};

/// Does nothing and says so.
const DOES: &str = r#"cat > /dev/null; printf 'I am %s.\n\nDid my part as %s.\n' "$HOLDPOINT_ROLE" "$HOLDPOINT_ROLE""#;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/workflows").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A folder that is in no repository, with a workflow, an org chart and a plan of one waypoint.
struct Desk {
    world: World,
    agents: Vec<String>,
}

impl Desk {
    fn new(workflow: &str, waypoint: &str, agents: &[(&str, &str)]) -> Self {
        Self::of_example(workflow, workflow, waypoint, agents)
    }

    /// With the example of this file, which declares `workflow`.
    fn of_example(file: &str, workflow: &str, waypoint: &str, agents: &[(&str, &str)]) -> Self {
        let plan = format!("plan: {workflow}\nworkflow: {workflow}\nwaypoints:\n  - {waypoint}\n");
        Self::with(&example(&format!("{file}.yaml")), &example("org.yaml"), &plan, agents)
    }

    fn with(project: &str, chart: &str, plan: &str, agents: &[(&str, &str)]) -> Self {
        let world = World::new(&[]);
        for (name, text) in [("project.yaml", project), ("org.yaml", chart), ("plan.yaml", plan)] {
            world.write(&format!("desk/{name}"), text);
        }
        let commands =
            agents.iter().map(|(role, script)| format!("{role}={}", world.program(&format!("{role}.sh"), script)));
        let agents = commands.flat_map(|command| ["--agent".to_owned(), command]).collect();
        Self { world, agents }
    }

    fn holdpoint(&self, args: &[&str]) -> Finished {
        let mut command = self.world.command(args);
        command.current_dir(self.world.path("desk"));
        self.world.start_with(command).finish()
    }

    fn fly(&self) -> Finished {
        let agents = self.agents.iter().map(String::as_str);
        self.holdpoint(&["run", "plan.yaml", "--json"].into_iter().chain(agents).collect::<Vec<_>>())
    }

    fn go_on(&self, flight: &str) -> Finished {
        self.holdpoint(&["run", "--resume", flight, "--json"])
    }

    fn act(&self, verb: &str, person: &str, more: &[&str]) -> Finished {
        self.holdpoint(&[&[verb, "w", "--as", person], more].concat())
    }

    /// Gate, agent and outcome of each visit that is over.
    fn visits(&self) -> Vec<String> {
        let task = self.holdpoint(&["task", "w", "--json"]).expect(0).json();
        let text = |visit: &Value, key: &str| visit[key].as_str().unwrap_or("-").to_owned();
        let visits = task["gateHistory"].as_array().unwrap().iter();
        visits.map(|v| format!("{} {} {}", text(v, "gate"), text(v, "agent"), text(v, "outcome"))).collect()
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
fn sales_go_through_agents_and_people_to_the_end_without_a_repository() {
    let waypoint = "{id: w, goal: Sell it to Acme., metadata: {dealSize: 60000}}";
    let desk = Desk::new("sales", waypoint, &[("sdr", DOES)]);
    let lacking = desk.fly();
    assert!(lacking.expect(2).stderr.contains("of the roles: ae\n"), "{lacking}");
    let desk = Desk::new("sales", waypoint, &[("sdr", DOES), ("ae", DOES)]);
    let run = desk.fly();
    assert_eq!(run.expect(1).waypoint("w")["gate"], "qualify");
    let flight = flight_of(&run);
    desk.act("approve", "human-eve", &[]).expect(1);
    desk.act("approve", "human-sales-manager", &[]).expect(0);
    assert_eq!(desk.go_on(&flight).expect(1).waypoint("w")["gate"], "negotiate");
    desk.act("approve", "human-sales-manager", &[]).expect(0);
    assert_eq!(desk.go_on(&flight).expect(1).waypoint("w")["gate"], "close");
    desk.act("approve", "human-sales-director", &[]).expect(0);
    let over = desk.go_on(&flight);
    assert_eq!(over.expect(0).json()["status"], "accepted");
    assert_eq!(over.waypoint("w")["commit"], Value::Null);
    let expected = [
        "prospect sdr-1 complete",
        "qualify human-sales-manager complete",
        "demo ae-1 complete",
        "proposal ae-1 complete",
        "negotiate human-sales-manager complete",
        "close human-sales-director complete",
    ];
    assert_eq!(desk.visits(), expected);
    desk.is_sound(&flight);
}

#[test]
fn a_draft_goes_back_to_its_writer_with_the_editors_words_and_is_published_without_a_repository() {
    // The second draft is written from what the first one lacked.
    let writes = r#"prompt=$(cat); case "$prompt" in *"no source"*) echo "Second draft, with a source.";; *) echo "First draft.";; esac"#;
    // Learns from the refusal in the same turn; what it prints afterwards does not count.
    let facts = r#"cat > /dev/null
        holdpoint-ask complete --outcome complete 2> "$TMPDIR/error" && exit 9
        grep -q '"error":"missing_summary"' "$TMPDIR/error" || exit 8
        holdpoint-ask complete --outcome complete --summary "Every claim has a source." || exit 7
        echo '{"outcome": "blocked", "summary": "No.", "blockers": ["nothing works today"]}'"#;
    let agents = [("writer", writes), ("fact-checker", facts), ("publisher", DOES)];
    let desk = Desk::new("publishing", "{id: w, goal: The story., tags: [news]}", &agents);
    let run = desk.fly();
    assert_eq!(run.expect(1).waypoint("w")["gate"], "editorial");
    let flight = flight_of(&run);
    desk.act("reject", "human-editor", &["--note", "it has no source"]).expect(0);
    assert_eq!(desk.go_on(&flight).expect(1).waypoint("w")["gate"], "editorial");
    let task = desk.holdpoint(&["task", "w", "--json"]).expect(0).json();
    assert_eq!(task["gateHistory"][2]["summary"], "Second draft, with a source.");
    desk.act("approve", "human-editor", &[]).expect(0);
    desk.go_on(&flight).expect(0);
    let expected = [
        "draft writer-1 complete",
        "editorial human-editor needs_review",
        "draft writer-1 complete",
        "editorial human-editor complete",
        "fact-check fact-checker-1 complete",
        "legal - skip",
        "publish publisher-1 complete",
    ];
    assert_eq!(desk.visits(), expected);
    let task = desk.holdpoint(&["task", "w", "--json"]).expect(0).json();
    assert_eq!(task["gateHistory"][4]["summary"], "Every claim has a source.");
    desk.is_sound(&flight);
}

#[test]
fn a_folder_without_a_repository_flies_nothing_that_has_to_be_built() {
    let desk = Desk::new("basic", "{id: w, goal: g}", &[("writer", DOES)]);
    let checked = desk.holdpoint(&["check", "plan.yaml"]);
    assert!(checked.expect(0).stderr.contains("no program is named for agents of the role writer"), "{checked}");
    assert!(!checked.stderr.contains("builder"), "{checked}");
    let run = desk.fly();
    assert_eq!(run.expect(1).waypoint("w")["gate"], "approve");
    desk.world
        .write("desk/plan.yaml", "plan: p\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: 'true'}]}\n");
    let refused = desk.holdpoint(&["run", "plan.yaml", "--builder", "true"]);
    assert!(refused.expect(2).stderr.contains("not inside a git repository"), "{refused}");
    assert!(refused.stderr.contains("workflow fly"), "{refused}");
}

/// Builders and verifiers, and an architect who looks at what was verified.
const REVIEWED: &str = r#"
workflow:
  name: reviewed
  gates:
    - {id: build, role: builder}
    - {id: verify, role: verifier, canReject: true}
    - {id: review, role: architect, canReject: true, expectations: ["Names say what they mean"]}
"#;
const ARCHITECTS: &str = "roles:\n  architect: {agents: [architect-1]}\n";

/// Sends the first work back, and tries to change the tree that it looks at.
const REVIEWS: &str = r#"
prompt=$(cat)
if echo changed > result 2>/dev/null; then echo '{"outcome": "blocked", "summary": "writable", "blockers": ["it is writable"]}'; exit 0; fi
case "$prompt" in *"Names say what they mean"*) ;; *) exit 7;; esac
if grep -q clear result; then
  echo '{"outcome": "complete", "summary": "It reads well."}'
else
  echo '{"outcome": "needs_review", "summary": "Not yet.", "blockers": ["say it in a clear way"]}'
fi"#;

#[test]
fn an_agent_of_any_role_reviews_verified_work_and_sends_it_back_with_what_has_to_change() {
    let world = World::new(&[("readme", "x\n"), ("project.yaml", REVIEWED), ("org.yaml", ARCHITECTS)]);
    world.plan(
        "plan: reviewed\nworkflow: reviewed\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: 'grep -q done result'}]}\n",
    );
    let builder = world.program(
        "builder.sh",
        r#"case "$(cat)" in *"in a clear way"*) echo "done, clear" > result;; *) echo "done" > result;; esac"#,
    );
    let architect = format!("architect={}", world.program("architect.sh", REVIEWS));
    let run = world.fly(&builder, &["--agent", &architect]);
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    assert_eq!(run.waypoint("w")["attempts"], 2);
    assert_eq!(
        world.git(&["show", &format!("{}:result", run.waypoint("w")["commit"].as_str().unwrap())]),
        "done, clear\n"
    );
    let task = world.holdpoint(&["task", "w", "--json"]).expect(0).json();
    let gates: Vec<_> = task["gateHistory"].as_array().unwrap().iter().map(|visit| visit["gate"].clone()).collect();
    assert_eq!(gates, ["build", "verify", "review", "build", "verify", "review"]);
    assert_eq!(task["gateHistory"][2]["blockers"], json!(["say it in a clear way"]));
    let flight = flight_of(&run);
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

#[test]
fn the_specs_of_a_file_are_told_to_whoever_looks_at_the_work() {
    let specs = "tests:\n  - {given: an expired token, when: GET /me, then: {status: 401}}\n";
    let files = [("project.yaml", REVIEWED), ("org.yaml", ARCHITECTS), ("w.tests.yaml", specs)];
    let world = World::new(&files);
    let plan = "plan: specified\nworkflow: reviewed\nwaypoints:\n  - {id: w, goal: g, testsFile: w.tests.yaml, criteria: [{id: c, check: 'true'}]}\n";
    world.plan(plan);
    let told = r#"case "$(cat)" in *"an expired token"*) echo told > "$TMPDIR/told";; *) exit 7;; esac"#;
    let builder = world.program("builder.sh", &format!("{told}; echo x > result"));
    let architect = format!("architect={}", world.program("architect.sh", told));
    assert_eq!(world.fly(&builder, &["--agent", &architect]).expect(0).json()["status"], "accepted");
    world.plan(&plan.replace("w.tests.yaml", "other.yaml"));
    let missing = world.fly(&builder, &["--agent", &architect]);
    assert!(missing.expect(2).stderr.contains("other.yaml, is not in"), "{missing}");
}
