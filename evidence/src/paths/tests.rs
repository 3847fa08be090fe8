use std::collections::BTreeSet;

use holdpoint_protocol::facts::ChangeStatus;
use proptest::prelude::*;

use super::*;

fn rules(scope: &[&str], protected: &[&str]) -> PathRules {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PathRules::new(&owned(scope), &owned(protected)).unwrap()
}

fn with_tests(scope: &[&str], new: &[&str], may_change: &[&str]) -> PathRules {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    rules(scope, &[]).with_tests(&owned(new), &owned(may_change)).unwrap()
}

fn changed(path: &str) -> PathChange {
    let mode = Some("100644".to_owned());
    PathChange { path: path.to_owned(), status: ChangeStatus::Modified, old_mode: mode.clone(), new_mode: mode }
}

/// The violation of a change of one path.
fn broken(rules: &PathRules, path: &str) -> Option<ViolationKind> {
    judge(&[changed(path)], rules, &BTreeSet::new()).violations.first().map(|violation| violation.kind)
}

#[test]
fn a_flood_of_violations_is_cut_and_the_gravest_stay() {
    let mut changes: Vec<PathChange> = (0..5000).map(|n| changed(&format!("vendor/{n:04}"))).collect();
    changes.push(changed("zz/golden"));
    let judgement = judge(&changes, &rules(&["src/**"], &["zz/**"]), &BTreeSet::new());
    assert_eq!(judgement.violations.len(), VIOLATIONS_MAX);
    assert!(judgement.violations.iter().any(|v| v.kind == ViolationKind::Protected));
}

#[test]
fn a_violation_names_the_start_of_a_path_without_end() {
    let judgement = judge(&[changed(&"ä/".repeat(4_000))], &rules(&["src/**"], &[]), &BTreeSet::new());
    let path = &judgement.violations[0].path;
    assert!(path.starts_with("ä/ä/") && path.ends_with('…') && path.chars().count() < 1_010, "{path}");
}

#[test]
fn a_glob_covers_another_only_where_that_is_plain() {
    let table = [
        ("src/**", "src/**", true),
        ("**", "a/*.rs", true),
        ("src/**", "src/a/b.rs", true),
        ("src/*.rs", "src/a.rs", true),
        ("src/**", "src/a/*.rs", true),
        ("src/**", "src/*", true),
        ("src/**", "src", false),
        ("src/**", "src*/**", false),
        ("src/**", "srcs/*.rs", false),
        ("src/**", "{src,lib}/**", false),
        ("src/a.rs", "src/*.rs", false),
        ("*/**", "src/**", false),
    ];
    for (glob, other, covers) in table {
        assert_eq!(Glob::new(glob).unwrap().covers(&Glob::new(other).unwrap()), covers, "{glob} {other}");
    }
}

#[test]
fn globs_stay_within_segments_unless_they_say_otherwise() {
    let table = [
        ("src/**", "src/a/b.rs", true),
        ("src/**", "src", false),
        ("src/*", "src/a/b.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("**/*.md", "a/b/c.md", true),
        ("**/*.md", "c.md", true),
        ("a?c", "a/c", false),
        ("{src,lib}/**", "lib/x", true),
        ("src/[ab].rs", "src/b.rs", true),
        ("**", ".hidden/x", true),
    ];
    for (glob, path, matches) in table {
        assert_eq!(Glob::new(glob).unwrap().matches(path), matches, "{glob} {path}");
    }
    for bad in ["", "/src", "src/", "./src", "a/../b", "a//b", "src/[a", "{a", &"a".repeat(2_000)] {
        assert!(Glob::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn brackets_and_braces_are_a_pattern_and_stand_for_themselves_as_well() {
    let table = [
        ("app/[slug]/**", "app/[slug]/page.tsx", true),
        ("app/[slug]/**", "app/s/page.tsx", true),
        ("app/[slug]/**", "app/[other]/page.tsx", false),
        ("app/[...path]/page.tsx", "app/[...path]/page.tsx", true),
        ("app/[[...path]]/*", "app/[[...path]]/page.tsx", true),
        ("app/{id}/**", "app/{id}/page.tsx", true),
        ("app/{id}/**", "app/id/page.tsx", true),
        ("{{cookiecutter.name}}/*.py", "{{cookiecutter.name}}/a.py", true),
        ("app/[user-id]/**", "app/[user-id]/page.tsx", true),
        ("app/[user-id]/**", "app/u/page.tsx", false),
        ("app/\\[slug\\]/**", "app/[slug]/page.tsx", true),
        ("app/\\[slug\\]/**", "app/s/page.tsx", false),
        ("a/[*]/b", "a/*/b", true),
    ];
    for (glob, path, matches) in table {
        assert_eq!(Glob::new(glob).unwrap().matches(path), matches, "{glob} {path}");
    }
    let protected = rules(&["app/[slug]/**"], &["legal/[lang]/**"]);
    assert_eq!(broken(&protected, "app/[slug]/page.tsx"), None);
    assert_eq!(broken(&protected, "legal/[lang]/page.tsx"), Some(ViolationKind::Protected));
}

#[test]
fn a_scope_is_of_tests_alone_where_every_glob_says_so() {
    assert!(rules(&["tests/[id]/**"], &[]).scope_is_tests());
    assert!(!rules(&["tests/[id]/**", "app/[id]/__tests__/**"], &[]).scope_is_tests(), "the pattern says little");
}

#[test]
fn steering_files_are_known_by_name() {
    for path in [
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".circleci/config.yml",
        "conftest.py",
        "sub/conftest.py",
        "sitecustomize.py",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        ".cargo/config.toml",
        "sub/.cargo/config",
        "build.rs",
        "rust-toolchain.toml",
        "clippy.toml",
        ".config/nextest.toml",
        "Makefile",
        "rules.mk",
        "justfile",
        "jest.config.ts",
        "vitest.config.mjs",
        "babel.config.js",
        ".npmrc",
        "go.work",
        ".gitattributes",
        "a/.gitattributes",
        ".gitmodules",
        "AGENTS.md",
        "CLAUDE.md",
        "sub/GEMINI.md",
        ".claude/hooks/x.sh",
        ".vibe/tools/x.py",
        "sub/.agents/skills/x/SKILL.md",
        ".codex/config.toml",
        ".mcp.json",
        ".cursor/rules/x.mdc",
        ".aider.conf.yml",
        "project.yaml",
        "org.yaml",
        ".holdpoint/x",
        "unittest.py",
        "pytest/__init__.py",
        "coverage.cpython-311-x86_64-linux-gnu.so",
        "src/main/resources/junit-platform.properties",
        "src/main/resources/META-INF/services/org.junit.jupiter.api.extension.Extension",
    ] {
        assert!(is_steering(path), "{path}");
        assert_eq!(broken(&rules(&[], &[]), path), Some(ViolationKind::Steering), "{path}");
    }
    for path in [
        "src/lib.rs",
        "Cargo.lock",
        "go.mod",
        "k8s/project.yaml",
        "src/build/x.rs",
        "src/unittest.py",
        "README.md",
        "Makefile.md",
        "coverage/lcov.info",
        "coverage/lcov-report/prettify.js",
        "doctest/notes.txt",
    ] {
        assert!(!is_steering(path), "{path}");
    }
}

#[test]
fn a_steering_file_may_change_only_when_the_scope_names_it() {
    let table: &[(&[&str], &str, Option<ViolationKind>)] = &[
        (&["**"], "Makefile", Some(ViolationKind::Steering)),
        (&["Make*"], "Makefile", Some(ViolationKind::Steering)),
        (&["Makefile"], "Makefile", None),
        (&["**/Makefile"], "sub/Makefile", None),
        (&["other/Makefile"], "sub/Makefile", Some(ViolationKind::Steering)),
        (&[".github/**"], ".github/workflows/ci.yml", None),
        (&[".github/workflows/*"], ".github/workflows/ci.yml", None),
        (&["**/*.yml"], ".github/workflows/ci.yml", Some(ViolationKind::Steering)),
        (&[".cargo/**"], ".cargo/config.toml", None),
        (&["tests/**"], "tests/conftest.py", Some(ViolationKind::Steering)),
        (&["**"], "CLAUDE.md", Some(ViolationKind::Steering)),
        (&["CLAUDE.md"], "CLAUDE.md", None),
        (&[".claude/**"], ".claude/settings.json", None),
        (&["src/**"], "README.md", Some(ViolationKind::OutOfScope)),
        (&["src/**"], "src/a.rs", None),
        (&[], "src/a.rs", None),
    ];
    for (scope, path, expected) in table {
        assert_eq!(broken(&rules(scope, &[]), path), *expected, "{scope:?} {path}");
    }
}

#[test]
fn a_steering_file_that_the_scope_names_is_shown_to_people() {
    let paths = ["Makefile", "sub/Makefile", "src/a.rs", "Cargo.toml", "package.json"];
    let manifests = BTreeSet::from(["package.json".to_owned()]);
    let all = rules(&["**", "Makefile", "Cargo.toml", "package.json"], &[]);
    let judgement = judge(&paths.map(changed), &all, &manifests);
    assert_eq!(Vec::from_iter(judgement.steering), ["Makefile", "package.json"]);
    assert_eq!(judgement.violations.len(), 1, "the scope does not name the other one");
}

#[test]
fn protected_rules_over_scope() {
    let rules = rules(&["tests/golden/a.txt", "Makefile"], &["tests/golden/**", "Makefile"]);
    assert_eq!(broken(&rules, "tests/golden/a.txt"), Some(ViolationKind::Protected));
    assert_eq!(broken(&rules, "Makefile"), Some(ViolationKind::Protected));
}

#[test]
fn the_covenant_and_the_scripts_of_checks_are_steering() {
    let mut rules = rules(&[], &[]);
    rules.covenant = Some("docs/GUIDE.md".to_owned());
    rules.add_scripts(scripts_of("sh tools/check.sh", |path| path == "tools/check.sh"));
    assert_eq!(broken(&rules, "docs/GUIDE.md"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "tools/check.sh"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "tools/other.sh"), None);
}

#[test]
fn a_rename_touches_both_paths() {
    let mut gone = changed("src/a.rs");
    (gone.status, gone.new_mode) = (ChangeStatus::Deleted, None);
    let mut come = changed("docs/a.rs");
    (come.status, come.old_mode) = (ChangeStatus::Added, None);
    let judgement = judge(&[gone, come], &rules(&["docs/**"], &[]), &BTreeSet::new());
    assert_eq!(judgement.violations, [Violation { kind: ViolationKind::OutOfScope, path: "src/a.rs".to_owned() }]);
}

#[test]
fn metadata_of_python_packages_is_free_but_for_its_entry_points() {
    let free = rules(&[], &[]);
    for path in ["a-1.dist-info/entry_points.txt", "src/a.egg-info/entry_points.txt", "x/A.DIST-INFO/entry_points.txt"]
    {
        assert_eq!(free.classify(path), PathClass::Manifest, "{path}");
        let steers = judge(&[changed(path)], &free, &BTreeSet::from([path.to_owned()])).violations;
        assert_eq!(steers.first().map(|violation| violation.kind), Some(ViolationKind::Steering), "{path}");
    }
    let others =
        ["a.egg-info/PKG-INFO", "a.dist-info/METADATA", "docs/entry_points.txt", "tests/a.dist-info/entry_points.txt"];
    for path in others {
        assert_ne!(free.classify(path), PathClass::Manifest, "{path}");
        assert_eq!(broken(&free, path), None, "{path}");
    }
    let mut link = changed("src/a.dist-info");
    link.new_mode = Some("120000".to_owned());
    assert_eq!(judge(&[link], &free, &BTreeSet::new()).violations.len(), 1);
    assert_eq!(broken(&free, "a.egg-info"), None, "a file of metadata in one");
}

#[test]
fn a_mode_alone_and_a_symlink_count() {
    let mut exec = changed("Makefile");
    exec.new_mode = Some("100755".to_owned());
    let mut link = changed("package.json");
    link.new_mode = Some("120000".to_owned());
    let judgement = judge(&[exec, link], &rules(&[], &[]), &BTreeSet::new());
    assert_eq!(judgement.violations.len(), 2, "{judgement:?}");
}

#[test]
fn tests_and_fixtures_are_listed_and_named() {
    for path in [
        "tests/it.rs",
        "a/tests/x/y.txt",
        "test_retry.py",
        "src/retry_test.py",
        "pkg/a_test.go",
        "src/a.spec.ts",
        "src/a.test.jsx",
        "__tests__/a.js",
        "pkg/testdata/in.json",
        "fixtures/a",
        "src/engine/tests.rs",
        "src/test/java/ATest.java",
        "x/ATests.cs",
        "spec/a_spec.rb",
        "a/__snapshots__/a.js.snap",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in
        ["src/lib.rs", "src/testing.rs", "src/contest.py", "latest/a.go", "src/attest.rs", "test.md", "Test.java"]
    {
        assert!(!is_test_path(path), "{path}");
    }
    let table: &[(&[&str], &[&str], bool)] = &[
        (&["tests/**"], &[], false),
        (&["tests/it.rs"], &[], false),
        (&[], &[], false),
        (&["src/**"], &["tests/**"], true),
        (&["src/**"], &["tests/it.rs"], true),
        (&["src/**"], &["tests/other.rs"], false),
        (&["tests/**"], &["tests/it.rs::works"], false),
    ];
    for (scope, may_change, named) in table {
        let judgement = judge(&[changed("tests/it.rs")], &with_tests(scope, &[], may_change), &BTreeSet::new());
        assert_eq!(judgement.tests, BTreeSet::from(["tests/it.rs".to_owned()]));
        assert_eq!(judgement.tests_named, *named, "{scope:?} {may_change:?}");
    }
}

#[test]
fn tests_may_be_added_and_changed_where_that_is_said_besides_the_scope() {
    let rules = with_tests(&["src/**"], &["tests/**"], &["golden/a.txt", "more/test_a.py::test_b"]);
    for path in ["src/a.py", "tests/test_a.py", "golden/a.txt", "more/test_a.py"] {
        assert_eq!(broken(&rules, path), None, "{path}");
    }
    assert_eq!(broken(&rules, "tests/conftest.py"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "golden/b.txt"), Some(ViolationKind::OutOfScope));
    assert_eq!(rules.changed_names(), &BTreeSet::from(["test_b".to_owned()]));
    assert!(rules.may_change_test("golden/a.txt") && !rules.may_change_test("more/test_a.py"));
}

#[test]
fn without_changed_tests_none_is_named() {
    let rules = with_tests(&["src/**"], &[], &["tests/**"]);
    assert!(!judge(&[changed("src/lib.rs")], &rules, &BTreeSet::new()).tests_named);
    let both = judge(&[changed("tests/a.rs"), changed("src/x_test.py")], &rules, &BTreeSet::new());
    assert_eq!((both.tests.len(), both.tests_named), (2, false));
}

#[test]
fn a_check_names_the_scripts_it_runs_and_not_what_it_looks_at() {
    let table: &[(&str, &[&str])] = &[
        ("sh tools/check.sh", &["tools/check.sh"]),
        ("./run.sh --fast", &["run.sh"]),
        ("set -e; tests/run.sh && echo ok", &["tests/run.sh"]),
        ("A=1 timeout 10 ./run.sh", &["run.sh"]),
        ("python3 -W error tools/check.py x", &["tools/check.py"]),
        ("python -m tools.check", &["tools/check.py"]),
        ("cd tools && python check.py", &["tools/check.py"]),
        ("bash -c 'sh ./run.sh; true'", &["run.sh"]),
        ("test \"$(sh run.sh)\" = 42", &["run.sh"]),
        ("make -f ci/rules.mk all", &["ci/rules.mk"]),
        ("pytest --config-file=ci/rules.mk", &["ci/rules.mk"]),
        (". ./env.sh; x", &["env.sh"]),
        ("bash -euo pipefail tools/check.sh", &["tools/check.sh"]),
        ("timeout -s KILL 10 ./run.sh", &["run.sh"]),
        ("env -u HOME ./run.sh", &["run.sh"]),
        ("A=$B/${C} ./run.sh $D", &["run.sh"]),
        ("PATH=$PWD/bin:$PATH sh tools/check.sh", &["tools/check.sh"]),
        ("$PWD/run.sh && ${PWD}/tools/check.sh", &["run.sh", "tools/check.sh"]),
        ("uv run tools/check.py", &["tools/check.py"]),
        ("node --import tsx run.sh", &["run.sh"]),
        ("python3 -m compileall -q -f src/a.py", &[]),
        ("grep -q retry src/a.py", &[]),
        ("cat run.sh", &[]),
        ("python3 test_a.py", &[]),
        ("python3 -m pytest tests/test_a.py", &[]),
        ("node --test test/a.mjs", &[]),
        ("sh ../run.sh; /run.sh; sh missing.sh", &[]),
        ("", &[]),
    ];
    let base = [
        "tools/check.sh",
        "run.sh",
        "tests/run.sh",
        "tools/check.py",
        "ci/rules.mk",
        "env.sh",
        "src/a.py",
        "test_a.py",
        "tests/test_a.py",
        "test/a.mjs",
    ];
    for (check, scripts) in table {
        let mut found = scripts_of(check, |path| base.contains(&path));
        found.retain(|path| base.contains(&path.as_str()));
        assert_eq!(found, scripts.iter().map(|s| (*s).to_owned()).collect(), "{check}");
    }
}

#[test]
fn what_python_would_import_in_place_of_a_named_module_is_steering_where_it_is_new() {
    let found = scripts_of("cd lib && python3 -m tools.check", |path| path == "lib/tools/check.py");
    let expected = [
        "lib/tools.py",
        "lib/tools/__init__.py",
        "lib/tools/check.py",
        "lib/tools/check/__init__.py",
        "lib/tools/check/__main__.py",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    assert!(scripts_of("pytest -m slow", |_| false).is_empty());
    for (path, steering) in [
        ("argparse.py", true),
        ("_strptime.py", true),
        ("__future__.py", true),
        ("_version.py", false),
        ("node_modules/.bin/jest", true),
        ("json/__init__.py", true),
        ("json/schema.json", false),
        ("app/json.py", false),
        ("http/server.go", false),
        ("lib/sitecustomize/__init__.py", true),
    ] {
        assert_eq!(is_steering(path), steering, "{path}");
    }
}

#[test]
fn what_is_protected_or_steering_by_any_of_its_names_is_so() {
    let mut rules = rules(&[], &["golden/**"]);
    let links = [("golden", "data/golden"), ("Makefile", "build/main.make"), ("check.sh", "tools/real.sh")];
    rules.links = Links::new(links.map(|(path, text)| (path.to_owned(), text.to_owned())));
    rules.add_scripts(scripts_of("./check.sh", |path| path == "check.sh"));
    rules.add_scripts(["bin/*".to_owned()].into());
    assert_eq!(broken(&rules, "bin/grep"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "data/golden/a"), Some(ViolationKind::Protected));
    assert_eq!(broken(&rules, "build/main.make"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "tools/real.sh"), Some(ViolationKind::Steering));
    assert_eq!(broken(&rules, "src/a.rs"), None);
}

#[test]
fn a_steering_change_of_a_manifest_is_a_violation_unless_the_scope_names_it() {
    let steering = BTreeSet::from(["package.json".to_owned()]);
    let violations =
        |scope: &[&str], set: &BTreeSet<String>| judge(&[changed("package.json")], &rules(scope, &[]), set).violations;
    assert_eq!(violations(&[], &steering).len(), 1);
    assert_eq!(violations(&["package.json"], &steering), []);
    assert_eq!(violations(&[], &BTreeSet::new()), []);
}

proptest! {
    #[test]
    fn any_text_is_a_glob_or_is_refused(text in "(?s).{0,60}", path in ".{0,40}") {
        if let Ok(glob) = Glob::new(&text) {
            let _ = (glob.matches(&path), glob.names(&path, |_| false, |_| false));
        }
    }

    #[test]
    fn any_shell_line_and_any_manifest_can_be_read(line in "(?s).{0,80}", text in "(?s).{0,80}") {
        let outside = |path: &String| path.starts_with('/') || path.split('/').any(|segment| segment == "..");
        prop_assert!(!scripts_of(&line, |_| true).iter().any(outside));
        for path in ["Cargo.toml", "package.json", "pyproject.toml"] {
            let _ = manifest_change_is_steering(path, Some(&text), None);
            prop_assert!(!manifest_change_is_steering(path, Some(""), Some("")) || path == "package.json");
        }
    }
}
