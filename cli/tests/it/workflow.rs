//! `workflow`: checking, showing and beginning declared workflows.

use std::fs;

use crate::lab::{Lab, git};

/// A project with a role that its org chart does not have, and a gate that is there twice.
const WRONG: &str = "workflow:\n  name: x\n  gates:\n    - {id: a, role: writer}\n    - {id: a, role: riter}\n";
/// A chart for it.
const ORG: &str = "roles:\n  writer: {agents: [agent-1]}\n  spare: {agents: []}\n";
/// A sound workflow. By a chart in which only people make work it cannot be run.
const CHAINED: &str = "\
workflow:
  name: x
  gates:
    - {id: a, role: maker, escalateTo: [senior, lead], timeout: 2h}
    - {id: b, role: verifier, canReject: true, escalateTo: lead}
";
/// A chart for it.
const MAKERS: &str = "\
roles:
  maker: {agents: [agent-1], plane: build}
  senior: {agents: [agent-2], plane: build}
  lead: {agents: [human-ann], requireHuman: true}
";
/// A sound workflow that is run.
const RIGHT: &str = "workflow:\n  name: x\n  gates:\n    - {id: a, role: writer}\n    \
                     - {id: b, role: writer, when: 'tags[0]', canReject: true}\n";

#[test]
fn every_problem_is_reported_with_its_place_and_exit_2() {
    let lab = Lab::new();
    fs::write(lab.path("project.yaml"), WRONG).unwrap();
    fs::write(lab.path("org.yaml"), ORG).unwrap();
    let answer = lab.run(&["workflow", "check", "--json"]);
    answer.refuses(
        2,
        &[
            "project.yaml:5:12: there are two gates with the id `a`",
            "project.yaml:5:21: role `riter` is not in the org chart",
            " 5 |     - {id: a, role: riter}\n   |                     ^\n   hint: did you mean `writer`?",
            "2 problems",
            "org.yaml:3:19: warning: role `spare` has no agents",
        ],
    );
    let report = answer.json();
    assert_eq!((&report["ok"], report["errors"].as_array().map(Vec::len)), (&false.into(), Some(2)), "{report}");
    let warning = &report["warnings"][0];
    assert_eq!((&warning["file"], &warning["line"], &warning["column"]), (&"org.yaml".into(), &3.into(), &19.into()));
    lab.run(&["workflow", "show"]).refuses(2, &["project.yaml:5:12"]);
    assert_eq!(lab.run(&["workflow", "show", "fly"]).code, Some(0), "what is built in needs no file");
    lab.run(&["workflow", "check", "none.yaml"]).refuses(2, &["cannot read none.yaml", "holdpoint workflow new"]);
}

#[test]
fn nine_errors_in_one_file_are_told_by_one_command() {
    let lab = Lab::new();
    let wrong = include_str!("../../../planfile/src/declared/fixtures/nine-errors.yaml");
    fs::write(lab.path("project.yaml"), wrong).unwrap();
    let org = "roles:\n  writer: {agents: [agent-w1, agent-w2]}\n  editor: {agents: [agent-e1, human-eve]}\n  \
               lead: {agents: [human-lea], requireHuman: true}\n  maker: {agents: [agent-m1], plane: build}\n";
    fs::write(lab.path("org.yaml"), org).unwrap();
    let answer = lab.run(&["workflow", "check", "--json"]);
    let places = ["3:19", "4:22", "8:18", "10:13", "12:16", "13:19", "14:11", "16:13", "18:15"];
    answer.refuses(2, &places.map(|place| format!("project.yaml:{place}: ")).each_ref().map(String::as_str));
    assert_eq!(answer.json()["errors"].as_array().map(Vec::len), Some(places.len()), "{}", answer.stderr);
}

#[test]
fn an_org_chart_among_the_files_is_the_one_by_which_the_workflows_are_checked() {
    let lab = Lab::new();
    fs::write(lab.path("a-org.yaml"), MAKERS).unwrap();
    fs::write(lab.path("x.yaml"), CHAINED).unwrap();
    let sound = "x.yaml: x is sound: gates 2\na-org.yaml is sound: roles 3\n";
    for files in
        [&["a-org.yaml", "x.yaml"][..], &["x.yaml", "a-org.yaml"], &["a-org.yaml", "x.yaml", "--org", "a-org.yaml"]]
    {
        let answer = lab.run(&[&["workflow", "check"], files].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), sound), "{files:?} {}", answer.stderr);
    }
    let alone = lab.run(&["workflow", "check", "a-org.yaml"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(0), "a-org.yaml is sound: roles 3\n"), "{}", alone.stderr);
    fs::write(lab.path("b-org.yaml"), ORG).unwrap();
    let two = lab.run(&["workflow", "check", "a-org.yaml", "b-org.yaml", "x.yaml"]);
    two.refuses(2, &["a-org.yaml and b-org.yaml are org charts", "name one of them"]);
    fs::write(lab.path("b-org.yaml"), "roles:\n  writer: {agent: [agent-1]}\n").unwrap();
    lab.run(&["workflow", "check", "b-org.yaml"]).refuses(2, &["b-org.yaml:2:12: unknown key `agent`"]);
}

#[test]
fn a_sound_workflow_is_reported_with_what_keeps_it_from_being_run() {
    let lab = Lab::new();
    fs::write(lab.path("x.yaml"), CHAINED).unwrap();
    fs::write(lab.path("makers.yaml"), MAKERS).unwrap();
    let answer = lab.run(&["workflow", "check", "x.yaml", "--org", "makers.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert_eq!(answer.stdout, "x.yaml: x is sound: gates 2\nmakers.yaml is sound: roles 3\n");
    let show = |more: &[&str]| {
        lab.run(&[&["workflow", "show", "x", "--file", "x.yaml", "--org", "makers.yaml"], more].concat())
    };
    let row = "a     maker                 2h       senior, then lead\n";
    assert!(show(&[]).stdout.contains(row), "{}", show(&[]).stdout);
    assert!(show(&["--mermaid"]).stdout.contains("2h<br/>then senior, then lead"), "{}", show(&["--mermaid"]).stdout);
    assert_eq!(show(&["--json"]).json()["gates"][0]["escalations"][1]["role"], "lead");

    fs::write(lab.path("people.yaml"), MAKERS.replace("agent-1", "human-bob")).unwrap();
    let answer = lab.run(&["workflow", "check", "x.yaml", "--org", "people.yaml", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let report = answer.json();
    assert_eq!((&report["ok"], &report["roles"]), (&true.into(), &3.into()));
    assert_eq!(report["workflows"][0]["not_run_yet"][0], "gate a cannot belong to role maker");

    fs::write(lab.path("alone.yaml"), RIGHT).unwrap();
    let answer = lab.run(&["workflow", "check", "alone.yaml"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "alone.yaml: x is sound: gates 2\n"));
    assert!(answer.stderr.contains("warning: there is no org chart"), "{}", answer.stderr);
    fs::write(lab.path("chart.yaml"), ORG).unwrap();

    let keys = lab.path("keys").display().to_string();
    assert_eq!(lab.run(&["keys", "init", "--dir", &keys, "--builders", "1"]).code, Some(0));
    let answer = lab.run(&["workflow", "check", "--org", "chart.yaml", "--keys", &keys]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stderr.contains("chart.yaml:2:21: warning: there is no key of `agent-1`"), "{}", answer.stderr);
    assert_eq!(answer.stdout, "chart.yaml is sound: roles 2\n");
}

#[test]
fn workflows_are_listed_and_shown_as_table_flowchart_and_json() {
    let lab = Lab::new();
    let answer = lab.run(&["workflow", "show"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.contains("\nfly           built in  build → verify\n"), "{}", answer.stdout);
    fs::write(lab.path("project.yaml"), RIGHT).unwrap();
    fs::write(lab.path("org.yaml"), ORG).unwrap();
    let answer = lab.run(&["workflow", "show", "x"]);
    let table = "x\nGATE  ROLE    REJECTS TO  WHEN\na     writer\nb     writer  a           tags[0]\n";
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), table), "{}", answer.stderr);
    let answer = lab.run(&["workflow", "show", "fly-approved", "--mermaid"]);
    assert!(answer.stdout.starts_with("flowchart TD\n"), "{}", answer.stdout);
    let answer = lab.run(&["workflow", "show", "fly", "--json"]);
    assert_eq!(answer.json()["gates"][1]["canReject"], true);
    lab.run(&["workflow", "show", "flyy"]).refuses(2, &["there is no workflow flyy", "did you mean `fly`?"]);
    lab.run(&["workflow", "show", "--mermaid"]).refuses(2, &["NAME"]);
}

#[test]
fn a_starter_is_printed_or_written_and_passes_the_check_as_it_is() {
    for kind in ["review", "security", "sales", "publishing"] {
        let lab = Lab::new();
        let new = |more: &[&str]| lab.run(&[&["workflow", "new", kind], more].concat());
        let printed = new(&[]).stdout;
        assert_eq!(new(&["--out", "project.yaml"]).stdout, "project.yaml\n");
        assert_eq!(fs::read_to_string(lab.path("project.yaml")).unwrap(), printed);
        assert_eq!(new(&["--org", "--out", "org.yaml"]).code, Some(0));
        let answer = lab.run(&["workflow", "check"]);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{kind}");
        new(&["--out", "project.yaml"]).refuses(2, &["cannot write project.yaml", "nothing is overwritten"]);
        assert_eq!(fs::read_to_string(lab.path("project.yaml")).unwrap(), printed);
    }
}

/// People alone: what a fleet without agents of its own roles can fly.
const SIGNED: &str = "workflow:\n  name: x\n  gates:\n    - {id: draft, role: lead}\n    \
                      - {id: sign, role: lead, canReject: true, when: 'tags[0]'}\n";
const LEAD: &str = "roles:\n  lead: {agents: [human-ann], requireHuman: true}\n";

/// Commits these files to the repository, and has the plan name the workflow `x`.
fn declaring(files: &[(&str, &str)]) -> Lab {
    let lab = Lab::new();
    for (name, text) in files {
        fs::write(lab.path("repo").join(name), text).unwrap();
        git(&lab.path("repo"), &["add", name]);
    }
    git(&lab.path("repo"), &["commit", "--quiet", "--allow-empty", "--message", "Declare"]);
    let plan = fs::read_to_string(lab.path("plan.yaml")).unwrap();
    fs::write(lab.path("plan.yaml"), format!("workflow: x\n{plan}")).unwrap();
    lab
}

fn check(lab: &Lab) -> crate::lab::Answer {
    lab.run(&["check", "plan.yaml", "--repo", "repo", "--builder", "true"])
}

#[test]
fn a_plan_names_what_the_repository_declares_on_its_base() {
    let lab = declaring(&[("project.yaml", SIGNED), ("org.yaml", LEAD)]);
    let answer = check(&lab);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stderr.contains("project.yaml:4:7: warning: gate `draft` waits for people"), "{}", answer.stderr);
    // The working tree is nobody's declaration.
    fs::write(lab.path("repo/project.yaml"), WRONG).unwrap();
    assert_eq!(check(&lab).code, Some(0));
    let lab = declaring(&[]);
    fs::write(lab.path("repo/project.yaml"), SIGNED).unwrap();
    let words =
        ["plan.yaml:1:11: unknown workflow `x`", "note: workflow x is not in project.yaml of HEAD", "committed"];
    check(&lab).refuses(2, &words);
}

#[test]
fn what_a_folder_without_a_repository_declares_is_said_to_lack_a_workflow_and_nothing_about_commits() {
    let lab = Lab::new();
    fs::create_dir(lab.path("plain")).unwrap();
    fs::write(lab.path("plan.yaml"), format!("workflow: x\n{}", crate::lab::PLAN)).unwrap();
    let answer = lab.run(&["check", "plan.yaml", "--repo", "plain"]);
    answer.refuses(2, &["unknown workflow `x`", "note: workflow x is not in project.yaml of "]);
    assert!(!answer.stderr.contains("committed"), "{}", answer.stderr);
}

#[test]
fn declarations_that_are_wrong_or_cannot_be_run_are_refused_where_a_plan_needs_them() {
    let broken = SIGNED.replace("'tags[0]'", "'tags[0'");
    let lab = declaring(&[("project.yaml", &broken), ("org.yaml", LEAD)]);
    check(&lab).refuses(2, &["project.yaml:5:", "`when: tags[0` is no predicate: it is no JavaScript expression"]);
    let only_people = MAKERS.replace("agent-1", "human-bob");
    let lab = declaring(&[("project.yaml", CHAINED), ("org.yaml", &only_people)]);
    let why = "gate a cannot belong to role maker";
    check(&lab).refuses(2, &["workflow x of project.yaml cannot be flown", why, "workflow show"]);
    // Nobody looks at them for a plan that does not.
    let plan = fs::read_to_string(lab.path("plan.yaml")).unwrap().replace("workflow: x\n", "");
    fs::write(lab.path("plan.yaml"), plan).unwrap();
    assert_eq!(check(&lab).code, Some(0));
}
