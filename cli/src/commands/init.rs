//! `init`: a plan for the repository at hand, to begin with.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde_json::json;

use crate::{
    args::InitArgs,
    bounded,
    failure::{Exit, Failure},
    ground, output,
    typed::{quoted, typed},
};

/// The most bytes of a project's file that are looked at.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The guard of a project whose tests were not recognised.
const WHAT_RUNS_ALL: &str = "<the command that runs all tests>";

/// How a project is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Project {
    /// What it is called in the plan's words.
    kind: &'static str,
    /// What brings its dependencies, once a tree and with a network.
    prepare: Option<&'static str>,
    /// Runs all of its tests.
    suite: &'static str,
    /// What else its check needs.
    needs: &'static str,
}

/// Writes the plan.
pub(super) async fn init(args: InitArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let project = recognise(repo.dir());
    let path = args.out.unwrap_or_else(|| args.repo.join("plan.yaml"));
    let name = repo.dir().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    write(&path, &plan(&name, project.as_ref()), args.force)?;
    let kind = project.as_ref().map(|project| project.kind);
    if args.json {
        output::json(&json!({"file": path, "project": kind, "suite": project.map(|project| project.suite)}));
        return Ok(Exit::Success);
    }
    output::out(&match kind {
        Some(kind) => format!("{} is a plan for {kind}", path.display()),
        None => {
            format!("{} is a plan; how this project is tested was not recognised: fill in its guard", path.display())
        }
    });
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

/// What the files of a repository's root say of its tests.
fn recognise(root: &Path) -> Option<Project> {
    let has = |name: &str| root.join(name).is_file();
    let says = |name: &str, word: &str| {
        bounded::read(&root.join(name), FILE_BYTES_MAX)
            .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    if has("Cargo.toml") {
        let prepare = says("Cargo.lock", "source = ").then_some("cargo fetch --locked");
        return Some(Project { kind: "a Cargo workspace", prepare, suite: "cargo test", needs: "" });
    }
    if has("go.mod") {
        let prepare = has("go.sum").then_some("go mod download");
        return Some(Project { kind: "a Go module", prepare, suite: "go test ./...", needs: "" });
    }
    if has("package.json") && says("package.json", "\"test\"") {
        // It writes its packages into the tree, which `prepare` may not.
        let (suite, needs) = if has("package-lock.json") {
            ("npm ci && npm test", ", network: true, writes_tree: true")
        } else {
            ("npm test", "")
        };
        return Some(Project { kind: "an npm package", prepare: None, suite, needs });
    }
    let pytest = has("pytest.ini") || has("conftest.py") || has("tests/conftest.py");
    if pytest || ["pyproject.toml", "setup.cfg", "tox.ini"].iter().any(|file| says(file, "pytest")) {
        return Some(Project { kind: "Python with pytest", prepare: None, suite: "python3 -m pytest -q", needs: "" });
    }
    let python = ["pyproject.toml", "setup.py", "setup.cfg", "tests/__init__.py"].iter().any(|file| has(file));
    (python || has_test_module(root)).then_some(Project {
        kind: "Python with unittest",
        prepare: None,
        suite: "python3 -m unittest",
        needs: "",
    })
}

/// Whether there is a module that unittest finds by its name.
fn has_test_module(root: &Path) -> bool {
    let is_test = |name: &str| name.starts_with("test") && name.ends_with(".py");
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(is_test))
}

fn plan(name: &str, project: Option<&Project>) -> String {
    let name = id(name);
    let prepare = project.and_then(|project| project.prepare);
    let prepare =
        prepare.map(|command| format!("prepare: {command}    # once per tree, with network: checks have none\n"));
    let (suite, needs) = project.map_or((WHAT_RUNS_ALL, ""), |project| (project.suite, project.needs));
    let own_needs = needs.replace(", ", "\n        ");
    format!(
        "# What the fleet is to do. `holdpoint check` looks through it, `holdpoint run` flies it. Words in <…> are yours to replace.\n\
         # yaml-language-server: $schema=./plan.schema.json    (holdpoint schema plan --out .)\n\
         plan: {name}\n{}\
         guards:                     # green before, and after every waypoint\n  - {{id: suite, check: \"{suite}\"{needs}, timeout: 20m}}\n\
         waypoints:\n  - id: first-step\n    goal: |\n      <what is wanted, as you would say it to a colleague who sees the repository for the first time>\n    \
         # scope: [\"src/**\", \"tests/**\"]    # all that it may touch\n    criteria:\n      - id: done\n        \
         statement: \"<what is true once it is done>\"\n        \
         check: \"<a command that shows it, such as one that runs the new tests alone>\"{own_needs}\n        \
         red_first: true         # red before any work: else doing nothing would be enough\n",
        prepare.unwrap_or_default(),
    )
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

    fn recognised(files: &[(&str, &str)]) -> Option<Project> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        recognise(dir.path())
    }

    #[test]
    fn projects_are_recognised_by_their_files_and_each_plan_can_be_read() {
        let lock = "[[package]]\nname = \"a\"\nsource = \"registry\"\n";
        for (files, suite, prepare) in [
            (vec![("Cargo.toml", ""), ("Cargo.lock", lock)], Some("cargo test"), Some("cargo fetch --locked")),
            (vec![("Cargo.toml", "")], Some("cargo test"), None),
            (vec![("go.mod", ""), ("go.sum", "")], Some("go test ./..."), Some("go mod download")),
            (
                vec![("package.json", "{\"scripts\": {\"test\": \"x\"}}"), ("package-lock.json", "{}")],
                Some("npm ci && npm test"),
                None,
            ),
            (vec![("package.json", "{\"scripts\": {\"test\": \"node --test\"}}")], Some("npm test"), None),
            (vec![("pyproject.toml", "[tool.pytest.ini_options]")], Some("python3 -m pytest -q"), None),
            (vec![("setup.py", "")], Some("python3 -m unittest"), None),
            (vec![("calc.py", ""), ("test_calc.py", "")], Some("python3 -m unittest"), None),
            (vec![("calc.py", "")], None, None),
            (vec![("README.md", "")], None, None),
        ] {
            let project = recognised(&files);
            assert_eq!(project.as_ref().map(|project| project.suite), suite, "{files:?}");
            assert_eq!(project.as_ref().and_then(|project| project.prepare), prepare, "{files:?}");
            let text = plan("My Client_2", project.as_ref());
            let refused = read_bytes(text.as_bytes(), "plan.yaml", BUILT_IN_WORKFLOWS).unwrap_err();
            let to_write = 3 + usize::from(project.is_none());
            let are_placeholders = refused.errors.iter().all(|error| error.message.contains("placeholder"));
            assert!(refused.errors.len() == to_write && are_placeholders, "{}", refused.render());
            let filled = text.replace(['<', '>'], "");
            let read = read_bytes(filled.as_bytes(), "plan.yaml", BUILT_IN_WORKFLOWS)
                .unwrap_or_else(|e| panic!("{}", e.render()));
            assert_eq!((read.plan.as_str(), read.guards.len(), read.waypoints.len()), ("my-client-2", 1, 1));
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
