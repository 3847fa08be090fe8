//! `init`: a plan for the repository at hand, to begin with.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use holdpoint_core::environment::Project;
use holdpoint_protocol::plan::EnvironmentSpec;
use serde_json::json;

use crate::{
    args::InitArgs,
    failure::{Exit, Failure},
    ground, output, project,
    typed::{quoted, typed},
};

/// The guard of a project whose tests were not recognised.
const WHAT_RUNS_ALL: &str = "<the command that runs all tests>";

/// Writes the plan.
pub(super) async fn init(args: InitArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let project = project::of_folder(repo.dir());
    let path = args.out.unwrap_or_else(|| args.repo.join("plan.yaml"));
    let name = repo.dir().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    write(&path, &plan(&name, &project), args.force)?;
    if args.json {
        let environment = (!project.environment.is_none()).then_some(&project.environment);
        let Project { kind, suite, .. } = &project;
        output::json(&json!({"file": path, "project": kind, "suite": suite, "environment": environment}));
        return Ok(Exit::Success);
    }
    output::out(&match project.kind.as_ref().filter(|_| project.suite.is_some()) {
        Some(kind) => format!("{} is a plan for {kind}", path.display()),
        None => {
            format!("{} is a plan; how this project is tested was not recognised: fill in its guard", path.display())
        }
    });
    if let Some(words) = project::environment_in_words(&project) {
        output::out(&format!("environment: {words}"));
    }
    let check = typed(&format!("holdpoint check {}", quoted(&path.to_string_lossy())));
    output::out(&format!("next:  write in it what is wanted, in the place of each <…>, then: {check}"));
    Ok(Exit::Success)
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = format!("{} is there already", path.display());
            Failure::usage("exists", message, "--force writes over it; --out FILE names another place")
        }
        _ => Failure::environment(
            "cannot_write",
            format!("cannot write {}: {error}", path.display()),
            "--out FILE names another place",
        ),
    })
}

fn plan(name: &str, project: &Project) -> String {
    let name = id(name);
    let suite = quoted_yaml(project.suite.as_deref().unwrap_or(WHAT_RUNS_ALL));
    let scope = match project.scope.as_slice() {
        [] => "    # scope: [\"src/**\", \"tests/**\"]    # all that it may touch\n".to_owned(),
        globs => format!("    scope: {}    # all that it may touch\n", json!(globs)),
    };
    format!(
        "# What the fleet is to do. `holdpoint check` looks through it, `holdpoint run` flies it. Words in <…> are yours to replace.\n\
         # yaml-language-server: $schema=./plan.schema.json    (holdpoint schema plan --out .)\n\
         plan: {name}\n{}\
         guards:                     # green before, and after every waypoint\n  - {{id: suite, check: {suite}, timeout: 20m}}\n\
         waypoints:\n  - id: first-step\n    goal: |\n      <what is wanted, as you would say it to a colleague who sees the repository for the first time>\n\
         {scope}    criteria:\n      - id: done\n        \
         statement: \"<what is true once it is done>\"\n        \
         check: \"<a command that shows it, such as one that runs the new tests alone>\"\n        \
         red_first: true         # red before any work: else doing nothing would be enough\n",
        environment(&project.environment),
    )
}

/// The environment as the plan says it.
fn environment(spec: &EnvironmentSpec) -> String {
    let Some(setup) = &spec.setup else { return String::new() };
    let mut text =
        "environment:                # what it depends on: set up once for each state of the inputs, with a network\n"
            .to_owned();
    text.push_str(&format!(
        "  setup: {}\n  inputs: {}    # all that the setup sees\n",
        quoted_yaml(setup),
        json!(spec.inputs)
    ));
    for (key, texts, why) in [("names", &spec.names, "it sees their names"), ("path", &spec.path, "first in PATH")] {
        if !texts.is_empty() {
            text.push_str(&format!("  {key}: {}    # {why}\n", json!(texts)));
        }
    }
    if !spec.env.is_empty() {
        text.push_str(&format!("  env: {}\n", json!(spec.env)));
    }
    text
}

/// A text as one word of YAML: as JSON has it.
fn quoted_yaml(text: &str) -> String {
    json!(text).to_string()
}

/// A folder's name as the name of a plan.
fn id(name: &str) -> String {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let joined: String = words.join("-").chars().take(40).collect();
    let joined = joined.trim_matches('-').to_owned();
    if joined.starts_with(|c: char| c.is_ascii_lowercase()) {
        joined
    } else {
        format!("plan-{joined}").trim_end_matches('-').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_core::plan::{BUILT_IN_WORKFLOWS, read_bytes};

    use super::*;

    fn recognised(files: &[(&str, &str)]) -> Project {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project::of_folder(dir.path())
    }

    #[test]
    fn each_project_gets_a_plan_that_can_be_read_and_says_what_was_found() {
        let lock = "[[package]]\nname = \"a\"\nsource = \"registry\"\n";
        let npm = "{\"packages\": {\"node_modules/a\": {}}}";
        let tested = "{\"scripts\": {\"test\": \"jest\"}}";
        for (files, suite, scope) in [
            (vec![("Cargo.toml", ""), ("Cargo.lock", lock), ("src/lib.rs", "")], Some("cargo test"), "src/**"),
            (vec![("go.mod", ""), ("go.sum", ""), ("stock/a.go", "")], Some("go test ./..."), "stock/**"),
            (vec![("package.json", tested), ("package-lock.json", npm), ("lib/a.js", "")], Some("npm test"), "lib/**"),
            (
                vec![("pyproject.toml", "pytest"), ("uv.lock", ""), ("src/d/__init__.py", "")],
                Some("uv run pytest -q"),
                "src/**",
            ),
            (vec![("pom.xml", ""), ("src/main/java/A.java", "")], Some("mvn -B test"), ""),
            (vec![("calc.py", ""), ("test_calc.py", "")], Some("python3 -m unittest"), "*.py"),
            (vec![("calc.py", "")], None, "*.py"),
            (vec![("README.md", "")], None, ""),
        ] {
            let project = recognised(&files);
            assert_eq!(project.suite.as_deref(), suite, "{files:?}");
            let text = plan("My Client_2", &project);
            let refused = read_bytes(text.as_bytes(), "plan.yaml", BUILT_IN_WORKFLOWS).unwrap_err();
            let to_write = 3 + usize::from(suite.is_none());
            let are_placeholders = refused.errors.iter().all(|error| error.message.contains("placeholder"));
            assert!(refused.errors.len() == to_write && are_placeholders, "{}", refused.render());
            let filled = text.replace('<', "").replace(">\"", "\"").replace(">\n", "\n");
            let read = read_bytes(filled.as_bytes(), "plan.yaml", BUILT_IN_WORKFLOWS)
                .unwrap_or_else(|e| panic!("{}", e.render()));
            assert_eq!((read.plan.as_str(), read.guards.len(), read.waypoints.len()), ("my-client-2", 1, 1));
            assert_eq!(read.environment.unwrap_or_default(), project.environment, "{text}");
            assert!(scope.is_empty() || read.waypoints[0].scope.contains(&scope.to_owned()), "{text}");
        }
    }

    #[test]
    fn any_folder_gives_a_plan_a_name() {
        for (name, expected) in [("9lives", "plan-9lives"), ("", "plan"), ("__", "plan"), ("Ünï", "n"), ("a.b", "a-b")]
        {
            assert_eq!(id(name), expected);
        }
    }

    #[test]
    fn a_plan_that_is_there_is_not_written_over_unless_that_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.yaml");
        write(&path, "one", false).unwrap();
        assert_eq!(write(&path, "two", false).unwrap_err().exit(), Exit::Usage);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, "3", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
    }
}
