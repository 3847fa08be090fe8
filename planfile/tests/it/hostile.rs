//! What others wrote and we read: manifests, check lines, what test runners print, globs, paths. All of it is
//! read or refused, on the stack of any thread.

use holdpoint_evidence::{
    paths::{Glob, Links, is_steering, is_test_path, manifest_change_is_steering, scripts_of},
    runners,
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::FileFailurePersistence};

fn config() -> ProptestConfig {
    let failure_persistence = Some(Box::new(FileFailurePersistence::Off) as _);
    ProptestConfig { cases: 300, failure_persistence, ..ProptestConfig::default() }
}

/// Runs on the stack that threads of the async runtime have.
fn on_a_small_stack(work: fn()) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_manifest_nested_without_end_is_steering() {
    on_a_small_stack(|| {
        for depth in [1_000, 20_000] {
            let tables = "[".to_owned() + &vec!["a"; depth].join(".") + "]\nb = 1\n";
            let keys = vec!["a"; depth].join(".") + " = 1\n";
            let quoted = vec!["'a'"; depth].join(" . ") + " = 1\n";
            let lists = format!("a = {}{}\n", "[".repeat(depth), "]".repeat(depth));
            let inline = format!("a = {}1{}\n", "{a = ".repeat(depth), "}".repeat(depth));
            let more = "[[a]]\n".repeat(depth) + "b = {c.d.e = 1}\n";
            for text in [&tables, &keys, &quoted, &lists, &inline, &more] {
                for path in ["Cargo.toml", "pyproject.toml"] {
                    assert!(manifest_change_is_steering(path, Some(""), Some(text)), "{path} {depth}");
                }
            }
            let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
            assert!(manifest_change_is_steering("package.json", Some("{}"), Some(&objects)), "{depth}");
        }
    });
}

#[test]
fn a_glob_that_would_take_long_to_match_does_not() {
    // Each of these is slow where matching tries one way after the other.
    let path = "a".repeat(500) + "/" + &"a".repeat(500) + "b";
    for glob in
        ["*a*a*a*a*a*a*a*a*a*a*a*a*c", "**/*a*a*a*a*a*a*a*a/**/*c", "{*a,*a*a,*a*a*a}*{a*,a*a*}*c", "[a-z]*[!b]*[a]*c"]
    {
        assert!(!Glob::new(glob).unwrap().matches(&path), "{glob}");
    }
    let long = "?*".repeat(512);
    assert!(Glob::new(&long).unwrap().matches(&"a".repeat(600)));
}

#[test]
fn a_glob_that_is_nested_too_deep_is_refused() {
    let glob = "{".repeat(400) + "a" + &"}".repeat(400);
    assert!(Glob::new(&glob).unwrap_err().to_string().contains("nested too deep"));
}

#[test]
fn links_that_lead_in_circles_or_nowhere_come_to_an_end() {
    let link = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let chain = (0..5_000).map(|i| link(&format!("l{i}"), &format!("l{}/x", i + 1)));
    let links = Links::new(chain.chain([link("a", "b"), link("b", "a"), link("s", "s/s"), link("up", "../../..")]));
    for path in ["a", "b/c", "s/x", "up/etc", "l0", "l0/y", &"a/".repeat(5_000)] {
        let _ = (links.resolve(path), links.names(path));
    }
}

/// Words of check lines and of outputs, and what is between them.
fn word() -> impl Strategy<Value = String> {
    let known = select(vec![
        "cargo",
        "test",
        "nextest",
        "pytest",
        "-v",
        "-rA",
        "python3",
        "-m",
        "unittest",
        "go",
        "node",
        "--test",
        "jest",
        "vitest",
        "cd",
        "sh",
        "-c",
        "env",
        "timeout",
        "9",
        "run",
        "make",
        "-f",
        "x.mk",
        "--config=",
        "./a.sh",
        "../b",
        "$PWD/c",
        "'",
        "\"",
        "\\",
        "&&",
        "||",
        ";",
        "|",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "#",
        "\n",
        "<<EOF",
        "=",
        ".",
        "/",
        "ok",
        "running 2 tests",
        "test a ... ok",
        "test result: ok. 18446744073709551615 passed; 1 failed; 99999999999999999999 ignored;",
        "=== 1 passed, 2 failed in 0.1s ===",
        "a.py::b PASSED",
        "Ran 3 tests in 0s",
        "OK (skipped=1)",
        "FAILED (errors=-1)",
        "--- PASS: TestA (0.0s)",
        "ok  \tpkg\t0.1s",
        "# tests 2",
        "# pass 1",
        "not ok 1 - x # SKIP",
        "    Summary [ 0.1s] 1 test run: 1 passed",
        "Tests: 1 failed, 2 passed, 3 total",
        "\u{1b}[31m",
        "\u{1b}[",
        "\u{1b}]8;;x\u{7}",
        "\r",
        "é",
        "\u{202e}",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "(?s).{0,6}"]
}

fn text() -> impl Strategy<Value = String> {
    vec((word(), select(vec![" ", "", "\n", "\t"])), 0..24)
        .prop_map(|words| words.into_iter().map(|(word, between)| word + between).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_output_of_a_runner_is_counted_or_not(command in text(), output in text()) {
        if let Some(counts) = runners::counts(&command, &output) {
            let _ = counts.total();
            prop_assert_eq!(runners::compare(&counts, Some(&counts)), None);
            prop_assert!(runners::weakened(Some(&counts), &counts, &counts).is_none_or(|lost| lost.is_empty() || !counts.by_runner.is_empty()));
        }
    }

    #[test]
    fn scripts_of_any_check_line_are_inside_the_repository(check in text(), on_base in any::<bool>()) {
        for script in scripts_of(&check, |_| on_base) {
            prop_assert!(!script.starts_with('/') && script.split('/').all(|part| !matches!(part, "" | "." | "..")), "{script:?}");
        }
    }

    #[test]
    fn any_glob_is_refused_or_matches_without_a_panic(
        parts in vec(select(vec!["*", "**", "?", "/", "[", "]", "[!", "{", "}", ",", "\\", "a", "ä", "-", "^", "\u{0}", "."]), 0..14),
        path in "[aä/.*-]{0,12}",
    ) {
        if let Ok(glob) = Glob::new(&parts.concat()) {
            let named = glob.names(&path, |_| false, |folders| path.starts_with(folders));
            prop_assert_eq!(glob.matches(&path), named, "{:?} {}", glob, path);
        }
    }

    #[test]
    fn any_manifest_is_compared_or_steering(
        base in vec(select(MANIFEST.to_vec()), 0..8),
        new in vec(select(MANIFEST.to_vec()), 0..8),
        path in select(vec!["Cargo.toml", "package.json", "pyproject.toml", "x/Cargo.toml", "other"]),
    ) {
        let (base, new) = (base.concat(), new.concat());
        let steering = manifest_change_is_steering(path, Some(&base), Some(&new));
        prop_assert_eq!(steering, manifest_change_is_steering(path, Some(&base), Some(&new)));
        // A manifest that can be read and did not change is not steering.
        let readable = !manifest_change_is_steering(path, Some(&new), Some(&new));
        prop_assert!(readable || steering);
    }

    #[test]
    fn any_path_belongs_to_some_class(path in "(?s).{0,40}") {
        let _ = (is_steering(&path), is_test_path(&path));
    }
}

const MANIFEST: &[&str] = &[
    "[package]\n",
    "name = \"x\"\n",
    "[dependencies]\n",
    "a = \"1\"\n",
    "[[bin]]\n",
    "test = false\n",
    "[lib]\n",
    "harness = true\n",
    "[workspace]\n",
    "members = [\"a\", 1]\n",
    "[target.'cfg(x)'.dependencies]\n",
    "[project]\n",
    "[tool.poetry]\n",
    "{",
    "}",
    "\"scripts\": ",
    "{\"test\": \"x\"}",
    ",",
    "\"name\": 1",
    "[1, ",
    "]",
    "a.b.c = 1\n",
    "= ",
    "\"\"\"",
    "#",
    "\u{feff}",
    "1e999\n",
];
