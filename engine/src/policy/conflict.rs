//! Rules of a plan that cannot both hold, as far as the plan alone shows it (FLY-29, `policy_conflict`).
//!
//! Conflicts that only a run shows have codes of their own: a guard that is red on the base, a check that is green
//! before any work.

use holdpoint_evidence::paths::Glob;
use holdpoint_protocol::plan::{Check, EvidenceLevel, Plan, Waypoint};

/// The first two rules of a waypoint that cannot both hold, in words.
#[must_use]
pub(crate) fn conflict(plan: &Plan, waypoint: &Waypoint) -> Option<String> {
    red_and_green(plan, waypoint).or_else(|| nothing_may_change(plan, waypoint))
}

/// A guard has to be green on the base; a `red_first` criterion with the guard's own check has to be red there.
fn red_and_green(plan: &Plan, waypoint: &Waypoint) -> Option<String> {
    let red_first = waypoint.criteria.iter().filter_map(|c| Some((c, c.check.as_ref().filter(|k| k.red_first)?)));
    red_first.into_iter().find_map(|(criterion, check)| {
        let guard = plan.guards.iter().find(|guard| alone(&guard.check) == alone(check))?;
        Some(format!(
            "criterion {} has to be red on the base (red_first) and guard {}, which is the same check, green: drop one of \
             them",
            criterion.id, guard.id
        ))
    })
}

/// What a check does on one tree, whatever its green has to stand besides.
fn alone(check: &Check) -> Check {
    Check { red_first: false, evidence: EvidenceLevel::Fast, mutants: None, ..check.clone() }
}

/// All that the scope names is protected.
fn nothing_may_change(plan: &Plan, waypoint: &Waypoint) -> Option<String> {
    // A plan that was read has no others.
    let globs = |texts: &[String]| texts.iter().filter_map(|text| Glob::new(text).ok()).collect::<Vec<_>>();
    let protected = [globs(&plan.protected), globs(&waypoint.protected)].concat();
    let scope = globs(&waypoint.scope);
    let none_is_free = !scope.is_empty() && scope.iter().all(|asked| protected.iter().any(|p| p.covers(asked)));
    none_is_free.then(|| {
        format!(
            "every path of the scope ({}) is protected, so that nothing may change: narrow `protected`, or widen `scope`",
            waypoint.scope.join(", ")
        )
    })
}
