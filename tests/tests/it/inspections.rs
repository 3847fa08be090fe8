//! Agents that make work look at each other's (GATE-30), through real processes.

use holdpoint_tests::world::{Finished, World};
use serde_json::Value;

const PROJECT: &str = r#"
workflow:
  name: inspected
  gates:
    - {id: build, role: builder}
    - id: self-review
      role: builder
      type: inspection
      canReject: true
      expectations: [It is polite]
    - {id: verify, role: verifier, canReject: true}
"#;

const PLAN: &str = r#"
plan: inspected
workflow: inspected
waypoints:
  - {id: w, goal: Write the result, scope: [result], criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Makes work at one gate and looks at it at the other, with nothing but what its turn says.
const BUILDER: &str = r#"
prompt=$(cat)
case $prompt in
  *"gate \`self-review\`"*)
    grep -q '^+done' "$HOLDPOINT_DIFF_FILE" && grep -q '"wanted": "complete"' "$HOLDPOINT_TURN_FILE" || exit 5
    case $prompt in *"[ ] It is polite"*) ;; *) exit 3 ;; esac
    if touch mine 2> /dev/null || [ -e .git ]; then exit 6; fi
    if grep -q please result; then echo 'It is polite.'; exit; fi
    echo '{"outcome": "needs_review", "summary": "It is rude.", "blockers": ["ask politely in result"]}' ;;
  *)
    echo done > result
    if grep -q 'ask politely' "${HOLDPOINT_FEEDBACK_FILE:-/dev/null}"; then echo please >> result; fi ;;
esac"#;

fn world() -> (World, String) {
    let world = World::new(&[("readme", "x\n"), ("project.yaml", PROJECT)]);
    world.plan(PLAN);
    let builder = world.program("builder.sh", BUILDER);
    (world, builder)
}

fn flown(world: &World, command: &str, more: &[&str]) -> Finished {
    world.holdpoint(&[&[command, "../plan/plan.yaml", "--json"], more].concat())
}

#[test]
fn another_builder_sends_work_back_and_lets_it_on_before_it_is_verified() {
    let (world, builder) = world();
    let run = flown(&world, "run", &["--builder", &builder, "--builders", "2"]);
    let flight = run.expect(0).json()["flight"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("holdpoint/{flight}:result")]), "done\nplease\n");
    let task = world.holdpoint(&["task", "w", "--flight", &flight, "--json"]).expect(0).json();
    let visits = task["gateHistory"].as_array().unwrap();
    let of = |key: &str| visits.iter().map(|visit| visit[key].as_str().unwrap_or("-")).collect::<Vec<_>>();
    assert_eq!(of("gate"), ["build", "self-review", "build", "self-review", "verify"], "{task}");
    assert_eq!(of("outcome"), ["complete", "needs_review", "complete", "complete", "complete"]);
    let agents = of("agent");
    assert!(agents[0] != agents[1] && agents[2] != agents[3], "nobody looks at their own work: {agents:?}");
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

#[test]
fn one_builder_alone_is_refused_where_another_one_has_to_look() {
    let (world, builder) = world();
    let refused = flown(&world, "run", &["--builder", &builder]);
    let error = refused.expect(2).json()["error"].clone();
    assert_eq!(error["code"], "no_second_agent", "{refused}");
    assert!(refused.stderr.contains("--builders 2"), "{refused}");
    let checked = flown(&world, "check", &["--builder", &builder]);
    let warnings = checked.expect(0).json()["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().contains("gate self-review has a second agent of role builder"), "{checked}");
    let two = flown(&world, "check", &["--builder", &builder, "--builders", "2"]);
    assert_eq!(two.expect(0).json()["warnings"], Value::Array(Vec::new()));
}
