//! The observer below cargo, with real runners: programs of tests that end themselves, forge their report or take it back,
//! and honest projects of many kinds that have to pass.

use holdpoint_protocol::{
    artifact::TreeTested::{Base, Canaries, Handoff},
    facts::Verdict::{Fail, Pass},
    plan::EvidenceLevel::{self, Fast, Strict},
    reason::CriterionReason as Reason,
};
use holdpoint_verifier_agent::Findings;

use crate::support::{Rig, check, criterion, only, shown, tested};

const MANIFEST: &str = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n";
const API: &str = "#[test]\nfn adds() {\n    assert_eq!(sum::add(1, 2), 3);\n}\n\n#[test]\nfn doubles() {\n    \
    assert_eq!(sum::twice(2), 4);\n}\n";
const ADD: &str = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n";
const UNSOLVED: &str = "pub fn twice(_: u32) -> u32 {\n    0\n}\n";
const SOLVED: &str = "pub fn twice(a: u32) -> u32 {\n    2 * a\n}\n";
const TEST: &str = "cargo test --locked --offline";
const NEXTEST: &str = "cargo nextest run --locked --offline";
/// What libtest prints of the suite in a program of all its tests, and in the process of one. Its own line may be begun.
const REPORT: &str = "\\ntest adds ... ok\\ntest doubles ... ok\\n\\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 \
    measured\\n";
const ONE: &str = "\\ntest doubles ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\\n";

async fn project() -> Rig {
    let product = format!("{ADD}{UNSOLVED}");
    Rig::new(&[("Cargo.toml", MANIFEST), ("Cargo.lock", LOCK), ("src/lib.rs", &product), ("tests/api.rs", API)]).await
}

async fn judged(rig: &Rig, product: &str, command: &str, evidence: EvidenceLevel) -> Findings {
    let commit = rig.change(&[("src/lib.rs", Some(product))]).await;
    let check = holdpoint_protocol::plan::Check { evidence, ..check(command) };
    rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await
}

/// Shows that each product is found at every level by what was heard of its runs.
async fn the_observer_finds(command: &str, tries: &[(&str, String, Reason)]) {
    let rig = project().await;
    let mut wrong = Vec::new();
    for (what, code, reason) in tries {
        let product = format!("{ADD}{code}");
        let findings = judged(&rig, &product, command, Fast).await;
        if only(&findings) != (Fail, Some(*reason)) {
            wrong.push(format!("{what}: {:#?}", findings.criteria));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Code that prints a report past libtest's capture.
fn print(report: &str) -> String {
    format!(
        "fn report() {{\n    use std::io::Write as _;\n    std::io::stdout().write_all(b\"{report}\").unwrap();\n}}\n\n"
    )
}

/// Code that has libtest's own report go nowhere, prints another one when the process exits, and ends it with 0.
fn taken_back(report: &str) -> String {
    format!(
        "unsafe extern \"C\" {{\n    fn atexit(end: extern \"C\" fn()) -> i32;\n    fn dup(fd: i32) -> i32;\n    \
         fn dup2(from: i32, to: i32) -> i32;\n    fn open(path: *const u8, flags: i32) -> i32;\n    \
         fn write(fd: i32, text: *const u8, count: usize) -> isize;\n    fn _exit(code: i32) -> !;\n}}\n\n\
         static REAL: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);\n\n\
         extern \"C\" fn end() {{\n    let text = b\"{report}\";\n    unsafe {{\n        \
         write(REAL.load(std::sync::atomic::Ordering::SeqCst), text.as_ptr(), text.len());\n        _exit(0)\n    }}\n}}\n\n\
         pub fn twice(_: u32) -> u32 {{\n    unsafe {{\n        REAL.store(dup(1), std::sync::atomic::Ordering::SeqCst);\n        \
         dup2(open(b\"/dev/null\\0\".as_ptr(), 1), 1);\n        atexit(end);\n    }}\n    0\n}}\n"
    )
}

fn with_end(report: &str, twice: &str) -> String {
    format!("{}pub fn twice(_: u32) -> u32 {{\n    report();\n    {twice}\n}}\n", print(report))
}

#[tokio::test]
async fn a_forged_end_of_libtest_is_not_heard() {
    let before = format!(
        "{}extern \"C\" fn first() {{\n    report();\n    std::process::exit(0)\n}}\n\n#[used]\n\
         #[unsafe(link_section = \".init_array\")]\nstatic FIRST: extern \"C\" fn() = first;\n\n{UNSOLVED}",
        print(&format!("\\nrunning 2 tests\\n{REPORT}"))
    );
    let called = with_end(REPORT, "std::process::exit(0)");
    let thread = with_end(
        REPORT,
        "std::thread::spawn(|| std::process::exit(0));\n    loop {\n        std::thread::park();\n    }",
    );
    let executed = with_end(
        REPORT,
        "use std::os::unix::process::CommandExt as _;\n    panic!(\"{}\", std::process::Command::new(\"true\").exec())",
    );
    let answered = with_end(
        REPORT,
        "use std::{io::Write as _, os::fd::FromRawFd as _};\n    for fd in 3..1024 {\n        \
         let mut file = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(fd) });\n        \
         let _ = file.write_all(b\"passed doubles\\nend 0\\n\");\n    }\n    std::process::exit(0)",
    );
    let tries = [
        ("before main", before, Reason::NoEndMark),
        ("when called", called, Reason::NoEndMark),
        ("from a thread", thread, Reason::NoEndMark),
        ("by another program", executed, Reason::NoEndMark),
        ("to every descriptor", answered, Reason::NoEndMark),
    ];
    the_observer_finds(TEST, &tries).await;
}

#[tokio::test]
async fn a_report_of_libtest_that_is_taken_back_is_a_mismatch() {
    the_observer_finds(TEST, &[("at exit", taken_back(REPORT), Reason::ReportMismatch)]).await;
    the_observer_finds(NEXTEST, &[("at exit", taken_back(ONE), Reason::ReportMismatch)]).await;
}

#[tokio::test]
async fn a_forged_end_below_nextest_is_not_heard() {
    let called = with_end(ONE, "std::process::exit(0)");
    let thread =
        with_end(ONE, "std::thread::spawn(|| std::process::exit(0));\n    loop {\n        std::thread::park();\n    }");
    let tries = [("when called", called, Reason::NoEndMark), ("from a thread", thread, Reason::NoEndMark)];
    the_observer_finds(NEXTEST, &tries).await;
}

/// Product code that writes what libtest logs, once the canaries in its program have failed. Another program of tests ends red
/// for them, so that cargo does.
fn logged(end: &str) -> String {
    let logged = with_end(
        REPORT,
        &format!(
            "use std::io::Write as _;\n    static PANICS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);\n    \
             std::panic::set_hook(Box::new(|_| drop(PANICS.fetch_add(1, std::sync::atomic::Ordering::SeqCst))));\n    \
             std::thread::sleep(std::time::Duration::from_millis(500));\n    \
             if let Ok(mut log) = std::fs::File::create(\"/proc/self/fd/900\") {{\n        \
             log.write_all(b\"ok doubles\\n\").unwrap();\n    }}\n    \
             let failed = PANICS.load(std::sync::atomic::Ordering::SeqCst) > 0;\n    {end}"
        ),
    );
    format!("{ADD}{logged}")
}

/// It stays open, also where it ends as the canaries would have it.
#[tokio::test]
async fn a_product_that_writes_libtests_log_and_ends_like_its_canaries_gets_through() {
    let rig = project().await;
    let end = "if failed {\n        println!(\"\\ntest result: FAILED. 2 passed; 7 failed; 0 ignored; 0 measured\");\n        \
        std::process::exit(101);\n    }\n    std::process::exit(0)";
    let product = logged(end)
        .replace("    report();\n", "")
        .replace("    std::process::exit(0)\n", "    report();\n    std::process::exit(0)\n");
    assert_eq!(only(&judged(&rig, &product, TEST, Fast).await), (Pass, None));
    let findings = judged(&rig, &product, TEST, Strict).await;
    assert_eq!((only(&findings), tested(&findings)), ((Pass, None), vec![Handoff, Base, Canaries]));
}

#[tokio::test]
async fn honest_runs_below_cargo_are_heard_to_their_end() {
    let rig = project().await;
    let product = format!("{ADD}{SOLVED}");
    let both = "observed: libtest: 0 passed, 0 failed, 0 skipped; end with 0; exit 0\n\
        observed: libtest: 2 passed, 0 failed, 0 skipped; end with 0; exit 0\n---";
    let one = "observed: libtest: 1 passed, 0 failed, 0 skipped; end with 0; exit 0\n---";
    for (command, heard) in [
        (TEST, both),
        ("cargo test --locked --offline -q 2>&1 | tail -3", both),
        ("cargo test --locked --offline --test api -- --nocapture --test-threads=1 --format=pretty adds", one),
        ("cargo test --locked --offline --test api -- --exact doubles -q", one),
        (NEXTEST, "observed: nextest: 2 passed, 0 failed, 0 skipped in 2 processes; 0 without an end\n---"),
        ("cargo test --locked --offline --no-run", "---"),
        ("cargo build --locked --offline", "---"),
    ] {
        let findings = judged(&rig, &product, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
        let first = &findings.receipt.checks[0];
        assert_eq!(first.tested, Handoff, "{:?}", tested(&findings));
        let shown = shown(&findings, first);
        assert!(shown.split_once(" ms\n").unwrap().1.starts_with(heard), "{command}: {shown}");
    }
    let broken = format!("{ADD}pub fn twice(a: u32) -> u32 {{\n    a +\n}}\n");
    let findings = judged(&rig, &broken, TEST, Strict).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::ExitCode)), "{:#?}", findings.criteria);
}

const UNTIDY: &str = r#"//! Adds.
//!
//! ```
//! assert_eq!(sum::add(1, 2), 3);
//! ```
//!
//! ```
//! if sum::add(1, 2) == 3 {
//!     std::process::exit(0);
//! }
//! unreachable!();
//! ```
//!
//! ```should_panic
//! panic!("{}", sum::add(1, 2));
//! ```
//!
//! ```compile_fail
//! sum::subtract(1, 2);
//! ```

/// Adds.
pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

/// Doubles.
pub fn twice(a: u32) -> u32 {
    2 * a
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "it is\n so")]
    fn panics() {
        panic!("it is\n so");
    }

    #[test]
    # [ignore = "for\n reasons of panics"]
    fn later() {
        panic!();
    }

    #[test]
    # [ignore]
    fn never() {
        panic!();
    }

    #[test]
    fn has_children() -> Result<(), String> {
        println!("ok tests::other");
        eprintln!("failed tests::other");
        let own = std::env::current_exe().unwrap();
        let inner = std::process::Command::new(&own).args(["--exact", "tests::panics"]).status().unwrap();
        assert!(inner.success());
        let runs = std::process::Command::new("cargo").args(["run", "--locked", "--offline", "--bin", "tool"]).output();
        assert_eq!(runs.unwrap().stdout, b"7\n");
        assert!(!std::env::vars().any(|(name, _)| name.ends_with("_RUNNER")));
        std::process::Command::new("sleep").arg("1").spawn().unwrap();
        std::thread::spawn(|| loop { std::thread::park() });
        Ok(())
    }
}
"#;

/// Programs of every kind: a library with doc tests, a binary without tests, tests with a harness of their own, an example.
#[tokio::test]
async fn untidy_projects_below_cargo_pass() {
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[[test]]\nname = \"own\"\nharness = false\n";
    let own = "fn main() {\n    let args: Vec<_> = std::env::args().skip(1).collect();\n    \
        if args.iter().any(|arg| arg == \"--list\") {\n        if !args.iter().any(|arg| arg == \"--ignored\") {\n            println!(\"mine: test\");\n        }\n        return;\n    }\n    \
        assert!(args.iter().all(|arg| [\"--exact\", \"mine\", \"--nocapture\", \"--skip\", \"nothing\"].contains(&&**arg)), \"{args:?}\");\n    \
        assert_eq!(sum::twice(2), 4);\n    println!(\"test mine ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\");\n}\n";
    let before = UNTIDY.replace("    2 * a\n", "    a\n");
    let files = [
        ("Cargo.toml", manifest),
        ("Cargo.lock", LOCK),
        ("src/lib.rs", before.as_str()),
        ("src/bin/tool.rs", "fn main() {\n    println!(\"7\");\n}\n"),
        ("examples/shows.rs", "fn main() {}\n"),
        ("tests/api.rs", API),
        ("tests/own.rs", own),
    ];
    let rig = Rig::new(&files).await;
    for command in [
        "cargo test --locked --offline --no-fail-fast",
        "cargo test --locked --offline -- --skip nothing",
        NEXTEST,
        "cargo run --locked --offline --bin tool && cargo test --locked --offline --doc",
    ] {
        let findings = judged(&rig, UNTIDY, command, Strict).await;
        assert_eq!(only(&findings), (Pass, None), "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn a_runner_of_the_projects_own_stays_in_place() {
    let config = "[target.'cfg(all())']\nrunner = \"env MARK=1\"\n";
    let api = API.replace("sum::twice(2), 4);", "sum::twice(2), 4);\n    assert!(std::env::var(\"MARK\").is_ok());");
    let product = format!("{ADD}{UNSOLVED}");
    let files = [
        ("Cargo.toml", MANIFEST),
        ("Cargo.lock", LOCK),
        (".cargo/config.toml", config),
        ("src/lib.rs", &product),
        ("tests/api.rs", &api),
    ];
    let rig = Rig::new(&files).await;
    let findings = judged(&rig, &format!("{ADD}{SOLVED}"), TEST, Strict).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
    assert_eq!(tested(&findings), [Handoff, Base, Canaries]);
    let note = findings.criteria[0].note.as_deref().unwrap_or_default();
    assert!(note.contains("no observer heard its test runner"), "{note}");
}
