//! What a person sees of an agent while it works.

use std::fs;

use holdpoint_tests::world::{World, eventually};
use serde_json::{Value, json};

/// Its check takes longer than the pause between two looks at which turn is open: lines of shorter turns are not shown.
const PLAN: &str =
    "plan: live\nwaypoints:\n  - {id: w, goal: g, criteria: [{id: c, check: sleep 4 && grep -q done result}]}\n";

/// An agent in a dialect that says something, calls a tool, and waits; what it says would clear a terminal.
const AGENT: &str = r#"
say() { printf '{"type":"assistant","message":{"content":[%s]}}\n' "$1"; }
touch "$HOME/began"
until [ -e "$(dirname "$0")/heard" ]; do
  say '{"type":"text","text":"\u001b[2JI look\u202e around."},{"type":"tool_use","name":"Read","input":{"file_path":"readme"}}'
  sleep 0.7
done
while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.05; done
echo done > result
say '{"type":"text","text":"It is done."}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"It is done."}'"#;

fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn what_an_agent_says_and_does_is_seen_while_it_works_and_stored_nowhere() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let program = world.program("builder.sh", AGENT);
    world.write("plan/holdpoint.toml", &format!("[agents.builder]\ncommand = '{program}'\ndialect = 'claude'\n"));
    let run = world.start(&world.run_args(&["--config", "../plan/holdpoint.toml"]));
    let flight = eventually("the flight", || {
        let status = world.holdpoint(&["status", "--json"]);
        Some(serde_json::from_str::<Value>(&status.stdout).ok()?[0]["flight"].as_str()?.to_owned())
    });
    let logs = world.start(&["logs", "w", "--flight", &flight, "--follow", "--json"]);
    eventually("what it says and its tool call", || {
        let printed = logs.printed();
        (printed.contains("I look around.") && printed.contains("Read readme")).then_some(())
    });
    fs::write(world.path("plan/heard"), "").unwrap();
    fs::write(world.path("plan/go"), "").unwrap();
    let run = run.finish();
    run.expect(0);
    let logs = logs.finish();
    let lines = lines(&logs.expect(0).stdout);
    assert!(logs.stderr.contains("not stored") && logs.stderr.contains("holdpoint history w"), "{logs}");
    assert!(!logs.stdout.contains("[2J") && !logs.stdout.contains("\\u202e"), "{logs}");
    let said = |kind: &str, text: &str| lines.iter().find(|line| line["kind"] == kind && line["text"] == text);
    let first = said("said", "I look around.").expect("its words");
    assert_eq!(
        (&first["role"], &first["waypoint"], &first["flight"]),
        (&json!("builder"), &json!("w"), &json!(flight))
    );
    assert!(said("tool", "Read readme").is_some() && said("said", "It is done.").is_some(), "{logs}");
    assert!(lines.iter().any(|line| line["role"] == "verifier" && line["kind"] == "doing"), "{logs}");

    // Later there is nothing, but where it is.
    let late = world.holdpoint(&["logs", "w", "--flight", &flight]);
    assert_eq!(late.expect(0).stdout, "");
    assert!(late.stderr.contains("holdpoint history w"), "{late}");
    world.holdpoint(&["logs", "nobody", "--flight", &flight]).expect(2);
}
