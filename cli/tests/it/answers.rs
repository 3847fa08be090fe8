//! Help, and what is refused before anything starts.

use std::{
    fs::OpenOptions,
    path::Path,
    process::{Command, Stdio},
};

use crate::lab::{Lab, git, script};

const RUN: [&str; 6] = ["run", "plan.yaml", "--repo", "repo", "--builder", "true"];

#[test]
fn help_teaches_with_examples() {
    let lab = Lab::new();
    let help = lab.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in
        ["run", "up", "submit", "watch", "status", "history", "artifact", "fetch", "doctor", "workflow", "completion"]
    {
        assert!(help.stdout.contains(command), "{command}");
    }
    let run = lab.run(&["run", "--help"]);
    assert!(run.stdout.contains("Examples:") && run.stdout.contains("--resume"), "{}", run.stdout);
    for command in ["events", "gates", "report"] {
        let help = lab.run(&[command, "--help"]).stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("holdpoint {command}")), "{help}");
    }
    for action in ["check", "show", "new"] {
        let help = lab.run(&["workflow", action, "--help"]).stdout;
        assert!(help.contains("Examples:") && help.contains("holdpoint workflow"), "{help}");
    }
}

#[test]
fn an_unknown_flag_is_refused_also_as_json() {
    let lab = Lab::new();
    lab.run(&["run", "plan.yaml", "--bulder", "true"]).refuses(2, &["--bulder", "--builder"]);
    let json = lab.run(&["run", "plan.yaml", "--bulder", "true", "--json"]);
    assert_eq!(json.json()["error"]["code"], "arguments");
    lab.run(&["run"]).refuses(2, &["PLAN"]);
}

#[test]
fn a_flag_of_other_commands_is_refused_with_their_names() {
    let lab = Lab::new();
    let builder = lab.run(&["submit", "plan.yaml", "--builder", "true"]);
    builder.refuses(2, &["tip: '--builder' is a flag of `holdpoint run`, `holdpoint check`, `holdpoint up`"]);
    assert!(!builder.stderr.contains("as a value"), "{}", builder.stderr);
    lab.run(&["status", "--expires", "1h"]).refuses(2, &["'--expires' is a flag of `holdpoint keys add`"]);
    // All have it: that says nothing.
    assert!(!lab.run(&["completion", "bash", "--json"]).stderr.contains("is a flag of"));
    lab.run(&["report", "--last", "0"]).refuses(2, &["--last", "0 is not in 1..=1000000"]);
}

#[test]
fn a_state_folder_that_cannot_be_made_is_an_error_and_not_an_empty_list() {
    let lab = Lab::new();
    let nowhere = [("HOLDPOINT_STATE_DIR", Path::new("/proc/nowhere"))];
    lab.run_with(&["status", "--repo", "repo"], &nowhere).refuses(3, &["cannot write in /proc", "HOLDPOINT_STATE_DIR"]);
    let none = lab.run(&["status", "--repo", "repo"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "no flights yet\n"), "{}", none.stderr);
    assert!(!lab.path("state").exists(), "nothing was begun");
}

#[test]
fn files_that_are_not_there_to_be_reloaded_are_named_with_their_flag() {
    let lab = Lab::new();
    let reload = ["org", "reload", "--repo", "repo"];
    lab.run(&reload).refuses(2, &["repo/project.yaml", "--project FILE", "--repo DIR"]);
    std::fs::write(lab.path("repo/project.yaml"), "workflow: {name: x, gates: [{id: a, role: b}]}\n").unwrap();
    let org = lab.run(&[&reload[..], &["--org", "nowhere.yaml"]].concat());
    org.refuses(2, &["cannot read nowhere.yaml", "name an org chart"]);
}

#[test]
fn completion_is_written_for_three_shells() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        let answer = lab.run(&["completion", shell]);
        assert_eq!(answer.code, Some(0));
        assert!(
            answer.stdout.contains("holdpoint")
                && answer.stdout.contains("history")
                && answer.stdout.contains("mermaid"),
            "{shell}"
        );
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let lab = Lab::new();
    assert_eq!(lab.run(&["man", "share/man1"]).code, Some(0));
    for (page, words) in
        [("holdpoint", "holdpoint"), ("holdpoint-run", "\\-\\-builder"), ("holdpoint-keys-add", "operator")]
    {
        let text = std::fs::read_to_string(lab.path(&format!("share/man1/{page}.1"))).unwrap();
        assert!(text.contains(".TH") && text.contains(words), "{page}: {text}");
    }
    lab.run(&["man", "/proc/nowhere"]).refuses(3, &["cannot write /proc/nowhere", "name a folder"]);
}

#[test]
fn what_is_not_there_or_taken_is_named_before_anything_starts() {
    let lab = Lab::new();
    lab.run(&["doctor", "--repo", "nowhere"]).refuses(2, &["there is no folder nowhere", "--repo"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let checked = lab.run(&["agent-check", "--role", "builder", "--port", &port, "--", "true"]);
    checked.refuses(3, &[&format!("port {port} cannot be used"), "--port"]);
}

#[test]
fn an_audit_by_keys_that_are_not_there_is_refused_and_not_done_by_those_of_the_fleet() {
    let lab = Lab::new();
    let trust = [("HOLDPOINT__NATS__TRUST", Path::new("nowhere/trust.json"))];
    let audit = ["audit", "flight-0a1b2c3d", "--nats", "nats://127.0.0.1:1", "--creds", "ann.creds"];
    lab.run_with(&audit, &trust).refuses(2, &["cannot read the trusted keys in nowhere/trust.json", "--trust"]);
}

#[test]
fn a_folder_that_is_no_repository_is_refused_with_a_hint() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("plain")).unwrap();
    let answer = lab.run(&["run", "plan.yaml", "--repo", "plain", "--builder", "true"]);
    answer.refuses(2, &["not inside a git repository", "--repo"]);
    assert!(!lab.path("state").exists(), "nothing was begun");
    let status = lab.run(&["status", "--repo", "plain", "--json"]);
    assert_eq!((status.code, &status.json()["error"]["code"]), (Some(2), &"not_a_repository".into()));
}

#[test]
fn a_repository_without_commits_or_base_is_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("empty")).unwrap();
    git(&lab.path("empty"), &["init", "--quiet"]);
    lab.run(&["run", "plan.yaml", "--repo", "empty", "--builder", "true"]).refuses(2, &["no commits yet", "commit"]);
    std::fs::write(lab.path("plan.yaml"), format!("base: no-such-branch\n{}", crate::lab::PLAN)).unwrap();
    lab.run(&RUN).refuses(2, &["no-such-branch", "base"]);
}

#[test]
fn all_problems_of_a_plan_are_told_at_once() {
    let lab = Lab::new();
    let plan = "plan: three\nwaypoint_typo: 1\nwaypoints:\n  - id: one\n    title: One\n    goal: Do it\n    \
                depends_on: [none]\n    criteria:\n      - {id: unit, statement: It works, check: 'true', timeout: soon}\n";
    std::fs::write(lab.path("plan.yaml"), plan).unwrap();
    lab.run(&RUN).refuses(2, &["plan.yaml:2:", "waypoint_typo", "none", "soon", "3 problems"]);
    let answer = lab.run(&["run", "plan.yaml", "--repo", "repo", "--builder", "true", "--json"]);
    let json = answer.json();
    let errors = json["errors"].as_array().unwrap();
    assert_eq!((answer.code, errors.len()), (Some(2), 3));
    for error in errors {
        for key in ["file", "line", "column", "message", "hint"] {
            assert!(!error[key].is_null(), "{key} in {error}");
        }
    }
}

#[test]
fn a_plan_that_is_not_there_is_refused() {
    Lab::new().run(&["run", "none.yaml", "--builder", "true"]).refuses(2, &["none.yaml", "PLAN"]);
}

#[test]
fn a_flight_without_a_builder_is_refused() {
    Lab::new().run(&["run", "plan.yaml", "--repo", "repo"]).refuses(2, &["no builder", "--builder"]);
}

#[test]
fn a_program_that_the_agents_clone_will_not_have_is_refused() {
    let lab = Lab::new();
    script(&lab.path("repo/agent.sh"), "#!/bin/sh\n");
    let answer = lab.run_inside(&["run", "../plan.yaml", "--builder", "./agent.sh --fast"]);
    answer.refuses(2, &["./agent.sh", "clone", "commit the program"]);
}

#[test]
fn a_wrong_configuration_is_refused_with_its_place() {
    let lab = Lab::new();
    std::fs::write(lab.path("holdpoint.toml"), "[agents.builder]\ncomand = \"make\"\n").unwrap();
    let answer = lab.run(&["run", "plan.yaml", "--repo", "repo", "--config", "holdpoint.toml"]);
    answer.refuses(2, &["holdpoint.toml", "comand"]);
}

#[test]
fn a_fleet_elsewhere_has_its_own_agents_and_wants_credentials() {
    let lab = Lab::new();
    let nats = ["--nats", "nats://127.0.0.1:1"];
    lab.run(&[&RUN[..], &nats].concat()).refuses(2, &["--builder", "--nats"]);
    lab.run(&[&["run", "plan.yaml", "--repo", "repo"][..], &nats].concat()).refuses(2, &["credentials", "--creds"]);
    let by_variable = lab.run_with(&RUN, &[("HOLDPOINT__NATS__URL", Path::new("nats://127.0.0.1:1"))]);
    by_variable.refuses(2, &["--builder"]);
}

#[test]
fn commands_of_operators_take_no_credentials_of_agents_and_processes() {
    let lab = Lab::new();
    lab.run(&["keys", "init", "--dir", "keys", "--json"]).json();
    for (file, holder) in [
        ("builder/builder-1.creds", "an agent (builder-1)"),
        ("orchestrator/orchestrator-1.creds", "a process of the fleet"),
    ] {
        let creds = format!("keys/{file}");
        let status = ["status", "--repo", "repo", "--nats", "nats://127.0.0.1:1", "--creds", &creds];
        lab.run(&status).refuses(2, &[&creds, holder, "keys add operator"]);
    }
}

#[test]
fn a_branch_in_the_way_is_refused_before_the_flight() {
    let lab = Lab::new();
    git(&lab.path("repo"), &["branch", "holdpoint"]);
    lab.run(&RUN).refuses(2, &["refs/heads/holdpoint is there", "rename or remove"]);
}

#[test]
fn a_machine_without_git_is_told_so() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("bin")).unwrap();
    let no_git = lab.path("bin");
    let run = lab.run_with(&RUN, &[("PATH", &no_git)]);
    run.refuses(3, &["git is not installed", "install git 2.38"]);
    let doctor = lab.run_with(&["doctor", "--repo", "repo", "--json"], &[("PATH", &no_git)]);
    assert_eq!((doctor.code, &doctor.json()["git"]["ok"]), (Some(3), &false.into()));
}

#[test]
fn a_git_that_is_too_old_is_told_so() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("bin")).unwrap();
    script(&lab.path("bin/git"), "#!/bin/sh\necho git version 2.30.2\n");
    lab.run_with(&RUN, &[("PATH", &lab.path("bin"))]).refuses(3, &["2.30", "2.38"]);
}

#[test]
fn where_nothing_was_flown_there_is_nothing_to_show() {
    let lab = Lab::new();
    let list = lab.run(&["status", "--repo", "repo", "--json"]);
    assert_eq!((list.code, list.json()), (Some(0), serde_json::json!([])));
    lab.run(&["history", "one", "--repo", "repo"]).refuses(2, &["nothing was flown"]);
    lab.run(&["run", "--resume", "small-00000000", "--repo", "repo"])
        .refuses(2, &["small-00000000", "holdpoint status"]);
    lab.run(&["submit", "plan.yaml", "--repo", "repo"]).refuses(3, &["no fleet runs", "holdpoint up"]);
    assert!(!lab.path("state").exists(), "nothing was begun");
}

#[test]
fn a_mistyped_file_of_an_audit_is_called_a_missing_file_too() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("plain")).unwrap();
    let answer = lab.run(&["audit", "exprot.jsonl", "--repo", "plain"]);
    answer.refuses(2, &["exprot.jsonl", "file"]);
    let answer = lab.run(&["audit", "exprot", "--repo", "plain"]);
    answer.refuses(2, &["not inside a git repository", "there is no file exprot either"]);
}

#[test]
fn a_mistyped_schema_is_told_the_nearest_one() {
    let lab = Lab::new();
    lab.run(&["schema", "verification_reprot"]).refuses(2, &["did you mean `verification_report`?"]);
    lab.run(&["schema", ""]).refuses(2, &["there is no schema ``", "there are: "]);
    lab.run(&["schema", "zzzzzz"]).refuses(2, &["there are: ", "verification_report"]);
}

#[test]
fn results_that_cannot_be_written_are_an_error_unless_nobody_reads_them() {
    for word in ["schema", "--help", "--version"] {
        let run = |out: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
            command.arg(word).stdout(out).stderr(Stdio::piped()).output().unwrap()
        };
        let full = run(OpenOptions::new().write(true).open("/dev/full").unwrap().into());
        let said = String::from_utf8_lossy(&full.stderr);
        assert_eq!(
            (full.status.code(), said.contains("cannot write standard output: No space")),
            (Some(3), true),
            "{word}: {said}"
        );
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        assert_eq!(run(write.into()).status.code(), Some(0), "{word}");
    }
}
