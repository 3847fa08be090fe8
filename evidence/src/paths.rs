//! The rules about changed paths (contract, "Paths"): protected, steering, scope, and what is a test.
//!
//! Everything works on names, modes and, for manifests, texts that the caller brings; nothing here reads a tree.
//! Paths are as git has them: `/`-separated, from the root. A rename comes as a deletion and an addition, so it
//! touches both paths, and a change of mode alone is a change like any other.
//!
//! The lists of `steering` and `test_path` go by names. They cannot know that a product file decides what a check
//! does; that is why exit codes, counts and tests as on the base are looked at as well.

mod agents;
mod case;
mod follow;
mod glob;
mod includes;
mod links;
mod local_source;
mod manifest;
mod modules;
mod outputs;
mod python;
mod recipes;
mod scripts;
mod steering;
mod test_path;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::facts::{PathChange, Violation, ViolationKind};

pub use agents::{SKILLS_FOLDER, SetAside};
pub use case::case_clashes;
pub use follow::{FOLLOWED_BYTES_MAX, Follow};
pub use glob::{Glob, InvalidGlob};
pub use links::{LINKS_MAX, Links};
pub use manifest::{is_manifest, manifest_change_is_steering};
pub use modules::new_modules;
pub use outputs::is_output;
pub use python::is_compiled_module;
pub use recipes::asks_for_recipes;
pub use scripts::scripts_of;
pub use steering::is_steering;
pub use test_path::{is_test_module, is_test_path};

/// Broken rules that are reported. They travel in turns, reports and entries; an agent that vendored a whole tree broke
/// thousands, and the first hundred say it all.
pub const VIOLATIONS_MAX: usize = 100;
/// Characters of a path that a violation names.
const VIOLATION_CHARS_MAX: usize = 1_000;

/// The rules of one waypoint.
#[derive(Debug, Clone, Default)]
pub struct PathRules {
    scope: Vec<Glob>,
    new_tests: Vec<Glob>,
    changed_tests: Vec<Glob>,
    /// Tests by name that may change or go.
    changed_names: BTreeSet<String>,
    protected: Vec<Glob>,
    /// The repository's guidance document, where it is not `AGENTS.md`.
    pub covenant: Option<String>,
    scripts: BTreeSet<String>,
    /// Scripts of which a part of the name is not known.
    script_globs: Vec<Glob>,
    /// Symlinks of the base: what is protected or steering by any of its names is so.
    pub links: Links,
}

impl PathRules {
    /// Rules from globs. An empty `scope` is everything. `protected` are the plan's and the waypoint's together.
    ///
    /// # Errors
    /// The first text that is not a glob; a plan that was read has none.
    pub fn new<'a>(
        scope: impl IntoIterator<Item = &'a String>,
        protected: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, InvalidGlob> {
        Ok(Self {
            scope: scope.into_iter().map(|text| Glob::new(text)).collect::<Result<_, _>>()?,
            protected: protected.into_iter().map(|text| Glob::new(text)).collect::<Result<_, _>>()?,
            ..Self::default()
        })
    }

    /// The same with where tests may be added besides, and with which tests of the base may change: globs of files, or one file
    /// and a name (`tests/test_a.py::test_b`).
    ///
    /// # Errors
    /// The first text that is not a glob.
    pub fn with_tests<'a>(
        mut self,
        new: impl IntoIterator<Item = &'a String>,
        changed: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, InvalidGlob> {
        self.new_tests = new.into_iter().map(|text| Glob::new(text)).collect::<Result<_, _>>()?;
        for text in changed {
            match text.split_once("::") {
                Some((file, name)) => {
                    self.new_tests.push(Glob::new(file)?);
                    self.changed_names.insert(name.to_owned());
                }
                None => self.changed_tests.push(Glob::new(text)?),
            }
        }
        Ok(self)
    }

    /// Adds what checks name or come to, from [`Follow`]: files, and globs.
    pub fn add_scripts(&mut self, scripts: BTreeSet<String>) {
        let globs = scripts.iter().filter(|path| path.contains(['*', '?', '[']));
        self.script_globs.extend(globs.filter_map(|path| Glob::new(path).ok()));
        self.scripts.extend(scripts);
    }

    fn is_script(&self, path: &str) -> bool {
        self.scripts.contains(path) || self.script_globs.iter().any(|glob| glob.matches(path))
    }

    /// Whether `path` is in the scope, or is a test that may be added to or changed.
    #[must_use]
    pub fn in_scope(&self, path: &str) -> bool {
        let of = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(path));
        let new_test = || is_test_path(path) && of(&self.new_tests);
        self.scope.is_empty() || of(&self.scope) || new_test() || of(&self.changed_tests)
    }

    /// What `path` is. Manifests are [`PathClass::Manifest`]: what they are depends on what changed in them.
    #[must_use]
    pub fn classify(&self, path: &str) -> PathClass {
        let names = self.links.names(path);
        let steers = |name: &String| is_steering(name) || self.covenant.as_ref() == Some(name) || self.is_script(name);
        if names.iter().any(|name| self.protected.iter().any(|glob| glob.matches(name))) {
            PathClass::Protected
        } else if names.iter().any(steers) {
            PathClass::Steering
        } else if is_manifest(path) {
            PathClass::Manifest
        } else if is_test_path(path) {
            PathClass::Test
        } else {
            PathClass::Other
        }
    }

    /// Whether a change of the steering file `path` is asked for: a glob of the scope matches it and either ends in
    /// its literal name or begins, literally, in its steering folder.
    #[must_use]
    pub fn scope_names_steering(&self, path: &str) -> bool {
        let is_it = |name: &str| name == file_name(path);
        self.scope.iter().any(|glob| glob.names(path, is_it, steering::in_steering_folder))
    }

    /// Whether what the test or fixture `path` has on the base may change or go.
    #[must_use]
    pub fn may_change_test(&self, path: &str) -> bool {
        self.changed_tests.iter().any(|glob| glob.matches(path))
    }

    /// Tests by name that may change or go, wherever they stand.
    #[must_use]
    pub fn changed_names(&self) -> &BTreeSet<String> {
        &self.changed_names
    }
}

impl PathRules {
    /// Whether the scope asks for tests and fixtures and for nothing else.
    #[must_use]
    pub fn scope_is_tests(&self) -> bool {
        let tests = |glob: &Glob| glob.only_names(test_path::is_test_name, test_path::in_test_folder);
        !self.scope.is_empty() && self.scope.iter().all(tests)
    }
}

/// What a path is to the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathClass {
    /// Never changed.
    Protected,
    /// Decides what a check runs.
    Steering,
    /// Steering in its test and script parts, free in its dependency and package parts.
    Manifest,
    /// A test or fixture: may change, is not trusted.
    Test,
    /// Anything else.
    Other,
}

/// What the rules say of a set of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathJudgement {
    /// Broken rules, one a path, ordered by path.
    pub violations: Vec<Violation>,
    /// Changed tests and fixtures: if there are any, checks run a second time with these as on the base.
    pub tests: BTreeSet<String>,
    /// Changed files that decide what checks run, where the scope names them: a person reads how.
    pub steering: BTreeSet<String>,
    /// Whether there are `tests` and every one of them may change; then the first run of a check counts.
    pub tests_named: bool,
}

/// Judges changes. `steering_manifests` are the changed manifests for which [`manifest_change_is_steering`] holds.
#[must_use]
pub fn judge(changes: &[PathChange], rules: &PathRules, steering_manifests: &BTreeSet<String>) -> PathJudgement {
    let mut judgement = PathJudgement::default();
    for change in changes {
        let path = change.path.as_str();
        let class = rules.classify(path);
        let steering = match class {
            PathClass::Steering => true,
            PathClass::Manifest => steering_manifests.contains(path) || changes_type(change),
            _ => manifest::is_python_metadata(path) && changes_type(change),
        };
        let kind = if class == PathClass::Protected {
            Some(ViolationKind::Protected)
        } else if steering && !rules.scope_names_steering(path) {
            Some(ViolationKind::Steering)
        } else if steering {
            judgement.steering.insert(path.to_owned());
            None
        } else if !rules.in_scope(path) {
            Some(ViolationKind::OutOfScope)
        } else {
            None
        };
        if let Some(kind) = kind {
            judgement.violations.push(Violation { kind, path: shown(path) });
        }
        if class == PathClass::Test {
            judgement.tests.insert(path.to_owned());
        }
    }
    // The gravest kinds first, so that what is left out is never the reason.
    judgement.violations.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    judgement.violations.dedup();
    judgement.violations.truncate(VIOLATIONS_MAX);
    judgement.violations.sort_by(|a, b| a.path.cmp(&b.path));
    // Without changed tests nothing was asked for: a loss of tests is then a loss.
    judgement.tests_named =
        !judgement.tests.is_empty() && judgement.tests.iter().all(|path| rules.may_change_test(path));
    judgement
}

/// A path as a violation names it: the list of them is in every entry of a waypoint.
fn shown(path: &str) -> String {
    let most = path.char_indices().nth(VIOLATION_CHARS_MAX).map_or(path.len(), |(at, _)| at);
    if most == path.len() { path.to_owned() } else { format!("{}…", &path[..most]) }
}

/// The file of an entry of `changed_tests`, which may have the name of a test behind it.
#[must_use]
pub fn file_of_test(entry: &str) -> &str {
    entry.split_once("::").map_or(entry, |(file, _)| file)
}

/// Whether a change makes a regular file something else, or adds something that is none (a symlink, a gitlink).
fn changes_type(change: &PathChange) -> bool {
    change.new_mode.as_deref().is_some_and(|mode| !mode.starts_with("100"))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `word` as a path from the root when it is read in `folder`; nothing if it leads outside.
fn resolve(folder: &str, word: &str) -> Option<String> {
    if word.starts_with('/') {
        return None;
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in folder.split('/').chain(word.split('/')) {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    (!segments.is_empty()).then(|| segments.join("/"))
}
