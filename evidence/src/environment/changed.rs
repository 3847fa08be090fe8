//! What a run changed in a tree that it may write and that is thrown away: what git ignores there is its own affair, anything else may
//! be what other tools go by.

use std::{collections::BTreeSet, ops::Bound};

/// New paths of one run that are looked at; more are not named.
pub const NEW_PATHS_MAX: usize = 100_000;
/// Paths that a note names.
const NAMED_MAX: usize = 5;
/// Changes of one kind that are kept.
const KEPT_MAX: usize = 1_000;

/// A path that a run touched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    /// The path from the root of the tree.
    pub path: String,
    /// It was removed, or replaced with all that was below it.
    pub with_all_below: bool,
}

/// What a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeChanges {
    /// Files that git tracks.
    pub tracked: BTreeSet<String>,
    /// Files of the environment.
    pub dependencies: BTreeSet<String>,
    /// New files; folders that are new as a whole end with `/`.
    pub new: BTreeSet<String>,
}

impl TreeChanges {
    /// Sorts what was touched. `is_dependency` knows the files of the environment, `is_ignored` what git ignores by the rules of the
    /// base.
    pub fn of<'a>(
        touched: impl IntoIterator<Item = &'a Touched>,
        tracked: &BTreeSet<&str>,
        is_dependency: impl Fn(&str) -> bool,
        is_ignored: impl Fn(&str) -> bool,
    ) -> Self {
        let mut changed = Self::default();
        for Touched { path, with_all_below } in touched {
            let below = format!("{path}/");
            let holds = || first_from(tracked, &below).is_some_and(|first| first.starts_with(&below));
            let (set, path) = if tracked.contains(path.as_str()) || (*with_all_below && holds()) {
                (&mut changed.tracked, path.clone())
            } else if is_dependency(path) {
                (&mut changed.dependencies, path.clone())
            } else if *with_all_below || is_ignored(path) {
                continue;
            } else {
                (&mut changed.new, topmost(path, tracked))
            };
            if set.len() < KEPT_MAX {
                set.insert(path);
            }
        }
        changed
    }

    /// Without what another run changed too.
    #[must_use]
    pub fn besides(&self, other: &Self) -> Self {
        let besides = |of: &BTreeSet<String>, other: &BTreeSet<String>| of.difference(other).cloned().collect();
        Self {
            tracked: besides(&self.tracked, &other.tracked),
            dependencies: besides(&self.dependencies, &other.dependencies),
            new: besides(&self.new, &other.new),
        }
    }

    /// What a run may not change which may write into its tree.
    #[must_use]
    pub fn of_dependencies(self) -> Self {
        Self { dependencies: self.dependencies, ..Self::default() }
    }

    /// Whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.dependencies.is_empty() && self.new.is_empty()
    }

    /// What was changed, in one sentence with what helps.
    #[must_use]
    pub fn note(&self) -> String {
        let (what, paths, hint) = if !self.tracked.is_empty() {
            ("it changed files of the tree", &self.tracked, "give it `writes_tree: true` if it should")
        } else if !self.dependencies.is_empty() {
            ("it changed dependencies", &self.dependencies, "only `environment.setup` may")
        } else {
            let hint = "have git ignore them, or give it `writes_tree: true`";
            ("it left new files that git does not ignore", &self.new, hint)
        };
        let mut names: Vec<&str> = paths.iter().map(String::as_str).take(NAMED_MAX).collect();
        if paths.len() > NAMED_MAX {
            names.push("…");
        }
        format!("{what}: {}; {hint}", names.join(", "))
    }
}

/// The first path that is not before this one.
fn first_from<'a>(paths: &BTreeSet<&'a str>, path: &str) -> Option<&'a str> {
    paths.range::<str, _>((Bound::Included(path), Bound::Unbounded)).next().copied()
}

/// The outermost folder of a new file that has nothing else in it, or the file.
fn topmost(path: &str, tracked: &BTreeSet<&str>) -> String {
    let mut folders = path.match_indices('/').map(|(at, _)| path.get(..=at).unwrap_or_default());
    folders
        .find(|folder| first_from(tracked, folder).is_none_or(|first| !first.starts_with(folder)))
        .unwrap_or(path)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(paths: &[(&str, bool)]) -> Vec<Touched> {
        paths.iter().map(|(path, all)| Touched { path: (*path).to_owned(), with_all_below: *all }).collect()
    }

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn changed(paths: &[(&str, bool)]) -> TreeChanges {
        let tracked = BTreeSet::from(["src/a.js", "src/b/c.js", "src-b/d.js", "test/t.js"]);
        let is_dependency = |path: &str| matches!(path, "node_modules" | "node_modules/x" | "node_modules/x/i.js");
        TreeChanges::of(&touched(paths), &tracked, is_dependency, |path| {
            path.starts_with("build/") || path.contains("node_modules/")
        })
    }

    #[test]
    fn each_path_is_what_it_was_before_the_run() {
        let found = changed(&[
            ("src/a.js", false),
            ("src/b", true),
            ("test/t.js", true),
            ("node_modules/x/i.js", false),
            ("node_modules/.cache/z", false),
            ("build/out", false),
            ("gone-again", true),
            ("out/deep/a", false),
            ("out/deep/b", false),
            ("src/new.js", false),
            ("src/gen/x/y.js", false),
            ("top.txt", false),
        ]);
        assert_eq!(found.tracked, set(&["src/a.js", "src/b", "test/t.js"]));
        assert_eq!(found.dependencies, set(&["node_modules/x/i.js"]));
        assert_eq!(found.new, set(&["out/", "src/gen/", "src/new.js", "top.txt"]));
        assert_eq!(changed(&[("src", true)]).tracked, set(&["src"]), "a replaced folder with tracked files in it");
        assert!(changed(&[("sr", true), ("src-", true)]).is_empty(), "a name that others only begin with");
    }

    #[test]
    fn what_the_base_changes_too_is_nobodys_fault_and_the_rest_is_said_worst_first() {
        let base = changed(&[("out/a", false), ("src/a.js", false)]);
        let work = changed(&[("out/b", false), ("src/a.js", false), ("node_modules/x", true), ("n1", false)]);
        let besides = work.besides(&base);
        assert!(besides.tracked.is_empty() && besides.new == set(&["n1"]));
        assert_eq!(besides.note(), "it changed dependencies: node_modules/x; only `environment.setup` may");
        assert!(base.note().starts_with("it changed files of the tree: src/a.js; "));
        assert!(base.clone().of_dependencies().is_empty() && !work.of_dependencies().is_empty());
        let many: Vec<String> = (0..9).map(|n| format!("n{n}")).collect();
        let many: Vec<(&str, bool)> = many.iter().map(|name| (name.as_str(), false)).collect();
        assert!(changed(&many).note().contains("n0, n1, n2, n3, n4, …; have git ignore them"));
    }
}
