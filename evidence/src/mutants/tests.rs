use std::time::Duration;

use holdpoint_protocol::reason::CriterionReason;
use proptest::prelude::*;

use super::*;
use crate::checks::{CheckEnd, JudgedRun};

/// The mutations of the last line of a text: what that line becomes.
fn of(path: &str, text: &str) -> Vec<String> {
    let file = ChangedFile { path, before: None, after: text };
    let last = text.lines().count();
    let sites = sites("seed", &[file], &[]);
    let site = sites.iter().find(|site| site.line == last);
    let broken = |mutant: &Mutant| mutant.apply(text).lines().last().unwrap_or_default().trim().to_owned();
    site.map(|site| site.mutants.iter().map(broken).collect()).unwrap_or_default()
}

fn assert_table(path: &str, table: &[(&str, &[&str])]) {
    for (text, expected) in table {
        assert_eq!(of(path, text), *expected, "{text}");
    }
}

#[test]
fn lines_of_python_are_broken_by_what_they_say() {
    assert_table(
        "a.py",
        &[
            ("if a < b:", &["if a >= b:", "if not (a < b):"]),
            (
                "elif x(a[1]) and b:  # c",
                &["elif not (x(a[1]) and b):  # c", "elif x(a[1]) or b:  # c", "elif x(a[2]) and b:  # c"],
            ),
            ("while i != 3:", &["while i == 3:", "while i != 4:"]),
            ("    return a + b", &["return a - b", "return None"]),
            ("return not done", &["return None"]),
            ("return", &[]),
            ("x = a*b - 1e-5", &["x = a/b - 1e-5", "x = a*b + 1e-5"]),
            ("x = 'a' + b", &["x = 'XXa' + b"]),
            ("x = f(*a, **b)", &[]),
            ("x = a // b ** c % d", &["x = a * b ** c % d", "x = a // b * c % d", "x = a // b ** c * d"]),
            ("flag = True", &["flag = False"]),
            ("limit: int = 1_000", &["limit: int = 1001"]),
            ("rate = 1.5", &[]),
            (
                "ok = x is not None or y in z",
                &["ok = x is None or y in z", "ok = x is not None and y in z", "ok = x is not None or y not in z"],
            ),
            ("ok = x not in y", &["ok = x in y"]),
            ("total += price", &["total -= price"]),
            ("count += 1", &["count += 2"]),
            ("self.items.append(item)", &["pass"]),
            ("self.size = size", &["pass"]),
            ("    raise ValueError('no %s' % x)", &["pass"]),
            ("def f(a: int = 0) -> str:", &["def f(a: int = 1) -> str:"]),
        ],
    );
}

#[test]
fn lines_of_rust_are_broken_by_what_they_say() {
    assert_table(
        "src/a.rs",
        &[
            ("    if a < b {", &["if a >= b {", "if !(a < b) {"]),
            ("if let Some(a) = b && c {", &["if let Some(a) = b || c {"]),
            ("} else if x.is_empty() {", &["} else if !(x.is_empty()) {"]),
            (
                "let x: Vec<u8> = f::<T>(a - 1);",
                &["let x: Vec<u8> = f::<T>(a + 1);", "let x: Vec<u8> = f::<T>(a - 2);"],
            ),
            ("fn f<'a>(x: &'a T) -> Box<dyn Read + Send> {", &[]),
            ("let y = *x;", &[]),
            ("a + b", &["a - b"]),
            ("let f = |a, b| a && b;", &["let f = |a, b| a || b;"]),
            ("let f = || true;", &["let f = || false;"]),
            ("let n = 7u8;", &["let n = 8u8;"]),
            ("return Some(a.0);", &["return Default::default();"]),
            ("{\n    self.seen.insert(a);", &[";"]),
            ("{\n    self.seen.insert(a)", &[]),
            ("let s = \"a\\\"b\";", &["let s = \"XXa\\\"b\";"]),
            ("println!(\"{} {}\", a, 'x');", &[]),
            ("panic!(\"no {a}\");", &[]),
        ],
    );
}

#[test]
fn lines_of_other_languages_are_broken_by_what_they_say() {
    assert_table(
        "a.ts",
        &[
            ("if (a === b) {", &["if (a !== b) {", "if (!(a === b)) {"]),
            ("  if (ok()) return `a${b}`;", &["if (!(ok())) return `a${b}`;", "if (ok()) return `XXa${b}`;"]),
            ("const f = (a) => a * 2;", &["const f = (a) => a / 2;", "const f = (a) => a * 3;"]),
            ("const m: Map<string, number> = new Map();", &[]),
            ("{\n  return x;", &["return null;"]),
            ("{\n  this.list.push(x);", &[";"]),
            ("{\n  throw new Error('no');", &[";"]),
            ("const r = /a+b/.test(c) || d;", &["const r = /a+b/.test(c) && d;"]),
        ],
    );
    assert_table(
        "a.go",
        &[
            ("if err := f(); err != nil {", &["if err := f(); err == nil {", "if err := f(); !(err != nil) {"]),
            ("ch <- x", &[]),
            ("return a, true", &["return a, false"]),
            ("x := \"a\"", &["x := \"XXa\""]),
            ("s.list.Add(x)", &[""]),
            ("return fmt.Errorf(\"no %d\", x)", &[]),
        ],
    );
    assert_table(
        "a.c",
        &[
            (
                "if (p->n > 0x10 && q) {",
                &["if (p->n <= 0x10 && q) {", "if (!(p->n > 0x10 && q)) {", "if (p->n > 0x10 || q) {"],
            ),
            ("{\n  return a % b;", &["return a * b;", "return 0;"]),
            ("int *p = &a;", &[]),
            ("mode = 0644;", &[]),
        ],
    );
    assert_table(
        "A.java",
        &[("{\n  return a >= 'b';", &["return a < 'b';", "return null;"]), ("{\n  this.n = n;", &[";"])],
    );
}

#[test]
fn lines_that_no_test_can_be_asked_about_stay() {
    let table = [
        (
            "a.py",
            "# a < b\n\n\"\"\"Doc: a < b.\n\na == 1\n\"\"\"\nimport a\nfrom b import c\n@cache(1)\nclass A(B == C):\n",
        ),
        (
            "a.py",
            "__version__ = '1'\nif TYPE_CHECKING:\nif __name__ == '__main__':\n    sys.exit(main(1))\n\n    x = 1\n",
        ),
        ("a.py", "def f():\n    'Says 1.'\n    log.info('a')\n"),
        ("src/a.rs", "use a::{b, c};\nmod d;\n#[derive(A)]\n#![allow(b = 1)]\n// 1\n/// 2\n/* 3 */\n"),
        (
            "src/a.rs",
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(1 < 2); }\n    const N: u8 = 1;\n}\n",
        ),
        ("src/a.rs", "#[test]\n#[should_panic(expected = \"a\")]\nfn a(b: [u8; 2]) {\n    let n = 1;\n}\n"),
        ("src/a.rs", "#[cfg(test)]\nuse a;\n#[tokio::test]\nasync fn a() {\n    let n = 1;\n}\n"),
        ("a.go", "package a\nimport (\n\t\"fmt\"\n\tb \"c\"\n)\n// 1 < 2\n"),
        ("a.ts", "import a from 'b';\nconst c = require('d');\nexport { e } from 'f';\ntype G = 1;\n"),
        ("a.c", "#include \"a.h\"\n#define N 1\nusing namespace b;\n"),
        ("README.md", "1 < 2\n"),
        ("a.json", "{\"a\": 1}\n"),
    ];
    for (path, text) in table {
        let found = sites("seed", &[ChangedFile { path, before: None, after: text }], &[]);
        let said: Vec<_> = found.iter().flat_map(|site| site.mutants.iter().map(|mutant| &mutant.said)).collect();
        assert!(said.is_empty(), "{said:#?}");
    }
    // Behind a block of tests there is product again.
    let text = "#[cfg(test)]\nmod tests {\n    const N: u8 = 1;\n}\nconst M: u8 = 1;\n";
    assert_eq!(of("src/a.rs", text), ["const M: u8 = 2;"]);
    let text = "#[test] fn a() -> [u8; 1] { [1] }\nconst M: u8 = 1;\n";
    assert_eq!(of("src/a.rs", text), ["const M: u8 = 2;"]);
    assert_eq!(of("src/a.rs", "#[cfg(not(test))]\nconst M: u8 = 1;\n"), ["const M: u8 = 2;"]);
}

#[test]
fn only_lines_that_the_work_changed_are_broken_and_a_moved_file_has_none() {
    let before = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a + 2\n";
    let after = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a + 3\n\n\ndef h(a):\n    return a + 4\n";
    let file = ChangedFile { path: "a.py", before: Some(before), after };
    let mut lines: Vec<_> = sites("seed", &[file], &[]).iter().map(|site| site.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [6, 10]);
    let moved = ChangedFile { path: "b.py", before: None, after };
    assert_eq!(sites("seed", &[moved], &[]).len(), 3);
    assert_eq!(sites("seed", &[moved], &[after]).len(), 0);
    assert_eq!(sites("seed", &[moved], &[before]).len(), 2);
}

#[test]
fn a_mutant_says_file_and_line_and_what_became_of_it_and_hides_nothing() {
    let text = "x = 1\r\nif ready and \"\u{202e}\":\r\n";
    let file = ChangedFile { path: "src/a.py", before: Some("x = 1\r\n"), after: text };
    let sites = sites("seed", &[file], &[]);
    let mutant = &sites[0].mutants[0];
    assert_eq!(mutant.apply(text), "x = 1\r\nif not (ready and \"\u{202e}\"):\r\n");
    let said = "src/a.py:2: \"if ready and \"\\u{202e}\":\" became \"if not (ready and \"\\u{202e}\"):\"";
    assert_eq!(mutant.said, said);
    let long = format!("x = [{} 7]\n", "a, ".repeat(100));
    let file = ChangedFile { path: "a.py", before: None, after: &long };
    let found = super::sites("seed", &[file], &[]);
    let said = &found[0].mutants[0].said;
    assert!(said.contains(" 7]") && said.contains(" 8]") && said.len() < 300, "{said}");
    let too_long = format!("x = [{} 7]\n", "a, ".repeat(200));
    assert_eq!(super::sites("seed", &[ChangedFile { path: "a.py", before: None, after: &too_long }], &[]), []);
}

/// A run of a check that ended with this code and printed this.
fn run(command: &str, exit: i32, output: &str) -> (JudgedRun, String) {
    let end = CheckEnd { exit: Some(exit), ..CheckEnd::default() };
    (JudgedRun::read(command, end, None, output, true), output.to_owned())
}

fn judged(path: &str, first: &(JudgedRun, String), run: &(JudgedRun, String), first_took: u64) -> Fate {
    fate(MutantRun {
        path,
        first: (&first.0, &first.1),
        first_took: Duration::from_secs(first_took),
        run: (&run.0, &run.1),
        limit: Duration::from_secs(30),
    })
}

#[test]
fn a_mutant_is_killed_by_a_test_and_survives_a_green_run() {
    const UNITTEST: &str = "python3 -m unittest";
    let green = run(UNITTEST, 0, "Ran 2 tests in 0.1s\n\nOK\n");
    let of = |exit, output: &str| judged("a.py", &green, &run(UNITTEST, exit, output), 1);
    assert_eq!(of(0, "Ran 2 tests in 0.1s\n\nOK\n"), Fate::Survived);
    assert_eq!(of(1, "Ran 2 tests in 0.1s\n\nFAILED (failures=1)\n"), Fate::Killed);
    assert_eq!(of(0, "Ran 1 test in 0.1s\n\nOK\n"), Fate::Killed, "fewer tests ran");
    let rust = "running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
    let green = run("cargo test", 0, rust);
    let of = |exit, output: &str| judged("src/a.rs", &green, &run("cargo test", exit, output), 1);
    assert_eq!(
        of(101, &rust.replace("b ... ok", "b ... FAILED").replace("ok. 2 passed; 0", "FAILED. 1 passed; 1")),
        Fate::Killed
    );
    assert_eq!(of(101, "running 2 tests\nthread 'b' has overflowed its stack\n"), Fate::Killed, "its process died");
    // A script of which nothing is known but its end.
    let green = run("./check.sh", 0, "");
    assert_eq!(judged("a.py", &green, &run("./check.sh", 1, ""), 1), Fate::Killed);
    assert_eq!(judged("a.py", &green, &run("./check.sh", 0, ""), 1), Fate::Survived);
}

#[test]
fn a_mutant_that_does_not_build_or_load_says_nothing() {
    let failed = "Ran 1 test in 0.1s\n\nFAILED (errors=1)\nunittest.loader._FailedTest\n";
    let green = run("python3 -m unittest", 0, "Ran 2 tests in 0.1s\n\nOK\n");
    assert_eq!(judged("a.py", &green, &run("python3 -m unittest", 1, failed), 1), Fate::Void);
    let rust = run("cargo test", 0, "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n");
    let broken = "error[E0308]: mismatched types\nerror: could not compile `a` (lib) due to 1 previous error\n";
    assert_eq!(judged("src/a.rs", &rust, &run("cargo test", 101, broken), 1), Fate::Void);
    let script = run("./check.sh", 0, "");
    assert_eq!(judged("a.py", &script, &run("./check.sh", 1, "SyntaxError: invalid syntax\n"), 1), Fate::Void);
    assert_eq!(judged("a.py", &script, &run("./check.sh", 127, ""), 1), Fate::Void);
    // A project that prints such lines when it is green is not taken at them.
    let says_so = run("./check.sh", 0, "SyntaxError: as it should\n");
    assert_eq!(judged("a.py", &says_so, &run("./check.sh", 1, "SyntaxError: as it should\n"), 1), Fate::Killed);
}

#[test]
fn a_mutant_that_does_not_end_is_killed_where_the_check_has_time_to_spare() {
    let green = run("./check.sh", 0, "");
    let end = |end: CheckEnd| (JudgedRun::read("./check.sh", end, None, "", true), String::new());
    let late = end(CheckEnd { timed_out: true, ..CheckEnd::default() });
    assert_eq!(late.0.outcome.1, Some(CriterionReason::Timeout));
    assert_eq!(judged("a.py", &green, &late, 10), Fate::Killed);
    assert_eq!(judged("a.py", &green, &late, 11), Fate::Void);
    for crashed in
        [CheckEnd { limit: true, ..CheckEnd::default() }, CheckEnd { signal: Some(11), ..CheckEnd::default() }]
    {
        assert_eq!(judged("a.py", &green, &end(crashed), 29), Fate::Killed);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_and_every_mutant_differs_in_one_line(
        text in "([a-z ]|[(){}\\[\\]\"'`/*#\\\\<>=!&|+%.;:,\n]|if |return |r#\"|ä|1|true|\r\n){0,60}",
        path in prop::sample::select(vec!["a.py", "a.rs", "a.ts", "a.go", "a.c", "a.java"]),
    ) {
        for site in sites("seed", &[ChangedFile { path, before: None, after: &text }], &[]) {
            for mutant in &site.mutants {
                let broken = mutant.apply(&text);
                prop_assert_ne!(&broken, &text);
                let differing: Vec<usize> =
                    text.lines().zip(broken.lines()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at + 1).collect();
                prop_assert_eq!(differing, vec![site.line]);
                prop_assert_eq!(text.lines().count(), broken.lines().count());
            }
        }
    }
}
