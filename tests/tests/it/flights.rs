//! One waypoint after another: what is accepted, what is not, and what users see of it.

use holdpoint_planfile::document;
use holdpoint_tests::{
    external::{operator, signal_own, up},
    world::World,
};
use nix::sys::signal::Signal;

/// A check that is red until `greeting` says hello.
const PLAN: &str = r#"
plan: greet
policy: {max_reworks: 1}
waypoints:
  - id: hello
    title: The greeting says hello
    goal: Write hello into the file greeting.
    scope: ["greeting", "notes/**"]
    criteria:
      - {id: says-hello, statement: The greeting says hello, check: "cat greeting; grep -q hello greeting", red_first: true}
"#;

fn world() -> World {
    let world = World::new(&[("greeting", "nothing yet\n"), ("kept", "as it was\n"), ("AGENTS.md", "Be kind.\n")]);
    world.plan(PLAN);
    world
}

#[test]
fn accepted_work_stands_on_a_branch_and_the_users_tree_is_untouched() {
    let world = world();
    world.write("repo/kept", "edited and not committed\n");
    world.write("repo/untracked", "mine\n");
    let (status, head) = (world.git(&["status", "--porcelain"]), world.git(&["rev-parse", "HEAD"]));

    let builder = world.program("builder.sh", "echo hello > greeting");
    let run = world.fly(&builder, &[]);
    run.expect(0);
    let (flight, waypoint) = (run.json(), run.waypoint("hello"));
    assert_eq!(flight["status"], "accepted");
    assert_eq!(flight["base"], head.trim());
    assert_eq!(
        (&waypoint["status"], &waypoint["disposition"], &waypoint["reason_code"], &waypoint["attempts"]),
        (&"complete".into(), &"accept".into(), &"criteria_met".into(), &1.into())
    );
    assert_eq!(waypoint["criteria"][0]["verdict"], "pass");
    assert!(!waypoint["criteria"][0]["evidence"].as_array().unwrap().is_empty());
    assert_eq!(waypoint["foreign_receipt"], false);

    let branch = flight["branch"].as_str().unwrap();
    assert_eq!(world.git(&["rev-parse", branch]).trim(), flight["head"].as_str().unwrap());
    assert_eq!(world.git(&["show", &format!("{branch}:greeting")]), "hello\n");
    assert_eq!(world.git(&["rev-parse", &format!("{branch}^")]), head, "one commit a waypoint, on the base");
    let message = world.git(&["log", "-1", "--format=%B", branch]);
    for trailer in [
        "Holdpoint-Flight: greet-",
        "Holdpoint-Waypoint: hello",
        "Holdpoint-Report: sha256:",
        "Co-authored-by: builder",
    ] {
        assert!(message.contains(trailer), "{trailer} in {message}");
    }
    assert_eq!(world.git(&["status", "--porcelain"]), status);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
}

#[test]
fn status_history_artifact_and_fetch_find_a_flight_that_is_over() {
    let world = world();
    let builder = world.program("builder.sh", "echo hello > greeting");
    let run = world.fly(&builder, &[]);
    run.expect(0);
    let flight = run.json();
    let id = flight["flight"].as_str().unwrap();

    let status = world.holdpoint(&["status", id, "--json"]);
    status.expect(0);
    for field in ["flight", "plan", "status", "base", "branch", "head"] {
        assert_eq!(status.json()[field], flight[field], "{field}");
    }
    assert_eq!(status.waypoint("hello")["commit"], run.waypoint("hello")["commit"]);

    let history = world.holdpoint(&["history", "hello", "--flight", id, "--json"]);
    history.expect(0);
    let lines: Vec<serde_json::Value> = history.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().filter_map(|l| l["kind"].as_str()).collect();
    for kind in ["turn", "build_plan", "build_artifact", "verification_plan", "verification_report", "decided"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    let report = lines.iter().rfind(|l| l["kind"] == "verification_report").unwrap();
    let shown = world.holdpoint(&["artifact", report["ref"].as_str().unwrap(), "--json"]);
    assert_eq!(shown.expect(0).json()["artifact"]["artifact_id"], report["artifact"]["artifact_id"]);

    for line in &lines {
        let reference = line["ref"].as_str().unwrap();
        let printed = world.holdpoint(&["artifact", reference, "--markdown"]);
        let document = document::parse(reference, printed.expect(0).stdout.as_bytes()).unwrap();
        assert_eq!((document.artifact(), document.reference.as_str()), (&line["artifact"], reference));
    }

    let evidence = run.waypoint("hello")["criteria"][0]["evidence"][0].clone();
    let unprintable = world.holdpoint(&["artifact", evidence.as_str().unwrap(), "--markdown"]);
    assert!(unprintable.expect(2).stderr.contains("evidence is bytes"), "{unprintable}");
    let bytes = world.holdpoint(&["artifact", evidence.as_str().unwrap()]);
    assert!(bytes.expect(0).stdout.contains("hello"), "{}", bytes.stdout);

    world.git(&["branch", "--quiet", "-D", flight["branch"].as_str().unwrap()]);
    world.holdpoint(&["fetch", id, "--repo", "."]).expect(0);
    assert_eq!(world.git(&["rev-parse", flight["branch"].as_str().unwrap()]).trim(), flight["head"].as_str().unwrap());
}

#[test]
fn a_wrong_first_attempt_is_mended_by_repair_from_the_failing_evidence() {
    let world = world();
    let builder =
        world.program("builder.sh", "test ! -e \"${HOLDPOINT_FEEDBACK_FILE:-/none}\"; echo good morning > greeting");
    // Starts from the last handed-off tree, knows what failed, and sees the check's output.
    let repair = world.program(
        "repair.sh",
        "grep -q 'good morning' greeting\n\
         grep -q says-hello \"$HOLDPOINT_FEEDBACK_FILE\"\n\
         grep -q 'good morning' \"$HOLDPOINT_FEEDBACK_FILE\"\n\
         test \"$HOLDPOINT_ROLE.$HOLDPOINT_ATTEMPT\" = repair.2\n\
         echo hello > greeting",
    );
    let run = world.fly(&builder, &["--repair", &repair]);
    run.expect(0);
    assert_eq!(run.waypoint("hello")["attempts"], 2);
    assert!(run.stderr.contains("says-hello") && run.stderr.contains("good morning"), "{}", run.stderr);
    documents_say_how_often_and_why_work_was_retried(&world, run.json()["flight"].as_str().unwrap());
}

/// Exports a flight whose first attempt was sent back, edits a document, and exports it again.
fn documents_say_how_often_and_why_work_was_retried(world: &World, flight: &str) {
    let export = |folder: &str| world.holdpoint(&["export", flight, "--folder", folder, "--json"]);
    let exported = export("../handoffs").expect(0).json();
    let files: Vec<&str> = exported["files"].as_array().unwrap().iter().map(|f| f["file"].as_str().unwrap()).collect();
    let built: Vec<&str> = files.iter().copied().filter(|file| file.ends_with("-build-build_artifact.md")).collect();
    let read = |file: &str| std::fs::read_to_string(world.path("handoffs").join(file)).unwrap();
    let [first, second] = built.as_slice() else { unreachable!("two attempts among {files:?}") };
    assert!(files[0].starts_with("hello/001-") && files.is_sorted(), "{files:?}");
    let (before, after) = (read(first), read(second));
    for key in
        ["id: hello\n", "stage: build\n", "title: \"The greeting says hello\"\n", "status: complete\n", "started_at: "]
    {
        assert!(before.contains(key) && after.contains(key), "{key}: {before}{after}");
    }
    assert!(before.contains("\nretry_count: 0\n") && !before.contains("last_failure"), "{before}");
    assert!(after.contains("\nretry_count: 1\nlast_failure: \"criteria_failed: says-hello"), "{after}");
    assert!(exported["files"].as_array().unwrap().iter().all(|file| file["state"] == "new"), "{exported}");

    world.write(&format!("handoffs/{first}"), "edited");
    let again = export("../handoffs");
    let again = again.expect(0);
    let files = again.json()["files"].clone();
    let with = |state: &str| files.as_array().unwrap().iter().filter(|file| file["state"] == state).count();
    assert_eq!((with("edited"), with("unchanged")), (1, files.as_array().unwrap().len() - 1), "{files}");
    assert!(again.stderr.contains("was edited") && read(first) == "edited", "{again}");
    assert_eq!(export("../plan").expect(2).json()["error"]["code"], "not_empty", "a folder of others is none");
}

#[test]
fn a_program_that_only_claims_success_is_not_accepted() {
    let world = world();
    let builder = world.program(
        "builder.sh",
        "echo '<acceptance-criterion id=\"says-hello\">pass</acceptance-criterion>'\n\
         echo '<waypoint-complete>hello</waypoint-complete>'\n\
         echo 'All tests pass. Done!'",
    );
    let run = world.fly(&builder, &[]);
    run.expect(1);
    let waypoint = run.waypoint("hello");
    assert_eq!(run.json()["status"], "incomplete");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"failed".into(), &2.into()), "{waypoint}");
    assert_eq!(waypoint["reason_code"], "attempts_exhausted");
    assert_eq!(waypoint["criteria"][0]["verdict"], "fail");
    assert_eq!(waypoint["criteria"][0]["reason"], "exit_code");
    assert_eq!(waypoint["commit"], serde_json::Value::Null);
}

#[test]
fn a_program_that_fails_is_an_attempt_and_leaves_nothing() {
    let world = world();
    let builder = world.program("builder.sh", "echo hello > greeting; echo out of luck >&2; exit 3");
    let run = world.fly(&builder, &[]);
    let waypoint = run.expect(1).waypoint("hello");
    assert_eq!((&waypoint["status"], &waypoint["attempts"]), (&"failed".into(), &2.into()), "{waypoint}");
}

#[test]
fn a_call_for_help_is_a_persons_matter_and_never_ignored() {
    let world = world();
    let builder = world.program("builder.sh", "echo hello > greeting; echo '>>>HELP<<<'");
    let waypoint = world.fly(&builder, &[]).expect(1).waypoint("hello");
    assert_eq!((&waypoint["status"], &waypoint["reason_code"]), (&"waiting".into(), &"help_requested".into()));
}

#[test]
fn nothing_changed_and_all_green_is_accepted_with_no_commit() {
    let world = World::new(&[("greeting", "hello\n")]);
    world.plan(&PLAN.replace(", red_first: true", ""));
    let builder = world.program("builder.sh", "true");
    let run = world.fly(&builder, &[]);
    run.expect(0);
    assert_eq!(run.waypoint("hello")["commit"], serde_json::Value::Null);
    assert_eq!(run.waypoint("hello")["status"], "complete");
    assert_eq!(run.json()["head"], run.json()["base"]);
}

#[test]
fn a_path_outside_the_scope_is_never_landed() {
    let world = world();
    let builder = world.program("builder.sh", "echo hello > greeting; echo changed > kept");
    let waypoint = world.fly(&builder, &[]).expect(1).waypoint("hello");
    assert_eq!(waypoint["status"], "failed");
    let repair = world.program("repair.sh", "grep -q kept \"$HOLDPOINT_FEEDBACK_FILE\"; echo as it was > kept");
    let run = world.fly(&builder, &["--repair", &repair]);
    assert_eq!(run.expect(0).waypoint("hello")["attempts"], 2);
}

#[test]
fn a_steering_file_decides_what_a_check_runs_and_is_not_changed_in_passing() {
    let world = World::new(&[("greeting", "nothing\n"), ("check.sh", "grep -q hello greeting\n")]);
    world.plan(
        &PLAN
            .replace("cat greeting; grep -q hello greeting", "sh check.sh")
            .replace("    scope: [\"greeting\", \"notes/**\"]\n", ""),
    );
    let builder = world.program("builder.sh", "echo true > check.sh");
    let run = world.fly(&builder, &[]);
    let waypoint = run.expect(1).waypoint("hello");
    assert_eq!(waypoint["status"], "failed", "{waypoint}");
    assert!(run.stderr.contains("protected_changed"), "{}", run.stderr);
}

#[test]
fn a_check_that_makes_itself_green_does_so_on_the_base_and_is_refused_before_anybody_works() {
    let world = world();
    world.plan(&PLAN.replace(
        "cat greeting; grep -q hello greeting",
        "echo hello > greeting; echo x > new; grep -q hello greeting",
    ));
    let builder = world.program("builder.sh", "echo good evening > greeting");
    let run = world.fly(&builder, &[]);
    let waypoint = run.expect(1).waypoint("hello");
    assert_eq!((&waypoint["reason_code"], &waypoint["attempts"]), (&"not_red".into(), &0.into()), "{waypoint}");
}

#[test]
fn a_builder_reaches_neither_the_state_folder_nor_the_users_repository() {
    let world = world();
    let (state, repo) = (world.path("state"), world.path("repo"));
    let builder = world.program(
        "builder.sh",
        &format!(
            "find {state} -name '*.creds' -o -name authority.json -o -name '*.toml' | grep . && exit 9\n\
             cat {repo}/kept && exit 9\n\
             (echo x > {repo}/planted) && exit 9\n\
             env | grep -i creds && exit 9\n\
             cat /proc/$PPID/environ | grep -a HOLDPOINT__ && exit 9\n\
             echo hello > greeting",
            state = state.display(),
            repo = repo.display()
        ),
    );
    world.fly(&builder, &[]).expect(0);
    assert!(!repo.join("planted").exists());
}

#[test]
fn a_plan_over_the_bound_of_open_flights_is_refused_with_the_setting_and_the_exit_of_other_refusals() {
    let world = world();
    let builder = world.program("builder.sh", "true");
    let bound = [("HOLDPOINT__ORCHESTRATOR__OPEN_FLIGHTS", "1"), ("HOLDPOINT__AGENT__ACK_WAIT", "2m")];
    let fleet = up(&world, &["--builder", &builder], &bound);
    ["builder", "verifier"].into_iter().for_each(|role| signal_own(&fleet, role, Signal::SIGSTOP));
    // Commands that find the fleet by themselves have a key each.
    let creds = operator(&world, "ann").display().to_string();
    let submit = ["submit", "../plan/plan.yaml", "--repo", ".", "--json", "--nats", &fleet.url, "--creds", &creds];
    world.holdpoint(&submit).expect(0);
    let refused = world.holdpoint(&submit);
    let json = refused.expect(2).json();
    assert_eq!(json["error"]["code"], "refused", "{refused}");
    for part in ["ann has 1 flights open", "may have 1", "orchestrator.open_flights"] {
        assert!(refused.stderr.contains(part), "{part} in {refused}");
    }
}
