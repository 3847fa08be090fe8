//! What became of the bodies of tests in product files, and of what they use. A name and a number do not show
//! that a test of the same name asks for less. Whether it does cannot be read from tokens, and honest work changes such
//! tests every day; so a change is reported, and only a test that does nothing any more counts against the work.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ChangedText, Softened,
    items::{Body, Items},
};

/// Files named in one doubt, and names of one file.
const SHOWN_MAX: usize = 10;

/// Names by their files.
type ByFile = BTreeMap<String, BTreeSet<String>>;

/// What a reader of the report should look at: nothing of it fails a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestRemarks {
    /// Tests and what they use, with other bodies or attributes than on the base.
    pub rewritten: BTreeMap<String, BTreeSet<String>>,
    /// Tests that are not there any more.
    pub gone: BTreeMap<String, BTreeSet<String>>,
    /// New attributes by which code runs before a test program's own, or is linked in the place of other code.
    pub hooks: BTreeMap<String, BTreeSet<String>>,
    /// New `use` of another library's macros with the names of the standard library's.
    pub imports: BTreeMap<String, BTreeSet<String>>,
    /// Changed files that were too many or too long to be read.
    pub unread: u64,
}

impl Softened {
    /// One sentence on each kind of what was found, for people. None of it holds work up.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let TestRemarks { rewritten, gone, hooks, imports, unread } = &self.told;
        let kinds = [
            ("tests in product files, or what they use, read otherwise than on the base", rewritten),
            ("tests in product files are not there any more", gone),
            ("attributes that run code before the tests, or link it in the place of other code, are new", hooks),
            ("macros of another library are asserted with from now on", imports),
        ];
        let found = kinds.into_iter().filter(|(_, files)| !files.is_empty());
        let mut doubts: Vec<String> = found.map(|(what, files)| format!("{what}: {}", some_of(files))).collect();
        if *unread > 0 {
            doubts
                .push(format!("{unread} changed files were too many or too long to be looked through for their tests"));
        }
        doubts
    }
}

fn some_of(files: &ByFile) -> String {
    let file = |(path, names): (&String, &BTreeSet<String>)| format!("{path} ({})", shortened(names.iter().cloned()));
    shortened(files.iter().map(file))
}

fn shortened(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(SHOWN_MAX);
    let mut shown: Vec<String> = all.take(SHOWN_MAX).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// The items of all changed files.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    files: Vec<(String, Items, Items)>,
    /// What any file has now, by name alone.
    now: BTreeMap<String, Vec<Body>>,
}

/// What the comparison of all files found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) emptied: BTreeSet<String>,
    pub(super) shadows: BTreeSet<String>,
    pub(super) told: TestRemarks,
}

impl Bodies {
    /// Adds a file. One of tests is put back as it was: of it only counts what was moved there.
    pub(super) fn add(&mut self, file: &ChangedText<'_>, before: Items, after: Items) {
        for (name, bodies) in &after.bodies {
            self.now.entry(last(name).to_owned()).or_default().extend(bodies);
        }
        if !file.test {
            self.files.push((file.path.to_owned(), before, after));
        }
    }

    /// Compares each file with itself, and what is gone from it with what is anywhere.
    pub(super) fn compare(self) -> Found {
        let mut found = Found::default();
        let TestRemarks { rewritten, gone, hooks, imports, .. } = &mut found.told;
        for (path, before, after) in &self.files {
            for (name, was) in &before.bodies {
                let note = |files: &mut ByFile| {
                    files.entry(path.clone()).or_default().insert(name.clone());
                };
                let now = after.bodies.get(name).map_or(&[][..], Vec::as_slice);
                let (was, now) = (without(was, now), without(now, was));
                if was.is_empty() {
                    continue;
                }
                let named_so = self.now.get(last(name)).map_or(&[][..], Vec::as_slice);
                let is_test = was.iter().any(|body| body.is_test);
                if !now.is_empty() {
                    if is_test && was.iter().all(|body| body.acts) && now.iter().any(|body| !body.acts) {
                        found.emptied.insert(last(name).to_owned());
                    }
                    note(rewritten);
                } else if without(&was, named_so).is_empty() {
                    // It was moved as it is.
                } else if is_test && named_so.is_empty() {
                    note(gone);
                } else if !named_so.is_empty() {
                    note(rewritten);
                }
            }
            let mut new_hooks = after.hooks.clone();
            for hook in &before.hooks {
                if let Some(at) = new_hooks.iter().position(|new| new == hook) {
                    new_hooks.swap_remove(at);
                }
            }
            for (new, files) in [
                (new_hooks.into_iter().collect::<BTreeSet<_>>(), &mut *hooks),
                (after.imports.difference(&before.imports).cloned().collect(), &mut *imports),
            ] {
                if !new.is_empty() {
                    files.insert(path.clone(), new);
                }
            }
            found.shadows.extend(after.own_imports.difference(&before.own_imports).cloned());
        }
        found
    }
}

/// Those bodies that the others do not have as often.
fn without(bodies: &[Body], others: &[Body]) -> Vec<Body> {
    let mut others = others.to_vec();
    let is_other = |body: &&Body| match others.iter().position(|other| other.digest == body.digest) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    };
    bodies.iter().filter(is_other).copied().collect()
}

/// A name without its modules.
fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
