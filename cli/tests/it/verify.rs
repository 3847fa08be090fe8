//! `verify`: a change that was made elsewhere, judged by the real executable without a broker.

use std::{fs, path::Path};

use holdpoint_bus::auth::open_envelope;
use holdpoint_protocol::attestation::Envelope;
use serde_json::Value;

use crate::lab::{Answer, Lab, git};

const TESTS: &str = "import unittest\nimport calc\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        \
    self.assertEqual(calc.add(1, 2), 3)\n";
const PROJECT: &str = "suite: python3 -m unittest discover -v -s tests -t .\n";
const WRONG: &str = "def add(a, b):\n    return 0\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const PLAN: &str = "plan: sums\nwaypoints:\n  - id: add\n    goal: add adds\n    scope: [calc.py]\n    criteria:\n      \
    - {id: unit, check: python3 -m unittest discover -v -s tests -t ., red_first: true}\n";

/// A repository whose branch `work` has this product, and what else it changes.
fn lab(product: &str, more: &[(&str, &str)]) -> Lab {
    let lab = Lab::new();
    fs::create_dir_all(lab.path("repo/tests")).unwrap();
    for (name, text) in
        [("project.yaml", PROJECT), ("calc.py", WRONG), ("tests/__init__.py", ""), ("tests/test_calc.py", TESTS)]
    {
        fs::write(lab.path("repo").join(name), text).unwrap();
    }
    git(&lab.path("repo"), &["add", "-A"]);
    git(&lab.path("repo"), &["commit", "--quiet", "-m", "base"]);
    git(&lab.path("repo"), &["branch", "--quiet", "-f", "base"]);
    git(&lab.path("repo"), &["checkout", "--quiet", "-b", "work"]);
    for (name, text) in [("calc.py", product)].iter().chain(more) {
        fs::write(lab.path("repo").join(name), text).unwrap();
    }
    git(&lab.path("repo"), &["add", "-A"]);
    git(&lab.path("repo"), &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    lab
}

fn verify(lab: &Lab, more: &[&str]) -> Answer {
    lab.run(&[&["verify", "--repo", "repo"], more].concat())
}

fn verdict(answer: &Answer, shown: bool) -> Value {
    assert_eq!(answer.code, Some(i32::from(!shown)), "{}\n{}", answer.stdout, answer.stderr);
    let verdict = answer.json();
    assert_eq!(verdict["shown"], shown, "{verdict:#}");
    verdict
}

#[test]
fn a_branch_is_judged_by_the_tests_of_the_project_where_nothing_else_is_said() {
    let lab = lab(RIGHT, &[]);
    let answer = verify(&lab, &["--work", "work", "--base", "base", "--json"]);
    let verdict = verdict(&answer, true);
    assert_eq!(verdict["reason_code"], "criteria_met");
    assert_eq!((&verdict["criteria"][0]["id"], &verdict["criteria"][0]["verdict"]), (&"suite".into(), &"pass".into()));
    assert_eq!(verdict["diff"]["files"], 1);
    assert!(answer.stderr.contains("a change has to pass python3 -m unittest"), "{}", answer.stderr);
    assert!(!lab.path("state/broker").exists(), "no broker was started");
    let text = verify(&lab, &["--work", "base..work"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(
        text.stdout.contains("✓ criterion suite") && text.stdout.ends_with("shown: criteria_met\n"),
        "{}",
        text.stdout
    );
}

#[test]
fn a_patch_and_a_merge_that_a_forge_makes_are_judged_like_the_branch() {
    let lab = lab(RIGHT, &[]);
    let patch = git(&lab.path("repo"), &["diff", "base", "work"]);
    fs::write(lab.path("work.patch"), &patch).unwrap();
    verdict(&verify(&lab, &["--work", "work.patch", "--base", "base", "--json"]), true);
    // Forges check out a merge of the request with its target, of which little history is there.
    git(&lab.path("repo"), &["checkout", "--quiet", "--detach", "base"]);
    git(&lab.path("repo"), &["merge", "--quiet", "--no-ff", "-m", "request", "work"]);
    let from = format!("file://{}", lab.path("repo").display());
    git(&lab.path("repo"), &["clone", "--quiet", "--depth=2", &from, lab.path("job").to_str().unwrap()]);
    let answer = lab.run(&["verify", "--repo", "job", "--json"]);
    assert_eq!(verdict(&answer, true)["diff"]["files"], 1);
    verify(&lab, &["--work", "work.patch", "--base", "work"]).refuses(2, &["the patch does not apply"]);
}

#[test]
fn cheats_are_not_shown_and_say_why_in_every_form() {
    let bent = TESTS.replace("calc.add(1, 2), 3", "1, 1");
    let lab = lab(WRONG, &[("tests/test_calc.py", &bent)]);
    let forms = ["--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md", "--logs", "logs"];
    let answer = verify(&lab, &[&["--base", "base", "--json"], &forms[..]].concat());
    let verdict = verdict(&answer, false);
    assert_eq!(
        (&verdict["reason_code"], &verdict["criteria"][0]["reason"]),
        (&"criteria_failed".into(), &"tests_weakened".into())
    );
    let read = |name: &str| fs::read_to_string(lab.path(name)).unwrap();
    assert!(read("j.xml").contains("<failure message="), "{}", read("j.xml"));
    let sarif: Value = serde_json::from_str(&read("s.json")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "tests_weakened");
    assert!(
        read("m.md").contains("not shown") && read("m.md").contains("| criterion suite | fail |"),
        "{}",
        read("m.md")
    );
    assert!(fs::read_dir(lab.path("logs")).unwrap().count() >= 2);
    let forged =
        format!("{WRONG}\n\nimport os\nos.write(2, b'test_add ... ok\\nRan 1 test in 0.1s\\n\\nOK\\n')\nos._exit(0)\n");
    fs::write(lab.path("repo/calc.py"), forged).unwrap();
    git(&lab.path("repo"), &["commit", "--quiet", "-am", "forged"]);
    let answer = verify(&lab, &["--base", "HEAD~1", "--json"]);
    assert_eq!(answer.code, Some(1), "{}", answer.stdout);
}

#[test]
fn a_plan_says_what_its_waypoint_has_to_show_and_what_it_may_touch() {
    let lab = lab(RIGHT, &[("notes.md", "done\n")]);
    fs::write(lab.path("plan.yaml"), PLAN).unwrap();
    let answer = verify(&lab, &["plan.yaml", "--work", "work", "--base", "base", "--json"]);
    let out = verdict(&answer, false);
    assert_eq!((&out["reason_code"], &out["waypoint"]), (&"scope_violation".into(), &"add".into()));
    assert_eq!(out["violations"][0]["path"], "notes.md");
    git(&lab.path("repo"), &["rm", "--quiet", "notes.md"]);
    git(&lab.path("repo"), &["commit", "--quiet", "-m", "without notes"]);
    verdict(&verify(&lab, &["plan.yaml", "--base", "base", "--json"]), true);
    // What is green before the change shows nothing.
    fs::write(lab.path("repo/calc.py"), format!("{RIGHT}# more\n")).unwrap();
    git(&lab.path("repo"), &["commit", "--quiet", "-am", "more"]);
    let again = verdict(&verify(&lab, &["plan.yaml", "--work", "HEAD~1..HEAD", "--json"]), false);
    assert_eq!(again["reason_code"], "not_red");
    let warned = again["warnings"].to_string();
    assert!(warned.contains("criterion unit is green on the base as well"), "{warned}");
    verify(&lab, &["plan.yaml", "--waypoint", "none"]).refuses(2, &["no waypoint none", "add"]);
}

#[test]
fn the_rules_of_the_base_count_and_not_those_of_the_change() {
    let easy = "suite: 'true'\nverify: {criteria: [{id: nothing, check: 'true'}]}\n";
    let lab = lab(WRONG, &[("project.yaml", easy)]);
    let out = verdict(&verify(&lab, &["--base", "base", "--json"]), false);
    assert_eq!(out["criteria"][0]["id"], "suite", "{out:#}");
    // On the next change they are the base's.
    fs::write(lab.path("repo/calc.py"), RIGHT).unwrap();
    git(&lab.path("repo"), &["commit", "--quiet", "-am", "right"]);
    assert_eq!(verdict(&verify(&lab, &["--base", "HEAD~1", "--json"]), true)["criteria"][0]["id"], "nothing");
}

#[test]
fn a_job_of_github_actions_gets_annotations_and_a_summary() {
    let lab = lab(WRONG, &[]);
    let summary = lab.path("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let env = [("GITHUB_ACTIONS", Path::new("true")), ("GITHUB_STEP_SUMMARY", &summary)];
    let answer = lab.run_with(&["verify", "--repo", "repo", "--base", "base", "--json"], &env);
    assert_eq!(answer.code, Some(1), "{}", answer.stderr);
    assert!(answer.stderr.lines().any(|line| line.starts_with("::error title=exit_code::")), "{}", answer.stderr);
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n") && text.contains("not shown"), "{text}");
}

#[test]
fn changes_that_cannot_be_found_or_judged_are_refused_with_what_to_do() {
    let lab = lab(RIGHT, &[]);
    verify(&lab, &["--work", "none"]).refuses(2, &["none is no commit of the repository, and no file", "--work takes"]);
    verify(&lab, &["--work", "base..work", "--base", "base"]).refuses(2, &["is a range"]);
    verify(&lab, &["--base", "none"]).refuses(2, &["none"]);
    fs::write(lab.path("empty.patch"), "\n").unwrap();
    verify(&lab, &["--work", "empty.patch"]).refuses(2, &["the patch is empty"]);
    verify(&lab, &["--work", "base"]).refuses(2, &["nothing says what a change has to show"]);
    lab.run(&["verify", "--repo", "."]).refuses(2, &["git init"]);
    verify(&lab, &["--junit", "none/j.xml", "--base", "base"]).refuses(2, &["cannot write none/j.xml"]);
}

#[test]
fn what_is_installed_in_the_checkout_is_there_for_the_checks_of_every_tree_where_that_is_asked_for() {
    let base = "suite: node --test\n";
    let test = "const test = require('node:test');\nconst own = require('own');\nconst {value} = require('./product');\n\
        test('value', () => { if (own.double(value) !== 4) throw new Error('wrong'); });\n";
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
    for (name, text) in [
        ("project.yaml", base),
        (".gitignore", "node_modules/\n"),
        ("product.js", "exports.value = 1;\n"),
        ("product.test.js", test),
        ("node_modules/own/index.js", "exports.double = (n) => n * 2;\n"),
    ] {
        write(name, text);
    }
    commit("base");
    write("product.js", "exports.value = 2;\n");
    commit("right");
    let of = |more: &[&str]| verify(&lab, &[&["--work", "HEAD~1..HEAD", "--json"], more].concat());
    let without = verdict(&of(&[]), false);
    assert!(without["criteria"][0]["lines"].to_string().contains("Cannot find module 'own'"), "{without:#}");
    let with = verdict(&of(&["--here"]), true);
    assert!(with["warnings"].to_string().contains("what was installed in the checkout"), "{with:#}");
    // Nothing that a check writes there stays.
    write(
        "product.js",
        "exports.value = 2;\nrequire('fs').writeFileSync(__dirname + '/node_modules/own/index.js', 'left');\n",
    );
    commit("writes");
    of(&["--here"]);
    assert!(fs::read_to_string(lab.path("repo/node_modules/own/index.js")).unwrap().contains("double"));
    // What a change puts there is in place of what is installed.
    git(&lab.path("repo"), &["checkout", "--quiet", "HEAD~1"]);
    write("product.js", "exports.value = 3;\n");
    write("node_modules/own/index.js", "exports.double = () => 4;\n");
    git(&lab.path("repo"), &["add", "-f", "-A"]);
    commit("forged");
    let forged = verdict(&of(&["--here"]), false);
    assert_eq!(forged["violations"][0]["path"], "node_modules/own/index.js", "{forged:#}");
    // A file that the base has there as well is the tree's.
    write("product.js", "exports.value = 5;\n");
    commit("more");
    git(&lab.path("repo"), &["rm", "--quiet", "-r", "--cached", "node_modules"]);
    write("node_modules/own/index.js", "exports.double = () => 0;\n");
    commit("untracked again");
    verdict(&verify(&lab, &["--work", "HEAD~2..HEAD~1", "--here", "--json"]), true);
}

#[test]
fn a_verdict_is_attested_by_the_users_key_or_one_that_is_named() {
    let lab = lab(RIGHT, &[]);
    let attested = |more: &[&str]| {
        let answer = verify(&lab, &[&["--base", "base", "--json", "--attest", "a.jsonl"], more].concat());
        let text = fs::read_to_string(lab.path("a.jsonl")).unwrap();
        let envelope: Envelope = serde_json::from_str(text.trim_end()).unwrap();
        (verdict(&answer, true), envelope, answer.stderr)
    };
    let (verdict, mut envelope, said) = attested(&[]);
    let key = envelope.signatures[0].keyid.clone();
    assert!(said.contains(&format!("which signs as {key}")), "{said}");
    let statement: Value = serde_json::from_slice(&open_envelope(&envelope, &key).unwrap()).unwrap();
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], verdict["work"]);
    assert_eq!(statement["subject"][1]["digest"]["gitTree"], verdict["tree"]);
    let predicate = &statement["predicate"];
    assert_eq!((&predicate["verificationResult"], &predicate["holdpointVerdict"]), (&"PASSED".into(), &verdict));
    assert!(verdict["criteria"][0]["evidence"][0].as_str().unwrap().starts_with("sha256:"), "{verdict:#}");
    envelope.payload.replace_range(..4, "AAAA");
    assert!(open_envelope(&envelope, &key).is_err(), "a changed statement is not signed");
    let (_, again, said) = attested(&[]);
    assert!(again.signatures[0].keyid == key && !said.contains("made the key"), "{said}");
    let own = lab.path("state/verify.key");
    fs::copy(&own, lab.path("other.key")).unwrap();
    fs::remove_file(&own).unwrap();
    assert_eq!(attested(&["--key", "other.key"]).1.signatures[0].keyid, key);
    assert!(!own.exists(), "a key is made where none is named only");
    verify(&lab, &["--attest", "b", "--key", "none"]).refuses(2, &["cannot read the key", "none"]);
    verify(&lab, &["--attest", "b", "--key", "repo/file"]).refuses(2, &["has no seed"]);
}
