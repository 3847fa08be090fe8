//! What we ship for people to copy is what the reader of plans accepts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod hostile;
mod odd_plans;
mod wrong_plans;

use std::{fs, path::Path};

use holdpoint_planfile::{
    declared::{self, DeclaredFile},
    plan,
};

/// The least that is a plan.
const MINIMAL: &str = "plan: p
waypoints:
  - id: a
    goal: do it
    criteria:
      - {id: unit, check: make test}
";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn assert_loads(text: &str, name: &str) {
    if let Err(errors) = plan::read(text, name, plan::BUILT_IN_WORKFLOWS) {
        panic!("{}", errors.render());
    }
}

#[test]
fn every_plan_of_the_examples_loads() {
    let mut plans = 0;
    for example in fs::read_dir(root().join("examples")).unwrap() {
        let file = example.unwrap().path().join("plan.yaml");
        if !file.exists() {
            continue;
        }
        let project = file.with_file_name("repo").join("project.yaml");
        let declared = fs::read_to_string(&project).map(|text| declared::read(&text, "project.yaml").unwrap());
        let declared = declared.unwrap_or_default();
        let known = plan::BUILT_IN_WORKFLOWS.iter().copied().chain(declared.iter().map(plan::KnownWorkflow::of));
        let known: Vec<_> = known.collect();
        if let Err(errors) = plan::read(&fs::read_to_string(&file).unwrap(), &file.display().to_string(), &known) {
            panic!("{}", errors.render());
        }
        plans += 1;
    }
    assert!(plans >= 5);
}

#[test]
fn every_whole_plan_in_the_documentation_loads() {
    for name in ["README.md", "docs/contract.md"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let plans: Vec<&str> = blocks.filter(|b| b.lines().any(|l| l.starts_with("plan:"))).collect();
        assert!(!plans.is_empty(), "{name} shows a plan");
        for block in plans {
            assert_loads(block, name);
        }
    }
}

#[test]
fn every_whole_workflow_in_the_documentation_loads() {
    let text = fs::read_to_string(root().join("docs/workflows.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let workflows: Vec<&str> = blocks.filter(|block| block.starts_with("workflow:")).collect();
    assert!(!workflows.is_empty(), "the page shows a workflow");
    for block in workflows {
        let source = DeclaredFile { file: "docs/workflows.md", bytes: block.as_bytes() };
        let checked = declared::check(&[source], None, None, &|_| Ok(()));
        assert!(checked.errors.is_empty(), "{:#?}", checked.errors);
    }
}
