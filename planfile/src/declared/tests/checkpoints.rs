//! Checkpoints as they are declared: each rule broken alone, and what words and commands stand for.

use holdpoint_protocol::checkpoint::CheckpointRule;

use super::{
    ORG, checked,
    rules::{refused, with},
    told,
};
use crate::declared::{presets, read as read_file};

#[test]
fn each_rule_of_checkpoints_has_its_place_and_its_hint() {
    let table: &[(&str, &str)] = &[
        (
            "role: editor\ncheckpointRetries: 2",
            "8:26: `checkpointRetries` says nothing without checkpoints | add `checkpoints:`, or remove it",
        ),
        (
            "role: editor\ncheckpoints: [{name: a}, {name: a}]",
            "8:39: gate `edit` has two checkpoints with the name `a` | give each its own name; `document` and `proposal` are those of the document and the proposal themselves",
        ),
        (
            "role: editor\ncheckpoints: [{name: a, section: Impact}]",
            "8:40: `section` looks at a document, and gate `edit` has none | add `document: {sections: […]}` to the gate",
        ),
        (
            "role: editor\ndocument: {sections: [A]}\ncheckpoints: [{name: a, matches: '('}]",
            "9:40: `matches` is not a regular expression: unclosed group | the syntax is that of Rust's `regex`; put `\\` before (, [, { and . that are meant as they stand",
        ),
        (
            "role: editor\ncheckpoints: [{name: a, touches: tests}]",
            "8:40: `touches` looks at work, and none is made or judged at gate `edit` | move it to the gate that makes the work, or to one that judges it",
        ),
        (
            "role: editor\ncheckpoints: [{name: a, run: make}]",
            "8:36: `run` looks at work, and none is made or judged at gate `edit` | move it to the gate that makes the work, or to one that judges it",
        ),
        (
            "role: lead\nrequireHuman: true\ntimeout: 1h\ncheckpoints: [{name: a}]",
            "10:20: gate `edit` has no checkpoints: people complete it | write what they look at as `expectations`",
        ),
        (
            "role: editor\ndocument: {sections: [A]}\ncheckpoints: [{name: a, section: A, lacks: x}]",
            "9:21: a checkpoint is established in one way, not by `section` or `lacks` | make one checkpoint of each",
        ),
        (
            "role: editor\ncheckpoints: [{name: a, rule: x}]",
            "8:31: unknown key `rule` in a checkpoint | the keys of a checkpoint are `name`, `section`, `matches`, `lacks`, `touches`, `proposal`, `guard`, `report`, `run`, `timeout`, `expect`, `network`, `writes_tree`, `needs`, `required`",
        ),
        (
            "role: editor\ndocument: {sections: [A]}\nthreshold: 80",
            "9:18: `checks` and `threshold` are a verifier's, and gate `edit` is none's | move them to the gate that judges the work",
        ),
        ("role: editor\ncheckpoints: [{name: a, expect: x}]", "8:21: `expect` says nothing without `run` | remove it"),
        (
            "role: editor\ncheckpoints: [{section: A}]",
            "8:21: a checkpoint has no `name` | name it, such as `name: design_complete`",
        ),
    ];
    let found: Vec<Vec<String>> = table.iter().map(|(gate, _)| refused(&with(gate), ORG)).collect();
    let expected: Vec<Vec<String>> = table.iter().map(|(_, expected)| vec![(*expected).to_owned()]).collect();
    assert_eq!(found, expected);
}

/// What is wrong with a workflow of a builder's and a verifier's gate that say this besides.
fn of_gates(build: &str, verify: &str) -> Vec<String> {
    let text = format!(
        "workflow:\n  name: x\n  gates:\n    - id: build\n      role: builder\n{build}    - id: verify\n      role: verifier\n      \
         canReject: true\n{verify}"
    );
    told(&checked(&text, None).errors)
}

#[test]
fn a_makers_gate_has_checkpoints_on_work_and_a_verifiers_gate_those_on_its_report_too() {
    let work = "      checkpoints: [{name: a, touches: [src/**]}, {name: b, run: make, timeout: 1m}, {name: c, guard: suite}]\n";
    let report = "      checkpoints: [{name: a, report: criteria}, {name: b, touches: docs}, {name: c, run: make lint, needs: [make, \
                  {tool: gcc, probe: cc --version}], expect: ok, network: true, writes_tree: true, required: false}]\n      threshold: 60\n";
    assert_eq!(of_gates(work, report), [""; 0]);
    assert_eq!(of_gates("", "      checks: auto\n"), [""; 0]);
    assert_eq!(of_gates("", "      checks: {tests: make test, lint: ruff check .}\n      threshold: 100\n"), [""; 0]);
    for (build, verify, expected) in [
        ("", "      checkpoints: [{name: a}]\n", "a verifier states nothing, and `a` says not how it is established"),
        ("", "      checkpoints: [{name: a, guard: suite}]\n", "a verifier judges every guard of the plan"),
        ("", "      document: {sections: [A]}\n", "gate `verify` has no document"),
        ("", "      checks: auto\n      checkpointRetries: 2\n", "`checkpointRetries` says nothing of a verifier"),
        ("", "      checks: auto\n      threshold: 101\n", "`threshold` is more than 100"),
        ("", "      threshold: 80\n", "`threshold` says nothing without checkpoints"),
        ("", "      checks: cobol\n", "`checks: cobol` is no preset"),
        ("      checkpoints: [{name: a, report: criteria}]\n", "", "`report` looks at a verifier's report"),
        ("      checks: auto\n", "", "`checks` and `threshold` are a verifier's, and gate `build` is none's"),
        ("      checkpoints: [{name: a, run: make, needs: [{tool: gcc}]}]\n", "", "an item of `needs` has no `probe`"),
    ] {
        let found = of_gates(build, verify);
        assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
    }
}

#[test]
fn commands_by_name_need_their_program_and_three_names_are_required() {
    let read = |checks: &str| {
        let text = format!(
            "workflow:\n  name: x\n  gates:\n    - {{id: build, role: builder}}\n    - {{id: verify, role: verifier, canReject: true, \
             checks: {checks}}}\n"
        );
        let gate = read_file(&text, "x").unwrap().remove(0).all_gates().last().unwrap().clone();
        gate.demands
    };
    let demands = read("{tests: make test, lint: 'ruff check .', odd: '$TOOL x'}");
    assert_eq!(demands.threshold, Some(80), "the default of a gate with `checks`");
    let found: Vec<_> = demands.checkpoints.iter().map(|one| (one.name.as_str(), one.required)).collect();
    assert_eq!(found, [("tests", true), ("lint", false), ("odd", false)]);
    let needs: Vec<Vec<String>> = demands
        .checkpoints
        .iter()
        .map(|one| match &one.rule {
            Some(CheckpointRule::Command(command)) => command.needs.iter().map(|need| need.probe.clone()).collect(),
            other => panic!("a command, not {other:?}"),
        })
        .collect();
    assert_eq!(needs, [vec!["command -v 'make'"], vec!["command -v 'ruff'"], vec![]]);
    assert_eq!(read("rust").checkpoints, presets::named("rust").unwrap().checks);
    let auto = read("auto");
    assert_eq!((auto.plan_checks, auto.checkpoints.len(), auto.threshold), (true, 0, Some(80)));
}
