//! What the patterns of a plan match on its base: a pattern that matches nothing may be a slip, and one that protects nothing
//! is.

use std::collections::HashMap;

use holdpoint_evidence::paths::Glob;
use holdpoint_protocol::{ids::WaypointId, plan::Plan};
use serde::Serialize;

use crate::yaml::{findings::PlanProblems, path::At};

/// Different patterns that are tried. Each is tried on every path of the base.
const PATTERNS_MAX: usize = 500;
/// Paths that are named of one pattern.
const EXAMPLES_MAX: usize = 3;

/// Which list of a plan has a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternList {
    /// What nobody changes.
    Protected,
    /// What a waypoint may touch.
    Scope,
}

impl PatternList {
    /// Its key.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Protected => "protected",
            Self::Scope => "scope",
        }
    }
}

/// What one pattern matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatternMatches {
    /// Where it is.
    pub list: PatternList,
    /// Whose list that is; `None`: the plan's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waypoint: Option<WaypointId>,
    /// The pattern.
    pub pattern: String,
    /// How many paths it matches.
    pub paths: usize,
    /// The first of them.
    pub examples: Vec<String>,
}

/// What each pattern of a plan matches among these paths, in the plan's order; only of the first `PATTERNS_MAX`.
#[must_use]
pub fn matches_on(plan: &Plan, paths: &[String]) -> Vec<PatternMatches> {
    let mut tried = Tried::new(paths);
    let mut all = Vec::new();
    each(plan, |_, list, waypoint, pattern| {
        if let Some((paths, examples)) = tried.of(pattern) {
            let (waypoint, pattern) = (waypoint.cloned(), pattern.to_owned());
            all.push(PatternMatches { list, waypoint, pattern, paths: *paths, examples: examples.clone() });
        }
    });
    all
}

/// Every pattern of `protected` that matches none of these paths.
#[must_use]
pub fn that_protect_nothing(plan: &Plan, paths: &[String]) -> PlanProblems {
    let mut tried = Tried::new(paths);
    let mut found = PlanProblems::default();
    each(plan, |at, list, _, pattern| {
        if list == PatternList::Protected && tried.of(pattern).is_some_and(|(paths, _)| *paths == 0) {
            let hint = "correct it, or drop it; it holds only for what is made from now on";
            found.add(at, format!("`{pattern}` protects nothing: it matches no path on the base"), hint);
        }
    });
    found
}

/// Patterns that were tried, each once.
struct Tried<'p> {
    paths: &'p [String],
    known: HashMap<String, (usize, Vec<String>)>,
}

impl<'p> Tried<'p> {
    fn new(paths: &'p [String]) -> Self {
        Self { paths, known: HashMap::new() }
    }

    fn of(&mut self, pattern: &str) -> Option<&(usize, Vec<String>)> {
        if !self.known.contains_key(pattern) {
            // A plan that was read has no others.
            let glob = Glob::new(pattern).ok().filter(|_| self.known.len() < PATTERNS_MAX)?;
            let mut matched = self.paths.iter().filter(|path| glob.matches(path));
            let examples: Vec<String> = matched.by_ref().take(EXAMPLES_MAX).cloned().collect();
            let found = (examples.len() + matched.count(), examples);
            self.known.insert(pattern.to_owned(), found);
        }
        self.known.get(pattern)
    }
}

/// Gives every pattern to `look`, with its place, its list and whose that is.
fn each(plan: &Plan, mut look: impl FnMut(At<'_>, PatternList, Option<&WaypointId>, &str)) {
    let mut list_of = |at: At<'_>, list: PatternList, waypoint: Option<&WaypointId>, patterns: &[String]| {
        let at = at.key(list.key());
        for (number, pattern) in patterns.iter().enumerate() {
            look(at.item(number), list, waypoint, pattern);
        }
    };
    list_of(At::ROOT, PatternList::Protected, None, &plan.protected);
    let at = At::ROOT.key("waypoints");
    for (number, waypoint) in plan.waypoints.iter().enumerate() {
        list_of(at.item(number), PatternList::Scope, Some(&waypoint.id), &waypoint.scope);
        list_of(at.item(number), PatternList::Protected, Some(&waypoint.id), &waypoint.protected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{located, read, workflows::BUILT_IN_WORKFLOWS};

    const TEXT: &str = "plan: p\nprotected: ['legal/[lang]/**', 'gone/**']\nwaypoints:\n  - {id: a, goal: g, scope: ['app/*', 'new.txt'], criteria: [{id: c, check: x}]}\n";

    fn paths() -> Vec<String> {
        ["app/a", "app/b", "app/c", "app/d", "legal/[lang]/page.tsx"].map(str::to_owned).into()
    }

    #[test]
    fn each_pattern_says_how_many_paths_of_the_base_it_matches_and_names_a_few() {
        let plan = read(TEXT, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        let said = matches_on(&plan, &paths());
        let in_short: Vec<_> = said.iter().map(|of| (of.list.key(), of.pattern.as_str(), of.paths)).collect();
        assert_eq!(
            in_short,
            [
                ("protected", "legal/[lang]/**", 1),
                ("protected", "gone/**", 0),
                ("scope", "app/*", 4),
                ("scope", "new.txt", 0)
            ]
        );
        assert_eq!(said[0].examples, ["legal/[lang]/page.tsx"]);
        assert_eq!((said[2].examples.len(), said[2].waypoint.as_ref().unwrap().as_str()), (EXAMPLES_MAX, "a"));
    }

    #[test]
    fn a_pattern_that_protects_nothing_is_found_with_its_line() {
        let plan = read(TEXT, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        let found = located(TEXT, "plan.yaml", that_protect_nothing(&plan, &paths())).errors;
        let said: Vec<_> = found.iter().map(|e| (e.line, e.message.as_str())).collect();
        assert_eq!(said, [(2, "`gone/**` protects nothing: it matches no path on the base")]);
    }

    #[test]
    fn patterns_without_end_are_not_tried_without_end() {
        let mut plan = read(TEXT, "plan.yaml", BUILT_IN_WORKFLOWS).unwrap();
        plan.protected = (0..2 * PATTERNS_MAX).map(|n| format!("x{n}")).collect();
        assert_eq!(matches_on(&plan, &paths()).len(), PATTERNS_MAX);
    }
}
