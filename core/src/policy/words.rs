//! What is told of broken path rules and failed turns: to the agent that has another try, and to people.

use holdpoint_protocol::facts::{Violation, ViolationKind};

/// The most characters of what a person can do.
const REMEDY_MAX: usize = 2_000;
/// The most paths that an agent is told of.
const NOTES_MAX: usize = 50;
/// The most paths that a person is told of in one line.
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

/// What a person can do about broken path rules, worst first.
pub(super) fn remedy(violations: &[Violation]) -> String {
    let mut sorted: Vec<&Violation> = violations.iter().collect();
    sorted.sort_by_key(|violation| violation.kind);
    let mut parts: Vec<String> = sorted.iter().take(NAMED_MAX).map(|violation| broken(violation)).collect();
    if sorted.len() > NAMED_MAX {
        parts.push(format!("and {} more paths", sorted.len() - NAMED_MAX));
    }
    if sorted.iter().any(|violation| violation.kind == ViolationKind::OutOfScope) {
        parts.push("widen the scope if this should change".to_owned());
    }
    parts.join("; ")
}

/// What a person can do about an agent that fails: its own last words say most.
pub(super) fn after_failure(detail: &str) -> String {
    const WHERE: &str = "`holdpoint history WAYPOINT` names each turn's artifact, which has all of it";
    let last = detail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let words: String = last.chars().take(WORDS_MAX).collect();
    if words.is_empty() { WHERE.to_owned() } else { format!("{words}; {WHERE}") }
}

fn broken(Violation { kind, path }: &Violation) -> String {
    match kind {
        ViolationKind::Protected => format!("{path} is protected: nobody may change it, whatever the scope says"),
        ViolationKind::Steering => {
            format!("{path} decides what checks run: only a scope that names it literally opens it")
        }
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
        let steering = remedy(&[violation(ViolationKind::Steering, "tests/conftest.py")]);
        assert!(steering.contains("tests/conftest.py") && !steering.contains("widen"), "{steering}");
        let many: Vec<Violation> = (0..60).map(|n| violation(ViolationKind::OutOfScope, &n.to_string())).collect();
        assert_eq!(notes(&many).len(), 51);
        assert!(remedy(&many).contains("and 57 more paths"));
    }

    #[test]
    fn a_failed_turn_speaks_for_itself() {
        assert!(after_failure("exit 127\nsh: 1: nosuch: not found\n\n").starts_with("sh: 1: nosuch: not found; "));
        assert!(after_failure(&"x".repeat(1000)).len() < 400);
        assert!(after_failure("").starts_with("`holdpoint history"));
    }
}
