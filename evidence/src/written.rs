//! Tests as text: what a change does to tests inside product files, and to what they assert with.
//!
//! Names and counts speak for such tests wherever the base has them. It has none where it does not build, which is how
//! work on something missing begins, and a name does not show that a test was turned round. So the changed files are
//! read: Rust's, because there tests are in product files, and Python's for words that skip tests from product code.
//! This reads tokens and no grammar; what macros make is not known.

mod items;
mod rust;
mod tokens;
mod told;

use std::collections::{BTreeMap, BTreeSet};

pub use told::TestRemarks;

/// The longest file that is read, in bytes, and the most files.
pub const WRITTEN_BYTES_MAX: usize = 1 << 20;
/// Files of a change that are read: past them nothing is said.
pub const WRITTEN_FILES_MAX: usize = 500;

/// What in Python's product code skips the test that calls it.
const SKIP_WORDS: [&str; 5] = ["SkipTest", "skipTest", "pytest.skip", "pytest.xfail", "outcomes"];

/// A changed file: its text on both sides, where it was and is.
#[derive(Debug, Clone, Copy)]
pub struct ChangedText<'a> {
    /// Its path.
    pub path: &'a str,
    /// Whether it is a test file: those are put back, so only what they have now is read.
    pub test: bool,
    /// On the base.
    pub before: Option<&'a str>,
    /// On the tree under review.
    pub after: Option<&'a str>,
}

/// What a change takes from tests, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Softened {
    /// Tests of product files that are not written anywhere any more.
    pub lost: BTreeSet<String>,
    /// Tests that are expected to panic now.
    pub reversed: BTreeSet<String>,
    /// Tests that are ignored, or built under another condition, now.
    pub conditioned: BTreeSet<String>,
    /// Macros of the standard library's name that the change defines: tests would assert with them.
    pub shadows: BTreeSet<String>,
    /// Whether product code has words in it that skip tests, and had fewer.
    pub skips: bool,
    /// Tests that called something on the base, and call nothing now.
    pub emptied: BTreeSet<String>,
    /// What a reader of the report should look at; see [`Softened::doubts`].
    pub told: TestRemarks,
}

/// Whether a file is read for this.
#[must_use]
pub fn is_read(path: &str) -> bool {
    path.ends_with(".rs") || path.ends_with(".py")
}

/// Reads the changed files.
#[must_use]
pub fn softened(files: &[ChangedText<'_>]) -> Softened {
    let (mut before, mut after) = (rust::Tests::default(), rust::Tests::default());
    let mut softened = Softened::default();
    let mut bodies = told::Bodies::default();
    for file in files {
        if file.path.ends_with(".rs") {
            let [old, new] = [file.before, file.after].map(|text| text.map(tokens::tokens));
            let items = |tokens: &Option<Vec<_>>| tokens.as_deref().map(items::Items::read).unwrap_or_default();
            bodies.add(file, items(&old), items(&new));
            if let Some(tokens) = old.filter(|_| !file.test) {
                before.read(&tokens);
            }
            if let Some(tokens) = new {
                let product = after.macros.clone();
                after.read(&tokens);
                // A new test file is left out where the tests are as on the base.
                if file.test {
                    after.macros = product;
                }
            }
        } else if !file.test {
            softened.skips |= skip_words(file.after) > skip_words(file.before);
        }
    }
    let modules = before.modules.iter().filter(|(_, module)| module.for_tests);
    for (name, marks) in before.tests.iter().chain(modules) {
        let now = after.tests.get(name).or_else(|| after.modules.get(name));
        if now.map_or(0, |now| now.times) < marks.times {
            softened.lost.insert(name.clone());
        }
        let new: Vec<&String> = now.map(|now| now.marks.difference(&marks.marks).collect()).unwrap_or_default();
        if new.iter().any(|mark| rust::reverses(mark)) {
            softened.reversed.insert(name.clone());
        } else if !new.is_empty() {
            softened.conditioned.insert(name.clone());
        }
    }
    let found = bodies.compare();
    softened.shadows = after.macros.difference(&before.macros).cloned().chain(found.shadows).collect();
    (softened.emptied, softened.told) = (found.emptied, found.told);
    softened
}

fn skip_words(text: Option<&str>) -> usize {
    text.map_or(0, |text| SKIP_WORDS.iter().map(|word| text.matches(word).count()).sum())
}

/// Tests by name, with how often each is written and what is written on it.
type ByName = BTreeMap<String, Marked>;

/// A test's attributes that decide whether it runs and how it ends, those of the modules around it among them.
#[derive(Debug, Default)]
struct Marked {
    times: u64,
    marks: BTreeSet<String>,
    /// Of a module: whether it is built for tests only.
    for_tests: bool,
}

impl Marked {
    fn add<'a>(&mut self, marks: impl Iterator<Item = &'a String>) {
        self.times += 1;
        self.marks.extend(marks.cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "
        pub fn add() {}
        #[cfg(test)]
        mod tests {
            #[test]
            fn adds() { assert_eq!(1, '\"'.len_utf8(), \"}}\"); }
            #[tokio::test]
            async fn waits<'a>() {}
            /* #[test] fn none() {} /* */ */
            fn helper() {}
        }
        #[cfg(test)]
        mod more;
    ";

    fn of(after: &str) -> Softened {
        softened(&[ChangedText { path: "src/a.rs", test: false, before: Some(BASE), after: Some(after) }])
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn tests_that_are_written_no_more_are_lost_and_moved_ones_are_not() {
        assert_eq!(of(BASE), Softened::default());
        assert_eq!(of(&BASE.replace("#[tokio::test]", "")).lost, set(&["waits"]));
        assert_eq!(of(&BASE.replace("mod more", "mod less")).lost, set(&["mod more"]));
        assert_eq!(of(&BASE.replace("fn adds", "fn sums")).lost, set(&["adds"]));
        assert_eq!(of("").lost, set(&["adds", "mod more", "waits"]));
        let gone = ChangedText { path: "src/a.rs", test: false, before: Some(BASE), after: None };
        let moved = ChangedText { path: "tests/b.rs", test: true, before: None, after: Some(BASE) };
        assert_eq!(softened(&[gone, moved]), Softened::default());
        let put_back = ChangedText { test: true, ..gone };
        assert_eq!(softened(&[put_back]), Softened::default(), "a test file is put back");
    }

    #[test]
    fn what_is_written_on_a_test_decides_whether_it_runs_and_how_it_ends() {
        let on = |attribute: &str| of(&BASE.replace("#[test]", &format!("#[test]\n{attribute}\n")));
        assert_eq!(on("#[should_panic(expected = \"x\")]").reversed, set(&["adds"]));
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg(never)]", "#[cfg_attr(all(), ignore)]"] {
            assert_eq!(on(attribute).conditioned, set(&["adds"]), "{attribute}");
        }
        assert_eq!(on("#[cfg_attr(all(), should_panic)]").reversed, set(&["adds"]));
        assert_eq!(on("#[allow(dead_code)] /// Says \"why\"."), Softened::default());
        let module = of(&BASE.replace("#[cfg(test)]", "#[cfg(never)]"));
        assert_eq!(module.conditioned, set(&["adds", "mod more", "waits"]));
        assert_eq!(of(&format!("#![cfg(never)]{BASE}")).conditioned.len(), 3);
        // What was there before says nothing.
        let ignored = BASE.replace("#[test]", "#[test] #[ignore]");
        let same = ChangedText { path: "a.rs", test: false, before: Some(&ignored), after: Some(&ignored) };
        assert_eq!(softened(&[same]), Softened::default());
    }

    #[test]
    fn a_macro_of_the_standard_librarys_name_is_what_tests_would_assert_with() {
        let with = |text: &str| of(&format!("{text}\n{BASE}")).shadows;
        assert_eq!(with("macro_rules! assert_eq { ($($x:tt)*) => {} }"), set(&["assert_eq"]));
        assert_eq!(with("use holdpoint_text::lenient as assert;"), set(&["assert"]));
        assert!(with("use pretty_assertions::assert_eq;\nmacro_rules! assert_close { () => {} }").is_empty());
        assert!(with("// macro_rules! assert_eq\nconst X: &str = r#\"macro_rules! assert\"#;").is_empty());
    }

    #[test]
    fn product_code_that_skips_tests_has_words_for_it() {
        let of =
            |path, test| softened(&[ChangedText { path, test, before: None, after: Some("raise unittest.SkipTest") }]);
        assert!(of("calc.py", false).skips && !of("tests/test_calc.py", true).skips);
    }
}
