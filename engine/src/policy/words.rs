//! How broken path rules and failed turns are reported: to the agent that has another try, and to people.

use holdpoint_evidence::paths;
use holdpoint_protocol::{
    facts::{CriterionResult, LeftOut, LeftOutKind, Verdict, Violation, ViolationKind},
    reason::{CriterionReason as Reason, ReasonCode},
};

/// The most characters of what a person can do.
const REMEDY_MAX: usize = 2_000;
/// The most paths that an agent hears of.
const NOTES_MAX: usize = 50;
/// The most paths that a person reads of in one line.
const NAMED_MAX: usize = 3;
/// The most characters of a failed turn's words in one line.
const WORDS_MAX: usize = 200;

/// A remedy with its end cut off where it is too long: it may quote paths and programs, and is in every entry.
pub(super) fn bounded(remedy: &str) -> String {
    if remedy.chars().count() <= REMEDY_MAX {
        return remedy.to_owned();
    }
    remedy.chars().take(REMEDY_MAX).chain("… (`holdpoint history` has all of it)".chars()).collect()
}

/// Broken path rules, one a line.
pub(crate) fn notes(violations: &[Violation]) -> Vec<String> {
    let mut notes: Vec<String> = violations.iter().take(NOTES_MAX).map(broken).collect();
    if violations.len() > NOTES_MAX {
        notes.push(format!("and {} more paths", violations.len() - NOTES_MAX));
    }
    notes
}

/// What work could have been meant and was not handed off, one a line.
pub(crate) fn left_out_notes(left_out: &[LeftOut]) -> Vec<String> {
    let notes: Vec<String> = meant(left_out).map(|one| format!("not handed off: {} ({})", one.what, one.why)).collect();
    let rule =
        "only files of the working tree that no rule ignores are handed off: bring there what belongs to the work";
    let rule = (!notes.is_empty()).then(|| rule.to_owned());
    notes.into_iter().chain(rule).collect()
}

/// The same for people, in front of what they can do.
pub(super) fn besides(left_out: &[LeftOut]) -> String {
    let mut parts: Vec<String> = meant(left_out).map(|one| format!("{} ({})", one.what, one.why)).collect();
    let more = parts.len().saturating_sub(NAMED_MAX);
    parts.truncate(NAMED_MAX);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("the agent left what was not handed off: {}; ", parts.join(", "))
    }
}

/// What a tool left for itself was never meant.
fn meant(left_out: &[LeftOut]) -> impl Iterator<Item = &LeftOut> {
    left_out.iter().filter(|one| one.kind != LeftOutKind::Dropping)
}

/// What a person can do about broken path rules, worst first.
pub(super) fn remedy(violations: &[Violation]) -> String {
    let mut sorted: Vec<&Violation> = violations.iter().collect();
    sorted.sort_by_key(|violation| violation.kind);
    let mut parts: Vec<String> = sorted.iter().take(NAMED_MAX).map(|violation| broken(violation)).collect();
    if sorted.len() > NAMED_MAX {
        parts.push(format!("and {} more paths", sorted.len() - NAMED_MAX));
    }
    if sorted.iter().any(|one| one.kind == ViolationKind::OutOfScope && !paths::is_output(&one.path)) {
        parts.push("widen the scope if this should change".to_owned());
    }
    parts.join("; ")
}

/// What a person can do about an agent that fails. Where its harness found it out, the first line says why; else the program's own
/// last words say most.
pub(super) fn after_failure(reason: ReasonCode, detail: &str) -> String {
    const WHERE: &str = "`holdpoint history` names each turn's artifact, which has all of it";
    let mut lines = detail.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = if reason == ReasonCode::AgentFailed { lines.next_back() } else { lines.next() };
    let words: String = said.unwrap_or_default().chars().take(WORDS_MAX).collect();
    if words.is_empty() { WHERE.to_owned() } else { format!("{words}; {WHERE}") }
}

/// What a person can do where agents did not come to green criteria: it follows from why the first of them is not.
pub(super) fn after_verdicts(criteria: &[CriterionResult]) -> &'static str {
    let mut reasons = criteria.iter().filter(|c| c.verdict != Verdict::Pass).filter_map(|c| c.reason);
    match reasons.next() {
        Some(Reason::TestsWeakened | Reason::FewerTests | Reason::MoreSkipped) => {
            "tests of the base were changed or left out: name them in `changed_tests` (`--changed-tests` of a \
             task) if they should change, or say in the goal that they stay as they are"
        }
        Some(Reason::NoTests) => {
            "the check ran no test: correct the names or patterns in its command, or ask in the goal for the tests that it names"
        }
        Some(Reason::MutantSurvived | Reason::Canary | Reason::BaseProductGreen) => {
            "the tests do not notice the change: ask in the goal for tests that fail without it"
        }
        Some(Reason::Timeout) => "give the check a longer `timeout`, or have it run less",
        Some(Reason::Limit) => "have the check use up less: it came to a limit of memory, processes or output",
        Some(Reason::NotExecutable | Reason::ToolMissing) => {
            "if a program of the check is not found where it runs, install it or correct the command; a check that judges exits \
             with 0 to 125"
        }
        Some(Reason::SetupFailed | Reason::SetupChanged) => {
            "the command of `environment` does not come to its end with the lock files of the work: read its output"
        }
        Some(Reason::TreeChanged) => "have git ignore what the check writes, or give it `writes_tree: true`",
        Some(Reason::ExpectUnmatched) => "compare what the check printed with its `expect`",
        Some(Reason::NoJudge | Reason::JudgeWithoutEvidence) => {
            "give the criterion a check, or look at what the judge said"
        }
        Some(Reason::ReportRed | Reason::ReportMismatch | Reason::NoEndMark) => {
            "the check ends with exit code 0 although its test runner says otherwise: read its evidence"
        }
        Some(Reason::ExitCode | Reason::Signal) | None => {
            "read the failing criteria and their evidence, then correct the goal, the check or the agent"
        }
    }
}

/// What a person can do where a guard is red that held on the base.
pub(super) fn after_guards(guards: &[CriterionResult]) -> &'static str {
    let weakens = |reason| matches!(reason, Reason::TestsWeakened | Reason::FewerTests | Reason::MoreSkipped);
    let mut red = guards.iter().filter(|guard| guard.verdict == Verdict::Fail);
    if red.next().and_then(|guard| guard.reason).is_some_and(weakens) {
        return after_verdicts(guards);
    }
    "a guard that held on the base is red: narrow the goal, or correct the guard"
}

/// A broken path rule in a sentence.
#[must_use]
pub fn broken(Violation { kind, path }: &Violation) -> String {
    match kind {
        ViolationKind::Protected => format!("{path} is protected: nobody may change it, whatever the scope says"),
        ViolationKind::Steering => {
            format!("{path} decides what checks run or what agents read: only a scope that names it literally opens it")
        }
        ViolationKind::OutOfScope if paths::is_output(path) => format!(
            "{path} is outside the scope and looks like the output of a build or of a test run: have git ignore it, or remove it"
        ),
        ViolationKind::OutOfScope => format!("{path} is outside the scope"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(kind: ViolationKind, path: &str) -> Violation {
        Violation { kind, path: path.to_owned() }
    }

    #[test]
    fn broken_rules_are_told_by_path_with_what_opens_it() {
        let both = [violation(ViolationKind::OutOfScope, "b"), violation(ViolationKind::Protected, "a")];
        assert_eq!(
            remedy(&both),
            "a is protected: nobody may change it, whatever the scope says; b is outside the scope; widen the scope if \
             this should change"
        );
        let output = remedy(&[violation(ViolationKind::OutOfScope, "coverage/lcov.info")]);
        assert!(output.contains("have git ignore it") && !output.contains("widen"), "{output}");
        let steering = remedy(&[violation(ViolationKind::Steering, "tests/conftest.py")]);
        assert!(steering.contains("tests/conftest.py") && !steering.contains("widen"), "{steering}");
        let many: Vec<Violation> = (0..60).map(|n| violation(ViolationKind::OutOfScope, &n.to_string())).collect();
        assert_eq!(notes(&many).len(), 51);
        assert!(remedy(&many).contains("and 57 more paths"));
    }

    #[test]
    fn what_was_left_out_is_named_with_its_rule_and_tools_caches_are_not() {
        let one = |kind, what: &str| LeftOut { kind, what: what.to_owned(), why: format!("why {what}") };
        let cache = one(LeftOutKind::Dropping, "src/__pycache__/");
        assert!(left_out_notes(std::slice::from_ref(&cache)).is_empty());
        assert_eq!(besides(std::slice::from_ref(&cache)), "");
        let mut all: Vec<LeftOut> = ["a", "b", "c", "d"].map(|what| one(LeftOutKind::Ignored, what)).into();
        all.insert(0, one(LeftOutKind::Elsewhere, "branch x"));
        all.push(cache);
        let notes = left_out_notes(&all);
        assert_eq!((notes.len(), notes[0].as_str()), (6, "not handed off: branch x (why branch x)"));
        let told = besides(&all);
        assert_eq!(
            told,
            "the agent left what was not handed off: branch x (why branch x), a (why a), b (why b), and 2 more; "
        );
    }

    #[test]
    fn advice_fits_why_the_first_red_criterion_is_red() {
        let result =
            |verdict, reason| CriterionResult { id: "c".parse().unwrap(), verdict, reason, evidence: Vec::new() };
        let green = result(Verdict::Pass, Some(Reason::Timeout));
        let weakened = result(Verdict::Fail, Some(Reason::TestsWeakened));
        assert!(after_verdicts(&[green, weakened]).contains("`changed_tests`"));
        assert!(after_verdicts(&[result(Verdict::Inconclusive, Some(Reason::Timeout))]).contains("`timeout`"));
        assert!(after_verdicts(&[]).starts_with("read the failing criteria"));
        assert!(after_guards(&[result(Verdict::Fail, Some(Reason::FewerTests))]).contains("`changed_tests`"));
        assert!(after_guards(&[result(Verdict::Fail, Some(Reason::ExitCode))]).starts_with("a guard that held"));
    }

    #[test]
    fn a_failed_turn_speaks_for_itself() {
        assert!(
            after_failure(ReasonCode::AgentFailed, "exit 127\nsh: 1: nosuch: not found\n\n")
                .starts_with("sh: 1: nosuch: not found; ")
        );
        let limit = after_failure(ReasonCode::OutputLimit, "ended after 1024 bytes of output\nxxxx\n");
        assert!(limit.starts_with("ended after 1024 bytes of output; "), "{limit}");
        assert!(after_failure(ReasonCode::AgentFailed, &"x".repeat(1000)).len() < 400);
        assert!(after_failure(ReasonCode::AgentFailed, "").starts_with("`holdpoint history"));
    }
}
