//! Agents of roles that an org chart declares: who makes work, who looks at it, and what their programs get and say.

use holdpoint_tests::world::{World, root};

const PROJECT: &str = r#"
workflow:
  name: reviewed
  gates:
    - id: code
      role: coder
      tips: [Say please]
    - {id: verify, role: verifier, canReject: true}
    - id: review
      role: reviewer
      canReject: true
      expectations: [It is polite]
      outcomeHelp: {needs_review: The coder writes it again}
"#;

const CHART: &str = r#"
roles:
  coder: {agents: [c1], plane: build, description: Writes the result}
  verifier: {agents: [v1]}
  reviewer: {agents: [r1], description: Reads what others write}
"#;

const PLAN: &str = r#"
plan: reviewed
workflow: reviewed
waypoints:
  - {id: w, goal: Write the result, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// Makes work, and does what a reviewer said.
const CODER: &str = r#"
prompt=$(cat)
case $prompt in *"Say please"*"Write the result"*) ;; *) exit 3 ;; esac
echo done >> result
if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then grep -q 'ask politely' "$HOLDPOINT_FEEDBACK_FILE" && echo please >> result; fi"#;

/// Looks at what it gets, and at that only: it can neither change it nor leave anything for its next turn.
const REVIEWER: &str = r#"
prompt=$(cat)
case $prompt in *"Reads what others write"*"[ ] It is polite"*"+done"*"The coder writes it again"*) ;; *) exit 3 ;; esac
case $prompt in *"Say please"*) exit 4 ;; esac
grep -q '^+done' "$HOLDPOINT_DIFF_FILE" && grep -q '"wanted": "complete"' "$HOLDPOINT_TURN_FILE" || exit 5
if touch mine 2> /dev/null || [ -e .git ]; then exit 6; fi
if [ -e "$HOME/seen" ]; then exit 7; fi
touch "$HOME/seen" "$TMPDIR/file" || exit 8
if touch "$NOTES/mine" 2> /dev/null || ! [ -e "$NOTES/others" ]; then exit 9; fi
if [ "$HOLDPOINT_ATTEMPT" = 2 ] && [ -z "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then echo 'no idea'; exit 1; fi
if grep -q please result; then
  echo 'Reading.'
  echo
  echo 'It is polite now.'
else
  echo '{"outcome": "needs_review", "summary": "It is rude.", "blockers": ["ask politely in result"]}'
fi"#;

fn world() -> (World, String) {
    let world = World::new(&[("readme", "x\n"), ("project.yaml", PROJECT), ("org.yaml", CHART)]);
    world.plan(PLAN);
    let (coder, reviewer) = (world.program("coder.sh", CODER), world.program("reviewer.sh", REVIEWER));
    world.write("notes/others", "x\n");
    let notes = world.path("notes").display().to_string();
    let config = format!(
        "[agents.coder]\ncommand = {coder:?}\n[agents.reviewer]\ncommand = {reviewer:?}\nwrite_paths = [{notes:?}]\n\
         env = {{NOTES = {notes:?}}}\n"
    );
    world.write("holdpoint.toml", &config);
    let config = world.path("holdpoint.toml").display().to_string();
    (world, config)
}

#[test]
fn agents_of_declared_roles_make_work_send_it_back_and_let_it_land() {
    let (world, config) = world();
    let run = world.start(&world.run_args(&["--config", &config])).finish();
    let report = run.expect(0).json();
    let flight = report["flight"].as_str().unwrap().to_owned();
    assert_eq!(run.waypoint("w")["status"], "complete", "{report}");
    assert_eq!(world.git(&["show", &format!("holdpoint/{flight}:result")]), "done\ndone\nplease\n");
    let history = world.holdpoint(&["history", "w", "--flight", &flight]);
    let told = &history.expect(0).stdout;
    let parts = ["failed=agent_failed", "outcome=needs_review summary=It is rude.", "blocker: ask politely in result"];
    for part in parts.into_iter().chain(["summary=It is polite now."]) {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

/// The blocks of YAML below a heading of the documentation.
fn documented(file: &str, heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs").join(file)).unwrap();
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    section.split("```yaml\n").skip(1).map(|block| block.split_once("```").unwrap().0.to_owned()).collect()
}

#[test]
fn two_programs_of_one_fleet_build_what_the_documentation_says_is_theirs() {
    let blocks = documented("agents.md", "Several programs in one fleet");
    let [org, project, plan] = blocks.as_slice() else { panic!("{blocks:?}") };
    let world = World::new(&[("readme", "x\n"), ("org.yaml", org), ("project.yaml", project)]);
    world.plan(plan);
    let builder = world.program("one.sh", "echo one > \"$HOLDPOINT_WAYPOINT\"");
    let backend = format!("backend={}", world.program("other.sh", "echo other > \"$HOLDPOINT_WAYPOINT\""));
    let run = world.holdpoint(&world.run_args(&["--builder", &builder, "--agent", &backend]));
    let flight = run.expect(0).json()["flight"].as_str().unwrap().to_owned();
    let built = |file: &str| world.git(&["show", &format!("holdpoint/{flight}:{file}")]);
    assert_eq!((built("page").as_str(), built("service").as_str()), ("one\n", "other\n"));
}
