//! Documents with checkpoints (DOC-3 to DOC-8): the built-in workflow `stages`, through real processes.

use holdpoint_tests::world::{Finished, World};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Its first document lacks a section, its second the criteria; the third is whole.
const ANALYST: &str = r#"
prompt=$(cat)
doc="$HOLDPOINT_DOCUMENT_FILE"
case ${HOLDPOINT_RETRY:-0} in
  0) printf -- '---\nhandoff_ready: true\n---\n# Requirements\n\nA greeting.\n' > "$doc" ;;
  1) case $prompt in *'### Checkpoint: impact_analyzed'*'### Retry Attempt: 1 of 3'*) ;; *) exit 5 ;; esac
     printf '\n# Impact\n\nNone.\n' >> "$doc" ;;
  2) case $prompt in *impact_analyzed*) exit 6 ;; *'### Checkpoint: acceptance_criteria_defined'*'### Retry Attempt: 2 of 3'*) ;; *) exit 7 ;; esac
     printf '\n# Acceptance Criteria\n\n- AC-1: greeting says hello\n' >> "$doc" ;;
  *) exit 8 ;;
esac
echo "The request is clear."
"#;

/// Has the requirements to read, and says over the line what it alone can say.
const ARCHITECT: &str = r#"
prompt=$(cat)
grep -q '^- AC-1: greeting says hello' "$HOLDPOINT_DOCUMENTS_DIR/requirements.md" || exit 3
case $prompt in *'AC-1: greeting says hello'*) ;; *) exit 4 ;; esac
printf '# Design\n\nOne file.\n\n# Tasks\n\n1. Write it.\n\n# Tests\n\nOne.\n' > "$HOLDPOINT_DOCUMENT_FILE"
if holdpoint-ask complete --summary 'Planned.' 2> "$TMPDIR/wrong"; then exit 5; fi
grep -q '"error":"checkpoints_unmet"' "$TMPDIR/wrong" && grep -q requirements_addressed "$TMPDIR/wrong" || exit 6
holdpoint-ask complete --summary 'Planned.' --checkpoint requirements_addressed=pass:all
"#;

/// Forgets the test at first, and what it makes is wrong. Its first attempt leaves the documents for readers as they are.
const BUILDER: &str = r#"
prompt=$(cat)
test -f "$HOLDPOINT_DOCUMENTS_DIR/architecture.md" || exit 3
if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then
  grep -q 'Checkpoint: docs_updated' "$HOLDPOINT_FEEDBACK_FILE" || exit 5
  grep -q 'touches no document for readers' "$HOLDPOINT_FEEDBACK_FILE" || exit 6
  echo 'Says hello.' > README.md
  printf -- '---\ncheckpoints:\n- {name: code_complete, status: pass}\n- {name: no_lint_errors, status: pass}\n---\nDone.\n' \
    > "$HOLDPOINT_DOCUMENT_FILE"
elif [ "${HOLDPOINT_RETRY:-0}" = 0 ]; then
  echo hallo > greeting
  printf -- '---\ncheckpoints:\n- {name: code_complete, status: pass}\n- {name: no_lint_errors, status: pass}\n---\nDone.\n' \
    > "$HOLDPOINT_DOCUMENT_FILE"
else
  case $prompt in *'### Checkpoint: tests_written'*'### Checkpoint: tests_passing'*'it exited with 1'*) ;; *) exit 4 ;; esac
  echo hello > greeting
  echo 'grep -q hello greeting' > tests/greeting.sh
fi
"#;

const PLAN: &str = r#"
plan: staged
workflow: stages
guards: [{id: suite, check: "for t in tests/*.sh; do sh $t || exit 1; done"}]
waypoints:
  - {id: w, goal: Greet, criteria: [{id: c, check: "grep -q hello greeting"}]}
"#;

struct Staged {
    world: World,
    flight: String,
}

impl Staged {
    fn fly((analyst, architect, builder): (&str, &str, &str)) -> (Self, Finished) {
        let world =
            World::new(&[("readme", "x\n"), ("tests/first.sh", "! test -f greeting || grep -q hello greeting\n")]);
        world.plan(PLAN);
        let analyst = format!("analyst={}", world.program("analyst.sh", analyst));
        let architect = format!("architect={}", world.program("architect.sh", architect));
        let builder = world.program("builder.sh", builder);
        let agents = ["--agent", &analyst, "--agent", &architect, "--builder", &builder];
        let run = world.holdpoint(&[&["run", "../plan/plan.yaml", "--json"], &agents[..]].concat());
        let flight = run.json()["flight"].as_str().unwrap_or_default().to_owned();
        (Self { world, flight }, run)
    }

    fn history(&self) -> Vec<Value> {
        let history = self.world.holdpoint(&["history", "w", "--flight", &self.flight, "--json"]);
        history.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The documents that were handed over, oldest first.
    fn documents(&self) -> Vec<Value> {
        let of = |line: Value| Some(line["artifact"]["document"].clone()).filter(|document| !document.is_null());
        self.history().into_iter().filter_map(of).collect()
    }

    /// What waits for people.
    fn item(&self) -> Value {
        self.world.holdpoint(&["inbox", "--flight", &self.flight, "--json"]).expect(0).json()["items"][0].clone()
    }

    /// The newest artifact of this kind that a gate's turn, or a person, brought, with its reference.
    fn newest(&self, kind: &str, gate: &str) -> (String, Value) {
        let history = self.history();
        let turns = history.iter().filter(|line| line["kind"] == "turn" && line["artifact"]["gate"] == gate);
        let turns: Vec<&Value> = turns.map(|turn| &turn["artifact"]["turn_id"]).collect();
        let is_it = |line: &&Value| {
            let artifact = &line["artifact"];
            line["kind"] == kind && (artifact["gate"] == gate || turns.contains(&&artifact["turn"]))
        };
        let found = history.iter().rev().find(is_it).unwrap_or_else(|| panic!("no {kind} of {gate}: {history:#?}"));
        (found["ref"].as_str().unwrap().to_owned(), found["artifact"].clone())
    }

    fn is_sound(&self) {
        self.world.holdpoint(&["export", &self.flight, "--out", "../flight.jsonl"]).expect(0);
        self.world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
    }
}

#[test]
fn a_request_goes_through_four_stages_and_each_agent_is_asked_again_until_its_checkpoints_hold() {
    let (staged, run) = Staged::fly((ANALYST, ARCHITECT, BUILDER));
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    let waypoint = &run.json()["waypoints"][0];
    assert_eq!(waypoint["attempts"], 2, "the verifier's gate sends it back once, and no maker's does: {run}");
    let qa = waypoint["checkpoints"].as_array().unwrap().iter().find(|one| one["gate"] == "qa").unwrap();
    let held: Vec<_> = qa["checkpoints"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(held, ["pass"; 4], "{qa:#}");
    let documents = staged.documents();
    let of = |key: &str| documents.iter().map(|document| document[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("retry_count"), [2, 0, 1, 0], "{documents:#?}");
    assert_eq!(of("title"), [Value::from("Requirements"), "Design".into(), Value::Null, Value::Null], "{documents:#?}");
    let last = documents[0]["last_failure"].as_str().unwrap();
    assert!(last.contains("acceptance_criteria_defined (fail)"), "{last}");
    let built = documents[2]["checkpoints"].as_array().unwrap();
    let by: Vec<_> = built.iter().map(|one| format!("{} {} {}", one["name"], one["by"], one["status"])).collect();
    let expected = [
        r#""tests_written" "predicate" "pass""#,
        r#""code_complete" "statement" "pass""#,
        r#""tests_passing" "command" "pass""#,
        r#""no_lint_errors" "statement" "pass""#,
    ];
    assert_eq!(by, expected);
    let tries = staged.history().iter().filter(|line| line["kind"] == "exchange_record").count();
    assert!(tries >= 2, "each failed try is a record");
    staged.is_sound();
}

#[test]
fn a_command_that_is_green_for_its_maker_alone_does_not_get_the_work_past_the_verifier() {
    let world = World::new(&[
        (".gitignore", "cache/\n"),
        (
            "project.yaml",
            "workflow:\n  name: run-again\n  gates:\n    - {id: build, role: builder, checkpoints: [{name: tested, run: test -f cache/tested || test -f \
             tested}]}\n    - {id: verify, role: verifier, canReject: true}\n",
        ),
    ]);
    world.plan("plan: p\nworkflow: run-again\nwaypoints:\n  - {id: w, goal: Greet, criteria: [{id: c, check: test -f greeting}]}\n");
    // What git ignores is in its clone alone.
    let builder = world.program(
        "builder.sh",
        r#"cat > /dev/null
echo hello > greeting
if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then
  grep -q 'Checkpoint: tested' "$HOLDPOINT_FEEDBACK_FILE" || exit 5
  touch tested
else mkdir cache; touch cache/tested; fi"#,
    );
    let run = world.holdpoint(&["run", "../plan/plan.yaml", "--json", "--builder", &builder]);
    let waypoint = run.expect(0).waypoint("w");
    assert_eq!((&waypoint["attempts"], &waypoint["sent_back"]), (&2.into(), &1.into()), "{waypoint:#}");
    let again = &waypoint["checkpoints"][0];
    assert_eq!((&again["gate"], &again["checkpoints"][0]["status"]), (&"build".into(), &"pass".into()), "{waypoint:#}");
    let flight = run.json()["flight"].as_str().unwrap().to_owned();
    world.holdpoint(&["export", &flight, "--out", "../flight.jsonl"]).expect(0);
    world.holdpoint(&["audit", "../flight.jsonl"]).expect(0);
}

#[test]
fn an_agent_that_used_up_its_retries_is_a_persons_who_has_the_gate_tried_again_with_what_was_missing() {
    let analyst = r#"
if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ]; then
  grep -q 'impact_analyzed' "$HOLDPOINT_FEEDBACK_FILE" || exit 3
  printf '# Requirements\n\nx\n\n# Impact\n\nx\n\n# Acceptance Criteria\n\n- AC-1: x\n' > "$HOLDPOINT_DOCUMENT_FILE"
else
  printf '# Requirements\n\nx\n' > "$HOLDPOINT_DOCUMENT_FILE"
fi
cat > /dev/null; echo done"#;
    let architect = "cat > /dev/null; exec sleep 600";
    let (staged, run) = Staged::fly((analyst, architect, "exit 9"));
    let waypoint = run.expect(1).json()["waypoints"][0].clone();
    assert_eq!(
        (&waypoint["status"], &waypoint["reason_code"]),
        (&"blocked".into(), &"checkpoints_unmet".into()),
        "{run}"
    );
    assert_eq!((&waypoint["gate"], &waypoint["block_reason"]), (&"requirements".into(), &"needs_human_input".into()));
    assert!(staged.item()["remediation"].as_str().unwrap().contains("impact_analyzed"), "{:#}", staged.item());
    let (of, last) = staged.newest("completion", "requirements");
    assert_eq!(
        (&last["failure"]["reason"], &last["document"]["retry_count"]),
        (&"checkpoints_unmet".into(), &3.into()),
        "a turn whose retries are used up hands its document over all the same: {last:#}"
    );
    let shown = staged.world.holdpoint(&["artifact", &of, "--markdown"]).expect(0).stdout.clone();
    assert!(shown.contains("status: blocked\n") && shown.ends_with("# Requirements\n\nx\n"), "{shown}");
    staged.world.holdpoint(&["retry", "w", "--flight", &staged.flight, "--as", "human-ada"]).expect(0);
    let again = staged.world.start(&["run", "--resume", &staged.flight, "--json"]);
    holdpoint_tests::world::eventually("the next gate", || {
        let task = staged.world.holdpoint(&["task", "w", "--flight", &staged.flight, "--json"]);
        (task.code == 0 && task.json()["gate"]["current"] == "architecture").then_some(())
    });
    again.signal(Signal::SIGINT);
    again.finish();
}

#[test]
fn a_document_that_is_blocked_blocks_its_gate_and_says_why() {
    let analyst = r"
cat > /dev/null
printf -- '---\nstatus: blocked\nblock_reason: scope_change\nblock_details: The request names two products\n---\n' > $HOLDPOINT_DOCUMENT_FILE
echo 'I cannot go on.'";
    let (staged, run) = Staged::fly((analyst, "exit 9", "exit 9"));
    let waypoint = run.expect(1).json()["waypoints"][0].clone();
    assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"blocked".into(), &"gate_blocked".into()), "{run}");
    assert_eq!(waypoint["block_reason"], "scope_change", "{run}");
    let remediation = staged.item()["remediation"].as_str().unwrap().to_owned();
    assert!(remediation.contains("scope_change: The request names two products"), "{remediation}");
}

/// Whole at once.
const CLEAR: &str = r"
cat > /dev/null
printf '# Requirements\n\nA greeting.\n\n# Impact\n\nNone.\n\n# Acceptance Criteria\n\n- AC-1: greeting says hello\n' > $HOLDPOINT_DOCUMENT_FILE";

/// Misses a criterion, and cannot go on without it. Tries what it is going to say before it says it.
const MISSING: &str = r#"
cat > /dev/null
if grep -q '^- AC-2:' "$HOLDPOINT_DOCUMENTS_DIR/requirements.md"; then
  holdpoint-ask validate --checkpoint requirements_addressed=pass 2> "$TMPDIR/wrong" && exit 4
  grep -q '"error":"checkpoints_unmet"' "$TMPDIR/wrong" || exit 5
  printf '# Design\n\nOne file.\n\n# Tasks\n\n1. Write it.\n\n# Tests\n\nOne.\n' > "$HOLDPOINT_DOCUMENT_FILE"
  holdpoint-ask validate --checkpoint requirements_addressed=pass | grep -q '"valid": true' || exit 6
  holdpoint-ask status | grep -q '"completion"' && exit 7
  holdpoint-ask complete --summary Planned --checkpoint requirements_addressed=pass
else
  printf -- '---\nstatus: blocked\nblock_reason: scope_change\nblock_details: Whom does it greet?\n---\n' > "$HOLDPOINT_DOCUMENT_FILE"
fi"#;

/// Waits for something outside of the flight, and leaves what it has.
const DEPENDENT: &str = r#"
cat > /dev/null
if [ -e begun ]; then
  echo hello > greeting
  echo 'grep -q hello greeting' > tests/greeting.sh
  mkdir -p docs
  echo 'It says hello.' > docs/greeting.md
  printf -- '---\ncheckpoints:\n- {name: code_complete, status: pass}\n- {name: no_lint_errors, status: pass}\n---\nDone.\n' \
    > "$HOLDPOINT_DOCUMENT_FILE"
else
  touch begun
  printf -- '---\nstatus: blocked\nblock_reason: external_dependency\nblock_details: The registry is down\n---\n' > "$HOLDPOINT_DOCUMENT_FILE"
fi"#;

#[test]
fn a_person_revises_the_document_that_blocks_a_gate_and_has_blocked_work_tried_again_once_its_obstacle_is_gone() {
    let (staged, run) = Staged::fly((CLEAR, MISSING, DEPENDENT));
    assert_eq!(run.expect(1).json()["waypoints"][0]["block_reason"], "scope_change", "{run}");
    let world = &staged.world;
    let (of, _) = staged.newest("completion", "requirements");
    let printed = world.holdpoint(&["artifact", &of, "--markdown"]).expect(0).stdout.clone();
    let from = |text: &str| {
        world.write("edited.md", text);
        world.holdpoint(&["revise", &of, "--from", "../edited.md", "--as", "human-ada", "--json"])
    };
    // Nothing is sent where nothing differs, and nothing of another's.
    assert!(from(&printed).expect(0).stderr.contains("nothing was changed"));
    let foreign = from(&printed.replace("retry_count: 0", "retry_count: 2"));
    let problem = foreign.expect(2).json()["errors"][0].clone();
    assert!(problem["message"].as_str().unwrap().starts_with("`retry_count` differs"), "{foreign}");
    let line = printed.lines().position(|line| line.starts_with("retry_count")).unwrap() + 1;
    assert_eq!(problem["line"], line, "{foreign}");
    let lacking = from(&printed.replace("# Impact", "# Costs"));
    assert!(lacking.expect(1).json()["error"]["message"].as_str().unwrap().contains("impact_analyzed"), "{lacking}");
    assert!(!staged.history().iter().any(|line| line["kind"] == "revised"), "nothing was taken");
    // In an editor; what it wrote is the newest, and the file of before is stale.
    let editor = world.program("editor.sh", r#"printf '%s\n' '- AC-2: it greets by name' >> "$1""#);
    let mut command = world.command(&["revise", &of, "--edit", "--as", "human-ada", "--json"]);
    command.env("VISUAL", &editor);
    world.start_with(command).finish().expect(0);
    let (newest, revised) = staged.newest("revise", "requirements");
    assert_eq!((&revised["agent"], &revised["source_refs"][0]), (&"human-ada".into(), &of.clone().into()));
    let shown = world.holdpoint(&["artifact", &newest, "--markdown"]).expect(0).stdout.clone();
    assert!(shown.contains("stage: requirements\n") && shown.contains("handoff_ready: true\n"), "{shown}");
    let stale = from(&printed.replace("A greeting.", "Two greetings."));
    let error = stale.expect(1).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["details"]["newest"]),
        (&"answer_late".into(), &newest.clone().into()),
        "{stale}"
    );
    // The gate goes on with it; then the builder is blocked, and goes on from its files without an answer.
    world.holdpoint(&["retry", "w", "--flight", &staged.flight, "--as", "human-ada"]).expect(0);
    let blocked = world.holdpoint(&["run", "--resume", &staged.flight, "--json"]);
    assert_eq!(blocked.expect(1).json()["waypoints"][0]["block_reason"], "external_dependency", "{blocked}");
    let item = staged.item();
    assert_eq!((&item["kind"], &item["block_reason"]), (&"question".into(), &"external_dependency".into()), "{item:#}");
    assert!(item["actions"].as_array().unwrap().contains(&"retry".into()), "{item:#}");
    let said = world.holdpoint(&["inbox", "--flight", &staged.flight]).expect(0).stdout.clone();
    assert!(said.contains("external_dependency: something outside of the flight is missing"), "{said}");
    let (_, asked) = staged.newest("clarification_request", "implementation");
    assert_eq!(asked["block_reason"], "external_dependency", "{asked:#}");
    world.holdpoint(&["retry", "w", "--flight", &staged.flight, "--as", "human-ada"]).expect(0);
    let run = world.holdpoint(&["run", "--resume", &staged.flight, "--json"]);
    assert_eq!(run.expect(0).json()["status"], "accepted", "{run}");
    staged.is_sound();
}
