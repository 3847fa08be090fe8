//! `check`: what `run` would refuse, and nothing started or written.

use std::fs;

use crate::lab::{Lab, PLAN, script};

/// The programs that builders, judges and repair agents name, with what is reported of each that cannot be started.
const CANNOT_START: [(&str, &str, &str); 6] = [
    (
        "--builder",
        "no-such-agent -p",
        "the program of the builder, no-such-agent, cannot be started: it is not in PATH",
    ),
    ("--builder", "A=1 ./none.sh", "the program of the builder, ./none.sh, cannot be started: there is no such file"),
    ("--builder", "/none/agent x", "the program of the builder, /none/agent, cannot be started: there is no such file"),
    ("--repair", "no-such-agent", "the program of the repair agent, no-such-agent, cannot be started"),
    ("--judge", "no-such-judge", "the program of the judge, no-such-judge, cannot be started"),
    ("--judge", "./text", "cannot be started: it is not an executable file"),
];

fn checked(lab: &Lab, more: &[&str]) -> crate::lab::Answer {
    let answer = lab.run(&[&["check", "plan.yaml", "--repo", "repo"], more].concat());
    assert!(!lab.path("state").exists(), "nothing was begun");
    answer
}

#[test]
fn a_plan_that_can_be_flown_is_told_with_its_base_and_its_warnings() {
    let lab = Lab::new();
    let judged = format!("{PLAN}      - {{id: readable, statement: It can be read}}\n");
    fs::write(lab.path("plan.yaml"), judged).unwrap();
    let answer = checked(&lab, &["--builder", "true", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    assert_eq!((&report["ok"], &report["plan"]), (&true.into(), &"small".into()));
    assert_eq!((&report["waypoints"], &report["criteria"]), (&1.into(), &2.into()));
    assert_eq!(report["base"].as_str().map(str::len), Some(40));
    let warnings = report["warnings"].as_array().unwrap();
    let [judge, scope] = &warnings[..] else { panic!("{report}") };
    let (judge, scope) = (judge.as_str().unwrap(), scope.as_str().unwrap());
    assert!(judge.contains("criterion readable of waypoint one") && judge.contains("judge_missing"), "{judge}");
    assert!(scope.starts_with("plan.yaml:3:5: no scope bounds waypoint one"), "{scope}");
    assert_eq!(answer.stderr, format!("warning: {judge}\nwarning: {scope}\n"));

    let answer = checked(&lab, &["--builder", "true", "--judge", "true"]);
    assert_eq!((answer.code, answer.stderr), (Some(0), format!("warning: {scope}\n")));
    assert!(answer.stdout.starts_with("small can be flown from "), "{}", answer.stdout);
}

#[test]
fn a_plan_is_looked_at_before_there_is_a_builder() {
    let lab = Lab::new();
    let answer = checked(&lab, &[]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stderr.contains("warning: no builder is named"), "{}", answer.stderr);
    lab.run(&["run", "plan.yaml", "--repo", "repo"]).refuses(2, &["no builder is configured"]);
}

#[test]
fn a_plan_configuration_or_repository_that_run_would_refuse_is_refused() {
    let lab = Lab::new();
    let more = ["--builder", "true", "--nats", "nats://127.0.0.1:1"];
    checked(&lab, &more).refuses(2, &["--builder cannot be used with a fleet elsewhere"]);
    lab.run(&["check", "plan.yaml", "--repo", "."]).refuses(2, &["git init"]);
    lab.run(&["check", "none.yaml", "--repo", "repo"]).refuses(2, &["cannot read the plan none.yaml"]);
    fs::write(lab.path("odd.toml"), "[agents.builder]\ncomand = 'x'\n").unwrap();
    checked(&lab, &["--config", "odd.toml"]).refuses(2, &["comand"]);
    fs::write(lab.path("plan.yaml"), format!("{PLAN}base: none\n")).unwrap();
    checked(&lab, &[]).refuses(2, &["none"]);
    fs::write(lab.path("plan.yaml"), format!("{PLAN}budget: {{tokens: 0}}\npolicy: {{mode: alone}}\n")).unwrap();
    let answer = checked(&lab, &["--json"]);
    answer.refuses(
        2,
        &[
            "plan.yaml:8:18: `tokens: 0` is not a number that is allowed here",
            "plan.yaml:9:16: `mode: alone` is not a mode",
        ],
    );
    assert_eq!(answer.json()["errors"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_machine_without_a_broker_is_told_so() {
    let lab = Lab::new();
    let none = lab.path("none");
    let args = ["check", "plan.yaml", "--repo", "repo", "--builder", "true"];
    lab.run_with(&args, &[("HOLDPOINT_NATS_SERVER", &none)]).refuses(3, &["no nats-server"]);
}

#[test]
fn a_program_that_cannot_be_started_is_refused_before_anything_starts() {
    let lab = Lab::new();
    fs::write(lab.path("text"), "x\n").unwrap();
    for (flag, program, told) in CANNOT_START {
        let builder: &[&str] = if flag == "--builder" { &[] } else { &["--builder", "true"] };
        let flags = [builder, &[flag, program]].concat();
        checked(&lab, &flags).refuses(2, &[told, "hint: "]);
        lab.run(&[&["run", "plan.yaml", "--repo", "repo"], flags.as_slice()].concat()).refuses(2, &[told]);
        lab.run(&[&["up", "--repo", "repo"], flags.as_slice()].concat()).refuses(2, &[told]);
        assert!(!lab.path("state").exists(), "nothing was begun");
    }
}

#[test]
fn a_program_that_can_be_started_or_may_be_is_left_to_the_shell() {
    let lab = Lab::new();
    script(&lab.path("agent.sh"), "#!/bin/sh\n");
    script(&lab.path("repo/own.sh"), "#!/bin/sh\n");
    crate::lab::git(&lab.path("repo"), &["add", "own.sh"]);
    crate::lab::git(&lab.path("repo"), &["commit", "--quiet", "--message", "An agent"]);
    for builder in [
        "sh -c true",
        "./agent.sh x",
        "A=1 ./agent.sh",
        "./own.sh",
        "cd /none && ./agent.sh",
        "no-such-agent || true",
        "'no such agent'",
        "$AGENT",
        "exec no-such-agent",
    ] {
        let answer = checked(&lab, &["--builder", builder]);
        assert_eq!(answer.code, Some(0), "{builder}: {}", answer.stderr);
    }
    fs::remove_file(lab.path("repo/own.sh")).unwrap();
    let answer = checked(&lab, &["--builder", "./own.sh"]);
    assert_eq!(answer.code, Some(0), "it is in the clone: {}", answer.stderr);
}

#[test]
fn skills_of_the_base_are_listed_with_their_waypoints_and_others_are_warned_of() {
    let lab = Lab::new();
    let of = |applies: &str| format!("---\napplies: {applies}\n---\nDo it like this.\n");
    fs::create_dir_all(lab.path("repo/docs/skills/tools")).unwrap();
    for (name, text) in [
        ("do.md", of("{words: [do]}")),
        ("python.md", of("{stack: [python]}")),
        ("tools/SKILL.md", of("{paths: [file]}")),
        ("broken.md", of("{stak: [rust]}")),
        ("README.md", "Skills.\n".to_owned()),
        ("long.md", "x".repeat(25 << 10)),
    ] {
        fs::write(lab.path("repo/docs/skills").join(name), text).unwrap();
    }
    for (to, name) in [("do.md", "link.md"), ("tools", "elsewhere"), ("/etc/passwd", "out.md"), ("none", "gone")] {
        std::os::unix::fs::symlink(to, lab.path("repo/docs/skills").join(name)).unwrap();
    }
    let answer = checked(&lab, &["--builder", "true", "--json"]);
    assert_eq!(answer.json()["skills"], serde_json::json!([]), "none is committed yet");
    crate::lab::git(&lab.path("repo"), &["add", "."]);
    crate::lab::git(&lab.path("repo"), &["commit", "--quiet", "--message", "Skills"]);

    let answer = checked(&lab, &["--builder", "true"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let skills: Vec<&str> = answer.stdout.lines().skip(1).collect();
    assert_eq!(
        skills,
        [
            "skill docs/skills/do.md: one",
            "skill docs/skills/python.md: no waypoint's first turn",
            "skill docs/skills/tools/SKILL.md: one",
        ]
    );
    for warning in [
        "warning: docs/skills/broken.md:2:11: unknown key `stak` in `applies`; did you mean `stack`?\n",
        "warning: docs/skills/gone: it is a link to nothing in the repository, so no agent gets it\n",
        "warning: docs/skills/out.md: it is a link to nothing in the repository, so no agent gets it\n",
        "warning: docs/skills/long.md: it is larger than 24 KiB, so no agent gets it\n",
    ] {
        assert!(answer.stderr.contains(warning), "{warning} in {}", answer.stderr);
    }
    let report = checked(&lab, &["--builder", "true", "--json"]).json();
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(5), "four skills, and the scope");
    assert_eq!(report["skills"][0], serde_json::json!({"path": "docs/skills/do.md", "waypoints": ["one"]}));
}

#[test]
fn patterns_say_what_they_match_on_the_base_and_one_that_protects_nothing_is_warned_of() {
    let lab = Lab::new();
    let repo = lab.path("repo");
    for folder in ["app/[slug]", "legal/[lang]"] {
        fs::create_dir_all(repo.join(folder)).unwrap();
        fs::write(repo.join(folder).join("page.tsx"), "1\n").unwrap();
    }
    crate::lab::git(&repo, &["add", "."]);
    crate::lab::git(&repo, &["commit", "--quiet", "--message", "Pages"]);
    let scoped = PLAN.replace("    goal: Do it\n", "    goal: Do it\n    scope: ['app/[slug]/**', 'new/**']\n");
    let lists = "protected:\n  - legal/[lang]/**\n  - leagl/**\n";
    fs::write(lab.path("plan.yaml"), format!("{scoped}{lists}")).unwrap();

    let answer = checked(&lab, &["--builder", "true"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let lines: Vec<&str> = answer.stdout.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "protected legal/[lang]/**: 1 path, legal/[lang]/page.tsx",
            "protected leagl/**: no path yet",
            "scope of one app/[slug]/**: 1 path, app/[slug]/page.tsx",
            "scope of one new/**: no path yet",
        ]
    );
    let warning = "warning: plan.yaml:11:5: `leagl/**` protects nothing: it matches no path on the base; ";
    assert!(answer.stderr.contains(warning), "{}", answer.stderr);
    let report = checked(&lab, &["--builder", "true", "--json"]).json();
    assert_eq!(report["patterns"][2]["paths"], 1);
    assert_eq!(report["patterns"][2]["waypoint"], "one");
    assert_eq!(report["patterns"][0]["examples"], serde_json::json!(["legal/[lang]/page.tsx"]));
}

#[test]
fn documents_that_a_plan_counts_on_and_nobody_gets_are_warned_of() {
    let lab = Lab::new();
    let repo = lab.path("repo");
    fs::create_dir(repo.join("web")).unwrap();
    for (to, name) in [("../nowhere.md", "AGENTS.md"), ("../../shared/AGENTS.md", "web/AGENTS.md")] {
        std::os::unix::fs::symlink(to, repo.join(name)).unwrap();
    }
    crate::lab::git(&repo, &["add", "."]);
    crate::lab::git(&repo, &["commit", "--quiet", "--message", "Links"]);
    fs::write(lab.path("plan.yaml"), format!("{PLAN}sources: [docs/spec.md]\n")).unwrap();
    let answer = checked(&lab, &["--builder", "true"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    for warning in [
        "warning: AGENTS.md is a link to no file of the repository, so no agent gets it",
        "warning: web/AGENTS.md is a link to no file of the repository, so no agent gets it",
        "warning: none of the documents in `sources` is on the base",
    ] {
        assert!(answer.stderr.contains(warning), "{warning} in {}", answer.stderr);
    }
    fs::write(lab.path("plan.yaml"), format!("{PLAN}covenant: RULES.md\n")).unwrap();
    let answer = checked(&lab, &["--builder", "true"]);
    assert!(answer.stderr.contains("warning: the covenant RULES.md is not on the base"), "{}", answer.stderr);
}

#[test]
fn a_plan_and_declarations_with_a_byte_order_mark_are_read() {
    let lab = Lab::new();
    let repo = lab.path("repo");
    let project = "\u{feff}workflows:\r\n  - name: own\r\n    gates: [{id: build, role: builder}, {id: verify, role: verifier, canReject: true}]\r\n";
    fs::write(repo.join("project.yaml"), project).unwrap();
    crate::lab::git(&repo, &["add", "."]);
    crate::lab::git(&repo, &["commit", "--quiet", "--message", "Workflow"]);
    fs::write(lab.path("plan.yaml"), format!("\u{feff}{PLAN}workflow: own\n").replace('\n', "\r\n")).unwrap();
    fs::write(lab.path("odd.toml"), "\u{feff}[agents.builder]\r\ncommand = 'true'\r\n").unwrap();
    let answer = checked(&lab, &["--config", "odd.toml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}

#[test]
fn a_red_guard_that_lacks_what_it_may_ask_for_is_helped() {
    let lab = Lab::new();
    for (check, hint) in [
        ("cd . && no-such-program --version", "not found: no-such-program; install it"),
        ("python3 -c \"import socket; socket.create_connection(('example.org', 80))\"", "`network: true`"),
    ] {
        let guard = format!("{PLAN}guards:\n  - id: lint\n    check: |\n      {check}\n");
        fs::write(lab.path("plan.yaml"), guard).unwrap();
        checked(&lab, &["--builder", "true"]).refuses(2, &["guard lint is red", hint]);
    }
}
