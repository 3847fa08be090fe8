//! Reading declarations: what loads, what is kept, and how problems are shown. The rules one by one are in `rules`.

mod checkpoints;
mod rules;

use std::{fs, path::Path};

use holdpoint_protocol::{
    state::Outcome,
    time::Millis,
    workflow::{Effect, ForkSpec, GateOrFork, GateSpec, JoinStrategy, RejectionStrategy, WorkflowSpec},
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::gates::Workflow;
use crate::yaml::error::PlanError;

/// What stands for the engine: a text whose brackets close is a condition.
fn closes(text: &str) -> Result<(), String> {
    match (text.trim().is_empty(), text.matches('(').count() == text.matches(')').count()) {
        (true, _) => Err("nothing is there".to_owned()),
        (_, false) => Err("a bracket is open".to_owned()),
        _ => Ok(()),
    }
}

/// A chart with which most tests' workflows are sound.
pub(super) const ORG: &str = "roles:
  writer: {agents: [agent-w1, agent-w2]}
  editor: {agents: [agent-e1, human-eve]}
  lead: {agents: [human-lea], requireHuman: true}
  maker: {agents: [agent-m1], plane: build}
";

pub(super) fn source<'a>(file: &'a str, text: &'a str) -> DeclaredFile<'a> {
    DeclaredFile { file, bytes: text.as_bytes() }
}

pub(super) fn checked(project: &str, org: Option<&str>) -> CheckedDeclarations {
    check(&[source("project.yaml", project)], org.map(|org| source("org.yaml", org)), None, &closes)
}

/// Findings as `line:column: message | hint`, with the file before those of the chart.
pub(super) fn told(found: &[PlanError]) -> Vec<String> {
    let line = |found: &PlanError| {
        let PlanError { file, line, column, message, hint, .. } = found;
        let file = if file == "project.yaml" { String::new() } else { format!("{file}:") };
        format!("{file}{line}:{column}: {message} | {hint}")
    };
    found.iter().map(line).collect()
}

fn gate(item: &GateOrFork) -> &GateSpec {
    let GateOrFork::Gate(gate) = item else { panic!("a gate") };
    gate
}

fn fork(item: &GateOrFork) -> &ForkSpec {
    let GateOrFork::Fork(fork) = item else { panic!("a fork") };
    fork
}

#[test]
fn nine_errors_in_one_file_are_all_reported_each_at_its_place() {
    let text = include_str!("fixtures/nine-errors.yaml");
    let checked = checked(text, Some(ORG));
    let ids = "write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d";
    let predicate = "write one JavaScript expression over `tags`, `metadata` and `gateHistory`, such as \
                     `tags.includes('legal')`";
    let expected = [
        "3:19: `defaultOutcome: done` is not an outcome | write `complete`, `needs_review` or `blocked`",
        "4:22: `rejectionStrategy: first` is not a rejection strategy | write `origin`, `previous` or `named`",
        "8:18: the first gate `draft` cannot reject: there is no gate before it | remove `canReject`",
        "10:13: role `editer` is not in the org chart | did you mean `editor`?",
        &format!("12:16: `timeout: 2 hours` is not a duration | {ids}"),
        "13:19: role `chief` is not in the org chart | add it to the org chart, which has `editor`, `lead`, `maker`, \
         `writer`",
        "14:11: there are two gates with the id `edit` | give each its own id",
        &format!("16:13: `when: tags.includes('news'` is no predicate: a bracket is open | {predicate}"),
        "18:15: `complete: next` is not what an outcome can lead to | write `advance`, `reject` or `hold`",
    ];
    assert_eq!(told(&checked.errors), expected);
    let shown = checked.errors[3].render("");
    assert_eq!(
        shown,
        "project.yaml:10:13: role `editer` is not in the org chart\n 10 |       role: editer\n    |             ^\n   \
         hint: did you mean `editor`?\n"
    );
}

#[test]
fn the_examples_load_with_their_org_chart() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/workflows"));
    let org = fs::read_to_string(folder.join("org.yaml")).unwrap();
    let gates = [("default", 6), ("setup", 4), ("sdlc", 6), ("sales", 6), ("basic", 2), ("publishing", 5)];
    for (name, count) in gates {
        let text = fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let checked = checked(&text, Some(&org));
        assert_eq!(told(&checked.errors), [""; 0], "{name}");
        assert_eq!(checked.projects[0][0].all_gates().count(), count, "{name}");
        let waits_for_people = "gate `accept` waits for people and has only the default timeout of 1h";
        let warned = checked.warnings.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>();
        assert_eq!(warned, if name == "sdlc" { vec![waits_for_people] } else { vec![] }, "{name}");
    }
    let setup = fs::read_to_string(folder.join("setup.yaml")).unwrap();
    let found = checked(&setup, Some(include_str!("fixtures/setup-org.yaml")));
    assert_eq!(
        (told(&found.errors), told(&found.warnings)),
        (vec![], vec![]),
        "with the chart that it was written for"
    );
    let yaml = fs::read_dir(folder)
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "yaml"));
    assert_eq!(yaml.count(), gates.len() + 1, "every example is loaded");
}

#[test]
fn everything_that_a_workflow_can_say_is_kept() {
    let found = checked(
        r#"workflow:
  name: full
  description: "All keys"
  defaultOutcome: needs_review
  rejectionStrategy: named
  gates:
    - {id: draft, role: writer, metadata: {kind: ready-check, deep: [1.5, true]}}
    - id: both
      type: fork
      description: "Two at once"
      joinStrategy: majority
      when: tags.length > 0
      metadata: {room: 2}
      branches:
        - {id: facts, role: writer}
        - {id: style, role: editor, canReject: true, rejectTo: draft}
    - id: sign
      role: editor
      description: "The last word"
      canReject: true
      rejectTo: draft
      when: "!tags.includes('small')"
      requireHuman: true
      people: [human-eve]
      timeout: 1h30m
      escalateTo: [lead]
      expectations: ["Every line was read"]
      tips: ["Begin with the end"]
      outcomeHelp: {complete: "It goes out.", needs_review: "It goes back."}
  outcomes: {complete: advance, needs_review: reject, blocked: hold}
"#,
        Some(ORG),
    );
    let warned: Vec<String> = told(&found.warnings);
    assert_eq!((told(&found.errors), warned.len()), (vec![], 2), "gates that may not send back: {warned:?}");
    let spec = found.projects.into_iter().flatten().next().unwrap();
    assert_eq!((spec.description.as_deref(), spec.default_outcome), (Some("All keys"), Some(Outcome::NeedsReview)));
    assert_eq!(spec.rejection_strategy, RejectionStrategy::Named);
    assert_eq!(spec.outcomes.blocked, Some(Effect::Hold));
    assert_eq!(gate(&spec.gates[0]).metadata["deep"], json!([1.5, true]));
    let both = fork(&spec.gates[1]);
    assert_eq!((both.join_strategy, both.branches.len()), (JoinStrategy::Majority, 2));
    assert_eq!((both.when.as_deref(), &both.metadata["room"]), (Some("tags.length > 0"), &json!(2)));
    assert_eq!(both.branches[1].reject_to.as_ref().unwrap().as_str(), "draft");
    let sign = gate(&spec.gates[2]);
    assert!(sign.can_reject && sign.require_human && sign.people[0].as_str() == "human-eve");
    let chain: Vec<&str> = sign.escalations.iter().map(|link| link.role.as_str()).collect();
    assert_eq!((sign.timeout, &chain[..]), (Some(Millis(5_400_000)), &["lead"][..]));
    assert_eq!((sign.expectations.len(), sign.tips.len()), (1, 1));
    assert_eq!(sign.outcome_help.needs_review.as_deref(), Some("It goes back."));
    assert_eq!(sign.when.as_deref(), Some("!tags.includes('small')"));
    let written = serde_json::to_value(&spec).unwrap();
    assert_eq!(serde_json::from_value::<WorkflowSpec>(written).unwrap(), spec, "and survives being recorded");
    Workflow::try_new(&spec).expect("and is run");
}

#[test]
fn several_workflows_stand_in_one_file() {
    let text = "workflows:
  - name: one
    gates: [{id: a, role: writer}]
  - name: two
    gates: [{id: a, role: editor}]
";
    let found = checked(text, Some(ORG));
    assert_eq!(told(&found.errors), [""; 0]);
    let names: Vec<&str> = found.projects[0].iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let twice = checked(&text.replace("two", "one"), Some(ORG));
    assert_eq!(told(&twice.errors), ["4:11: there are two workflows with the name `one` | give each its own name"]);
}

#[test]
fn agents_without_a_key_are_left_out_with_a_warning() {
    let keys = ["agent-w1", "agent-e1", "human-eve", "human-lea"].map(|name| name.parse().unwrap()).into();
    let project = "workflow: {name: x, gates: [{id: a, role: writer}]}\n";
    let found = check(&[source("project.yaml", project)], Some(source("org.yaml", ORG)), Some(&keys), &closes);
    assert_eq!(told(&found.errors), [""; 0]);
    let lacking = |place: &str, who: &str| {
        format!(
            "org.yaml:{place}: there is no key of `{who}`, so it gets no work | make a key for it, or remove it from \
             the role"
        )
    };
    assert_eq!(
        told(&found.warnings)[..2],
        [
            lacking("2:31", "agent-w2"),
            "org.yaml:5:19: role `maker` has no agents: \
        work that comes to it is blocked with `no agents for role` | add an agent to `agents`"
                .to_owned()
        ]
    );
    assert_eq!(told(&found.warnings)[2..], [lacking("5:20", "agent-m1")]);
    let agents = |role: &str| found.chart.as_ref().unwrap().roles[&role.parse().unwrap()].agents.len();
    assert_eq!((agents("writer"), agents("maker"), agents("lead")), (1, 0, 1));
}

#[test]
fn without_an_org_chart_roles_are_not_checked() {
    let text = "workflow:\n  name: x\n  gates:\n    - {id: a, role: anybody, escalateTo: somebody}\n";
    assert_eq!(told(&checked(text, None).errors), [""; 0]);
    assert_eq!(told(&checked(text, Some(ORG)).errors).len(), 2);
    let built_in = "workflow:\n  name: x\n  gates:\n    - {id: a, role: builder}\n    \
                    - {id: b, role: verifier, canReject: true}\n";
    assert_eq!(told(&checked(built_in, Some(ORG)).errors), [""; 0], "these roles are there without a chart");
}

#[test]
fn what_plans_leave_out_is_read_by_itself_and_held_against_the_rules_of_plans() {
    let read = |text: &str| defaults(DeclaredFile { file: "project.yaml", bytes: text.as_bytes() });
    let both = "environment: {setup: npm ci, inputs: [package-lock.json]}\nsuite: npm test\n";
    let found = read(both).unwrap();
    assert_eq!(found.suite.as_deref(), Some("npm test"));
    assert_eq!(found.environment.unwrap().setup.as_deref(), Some("npm ci"));
    assert_eq!(told(&checked(both, Some(ORG)).errors), [""; 0], "it needs no workflow");
    assert!(read("environment: none\n").unwrap().environment.unwrap().is_none());
    assert_eq!(read("suite: npm test\nworkflow: 3\n").unwrap().environment, None, "the rest has no say");
    for broken in ["environment: {setup: npm ci}\n", "environment: soon\n", "suite: \"<the command>\"\n"] {
        assert_eq!(read(broken).unwrap_err().errors.len(), 1, "{broken}");
        assert_eq!(checked(broken, Some(ORG)).errors.len(), 1, "{broken}");
    }
}

#[test]
fn a_file_that_is_no_declaration_has_one_problem() {
    let least =
        "a workflow file has at least `workflow:` with `name` and `gates`, `environment:`, `suite:` or `verify:`";
    let alone = "a workflow file is one document: remove `---`";
    for (text, expected) in [
        ("", format!("1:1: the workflow file is empty | {least}")),
        (
            "- a\n",
            "1:1: the file is a mapping, not a list | its keys are `workflow`, `workflows`, `owner`, `stakeholders`, `environment`, `suite`, `verify`"
                .to_owned(),
        ),
        (
            "workflow: {name: x, gates: [{id: a, role: writer}]}\n---\n",
            format!("2:1: a second document starts here | {alone}"),
        ),
        (
            "workflow: {name: fly, gates: [{id: a, role: writer}]}\nworkflows: [{name: x, gates: [{id: a, role: writer}]}]\n",
            "1:1: `workflow` and `workflows` are both given | keep one: `workflows` is a list".to_owned(),
        ),
        ("workflows: []\n", "1:12: the file has no workflows | add one item for each workflow".to_owned()),
    ] {
        assert_eq!(told(&checked(text, Some(ORG)).errors), [expected], "{text}");
    }
    let large = "#".repeat(FILE_BYTES_MAX + 1);
    assert!(told(&checked(&large, None).errors)[0].contains("larger than 256 KiB"));
    let binary = DeclaredFile { file: "project.yaml", bytes: b"workflow:\n  \xff" };
    assert!(told(&check(&[binary], None, None, &closes).errors)[0].starts_with("2:3: the file is not UTF-8"));
}

/// Words of software alone, which no key may be made of; the source's own `needs_review` is an outcome.
const OF_ONE_TRADE: [&str; 20] = [
    "sdlc",
    "sprint",
    "story",
    "epic",
    "ticket",
    "code",
    "commit",
    "pr",
    "review",
    "merge",
    "deploy",
    "release",
    "build",
    "ci",
    "cd",
    "bug",
    "feature",
    "hotfix",
    "test",
    "repository",
];

#[test]
fn keys_are_words_of_no_one_trade() {
    let keys =
        [project::FILE_KEYS, project::WORKFLOW_KEYS, gate::GATE_KEYS, gate::FORK_KEYS, org::FILE_KEYS, org::ROLE_KEYS];
    for key in keys.concat() {
        let apart: String = key
            .chars()
            .flat_map(|c| [if c.is_uppercase() { " " } else { "" }.to_owned(), c.to_lowercase().to_string()])
            .collect();
        let word = apart.split(' ').find(|word| OF_ONE_TRADE.contains(word));
        assert_eq!(word, None, "{key}");
    }
}

/// Lines that declarations are made of, sound and not.
const LINES: [&str; 22] = [
    "workflow:",
    "workflows:",
    "  name: x",
    "  - name: y",
    "  gates:",
    "    - id: a",
    "      role: writer",
    "    - id: b",
    "      role: lead",
    "      canReject: true",
    "      requireHuman: true",
    "      type: fork",
    "      branches:",
    "        - {id: c, role: writer}",
    "      timeout: 1h",
    "      when: \"tags[\"",
    "      metadata: {a: [1]}",
    "roles:",
    "  writer:",
    "    agents: [a, human-b]",
    "  outcomes: {complete: hold}",
    "  -",
];

proptest! {
    #[test]
    fn any_text_is_a_declaration_or_has_problems_with_places_and_hints(
        project in prop_oneof!["(?s).{0,200}", prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..20).prop_map(|l| l.join("\n"))],
        org in prop_oneof!["(?s).{0,200}", prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..12).prop_map(|l| l.join("\n"))],
    ) {
        let found = checked(&project, Some(&org));
        for problem in found.errors.iter().chain(&found.warnings) {
            prop_assert!(problem.line > 0 && problem.column > 0 && !problem.hint.is_empty());
            let _ = problem.render("");
        }
        prop_assert!(!found.errors.is_empty() || (found.projects.len() == 1 && found.chart.is_some()));
    }
}
