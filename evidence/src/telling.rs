//! What people are shown of a red result: how its program ended, which comparison it did not pass, and the lines of its
//! output that say why.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    plan::Check,
    reason::{BlockReason, CriterionReason},
};

use crate::{environment::missing_program, runners::without_escapes};

/// What is said, wherever verdicts are shown, of work that its own agent checked and nobody verified (FLY-36).
pub const SELF_CHECKED: &str = "self-checked";

/// Lines behind the first one that says what is wrong: most tools put the place and the values there.
const CONTEXT: usize = 3;
/// Lines before it, behind one that names the failure.
const PLACE: usize = 2;

/// What keeps work from going on, in a line for people; nothing of what waits for a person's decision and nothing else.
#[must_use]
pub fn obstacle(reason: BlockReason) -> Option<&'static str> {
    match reason {
        BlockReason::NeedsHumanInput => None,
        BlockReason::ExternalDependency => Some("external_dependency: something outside of the flight is missing"),
        BlockReason::ScopeChange => Some("scope_change: what is asked for is not what was agreed on any more"),
    }
}

/// What a criterion's reason means, as the second half of a sentence about it.
#[must_use]
pub fn in_words(reason: CriterionReason) -> &'static str {
    match reason {
        CriterionReason::ExitCode => "its check exited with an error",
        CriterionReason::ExpectUnmatched => "its output does not match `expect`",
        CriterionReason::FewerTests => "fewer tests ran than on the base",
        CriterionReason::MoreSkipped => "more tests were skipped than on the base",
        CriterionReason::NoTests => "it ran no test, so it shows nothing",
        CriterionReason::ReportRed => "exit code 0, but its test runner reports failures",
        CriterionReason::ReportMismatch => "what its test runner did is not what it reports",
        CriterionReason::NoEndMark => "its test runner did not come to its end",
        CriterionReason::TestsWeakened => "green, but not with the tests as on the base",
        CriterionReason::BaseProductGreen => "its new tests pass without the change as well",
        CriterionReason::MutantSurvived => "a changed line was broken, and it stayed green",
        CriterionReason::Canary => "a test that has to fail was added, and it stayed green",
        CriterionReason::Timeout => "its check did not end in time",
        CriterionReason::Signal => "its check was ended by a signal",
        CriterionReason::Limit => "its check used up more than it may",
        CriterionReason::NotExecutable => {
            "its check exited with 126 or 127, as shells do where a program cannot be run"
        }
        CriterionReason::ToolMissing => "what its command needs is not there",
        CriterionReason::SetupFailed => "the dependencies of its tree cannot be set up",
        CriterionReason::SetupChanged => "the setup of its dependencies changes the files that it is given",
        CriterionReason::TreeChanged => "its check changed files that it has to leave alone",
        CriterionReason::NoJudge => "it has no check, and there is no judge",
        CriterionReason::JudgeWithoutEvidence => "the judge named no evidence",
    }
}

/// Names of the signals that end programs, by their numbers on Linux.
const SIGNALS: [(i32, &str); 19] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (29, "SIGIO"),
    (31, "SIGSYS"),
];
/// Shells add this to the number of the signal that ended a program.
const SHELLS_ADD: i32 = 128;

fn signal_name(signal: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

/// A signal that ended a program.
#[must_use]
pub fn signal(number: i32) -> String {
    signal_name(number).map_or_else(|| format!("signal {number}"), |name| format!("{name} (signal {number})"))
}

/// Whether shells exit with this code where they cannot run a program.
#[must_use]
pub fn is_not_run(code: i32) -> bool {
    matches!(code, 126 | 127)
}

/// When shells exit with a code by themselves, as a subordinate clause; `None`: a program chose the code. A program may choose
/// the others as well, so this never says that a shell did.
#[must_use]
pub fn shells_give(code: i32) -> Option<String> {
    match code {
        126 => Some("which shells give where a program cannot be executed".to_owned()),
        127 => Some("which shells give where a program is not found".to_owned()),
        _ => {
            let name = code.checked_sub(SHELLS_ADD).and_then(signal_name)?;
            Some(format!("which shells give for a program that {name} ended"))
        }
    }
}

/// That a program exited with a code, with what shells mean by it.
#[must_use]
pub fn exited(code: i32) -> String {
    let shells = shells_give(code).map(|clause| format!(", {clause}")).unwrap_or_default();
    format!("exited with {code}{shells}")
}

/// The lines of a check's output that say why it is red: the first that explains an error, or else names one, with what follows
/// it, further errors, and the last line. Where nothing looks like an error, the last lines. At most `max` lines, in their order.
#[must_use]
pub fn lines_that_say_why(output: &str, max: usize) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    let at = |is: fn(&str) -> bool| -> Vec<usize> {
        (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| is(line))).collect()
    };
    let (explained, named) = (at(explains_error), at(names_error));
    let Some(first) = explained.first().or_else(|| named.first()) else {
        return lines.get(lines.len().saturating_sub(max)..).unwrap_or_default().to_vec();
    };
    let context = *first..lines.len().min(first + 1 + CONTEXT);
    let mut chosen = BTreeSet::new();
    // Python names the test first, then the place, and says what is wrong at the end.
    let named_before = named.iter().rfind(|at| *at < first).map_or(*first, |at| *at);
    let before = [*first, named_before].into_iter().chain((named_before..*first).rev().take(PLACE));
    let others = explained.iter().chain(&named).copied();
    for at in lines.len().checked_sub(1).into_iter().chain(before).chain(context).chain(others) {
        if chosen.len() < max {
            chosen.insert(at);
        }
    }
    chosen.into_iter().filter_map(|at| lines.get(at).copied()).collect()
}

/// A text as a terminal would show it: without escapes.
#[must_use]
pub fn plain(text: &str) -> String {
    without_escapes(text)
}

/// Words of programs that reached no network.
const NO_NETWORK: [&str; 17] = [
    "name resolution",
    "could not resolve",
    "name or service not known",
    "no such host",
    "failed to lookup address",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "unknownhostexception",
    "network is unreachable",
    "enetunreach",
    "no route to host",
    "connection refused",
    "couldn't connect to server",
    "econnrefused",
    "failed to establish a new connection",
    "network unreachable",
];
/// Words of programs that found no room on the disk.
const NO_ROOM: [&str; 6] =
    ["no space left on device", "enospc", "os error 28", "[errno 28]", "disk quota exceeded", "out of diskspace"];

/// What a plan has run on a tree.
#[derive(Debug, Clone, Copy)]
pub enum PlannedCommand<'a> {
    /// A check.
    Check(&'a Check),
    /// The setup of its tree's environment.
    Setup,
}

/// What in the plan would help a command that failed, by what it printed: it wants what it does not have. Nothing where a check asked
/// for it.
#[must_use]
pub fn lacks(command: PlannedCommand<'_>, output: &str) -> Option<String> {
    use PlannedCommand::{Check, Setup};
    let (words, hint): (&[&str], &'static str) = match command {
        Check(check) => (
            if check.network { &[] } else { &NO_NETWORK },
            "it wants a network, and checks have none: let `environment` set up what it needs, or give it `network: true`",
        ),
        Setup => {
            (&NO_NETWORK, "it reached no network, though a setup may use this machine's: see whether that has one")
        }
    };
    missing_program(output).or_else(|| says_one_of(output, words).then(|| hint.to_owned()))
}

/// Whether a program says in its output that the disk is full.
#[must_use]
pub fn says_no_room(output: &str) -> bool {
    says_one_of(output, &NO_ROOM)
}

fn says_one_of(output: &str, words: &[&str]) -> bool {
    output.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        words.iter().any(|word| line.contains(word))
    })
}

/// Whether a tool says in this line what is wrong.
fn explains_error(line: &str) -> bool {
    const BEGINS: [&str; 10] = [
        "error",
        "Error",
        "ERROR",
        "fatal:",
        "E  ",
        "●",
        "panic:",
        "CMake Error",
        "* What went wrong",
        "npm error Missing",
    ];
    const HAS: [&str; 13] = [
        "Error: ",
        "Error [ERR_",
        "Exception: ",
        " panicked at ",
        ": error",
        "  error  ",
        ": Failure",
        ": not found",
        "command not found",
        "No such file or directory",
        "Permission denied",
        "cannot find symbol",
        "Could not resolve dependencies",
    ];
    let line = line.trim_start_matches([' ', '\t']);
    BEGINS.iter().any(|word| line.starts_with(word)) || HAS.iter().any(|word| line.contains(word)) || is_gos(line)
}

/// Whether Go names a place in this line: `stock/find.go:7:2: undefined: x`.
fn is_gos(line: &str) -> bool {
    line.split_once(".go:").is_some_and(|(file, rest)| {
        !file.contains(' ') && rest.contains(": ") && rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether a tool says in this line that something is wrong.
fn names_error(line: &str) -> bool {
    const BEGINS: [&str; 9] = ["FAIL", "--- FAIL", "not ok", "✗", "✖", "✕", "×", "[ERROR]", "npm "];
    let line = line.trim_start_matches([' ', '\t']);
    let of_npm = |word: &str| word != "npm " || line.starts_with("npm error") || line.starts_with("npm ERR!");
    let summary = ["... FAILED", " FAIL", " FAILED"].iter().any(|end| line.ends_with(end));
    summary || line.contains("***Failed") || BEGINS.iter().any(|word| line.starts_with(word) && of_npm(word))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{plan::EvidenceLevel, time::Millis};

    use super::*;

    #[test]
    fn an_exit_code_is_said_as_it_is_with_what_shells_mean_by_it() {
        for (code, said) in [
            (1, "exited with 1"),
            (126, "exited with 126, which shells give where a program cannot be executed"),
            (127, "exited with 127, which shells give where a program is not found"),
            (128, "exited with 128"),
            (130, "exited with 130, which shells give for a program that SIGINT ended"),
            (137, "exited with 137, which shells give for a program that SIGKILL ended"),
            (190, "exited with 190"),
            (255, "exited with 255"),
            (i32::MIN, "exited with -2147483648"),
        ] {
            assert_eq!(exited(code), said);
        }
        assert_eq!((signal(9).as_str(), signal(40).as_str()), ("SIGKILL (signal 9)", "signal 40"));
    }

    #[test]
    fn the_first_error_of_a_compiler_is_shown_before_what_follows_from_it() {
        let output = "   Compiling client v0.1.0\nerror[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:2:5\n  |\n\
                      2 |     x\n  |     ^ not found\n\nwarning: unused\nerror: could not compile `client`\nwarning: build failed\n";
        let shown = lines_that_say_why(output, 6);
        assert_eq!(shown.first(), Some(&"error[E0425]: cannot find value `x` in this scope"));
        assert!(
            shown.contains(&" --> src/lib.rs:2:5") && shown.contains(&"error: could not compile `client`"),
            "{shown:?}"
        );
        assert_eq!(shown.last(), Some(&"warning: build failed"));
    }

    #[test]
    fn failures_of_test_runners_are_found_among_many_lines() {
        let noise = "tests/test_a.py::test_b PASSED\n".repeat(200);
        for (output, says) in [
            ("E   assert 1 == 2", "E   assert 1 == 2"),
            ("FAIL: test_x (tests.T)\n------\nAssertionError: 1 != 2", "AssertionError: 1 != 2"),
            ("thread 'x' panicked at src/lib.rs:5:5:\nassertion failed\n  left: 1\n right: 2", "  left: 1"),
            ("--- FAIL: TestX (0.00s)\n    x_test.go:5: got 2", "    x_test.go:5: got 2"),
            ("not ok 3 - adds", "not ok 3 - adds"),
            (
                "FAIL: test_x (t.T)\nTraceback:\n  File \"t.py\", line 3\n    self.x()\nAssertionError: 3 != 1",
                "  File \"t.py\", line 3",
            ),
            ("sh: 1: pytest: not found", "sh: 1: pytest: not found"),
            ("ModuleNotFoundError: No module named 'x'", "ModuleNotFoundError: No module named 'x'"),
        ] {
            let whole = format!("{noise}{output}\n{noise}1 failed in 0.1s\n");
            let shown = lines_that_say_why(&whole, 6);
            assert!(shown.contains(&says) && shown.len() <= 6, "{shown:?}");
            assert_eq!(shown.last(), Some(&"1 failed in 0.1s"));
        }
    }

    #[test]
    fn every_runner_s_cause_is_shown_and_not_its_last_lines() {
        for (output, says) in [
            (include_str!("runners/fixtures/jest_fail.txt"), "Expected: 2"),
            (include_str!("runners/fixtures/mocha_fail.txt"), "AssertionError [ERR_ASSERTION]: 1 == 2"),
            (
                include_str!("runners/fixtures/vitest_fail.txt"),
                "AssertionError: expected 1 to be 2 // Object.is equality",
            ),
            (include_str!("runners/fixtures/ctest_fail.txt"), "Expected equality of these values:"),
            (include_str!("runners/fixtures/gtest_fail.txt"), "/tree/tests/odd_test.cpp:2: Failure"),
            (
                include_str!("runners/fixtures/maven_fail.txt"),
                "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
            ),
            (
                "# example.com/stock\nstock/find.go:7:2: undefined: x\nFAIL\texample.com/stock [build failed]\nFAIL\n",
                "stock/find.go:7:2: undefined: x",
            ),
            (
                "> tsc\nsrc/a.ts(3,5): error TS2322: no\nnpm error code 2\nnpm error path /tree\n",
                "src/a.ts(3,5): error TS2322: no",
            ),
            (
                "> jest\nsh: 1: jest: not found\nnpm error Lifecycle script `test` failed\nnpm error code 127\n",
                "sh: 1: jest: not found",
            ),
        ] {
            let text = plain(output);
            let shown: Vec<&str> = lines_that_say_why(&text, 6).into_iter().map(str::trim).collect();
            assert!(shown.contains(&says), "{shown:#?}");
        }
    }

    #[test]
    fn a_command_that_lacks_what_the_plan_can_give_it_is_helped_once() {
        let check = Check {
            command: "x".to_owned(),
            expect: None,
            red_first: false,
            timeout: Millis(600_000),
            network: false,
            writes_tree: false,
            evidence: EvidenceLevel::Fast,
            mutants: None,
        };
        for (output, helps) in [
            ("sh: 1: pnpm: not found", "not found: pnpm; "),
            ("curl: (6) Could not resolve host: example.org", "network"),
            ("npm error code EAI_AGAIN", "network"),
            ("dial tcp: lookup proxy.golang.org: no such host", "network"),
            ("ConnectionRefusedError: [Errno 111] Connection refused", "network"),
        ] {
            let printed = format!("1 failed\n{output}\n");
            for command in [PlannedCommand::Check(&check), PlannedCommand::Setup] {
                let helped = lacks(command, &printed);
                assert!(helped.as_ref().is_some_and(|hint| hint.contains(helps)), "{output}: {helped:?}");
            }
            let asked = Check { network: true, ..check.clone() };
            assert_eq!(lacks(PlannedCommand::Check(&asked), output).is_none(), helps == "network", "{output}");
        }
        for command in [PlannedCommand::Check(&check), PlannedCommand::Setup] {
            assert_eq!(lacks(command, "assertion failed: 1 == 2"), None);
        }
        assert!(says_no_room("git failed: Out of diskspace"));
        assert!(says_no_room("tar: write error: No space left on device") && !says_no_room("no space in the test"));
    }

    #[test]
    fn output_without_errors_shows_its_end() {
        assert_eq!(lines_that_say_why("1\n2\n\n---\n3\n", 2), ["2", "3"]);
        assert!(lines_that_say_why("", 2).is_empty());
    }
}
