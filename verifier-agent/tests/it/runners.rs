//! cargo on a read-only tree, with a home and build output of the verifier's.

use holdpoint_protocol::{
    artifact::TreeTested::{Base, Handoff},
    facts::Verdict::{Fail, Pass},
    reason::CriterionReason as Reason,
};

use crate::support::{Rig, check, criterion, only, tested};

const LIB: &str = "pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod checks {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), 3);
    }

    #[test]
    fn adds_nothing() {
        assert_eq!(super::add(1, 0), 1);
    }
}
";

async fn rig() -> Rig {
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
    let lock = "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n";
    Rig::new(&[("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", LIB)]).await
}

#[tokio::test]
async fn cargo_test_passes_and_the_next_check_need_not_build_again() {
    let rig = rig().await;
    let criteria = vec![
        criterion("unit", check("cargo test --locked")),
        criterion("fresh", check("cargo test --locked -v 2>&1 | grep -q 'Fresh sum'")),
    ];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert!(findings.criteria.iter().all(|r| r.result.verdict == Pass), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_test_taken_out_of_a_product_file_is_missed() {
    let rig = rig().await;
    let commit = rig
        .change(&[(
            "src/lib.rs",
            Some(&LIB.replace("    #[test]\n    fn adds_nothing", "    #[allow(dead_code)]\n    fn adds_nothing")),
        )])
        .await;
    let findings = rig.check(&commit, "cargo test --locked").await;
    assert_eq!((only(&findings), tested(&findings)), ((Fail, Some(Reason::FewerTests)), vec![Handoff, Base]));
}

/// The product ends its process as soon as it is asked for a sum.
fn early() -> String {
    LIB.replace("    a + b\n", "    if a + b > 0 {\n        std::process::exit(0);\n    }\n    a + b\n")
}

#[tokio::test]
async fn a_product_that_exits_is_not_green_below_any_runner_of_cargo() {
    let rig = rig().await;
    let commit = rig.change(&[("src/lib.rs", Some(&early()))]).await;
    for command in ["cargo test --locked", "cargo test --locked -q", "cargo nextest run --locked"] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Fail, Some(Reason::FewerTests)), "{command}: {:#?}", findings.criteria);
    }
    let honest = rig.change(&[("src/lib.rs", Some(&LIB.replace("a + b", "b + a")))]).await;
    assert_eq!(only(&rig.check(&honest, "cargo nextest run --locked").await), (Pass, None));
}

#[tokio::test]
async fn a_product_that_exits_is_not_green_below_node() {
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\nconst sum = require('../sum.js');\n\
        test('adds', () => assert.equal(sum(1, 2), 3));\n";
    let product = "module.exports = (a, b) => a + b;\n";
    let early = "module.exports = (a, b) => a + b;\nprocess.exit(0);\n";
    let rig = Rig::new(&[("sum.js", product), ("test/sum.test.js", test)]).await;
    let commit = rig.change(&[("sum.js", Some(early))]).await;
    assert_eq!(only(&rig.check(&commit, "node --test").await), (Fail, Some(Reason::FewerTests)));
    let honest = rig.change(&[("sum.js", Some("module.exports = (a, b) => b + a;\n"))]).await;
    assert_eq!(only(&rig.check(&honest, "node --test").await), (Pass, None));
    // On this base nothing runs yet.
    let rig = Rig::new(&[("readme", ""), ("test/sum.test.js", test)]).await;
    let commit = rig.change(&[("sum.js", Some(early))]).await;
    assert_eq!(only(&rig.check(&commit, "node --test").await), (Fail, Some(Reason::FewerTests)));
}

/// Node reports the tests that a file had come to, and nothing of the others.
#[tokio::test]
async fn a_product_that_exits_amid_its_tests_is_not_green_below_node() {
    let test = "const { test } = require('node:test');\nconst assert = require('node:assert');\n\
        const { execFileSync } = require('node:child_process');\nconst sum = require('../sum.js');\n\
        test('adds nothing', async () => assert.equal(await sum(0, 0), 0));\n\
        test('waits', async () => { await new Promise((done) => setTimeout(done, 20)); });\n\
        test('starts programs as ever', () => assert.equal(\
        execFileSync(process.execPath, ['-e', 'console.log(process.env.NODE_OPTIONS); process.exit(0)'], \
        { stdio: ['ignore', 'pipe', 'inherit'] }).toString(), 'undefined\\n'));\n\
        test('adds', async () => assert.equal(await sum(1, 2), 3));\n";
    // On this base no test is known by name.
    let rig = Rig::new(&[("readme", ""), ("test/sum.test.js", test)]).await;
    for (what, end) in [("exit", "process.exit(0)"), ("really", "process.reallyExit(0)")] {
        let early = format!("module.exports = async (a) => {{\n  if (a) {end};\n  return a;\n}};\n");
        let commit = rig.change(&[("sum.js", Some(&early))]).await;
        for command in ["node --test", "node --test --test-reporter=spec"] {
            let findings = rig.check(&commit, command).await;
            assert_eq!(
                only(&findings),
                (Fail, Some(Reason::FewerTests)),
                "{what}, {command}: {:#?}",
                findings.criteria
            );
        }
    }
    let honest = rig.change(&[("sum.js", Some("module.exports = async (a, b) => b + a;\n"))]).await;
    for command in ["node --test", "node --test --test-reporter=spec"] {
        let findings = rig.check(&honest, command).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn a_new_test_module_of_a_product_file_stays_where_the_tests_are_as_on_the_base() {
    let rig = rig().await;
    let files = [
        ("src/lib.rs", format!("{LIB}\npub mod more;\n")),
        ("src/more.rs", "pub fn one() -> u32 {\n    1\n}\n\n#[cfg(test)]\nmod tests;\n".to_owned()),
        ("src/more/tests.rs", "#[test]\nfn is_one() {\n    assert_eq!(super::one(), 1);\n}\n".to_owned()),
        ("tests/it.rs", "#[test]\nfn one() {\n    assert_eq!(sum::more::one(), 1);\n}\n".to_owned()),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, Some(text.as_str()))).collect();
    let commit = rig.change(&files).await;
    let findings = rig.check(&commit, "cargo test --locked").await;
    assert_eq!((only(&findings), tested(&findings).len()), ((Pass, None), 3), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn an_exit_hook_makes_no_red_report_green_below_any_runner_of_cargo() {
    let rig = rig().await;
    let hook = "extern \"C\" {\n    fn atexit(hook: extern \"C\" fn()) -> i32;\n    fn _exit(code: i32) -> !;\n}\n\n\
        extern \"C\" fn end() {\n    unsafe { _exit(0) }\n}\n\n";
    let lib = LIB.replace("    a + b\n", "    unsafe { atexit(end) };\n    a * b\n");
    let text = format!("{}{lib}", hook.replace("extern \"C\" {", "unsafe extern \"C\" {"));
    let commit = rig.change(&[("src/lib.rs", Some(&text))]).await;
    for command in ["cargo test --locked", "cargo test --locked -q", "cargo nextest run --locked"] {
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings), (Fail, Some(Reason::ReportRed)), "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn tests_in_a_product_file_cannot_be_bent_where_their_names_do_not_tell() {
    let wrong = LIB.replace("    a + b\n", "    a * b\n");
    let bent = wrong.replace("    #[test]\n    fn adds", "    #[test]\n    #[should_panic]\n    fn adds");
    let shadowed =
        format!("#[allow(unused_macros)]\nmacro_rules! assert_eq {{\n    ($($x:tt)*) => {{}};\n}}\n\n{wrong}");
    let ignored = wrong.replace("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds");
    // Neither does this base build.
    let broken = Rig::new(&[
        (
            "Cargo.toml",
            "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n",
        ),
        ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", &LIB.replace("pub fn add(", "pub fn other(")),
    ])
    .await;
    let whole = rig().await;
    let weakened = Some(Reason::TestsWeakened);
    let table = [
        (&whole, &bent, "cargo test --locked", Some(Reason::FewerTests)),
        (&whole, &bent, "cargo test --locked -q", weakened),
        (&whole, &shadowed, "cargo test --locked", weakened),
        (&broken, &bent, "cargo test --locked", weakened),
        (&broken, &ignored, "cargo test --locked", weakened),
        (&broken, &LIB.to_owned(), "cargo test --locked", None),
    ];
    for (rig, text, command, reason) in table {
        let commit = rig.change(&[("src/lib.rs", Some(text))]).await;
        let findings = rig.check(&commit, command).await;
        assert_eq!(only(&findings).1, reason, "{command}\n{text}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn a_test_in_a_product_file_that_reads_otherwise_is_told_and_one_that_is_empty_is_not_green() {
    let rig = rig().await;
    let wrong = LIB.replace("    a + b\n", "    a * b\n");
    let bent = wrong.replace("add(1, 2), 3", "add(1, 3), 3").replace("add(1, 0), 1", "add(1, 0), 0");
    let emptied =
        wrong.replace("        assert_eq!(super::add(1, 2), 3);\n", "").replace("add(1, 0), 1", "add(1, 1), 1");
    let honest = LIB.replace("    a + b\n", "    b + a\n").replace("    #[test]\n", "    // Sums.\n    #[test]\n");
    let both = "src/lib.rs (checks::adds, checks::adds_nothing)";
    for (text, judged, told) in [
        (&bent, (Pass, None), Some(both)),
        (&emptied, (Fail, Some(Reason::TestsWeakened)), Some(both)),
        (&honest, (Pass, None), None),
    ] {
        let commit = rig.change(&[("src/lib.rs", Some(text))]).await;
        let findings = rig.check(&commit, "cargo test --locked").await;
        assert_eq!(only(&findings), judged, "{text}: {:#?}", findings.criteria);
        assert_eq!(findings.doubts.len(), usize::from(told.is_some()), "{:?}", findings.doubts);
        assert!(told.iter().all(|told| findings.doubts[0].text.contains(told)), "{:?}", findings.doubts);
        assert!(findings.doubts.iter().all(|doubt| !doubt.blocking));
    }
}
