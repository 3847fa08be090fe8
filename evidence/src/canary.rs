//! Canaries: tests that have to fail, planted into a tree on which a check was green (contract, "Canaries").
//!
//! Product code runs inside the process that reports on it, so it can print a report and end that process, or replace
//! what tests assert with. Then tests that cannot pass do not make the check red. A canary is such a test: its name is
//! unguessable, it is in the test files that ran, and it asserts what they assert with. A run in which canaries pass,
//! or vanish although the same check shows them on the base, was forged.
//!
//! Pure: which files get which text ([`Canaries`]), and what a run with them says ([`Trial::judge`]). Nothing here reads a
//! tree, runs a check or makes a random number: the seed is the caller's. Not for runners whose tests cannot be
//! added to by appending text.

mod go;
mod judge;
mod line;
mod marks;
mod node;
mod python;
mod rust;
mod seen;
mod sites;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use judge::{CanaryJudgement, Control, ForgerySign, Trial};
pub use line::{for_all_failures, stops_early};
pub use seen::Seen;
pub use sites::Sites;

use crate::{
    checks::JudgedRun,
    runners::{self, Runner},
};
use marks::Marks;

/// Files of a tree that get canaries. Each gets about a dozen, and one file of the process that lies is enough.
pub const FILES_MAX: usize = 32;
/// Bytes of a file that may get canaries; a longer one gets none.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// The canaries of one check in one turn.
#[derive(Debug, Clone)]
pub struct Canaries {
    marks: Marks,
    languages: BTreeSet<Language>,
    /// The filter of tests that the line gives to cargo's runners.
    filter: Option<String>,
    /// The pattern of names that the line gives to go.
    run: Option<String>,
}

/// Where and how canaries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Language {
    Unittest,
    Pytest,
    Rust,
    Node,
    Go,
}

/// A file with canaries in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Its text with them.
    pub text: String,
    /// What their names have in them.
    pub marks: BTreeSet<String>,
}

impl Canaries {
    /// Canaries for a check whose `first` run was green, with names from `seed`, which nobody else may know.
    ///
    /// # Errors
    /// Why this check gets none, as the end of a sentence.
    pub fn new(seed: &str, command: &str, first: &JudgedRun) -> Result<Self, &'static str> {
        if runners::expected(command) {
            return Err("its command asks for failures");
        }
        let counts = first.counts.as_ref().ok_or("its test runner is not understood")?;
        if counts.total().passed == 0 {
            return Err("no test passed in it");
        }
        let languages: BTreeSet<Language> = counts.by_runner.keys().filter_map(|runner| language(*runner)).collect();
        if languages.is_empty() {
            return Err("there are no canaries for its test runner");
        }
        Ok(Self { marks: Marks::new(seed), languages, filter: line::filter(command), run: line::run(command) })
    }

    /// Which files of a tree get canaries, those of the base first. `output` is what the first run printed.
    #[must_use]
    pub fn sites(&self, paths: &BTreeSet<String>, on_base: &BTreeSet<String>, output: &str) -> Sites {
        sites::choose(&self.languages, paths, on_base, output)
    }

    /// The files of a tree that may hold tests, and nothing that the product needs: they would keep canaries from being
    /// alone.
    #[must_use]
    pub fn with_tests(&self, paths: &BTreeSet<String>) -> Vec<String> {
        sites::with_tests(&self.languages, paths)
    }

    /// The files of a tree that only say that a folder of tests is a package.
    #[must_use]
    pub fn packages(&self, paths: &BTreeSet<String>) -> Vec<String> {
        sites::packages(paths)
    }

    /// The file with canaries; `None`: nothing shows that tests are written in it.
    #[must_use]
    pub fn plant(&self, path: &str, text: &str) -> Option<Planted> {
        let marks = self.marks.of(path);
        match ending(path) {
            "py" => python::plant(marks, text, self.languages.contains(&Language::Pytest)),
            "rs" => Some(rust::plant(marks, text, self.filter.as_deref())),
            "go" => go::plant(marks, text, self.run.as_deref()),
            _ => node::plant(marks, path, text),
        }
    }

    /// The same canaries in that file without any other test: `text` is the file in which they are planted, `on_base` that
    /// file on the base, where it is a file that the product needs.
    #[must_use]
    pub fn alone(&self, path: &str, text: &str, on_base: Option<&str>) -> String {
        let marks = self.marks.of(path);
        match ending(path) {
            "py" => python::alone(marks, text, self.languages.contains(&Language::Pytest)),
            "rs" => {
                rust::plant(
                    marks,
                    if sites::is_product_root(path) { on_base.unwrap_or("") } else { "" },
                    self.filter.as_deref(),
                )
                .text
            }
            "go" => go::alone(marks, text, self.run.as_deref()),
            _ => node::alone(marks, path, text),
        }
    }

    /// A file of tests of the base without its tests; `None`: nothing shows that tests are written in it.
    #[must_use]
    pub fn emptied(&self, path: &str, text: &str) -> Option<String> {
        match ending(path) {
            // Files without tests may need what stands in the others.
            "go" => Some(go::emptied(text)),
            _ => self.plant(path, text).map(|_| String::new()),
        }
    }

    /// Which canaries a run's output names, and how.
    #[must_use]
    pub fn seen(&self, output: &str) -> Seen {
        seen::read(self.marks.stem(), output)
    }
}

/// The marks of planted canaries by file.
pub type ByFile = BTreeMap<String, BTreeSet<String>>;

fn language(runner: Runner) -> Option<Language> {
    match runner {
        Runner::Unittest => Some(Language::Unittest),
        Runner::Pytest => Some(Language::Pytest),
        Runner::CargoTest | Runner::Nextest => Some(Language::Rust),
        Runner::NodeTest => Some(Language::Node),
        Runner::GoTest => Some(Language::Go),
        Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Junit | Runner::Ctest | Runner::GoogleTest => None,
    }
}

/// The part after the last dot of a path.
fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}
