//! Programs whose results cannot be used at first: they are asked again in their turn, and a record is kept.

use holdpoint_tests::world::World;

const PLAN: &str = r#"
plan: exchange
waypoints:
  - id: w
    goal: Write the result
    criteria:
      - {id: c, check: "grep -q done result"}
      - {id: readable, statement: It can be read}
"#;

/// Works once and prints an envelope that is cut off; asked again, it prints the whole of it.
const BUILDER: &str = r#"
cat > /dev/null
DATA='"data": {"task_id": "w", "success": true, "completed_normally": true, "todos": [], "summary": "wrote it"}}'
if [ -z "${HOLDPOINT_RETRY:-}" ]; then
  echo done >> result
  printf '{"component": "builder", "status": "success", "data": {"task_id": "w", "succ'
else
  echo '{"component": "builder", "status": "success", '"$DATA"
fi"#;

/// Says pass without its evidence; asked again, it names it.
const JUDGE: &str = r#"
case $(cat) in
  *'"retry"'*'`evidence` is empty'*) echo '{"verdict": "pass", "evidence": ["result:1"], "doubts": []}' ;;
  *) echo '{"verdict": "pass", "evidence": [], "doubts": []}' ;;
esac"#;

#[test]
fn results_that_cannot_be_used_are_asked_for_again_in_one_attempt_and_are_on_record() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan(PLAN);
    let (builder, judge) = (world.program("builder.sh", BUILDER), world.program("judge.sh", JUDGE));
    let run = world.fly(&builder, &["--judge", &judge]);
    let report = run.expect(0).json();
    let flight = report["flight"].as_str().unwrap().to_owned();
    assert_eq!(run.waypoint("w")["attempts"], 1, "{report}");
    assert_eq!(world.git(&["show", &format!("holdpoint/{flight}:result")]), "done\n");
    let listed = world.holdpoint(&["handoffs", &flight, "--json"]);
    let records: Vec<serde_json::Value> =
        listed.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = records
        .iter()
        .map(|record| (&record["component"], &record["original_error"]["kind"], &record["status"]))
        .map(|(component, kind, status)| [component, kind, status].map(|word| word.as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(told, [["builder", "partial", "recovered"], ["judge", "semantic", "recovered"]], "{records:#?}");
    assert_eq!(records[1]["criterion"], "readable");
    // What failed is kept whole.
    let output = records[0]["original_error"]["output"].as_str().unwrap();
    let kept = world.holdpoint(&["artifact", output]);
    assert!(kept.expect(0).stdout.contains(r#""task_id": "w", "succ"#), "{kept}");
    let failed = world.holdpoint(&["handoffs", &flight, "--failed"]);
    assert_eq!(failed.expect(0).stdout, "no exchange with an agent's program failed\n");
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

#[test]
fn what_a_program_means_to_do_is_in_the_history_and_its_work_is_judged_as_ever() {
    let world = World::new(&[("readme", "x\n")]);
    world.plan("plan: planned\nwaypoints:\n  - {id: w, goal: g, scope: [result], criteria: [{id: c, check: grep -q done result}]}\n");
    let says = "holdpoint-ask plan --target other --covers c; holdpoint-ask plan --target result --validate 'grep done' --covers c";
    let builder = world.program("builder.sh", &format!("{says}; echo done > result"));
    let run = world.fly(&builder, &[]);
    assert_eq!(run.expect(0).waypoint("w")["attempts"], 1);
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    let history = world.holdpoint(&["history", "w", "--flight", &flight]).expect(0).stdout.clone();
    let planned: Vec<&str> = history.lines().filter_map(|line| line.split("its program ").nth(1)).collect();
    assert_eq!(planned, ["touches other; covers c", "touches result; validates with grep done; covers c"], "{history}");
    assert!(!history.contains("CONFLICT"), "{history}");
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}
