//! People in a flight: questions are answered, stuck work is tried again, flights are paused and ended, and what a gate for
//! people holds is approved. Each act comes from another command than the one that flies.

use std::process::{Command, Stdio};

use holdpoint_protocol::export::Line;
use holdpoint_tests::world::{Finished, RunningProcess, World, eventually};
use nix::sys::signal::Signal;
use serde_json::Value;

const PLAN: &str = r#"
plan: ask
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Asks in its first turn, and builds in its second.
const ASKS: &str = r#"
if [ ! -e "$HOME/asked" ]; then
  touch "$HOME/asked"
  echo '{"type":"ClarificationRequest","question":"Which colour?","options":["red","blue"]}'
  exit 0
fi
echo done > result"#;

/// Calls for help in its first turn, and builds what it is advised in its second.
const CALLS: &str = r#"
if [ ! -e "$HOME/called" ]; then touch "$HOME/called"; echo '>>>HELP<<<'; exit 0; fi
grep -q 'write the word done' "$HOLDPOINT_FEEDBACK_FILE" && echo done > result"#;

fn world(plan: &str) -> World {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(plan);
    world
}

fn flight_of(run: &Finished) -> String {
    run.json()["flight"].as_str().unwrap().to_owned()
}

/// Flies until a question is open; the flight.
fn asked(world: &World) -> String {
    let builder = world.program("builder.sh", ASKS);
    let run = world.fly(&builder, &[]);
    run.expect(1);
    assert_eq!(run.json()["status"], "waiting");
    assert_eq!(run.waypoint("w")["status"], "waiting");
    flight_of(&run)
}

/// The one thing that waits.
fn waiting(world: &World) -> Value {
    let inbox = world.holdpoint(&["inbox", "--json"]).expect(0).json();
    let items = inbox["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{inbox}");
    items[0].clone()
}

/// What the program that notifies has written down.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path("told")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The kinds of it.
fn heard(world: &World) -> Vec<String> {
    told(world).iter().map(|told| told["kind"].as_str().unwrap().to_owned()).collect()
}

/// The code of a refusal.
#[track_caller]
fn refused(world: &World, args: &[&str]) -> String {
    let mut all = args.to_vec();
    all.push("--json");
    let refused = world.holdpoint(&all);
    let error = refused.expect(1).json()["error"].clone();
    assert!(!error["message"].as_str().unwrap().is_empty() && error.get("details").is_some(), "{error}");
    error["code"].as_str().unwrap().to_owned()
}

#[test]
fn an_advisor_helps_a_builder_that_calls_for_help() {
    let world = world(PLAN);
    let builder = world.program("builder.sh", CALLS);
    let advisor =
        format!("advisor={}", world.program("advisor.sh", "grep -q HELP && echo 'write the word done into result'"));
    let run = world.fly(&builder, &["--agent", &advisor]);
    assert_eq!(run.expect(0).waypoint("w")["attempts"], 1);
}

#[test]
fn a_question_waits_for_an_answer_and_the_flight_goes_on_with_it() {
    let world = world(PLAN);
    assert_eq!(world.holdpoint(&["inbox", "--json"]).expect(0).json(), serde_json::json!({"items": []}));
    let flight = asked(&world);
    let item = waiting(&world);
    assert_eq!((&item["kind"], &item["flight"]), (&"question".into(), &flight.clone().into()));
    assert_eq!((&item["question"], &item["options"]), (&"Which colour?".into(), &serde_json::json!(["red", "blue"])));
    assert!(item["actions"].as_array().unwrap().contains(&"answer".into()), "{item}");
    let shown = world.holdpoint(&["inbox"]);
    assert!(shown.expect(0).stdout.contains("holdpoint answer w --flight"), "{shown}");

    assert_eq!(refused(&world, &["answer", "w", "--option", "green"]), "invalid");
    let answered = world.holdpoint(&["answer", "w", "--option", "blue", "--rationale", "it is calm"]);
    assert_eq!(answered.expect(0).stdout.lines().count(), 1, "{answered}");
    assert!(answered.stdout.starts_with("answered; w "), "{answered}");
    assert!(answered.stderr.contains(&format!("holdpoint run --resume {flight}")), "{answered}");
    assert_eq!(refused(&world, &["answer", "w", "--option", "red"]), "answer_late");

    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).json()["status"], "accepted");
    assert_eq!(resumed.waypoint("w")["attempts"], 1, "a question is no attempt");
    assert_eq!(refused(&world, &["answer", "w", "--text", "never mind"]), "over");
    let history = world.holdpoint(&["history", "w", "--json"]);
    assert!(history.expect(0).stdout.contains(r#""kind":"clarification_response""#), "{history}");
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn a_person_is_asked_before_work_is_judged_that_removes_more_files_than_the_plan_lets_it() {
    let world = World::new(&[("one", "1\n"), ("two", "2\n"), ("three", "3\n")]);
    world.plan(&PLAN.replace("plan: ask", "plan: ask\npolicy: {ask_before_removing: 1}"));
    let builder = world.program("builder.sh", "rm -f one two; echo done > result");
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting", "{run}");
    let item = waiting(&world);
    assert!(item["question"].as_str().unwrap().starts_with("The work removes 2 files"), "{item}");
    world.holdpoint(&["answer", "w", "--option", "go on with it"]).expect(0);
    let run = world.holdpoint(&["run", "--resume", &flight_of(&run), "--json"]);
    assert_eq!(run.expect(0).waypoint("w")["attempts"], 1, "{run}");
    assert_eq!(world.git(&["ls-tree", "--name-only", run.json()["branch"].as_str().unwrap()]), "result\nthree\n");
}

#[test]
fn verified_work_with_suspicious_code_lands_once_a_person_has_signed_it_off() {
    let test = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
        self.assertEqual(calc.add(1, 2), 3)\n";
    let world = World::new(&[("calc.py", "def add(a, b):\n    return 0\n"), ("test_calc.py", test)]);
    let plan =
        "plan: sums\nwaypoints:\n  - {id: w, goal: g, scope: SCOPE, criteria: [{id: c, check: python3 -m unittest}]}\n";
    world.plan(&plan.replace("SCOPE", "[calc.py]"));
    let looks = "import sys\n\n\ndef add(a, b):\n    return 3 if 'test' in sys._getframe(1).f_code.co_name else 0\n";
    let builder = world.program("builder.sh", &format!("cat > calc.py <<'EOF'\n{looks}EOF\n"));
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting", "{run}");
    let item = waiting(&world);
    assert_eq!((&item["kind"], &item["gate"]), (&"approval".into(), &"sign-off".into()), "{item}");
    assert!(item["doubts"][0].as_str().unwrap().starts_with("calc.py:5: "), "{item}");
    let shown = world.holdpoint(&["inbox"]);
    assert!(shown.expect(0).stdout.contains("looks-at-callers"), "{shown}");
    world.holdpoint(&["approve", "w", "--summary", "it has to know its caller"]).expect(0);
    let run = world.holdpoint(&["run", "--resume", &flight_of(&run), "--json"]);
    assert_eq!(
        (run.expect(0).waypoint("w")["attempts"].clone(), &run.json()["status"]),
        (1.into(), &"accepted".into())
    );
    world.holdpoint(&["audit", &flight_of(&run)]).expect(0);

    // The plan says that a warning will do; and what may change anything is known by its commit.
    world.plan(&plan.replace("SCOPE", "any").replace("plan: sums", "plan: warned\npolicy: {suspicious: warn}"));
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    assert!(run.stderr.contains("no scope bounds waypoint w"), "{run}");
    let message = world.git(&["log", "-1", "--format=%B", run.json()["branch"].as_str().unwrap()]);
    assert!(message.contains("\nHoldpoint-Scope: any\n"), "{message}");
}

/// Asks in its turn as long as this, and builds with the answer.
fn asks_in_turn(patience: &str) -> String {
    format!(
        "echo started >> \"$HOME/started\"; echo begun > begun
        code=0
        answer=$(holdpoint-ask question 'Which colour?' --option red --option blue --patience {patience}) || code=$?
        echo \"exit $code\" >> \"$HOME/exits\"
        [ $code = 0 ] || exit $code
        echo \"$answer\" > colour; cat \"$HOME/started\" \"$HOME/exits\" > runs; echo done > result"
    )
}

#[test]
fn a_program_waits_for_its_answer_and_goes_on_in_the_same_turn() {
    let world = world(PLAN);
    let builder = world.program("builder.sh", &asks_in_turn("10m"));
    let running = world.start(&world.run_args(&["--builder", &builder]));
    let item = eventually("the question", || {
        let inbox = world.holdpoint(&["inbox", "--json"]).expect(0).json();
        inbox["items"].as_array().unwrap().first().cloned()
    });
    assert_eq!((&item["kind"], &item["question"]), (&"question".into(), &"Which colour?".into()));
    assert!(item["waits_until"].is_string(), "{item}");
    let flight = item["flight"].as_str().unwrap().to_owned();
    let status = world.holdpoint(&["status", &flight, "--json"]);
    assert_eq!(status.expect(0).waypoint("w")["status"], "running", "its turn is open");
    assert_eq!(refused(&world, &["answer", "w", "--option", "green"]), "invalid");
    world.holdpoint(&["answer", "w", "--option", "blue", "--constraint", "stay calm"]).expect(0);
    let run = running.finish();
    assert_eq!(run.expect(0).waypoint("w")["attempts"], 1);
    let branch = run.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:colour")]), "blue\n");
    assert_eq!(world.git(&["show", &format!("{branch}:runs")]), "started\nexit 0\n", "it was started once");
    assert_eq!(refused(&world, &["answer", "w", "--option", "red"]), "over");
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn a_question_whose_patience_is_over_becomes_the_result_of_its_turn() {
    let world = world(PLAN);
    let builder = world.program("builder.sh", &asks_in_turn("2s"));
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting");
    let flight = flight_of(&run);
    let item = waiting(&world);
    assert_eq!((&item["round"], &item["waits_until"]), (&1.into(), &Value::Null));
    world.holdpoint(&["answer", "w", "--option", "red"]).expect(0);
    // With the answer in its prompt it need not ask again.
    let knows = "grep -q red \"$HOLDPOINT_FEEDBACK_FILE\" && cp \"$HOME/exits\" runs && echo done > result";
    world.program("builder.sh", knows);
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).waypoint("w")["attempts"], 1);
    let branch = resumed.json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:runs")]), "exit 75\n");
    assert_eq!(world.git(&["show", &format!("{branch}:begun")]), "begun\n", "its files were kept");
    world.holdpoint(&["audit", &flight]).expect(0);
}

#[test]
fn an_answer_is_taken_after_everything_was_killed() {
    let world = world(PLAN);
    std::fs::create_dir(world.path("marks")).unwrap();
    let marks = world.path("marks").display().to_string();
    let builder = world.program("builder.sh", &ASKS.replace("$HOME", &marks));
    let tell = world.program("tell", "cat >> \"$1\"; echo >> \"$1\"");
    let up = || {
        let mut command = world.command(&["up", "--builder", &builder]);
        command.env("HOLDPOINT__AGENTS__BUILDER__WRITE_PATHS", &marks);
        command.env("HOLDPOINT__NOTIFY__COMMAND", format!("{tell},{}", world.path("told").display()));
        world.start_with(command)
    };
    let mut fleet = up();
    fleet.until_said("serves");
    let flight = flight_of(world.holdpoint(&["submit", "../plan/plan.yaml", "--json"]).expect(0));
    let watched = world.holdpoint(&["watch", &flight, "--json"]);
    assert_eq!(watched.expect(1).json()["status"], "waiting");
    eventually("the notification", || heard(&world).contains(&"question".to_owned()).then_some(()));
    fleet.signal(Signal::SIGKILL);
    world.broker().unwrap().kill().unwrap();
    assert_eq!(fleet.finish().code, -1);

    let answered = world.holdpoint(&["answer", "w", "--text", "blue"]);
    assert!(answered.expect(0).stderr.contains("holdpoint up"), "{answered}");
    let fleet = up();
    let watched = world.holdpoint(&["watch", &flight, "--json"]);
    assert_eq!(watched.expect(0).json()["status"], "accepted");
    eventually("the notification", || heard(&world).contains(&"flight_over".to_owned()).then_some(()));
    fleet.signal(Signal::SIGTERM);
    fleet.finish().expect(0);
    assert_eq!(heard(&world), ["question", "flight_over"], "what was delivered is not repeated");
}

#[test]
fn failed_work_is_retried_with_more_reworks() {
    let world = world(&PLAN.replace("plan: ask", "plan: stuck\npolicy: {max_reworks: 0}"));
    let script = r#"if [ -e "$(dirname "$0")/cured" ]; then echo done > result; else echo no > result; fi"#;
    let builder = world.program("builder.sh", script);
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).waypoint("w")["status"], "failed");
    let flight = flight_of(&run);
    let item = waiting(&world);
    assert_eq!((&item["kind"], &item["actions"][0]), (&"failed".into(), &"retry".into()));
    assert!(item["to"][0].as_str().unwrap().starts_with("human-"), "who runs a flight is its owner: {item}");
    assert_eq!(refused(&world, &["approve", "w"]), "nothing_open");

    world.write("plan/cured", "");
    let retried = world.holdpoint(&["retry", "w", "--reworks", "+1", "--note", "it is cured", "--json"]);
    assert_eq!(retried.expect(0).waypoint("w")["status"], "running");
    let again = refused(&world, &["retry", "w"]);
    assert!(["answer_late", "nothing_open"].contains(&again.as_str()), "{again}");
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    assert_eq!(resumed.expect(0).waypoint("w")["attempts"], 2);
}

#[test]
fn a_cancelled_waypoint_is_over() {
    let world = world(PLAN);
    let flight = asked(&world);
    world.holdpoint(&["cancel", &flight, "no-such"]).expect(2);
    world.holdpoint(&["cancel", "no-such-flight"]).expect(2);
    let cancelled = world.holdpoint(&["cancel", &flight, "w", "--reason", "done by hand", "--json"]);
    assert_eq!(cancelled.expect(0).waypoint("w")["status"], "cancelled");
    assert_eq!(cancelled.json()["status"], "incomplete");
    assert_eq!(refused(&world, &["answer", "w", "--option", "red"]), "over");
    assert_eq!(world.holdpoint(&["inbox", "--json"]).expect(0).json(), serde_json::json!({"items": []}));
    world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(1);
}

#[test]
fn an_agent_at_work_hears_that_its_flight_was_cancelled() {
    let world = world(PLAN);
    let builder = world.program("builder.sh", "while :; do sleep 0.05; done");
    let mut running = world.start(&world.run_args(&["--builder", &builder]));
    running.until_said("building");
    let flights = world.holdpoint(&["status", "--json"]).expect(0).json();
    let flight = flights[0]["flight"].as_str().unwrap().to_owned();
    world.holdpoint(&["cancel", &flight]).expect(0);
    let run = running.finish();
    assert_eq!(run.expect(1).waypoint("w")["status"], "cancelled");
    // An agent that is only asked to end gives the turn back; it was dropped, because nobody wants it any more.
    let history = world.holdpoint(&["history", "w", "--flight", &flight, "--json"]);
    assert!(!history.expect(0).stdout.contains(r#""kind":"given_back""#), "{history}");
    assert_eq!(refused(&world, &["cancel", &flight]), "over");
}

#[test]
fn a_paused_flight_opens_no_turn_until_it_is_resumed() {
    let world = world(PLAN);
    let script =
        "touch \"$HOME/began\"\nwhile [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done\necho done > result";
    let builder = world.program("builder.sh", script);
    let mut running = world.start(&world.run_args(&["--builder", &builder]));
    running.until_said("building");
    let flights = world.holdpoint(&["status", "--json"]).expect(0).json();
    let flight = flights[0]["flight"].as_str().unwrap().to_owned();
    let paused = world.holdpoint(&["pause", &flight]);
    assert!(paused.expect(0).stdout.starts_with("paused; "), "{paused}");
    running.until_said("paused");
    assert_eq!(refused(&world, &["pause", &flight]), "answer_late");
    world.write("plan/go", "");
    // The builder's work is looked at when the flight goes on.
    let history = || world.holdpoint(&["history", "w", "--json"]).expect(0).stdout.clone();
    eventually("the build artifact", || history().contains(r#""kind":"build_artifact""#).then_some(()));
    let status = world.holdpoint(&["status", &flight, "--json"]);
    assert_eq!(status.expect(0).json()["paused"], true);
    assert_eq!(status.waypoint("w")["status"], "running");
    world.holdpoint(&["resume", &flight]).expect(0);
    assert_eq!(running.finish().expect(0).json()["status"], "accepted");
    assert_eq!(refused(&world, &["resume", &flight]), "over");
}

#[test]
fn verified_work_lands_when_a_person_approves_it() {
    let world = world(&PLAN.replace("plan: ask", "plan: approved\nworkflow: fly-approved"));
    let builder = world.program("builder.sh", "echo done > result");
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting");
    let flight = flight_of(&run);
    assert_eq!(waiting(&world)["kind"], "approval");
    assert_eq!(refused(&world, &["approve", "w", "--as", "release-bot"]), "human_required");

    let rejected = world.holdpoint(&["reject", "w", "--note", "say more", "--as", "human-ann", "--json"]);
    assert_eq!(rejected.expect(0).waypoint("w")["status"], "running");
    assert_eq!(world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(1).json()["status"], "waiting");
    let approved = world.holdpoint(&["approve", "w", "--as", "human-ann", "--summary", "read the diff"]);
    assert!(approved.expect(0).stdout.starts_with("approved; w "), "{approved}");
    let resumed = world.holdpoint(&["run", "--resume", &flight, "--json"]);
    let branch = resumed.expect(0).json()["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:result")]), "done\n");
}

/// After the verifier a person of the role signs, and of risky work a second one before.
const DECLARED: &str = r#"
workflow:
  name: signed
  rejectionStrategy: previous
  gates:
    - {id: build, role: builder}
    - {id: verify, role: verifier, canReject: true}
    - {id: risk, role: security, canReject: true, when: "tags.includes('risky') && metadata.files > 1"}
    - id: sign
      role: lead
      canReject: true
      when: gateHistory.some(visit => visit.gate === 'verify')
      expectations: [Every line was read]
      outcomeHelp: {complete: It lands}
"#;

const CHART: &str = r#"
roles:
  builder: {agents: [b1]}
  verifier: {agents: [v1]}
  security: {agents: [human-eve], requireHuman: true}
  lead: {agents: [human-ann], requireHuman: true}
"#;

#[test]
fn a_flight_goes_by_the_workflow_that_its_repository_declares() {
    let world = World::new(&[("readme", "x\n"), ("project.yaml", DECLARED), ("org.yaml", CHART)]);
    world.plan(
        r#"
plan: declared
workflow: signed
waypoints:
  - {id: w, goal: g, tags: [risky], metadata: {files: 1}, criteria: [{id: c, check: "grep -q done result"}]}
"#,
    );
    let builder = world.program("builder.sh", "echo done > result");
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(1).json()["status"], "waiting");
    assert_eq!(run.waypoint("w")["gate"], "sign", "risk is passed over");
    let flight = flight_of(&run);
    assert_eq!(waiting(&world)["context"]["expectations"][0], "Every line was read");
    let shown = world.holdpoint(&["inbox"]);
    assert!(shown.expect(0).stdout.contains("approve: It lands"), "{shown}");
    // Another person of the fleet, and an agent's name.
    assert_eq!(refused(&world, &["approve", "w", "--as", "human-eve"]), "not_allowed");
    assert_eq!(refused(&world, &["approve", "w", "--as", "b1"]), "human_required");
    world.holdpoint(&["approve", "w", "--as", "human-ann"]).expect(0);
    world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(0);
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
    world.write("flipped.jsonl", &with_a_byte_of_the_approval_flipped(&world));
    let audited = world.holdpoint(&["audit", "../flipped.jsonl", "--json"]);
    let first = audited.expect(1).json()["findings"][0].clone();
    assert_eq!(first["link"], "cause", "{first}");
    assert!(first["expected"].as_str().unwrap().starts_with("handoff HP_HANDOFF_OPERATOR/"), "{first}");
}

fn with_a_byte_of_the_approval_flipped(world: &World) -> String {
    let text = std::fs::read_to_string(world.path("flight.jsonl")).unwrap();
    let mut lines: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let approval = lines.iter_mut().rev().find_map(|line| match line {
        Line::Message(message) if message.subject.ends_with(".completion") => Some(message),
        _ => None,
    });
    let payload = &mut approval.unwrap().payload;
    let middle = payload.len() / 2;
    payload[middle] ^= 1;
    lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
}

#[test]
fn a_person_of_a_fleet_elsewhere_is_whose_credentials_are_given() {
    let world = world(PLAN);
    let elsewhere = ["--nats", "nats://127.0.0.1:1", "--creds", "ann.creds"];
    let mut args = vec!["approve", "w", "--as", "human-ann"];
    args.extend(elsewhere);
    let refused = world.holdpoint(&args);
    assert!(refused.expect(2).stderr.contains("--as cannot be used"), "{refused}");
}

/// A command on a terminal of its own, which goes to standard error.
fn on_a_terminal(world: &World, args: &[&str]) -> RunningProcess {
    let plain = world.command(args);
    let words = std::iter::once(plain.get_program()).chain(plain.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("exec script -qefc \"{}\" /dev/null 1>&2", line.join(" ")));
    command.current_dir(world.path("repo")).env("TERM", "xterm");
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    world.start_with(command)
}

#[test]
fn on_a_terminal_run_stays_while_a_question_is_open() {
    let world = world(PLAN);
    let builder = world.program("builder.sh", ASKS);
    let mut running = on_a_terminal(&world, &["run", "../plan/plan.yaml", "--builder", &builder]);
    running.until_said("Which colour?");
    running.until_said("holdpoint answer w --flight");
    let answered = world.holdpoint(&["answer", "w", "--option", "red"]);
    assert!(!answered.expect(0).stderr.contains("--resume"), "its agents are there: {answered}");
    let finished = running.finish();
    assert!(finished.expect(0).stderr.contains("landed as"), "{finished}");
}

#[test]
fn people_are_notified_of_a_question_and_of_the_end() {
    let world = world(PLAN);
    let tell = world.program("tell", "cat >> \"$1\"; echo >> \"$1\"");
    let file = world.path("told").display().to_string();
    world.write("holdpoint.toml", &format!("[notify]\ncommand = [{tell:?}, {file:?}]\n"));
    let config = world.path("holdpoint.toml").display().to_string();
    let builder = world.program("builder.sh", ASKS);
    let run = world.fly(&builder, &["--config", &config]);
    let flight = flight_of(run.expect(1));
    assert_eq!(told(&world).len(), 1, "{:?}", told(&world));
    assert_eq!(told(&world)[0], waiting(&world), "the item of the inbox");

    world.holdpoint(&["answer", "w", "--option", "red"]).expect(0);
    world.holdpoint(&["run", "--resume", &flight, "--json"]).expect(0);
    let end = serde_json::json!({"kind": "flight_over", "flight": flight, "status": "accepted"});
    assert_eq!(told(&world)[1..], [end]);
}
