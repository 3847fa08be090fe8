//! The action of GitHub and the template of GitLab, as runners use them: their scripts are run in shallow clones of honest and of
//! cheating requests, with the variables of a runner.

mod job;

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::lab::{Lab, git};

const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n";
const PROJECT: &str = "suite: python3 -m unittest discover -v -s tests -t .\n";
const PLAN: &str = "plan: sums\nwaypoints:\n  - id: add\n    goal: add adds\n    scope: [calc.py]\n    criteria:\n      \
    - {id: unit, check: python3 -m unittest discover -v -s tests -t ., red_first: true}\n";
const WRONG: &str = "def add(a, b):\n    return 0\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
/// What a runner could take for a command, a mention or markup.
const LOUD: &str =
    "\\n::error title=pwned::pwned\\n::add-mask::a\\n x ##[add-mask]b\\n@everyone <img src=x> | a | b |\\n]]>";

/// Names, each with a text: files, or inputs.
type Texts<'a> = &'a [(&'a str, &'a str)];

/// A request to `main`: the branch changes these files.
struct Request {
    lab: Lab,
}

impl Request {
    fn of(changes: Texts<'_>) -> Self {
        let lab = Lab::new();
        let write = |name: &str, text: &str| {
            let path = lab.path("repo").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let commit = |message: &str| {
            git(&lab.path("repo"), &["add", "-A"]);
            git(&lab.path("repo"), &["commit", "--quiet", "-m", message]);
        };
        let base = [
            ("project.yaml", PROJECT),
            ("plan.yaml", PLAN),
            ("calc.py", WRONG),
            ("tests/__init__.py", ""),
            ("tests/test_calc.py", TESTS),
        ];
        base.iter().for_each(|(name, text)| write(name, text));
        commit("base");
        git(&lab.path("repo"), &["checkout", "--quiet", "-b", "fork"]);
        changes.iter().for_each(|(name, text)| write(name, &text.replace("$LAB", lab.path("").to_str().unwrap())));
        commit("work");
        git(&lab.path("repo"), &["update-ref", "refs/merge-requests/1/head", "fork"]);
        git(&lab.path("repo"), &["checkout", "--quiet", "--detach", "main"]);
        git(&lab.path("repo"), &["merge", "--quiet", "--no-ff", "-m", "Merge fork into main", "fork"]);
        git(&lab.path("repo"), &["update-ref", "refs/pull/1/merge", "HEAD"]);
        git(&lab.path("repo"), &["checkout", "--quiet", "main"]);
        Self { lab }
    }

    /// What a runner checks out: one ref, detached, with little history.
    fn checkout(&self, name: &str, depth: u8) -> PathBuf {
        let dir = self.lab.path("job");
        fs::create_dir(&dir).unwrap();
        git(&dir, &["init", "--quiet"]);
        let from = format!("file://{}", self.lab.path("repo").display());
        git(&dir, &["remote", "add", "origin", &from]);
        git(&dir, &["fetch", "--quiet", "--no-tags", &format!("--depth={depth}"), "origin", name]);
        git(&dir, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
        dir
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let at = |name: &str| self.lab.path(name).display().to_string();
        fs::create_dir_all(at("home")).unwrap();
        vec![("HOME", at("home")), ("HOLDPOINT_STATE_DIR", at("state")), ("CI", "true".to_owned())]
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.lab.path(name)).unwrap_or_default()
    }

    /// Runs the steps of the action on a pull request.
    fn action(&self, depth: u8, given: Texts<'_>) -> job::Ended {
        let action = job::documents("action.yml").remove(0);
        let dir = self.checkout("refs/pull/1/merge", depth);
        let at = |name: &str| self.lab.path(name).display().to_string();
        let mut variables = self.variables();
        for (name, value) in [
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_EVENT_NAME", "pull_request".to_owned()),
            ("GITHUB_REF", "refs/pull/1/merge".to_owned()),
            ("GITHUB_BASE_REF", "main".to_owned()),
            ("GITHUB_HEAD_REF", "fork".to_owned()),
            ("GITHUB_WORKSPACE", dir.display().to_string()),
            ("GITHUB_OUTPUT", at("output")),
            ("GITHUB_STEP_SUMMARY", at("summary.md")),
            ("RUNNER_TEMP", at("temp")),
        ] {
            variables.push((name, value));
        }
        let mut log = String::new();
        for step in action["runs"]["steps"].as_array().unwrap() {
            assert_eq!(step["shell"], "bash");
            let script = step["run"].as_str().unwrap();
            assert!(!script.contains("${{"), "an input in a script would be run: {script}");
            let own = step["env"].as_object().unwrap().iter();
            let own = own.map(|(name, value)| {
                (name.as_str(), job::filled(value.as_str().unwrap(), ("${{ inputs.", " }}"), &action["inputs"], given))
            });
            let all: Vec<_> = variables.iter().cloned().chain(own).collect();
            let ended = job::run(&dir, script, &all);
            log.push_str(&ended.log);
            if ended.code != Some(0) {
                return job::Ended { log, ..ended };
            }
        }
        job::Ended { code: Some(0), log }
    }

    /// Runs the script of the template on a merge request.
    fn template(&self, depth: u8, given: Texts<'_>) -> job::Ended {
        let mut documents = job::documents("templates/verify.yml");
        let (job, spec) = (documents.pop().unwrap(), documents.pop().unwrap());
        let dir = self.checkout("refs/merge-requests/1/head", depth);
        let job = &job["holdpoint-verify"];
        let mut variables = self.variables();
        let base = git(&self.lab.path("repo"), &["rev-parse", "main"]).trim().to_owned();
        variables.push(("GITLAB_CI", "true".to_owned()));
        variables.push(("CI_PROJECT_DIR", dir.display().to_string()));
        variables.push(("CI_PIPELINE_SOURCE", "merge_request_event".to_owned()));
        variables.push(("CI_MERGE_REQUEST_REF_PATH", "refs/merge-requests/1/head".to_owned()));
        variables.push(("CI_MERGE_REQUEST_DIFF_BASE_SHA", base));
        let own = job["variables"].as_object().unwrap().iter();
        variables.extend(own.map(|(name, value)| {
            let text = value.as_str().unwrap();
            // The names are those of the file, which outlives the test.
            (&*name.clone().leak(), job::filled(text, ("$[[ inputs.", " ]]"), &spec["spec"]["inputs"], given))
        }));
        let script: Vec<&str> = job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        job::run(&dir, &script.join("\n"), &variables)
    }
}

fn bent() -> String {
    TESTS.replace("calc.add(1, 2), 3", "1, 1")
}

#[test]
fn the_action_shows_honest_requests_and_not_cheats_and_says_why_in_outputs() {
    let easy = "suite: 'true'\n";
    let weak = bent();
    let wide = PLAN.replace("calc.py", "'**'");
    let rows: [(Texts<'_>, Texts<'_>, bool, &str); 5] = [
        (&[("calc.py", RIGHT)], &[], true, "criteria_met"),
        (&[("calc.py", RIGHT)], &[("plan", "plan.yaml")], true, "criteria_met"),
        (&[("tests/test_calc.py", &weak)], &[], false, "criteria_failed"),
        (&[("project.yaml", easy)], &[], false, "protected_changed"),
        (
            &[("calc.py", RIGHT), ("more.py", ""), ("plan.yaml", &wide)],
            &[("plan", "plan.yaml")],
            false,
            "scope_violation",
        ),
    ];
    for (changes, given, shown, reason) in rows {
        let request = Request::of(changes);
        let ended = request.action(2, given);
        assert_eq!(ended.code, Some(i32::from(!shown)), "{}", ended.log);
        let results = request.lab.path("temp/holdpoint");
        let expected = format!("results={}\nshown={shown}\nreason={reason}\n", results.display());
        assert_eq!(request.read("output"), expected, "{}", ended.log);
        for file in ["junit.xml", "results.sarif", "summary.md"] {
            assert!(results.join(file).is_file(), "{file}");
        }
        assert!(request.read("summary.md").contains(reason));
    }
}

#[test]
fn the_action_says_what_a_clone_without_the_base_needs() {
    let request = Request::of(&[("calc.py", RIGHT)]);
    let ended = request.action(1, &[]);
    assert!(ended.code == Some(2) && ended.log.contains("fetch-depth: 2"), "{}", ended.log);
}

#[test]
fn a_fork_runs_nothing_outside_the_sandbox_and_says_nothing_in_the_name_of_the_job() {
    let out = format!(
        "import os, sys\nsys.stderr.write('{LOUD}')\ntry:\n    open('$LABplanted', 'w')\nexcept OSError:\n    pass\n"
    );
    let product = format!("{out}\n{WRONG}");
    let request = Request::of(&[
        ("calc.py", &product),
        ("sitecustomize.py", &out),
        (".gitattributes", "* filter=planted diff=planted\n"),
        ("holdpoint", "#!/bin/sh\ntouch $LABplanted\n"),
        ("tests/test_a\n::error title=pwned::a @everyone ##[error]<b>|x|.py", TESTS),
        ("$(touch $LABplanted).md", "x"),
    ]);
    let ended = request.action(2, &[("args", "--json; touch $HOME/planted")]);
    assert_eq!(ended.code, Some(2), "arguments are no script: {}", ended.log);
    fs::remove_dir_all(request.lab.path("job")).unwrap();
    let ended = request.action(2, &[("plan", "plan.yaml")]);
    assert_eq!(ended.code, Some(1), "{}", ended.log);
    assert!(!request.lab.path("planted").exists() && !request.lab.path("home/planted").exists());
    let commands = ended.log.lines().filter(|line| line.trim_start().starts_with("::"));
    let titles = ["exit_code", "out_of_scope", "steering"];
    let is_own = |line: &&str| titles.iter().any(|title| line.starts_with(&format!("::error title={title}")));
    let foreign: Vec<&str> = commands.filter(|line| !is_own(line)).collect();
    assert!(foreign.is_empty() && !ended.log.contains("##["), "{foreign:?} in {}", ended.log);
    let summary = request.read("summary.md");
    assert!(!summary.contains("@everyone") && !summary.contains("<b>") && !summary.contains("<img"), "{summary}");
    assert!(
        summary.lines().filter(|line| line.starts_with('|')).all(|line| line.matches(" | ").count() == 3),
        "{summary}"
    );
    roxmltree::Document::parse(&request.read("temp/holdpoint/junit.xml")).unwrap();
    let sarif: Value = serde_json::from_str(&request.read("temp/holdpoint/results.sarif")).unwrap();
    let rules: Vec<&Value> = sarif["runs"][0]["results"].as_array().unwrap().iter().map(|one| &one["ruleId"]).collect();
    assert!(rules.contains(&&Value::from("out_of_scope")), "{sarif:#}");
}

#[test]
fn the_template_judges_merge_requests_where_they_left_their_target() {
    let weak = bent();
    let wide = PLAN.replace("calc.py", "'**'");
    let rows: [(u8, Texts<'_>, Texts<'_>, bool); 3] = [
        (20, &[("calc.py", RIGHT)], &[], true),
        (1, &[("tests/test_calc.py", &weak)], &[], false),
        (1, &[("calc.py", RIGHT), ("more.py", ""), ("plan.yaml", &wide)], &[("plan", "plan.yaml")], false),
    ];
    for (depth, changes, given, shown) in rows {
        let request = Request::of(changes);
        let ended = request.template(depth, given);
        assert_eq!(ended.code, Some(i32::from(!shown)), "{}", ended.log);
        roxmltree::Document::parse(&request.read("job/holdpoint-results/junit.xml")).unwrap();
        let issues: Value = serde_json::from_str(&request.read("job/holdpoint-results/codequality.json")).unwrap();
        let paths: Vec<&Value> = issues.as_array().unwrap().iter().map(|issue| &issue["location"]["path"]).collect();
        assert_eq!(paths.contains(&&Value::from("more.py")), !given.is_empty(), "{issues:#}");
    }
}

#[test]
fn what_a_merge_request_puts_where_results_go_is_not_followed() {
    let request = Request::of(&[("calc.py", RIGHT)]);
    let work = request.lab.path("repo");
    git(&work, &["checkout", "--quiet", "fork"]);
    std::os::unix::fs::symlink(request.lab.path(""), work.join("holdpoint-results")).unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "link"]);
    git(&work, &["update-ref", "refs/merge-requests/1/head", "fork"]);
    request.template(20, &[]);
    assert!(!request.lab.path("junit.xml").exists());
    assert!(request.lab.path("job/holdpoint-results/junit.xml").is_file());
}
