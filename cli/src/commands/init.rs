//! `init`: what a project declares of itself and a plan for it, to begin with.

use std::path::{Path, PathBuf};

use holdpoint_evidence::environment::Project;
use holdpoint_planfile::declared::{self as core_declared, DeclaredFile, ProjectDefaults};
use holdpoint_protocol::plan::EnvironmentSpec;
use serde_json::json;

use crate::{
    args::InitArgs,
    declared,
    failure::{Exit, Failure},
    ground, new_file, output, project,
    typed::{quoted, typed},
};

/// The guard of a project whose tests were not recognised.
const WHAT_RUNS_ALL: &str = "<the command that runs all tests>";

/// Writes the plan.
pub(super) async fn init(args: InitArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let mut project = project::of_folder(repo.dir());
    let declares = repo.dir().join(declared::PROJECT);
    if let Some(suite) = there(&declares)?.and_then(|defaults| defaults.suite) {
        project.suite = Some(suite);
    }
    let path = args.out.unwrap_or_else(|| args.repo.join("plan.yaml"));
    let name = repo.dir().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    new_file::write(&path, plan(&name, &project).as_bytes(), args.force)?;
    let declaration = declaration(&project);
    let declared = match &declaration {
        Some(text) => Declared::at(declares, text)?,
        None => Declared::Nothing,
    };
    if args.json {
        let environment = (!project.environment.is_none()).then_some(&project.environment);
        let Project { kind, suite, .. } = &project;
        let declares = if let Declared::Written(path) = &declared { Some(path) } else { None };
        output::json(&json!({
            "file": path, "declares": declares, "project": kind, "suite": suite, "environment": environment,
        }));
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
    if let Some(words) = project::aside_in_words(&project) {
        output::out(&format!("note: {words}"));
    }
    match (declared, declaration) {
        (Declared::Written(path), _) => {
            output::out(&format!(
                "{} says how it is set up and tested; it counts once it is committed",
                path.display()
            ));
        }
        (Declared::Left(path), Some(text)) => {
            output::out(&format!("{} is there already and stays as it is; it can say:\n{text}", path.display()));
        }
        _ => {}
    }
    let check = typed(&format!("holdpoint check {}", quoted(&path.to_string_lossy())));
    output::out(&format!("next:  write in it what is wanted, in the place of each <…>, then: {check}"));
    Ok(Exit::Success)
}

/// What became of the project file.
enum Declared {
    /// There is nothing to declare, or it is declared.
    Nothing,
    /// It was written.
    Written(PathBuf),
    /// One was there, without an environment or a suite.
    Left(PathBuf),
}

impl Declared {
    /// Writes the file where there is none: another one has workflows in it, which are a person's.
    fn at(path: PathBuf, text: &str) -> Result<Self, Failure> {
        let Some(found) = there(&path)? else {
            new_file::write(&path, text.as_bytes(), false)?;
            return Ok(Self::Written(path));
        };
        Ok(if found.environment.is_some() || found.suite.is_some() { Self::Nothing } else { Self::Left(path) })
    }
}

/// What the project file says for plans; `None`: there is none.
fn there(path: &Path) -> Result<Option<ProjectDefaults>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let (file, bytes) = declared::read(path, declared::NAME_WORKFLOW)?;
    Ok(Some(core_declared::defaults(DeclaredFile { file: &file, bytes: &bytes })?))
}

/// What the project file says; `None`: nothing was recognised.
fn declaration(project: &Project) -> Option<String> {
    let suite = project.suite.as_ref().map(|suite| format!("suite: {}    # runs all tests\n", quoted_yaml(suite)));
    let text = environment(&project.environment) + &suite.unwrap_or_default();
    let head = "# How this project is set up and tested: plans without an `environment`, and `holdpoint run --task`, go by it.\n";
    (!text.is_empty()).then(|| head.to_owned() + &text)
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
         plan: {name}\n\
         guards:                     # green before, and after every waypoint\n  - {{id: suite, check: {suite}, timeout: 20m}}\n\
         waypoints:\n  - id: first-step\n    goal: |\n      <what is wanted, as you would say it to a colleague who sees the repository for the first time>\n\
         {scope}    criteria:\n      - id: done\n        \
         statement: \"<what is true once it is done>\"\n        \
         check: \"<a command that shows it, such as one that runs the new tests alone>\"\n        \
         red_first: true         # red before any work: else doing nothing would be enough\n",
    )
}

/// The environment as the project file says it.
fn environment(spec: &EnvironmentSpec) -> String {
    let Some(setup) = &spec.setup else { return String::new() };
    let mut text =
        "environment:                # what it depends on: set up once for each state of the inputs\n".to_owned();
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
    if spec.offline {
        text.push_str("  offline: true    # it downloads nothing\n");
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
    use std::fs;

    use holdpoint_planfile::plan::{BUILT_IN_WORKFLOWS, read_bytes};

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
            (vec![("calc.py", ""), ("test_calc.py", "import unittest")], Some("python3 -m unittest"), "*.py"),
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
            let text = declaration(&project);
            let declared = text.as_ref().map(|text| {
                let source = DeclaredFile { file: "project.yaml", bytes: text.as_bytes() };
                let found = core_declared::check(&[source], None, None, &|_| Ok(()));
                assert!(found.errors.is_empty(), "{:?}", found.errors);
                core_declared::defaults(source).unwrap()
            });
            let declared = declared.unwrap_or_default();
            assert_eq!(declared.environment.unwrap_or_default(), project.environment);
            assert_eq!(declared.suite, project.suite);
            assert!(scope.is_empty() || read.waypoints[0].scope.contains(&scope.to_owned()));
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
    fn a_project_file_that_is_there_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("project.yaml");
        let at = |text| Declared::at(path.clone(), text).unwrap();
        assert!(matches!(at("suite: make test\n"), Declared::Written(_)));
        assert!(matches!(at("suite: other\n"), Declared::Nothing));
        assert_eq!(fs::read_to_string(&path).unwrap(), "suite: make test\n");
        fs::write(&path, "workflow: {name: mine, gates: []}\n").unwrap();
        assert!(matches!(at("suite: other\n"), Declared::Left(_)));
    }
}
