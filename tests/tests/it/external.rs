//! Agents in another language, with our own in one flight; and what `agent-check` reports to the author of an agent.

use holdpoint_protocol::ids::role;
use holdpoint_tests::{
    external::{Foreign, example, python, signal_own, there, up},
    world::{World, eventually},
};
use nix::sys::signal::Signal;
use serde_json::Value;

const PLAN: &str = r#"
plan: mixed
waypoints:
  - {id: w1, goal: "done in w1.txt", criteria: [{id: c, check: "cat w1.txt; grep -q done w1.txt", red_first: true}]}
  - {id: w2, goal: "done in w2.txt", criteria: [{id: c, check: "cat w2.txt; grep -q done w2.txt"}]}
  - {id: w3, goal: "done in w3.txt", criteria: [{id: c, check: "cat w3.txt; grep -q done w3.txt"}]}
"#;

/// Reads the file's name from the goal. Its second turn never ends.
const BUILD: &str = "name=$(grep -o 'w[0-9].txt'); if [ -e $HOME/once ]; then touch $HOME/twice; sleep 600; fi; touch $HOME/once; echo done > $name";

/// The agents of all artifacts of a kind, over all waypoints, with their delivery.
fn agents(world: &World, flight: &str, kind: &str) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for waypoint in ["w1", "w2", "w3"] {
        let history = world.holdpoint(&["history", waypoint, "--flight", flight, "--json"]);
        for line in history.expect(0).stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if line["kind"] == kind {
                let artifact = &line["artifact"];
                all.push((artifact["agent"].as_str().unwrap().to_owned(), artifact["delivery"].as_u64().unwrap()));
            }
        }
    }
    all
}

#[test]
fn a_python_builder_and_verifier_fly_beside_ours_and_one_that_is_killed_in_its_turn_loses_nothing() {
    let world = World::new(&[("kept", "as it was\n")]);
    world.plan(PLAN);
    let own = world.program("builder.sh", "echo done > $HOLDPOINT_WAYPOINT.txt");
    let fleet = up(&world, &["--builder", &own], &[("HOLDPOINT__AGENT__ACK_WAIT", "6s")]);
    // Ours sleep until the others have shown what they can do.
    signal_own(&fleet, "builder", Signal::SIGSTOP);
    signal_own(&fleet, "verifier", Signal::SIGSTOP);
    let home = world.path("home");
    let env = [("BUILD_COMMAND", BUILD), ("HOME", home.to_str().unwrap())];
    let (builds, verifies) = (role::id(role::BUILDER), role::id(role::VERIFIER));
    let mut builder = Foreign::start(&world, &fleet, &builds, "python-builder", "builder.py", &env);
    let mut verifier = Foreign::start(&world, &fleet, &verifies, "python-verifier", "verifier.py", &[]);

    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", ".", "--json"]);
    let flight = submitted.expect(0).json()["flight"].as_str().unwrap().to_owned();
    eventually("the second turn of the Python builder", || there(&home.join("twice")));
    let complete = || {
        let status = world.holdpoint(&["status", &flight, "--json"]);
        status.expect(0).json()["waypoints"].as_array().unwrap().iter().any(|w| w["status"] == "complete").then_some(())
    };
    eventually("a waypoint that the Python agents did alone", complete);
    builder.kill();
    verifier.end();
    signal_own(&fleet, "builder", Signal::SIGCONT);
    signal_own(&fleet, "verifier", Signal::SIGCONT);

    let watched = world.holdpoint(&["watch", &flight, "--json"]);
    let said = format!("{}\n{}", builder.said(), verifier.said());
    assert_eq!(watched.code, 0, "{watched}\n{said}");
    assert_eq!(watched.json()["status"], "accepted");
    world.holdpoint(&["fetch", &flight, "--repo", "."]).expect(0);
    let branch = watched.json()["branch"].as_str().unwrap().to_owned();
    for file in ["w1.txt", "w2.txt", "w3.txt"] {
        assert_eq!(world.git(&["show", &format!("{branch}:{file}")]), "done\n");
    }
    let built = agents(&world, &flight, "build_artifact");
    let named = |all: &[(String, u64)], agent: &str| all.iter().filter(|(name, _)| name == agent).count();
    assert_eq!((named(&built, "python-builder"), built.len()), (1, 3), "{built:?}");
    assert!(built.contains(&("builder-1".to_owned(), 2)), "the killed agent's turn came again: {built:?}");
    let reported = agents(&world, &flight, "verification_report");
    assert!(named(&reported, "python-verifier") >= 2 && named(&reported, "verifier-1") >= 1, "{reported:?}");
    for waypoint in ["w1", "w2", "w3"] {
        assert_eq!(watched.waypoint(waypoint)["attempts"], 1, "{watched}");
        let history = world.holdpoint(&["history", waypoint, "--flight", &flight, "--json"]);
        for line in history.expect(0).stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if line["kind"] == "verification_report" {
                let foreign = line["artifact"]["agent"] == "python-verifier";
                assert_eq!(line["artifact"]["receipt"]["foreign"], foreign, "{line}");
            }
        }
    }
}

const WRITTEN: &str = r#"
workflow:
  name: written
  gates:
    - id: draft
      role: writer
      document: {sections: [Impact]}
      checkpoints: [{name: requirements_addressed}]
    - {id: build, role: builder}
    - {id: verify, role: verifier, canReject: true}
"#;

/// Writes the section that was missing once it is named.
const WRITE: &str =
    r"if grep -q 'no section `Impact`'; then printf '# Impact\n\nNone.\n'; else printf '# Design\n\nOne file.\n'; fi";

#[test]
fn a_python_agent_corrects_its_document_until_the_checkpoints_of_its_gate_hold() {
    let world = World::new(&[("kept", "as it was\n"), ("project.yaml", WRITTEN)]);
    world.plan("plan: mixed\nworkflow: written\nwaypoints:\n  - {id: w1, goal: g, criteria: [{id: c, check: grep -q Impact w1.txt}]}\n");
    let own = world.program("builder.sh", "cp \"$HOLDPOINT_DOCUMENTS_DIR/draft.md\" w1.txt");
    let fleet = up(&world, &["--builder", &own, "--agent", "writer=exit 9"], &[]);
    signal_own(&fleet, "writer", Signal::SIGSTOP);
    let env = [("HOLDPOINT_ROLE", "writer"), ("WRITE_COMMAND", WRITE)];
    let mut writer = Foreign::start(&world, &fleet, &"writer".parse().unwrap(), "python-writer", "writer.py", &env);
    let submitted = world.holdpoint(&["submit", "../plan/plan.yaml", "--repo", ".", "--json"]);
    let flight = submitted.expect(0).json()["flight"].as_str().unwrap().to_owned();
    let watched = world.holdpoint(&["watch", &flight, "--json"]);
    assert_eq!(watched.code, 0, "{watched}\n{}", writer.said());
    assert!(writer.said().contains("was refused: completion_invalid"), "{}", writer.said());
    writer.end();
    let history = world.holdpoint(&["history", "w1", "--flight", &flight, "--json"]);
    let lines = history.expect(0).stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let handed: Vec<Value> = lines.filter(|line| line["kind"] == "completion").collect();
    let texts: Vec<_> = handed.iter().map(|line| line["artifact"]["document"]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["# Design\n\nOne file.\n", "# Impact\n\nNone.\n"], "{handed:#?}");
    assert_eq!(handed[1]["standing"], "taken", "{handed:#?}");
}

/// Findings of `agent-check` on a Python program, by rule.
fn checked(role: &str, program: &str, expected: i32) -> Vec<(String, String, String)> {
    let world = World::new(&[]);
    let mut command = world.command(&["agent-check", "--role", role, "--json", "--"]);
    command.arg(python()).arg(program).env("BUILD_COMMAND", "sleep 6; echo hello > greeting");
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let finished = world.start_with(command).finish();
    finished.expect(expected);
    let json = finished.json();
    assert_eq!(json["keeps"], expected == 0, "{finished}");
    let finding = |found: &Value| {
        let word = |field: &str| found[field].as_str().unwrap().to_owned();
        (word("rule"), word("outcome"), found["seen"].to_string())
    };
    json["findings"].as_array().unwrap().iter().map(finding).collect()
}

#[test]
fn agent_check_finds_nothing_wrong_with_the_python_verifier() {
    let findings = checked("verifier", example("verifier.py").to_str().unwrap(), 0);
    let not_right: Vec<_> = findings.iter().filter(|(_, outcome, _)| outcome != "right").collect();
    assert!(not_right.is_empty(), "{not_right:#?}");
}

#[test]
fn agent_check_finds_nothing_wrong_with_the_python_builder() {
    let findings = checked("builder", example("builder.py").to_str().unwrap(), 0);
    let not_right: Vec<_> = findings.iter().filter(|(_, outcome, _)| outcome != "right").collect();
    assert!(not_right.is_empty(), "{not_right:#?}");
}

/// The example verifier with some of its lines changed.
fn changed(world: &World, changes: &[(&str, &str, &str)]) -> String {
    for name in ["holdpoint_agent.py", "workplace.py", "verifier.py"] {
        let mut text = std::fs::read_to_string(example(name)).unwrap();
        for (_, from, to) in changes.iter().filter(|(file, ..)| *file == name) {
            assert!(text.contains(from), "{name} has no {from}");
            text = text.replace(from, to);
        }
        world.write(&format!("agent/{name}"), &text);
    }
    world.path("agent/verifier.py").to_str().unwrap().to_owned()
}

fn wrong(findings: &[(String, String, String)]) -> Vec<&str> {
    findings.iter().filter(|(_, outcome, _)| outcome == "wrong").map(|(rule, ..)| rule.as_str()).collect()
}

#[test]
fn agent_check_names_what_a_careless_agent_does_wrong() {
    let world = World::new(&[]);
    // Signs the payload alone, acknowledges before it hands off, passes everything.
    let program = changed(
        &world,
        &[
            ("holdpoint_agent.py", "subject.encode() + b\"\\n\" + payload", "payload"),
            (
                "holdpoint_agent.py",
                "await self.hand_off(*task.result())",
                "await message.ack(); await self.hand_off(*task.result())",
            ),
            ("verifier.py", "return \"fail\", \"exit_code\"", "return \"pass\", None"),
        ],
    );
    let findings = checked("verifier", &program, 1);
    let wrong = wrong(&findings);
    for rule in ["signs", "acknowledges_last", "verdicts", "asks_progress"] {
        assert!(wrong.contains(&rule), "{rule} in {findings:#?}");
    }
    for rule in ["plans_first", "headers", "readable_handoff", "stays_in_its_role"] {
        assert!(!wrong.contains(&rule), "{rule} in {findings:#?}");
    }
}

#[test]
fn agent_check_names_what_a_rude_agent_does_wrong() {
    let world = World::new(&[]);
    // Plans nothing, sends no heartbeat, asks nobody, pulls several turns and waits, writes where it may not, and names
    // evidence that it has not stored.
    let program = changed(
        &world,
        &[
            (
                "holdpoint_agent.py",
                "await self.hand_off(*plan(self.turn))",
                "await self.nc.publish('hp.v1.blob.builder.x.0', b'')",
            ),
            ("holdpoint_agent.py", "await message.in_progress()", "pass"),
            (
                "holdpoint_agent.py",
                "if self.stopping:\n            return {\"reason\": \"this process ends\"}",
                "return None",
            ),
            // The broker gives nothing to who asks for several: none of the turns here is of that priority.
            (
                "holdpoint_agent.py",
                "b'{\"batch\":1,\"no_wait\":true}'",
                "b'{\"batch\":%d,\"expires\":500000000}' % (5 if priority == \"medium\" else 1)",
            ),
            ("verifier.py", "\"evidence\": [ran[\"output\"]]", "\"evidence\": [\"sha256:\" + \"0\" * 64]"),
        ],
    );
    let findings = checked("verifier", &program, 1);
    let wrong = wrong(&findings);
    let rules = [
        "plans_first",
        "heartbeats",
        "asks_progress",
        "pulls_by_priority",
        "one_turn_at_a_time",
        "stays_in_its_role",
        "blobs_first",
    ];
    for rule in rules {
        assert!(wrong.contains(&rule), "{rule} in {findings:#?}");
    }
    assert!(!wrong.contains(&"signs"), "{findings:#?}");
}

#[test]
fn schemas_are_written_as_files_and_are_the_published_ones() {
    let world = World::new(&[]);
    world.holdpoint(&["schema", "--out", "schemas"]).expect(0);
    let folder = world.path("repo/schemas");
    let published = holdpoint_tests::world::root().join("protocol/schemas");
    let mut count = 0;
    for entry in std::fs::read_dir(published).unwrap() {
        let name = entry.as_ref().unwrap().file_name();
        let fresh = std::fs::read(folder.join(&name)).unwrap_or_else(|error| panic!("{}: {error}", name.display()));
        assert_eq!(fresh, std::fs::read(entry.unwrap().path()).unwrap(), "{}", name.display());
        count += 1;
    }
    assert!(count > 20);
    let asyncapi = world.holdpoint(&["schema", "asyncapi"]);
    assert_eq!(asyncapi.expect(0).json()["asyncapi"], "3.0.0");
    let unknown = world.holdpoint(&["schema", "no-such", "--json"]);
    assert!(unknown.expect(2).json()["error"]["hint"].as_str().unwrap().contains("verification_report"));
    assert!(folder.join("asyncapi.json").is_file() && folder.join("names.json").is_file());
}
