//! All runs of a check by which its criterion is judged.

use holdpoint_protocol::reason::CriterionReason;

use super::run::JudgedRun;
use crate::written::Softened;

/// Which of the changed tests may change, by `changed_tests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestsNamed {
    /// None of them, or no test was changed.
    None,
    /// Some of them.
    Some,
    /// Every one: then the first run counts.
    All,
}

/// What is known of a criterion's check.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// On the handed-off tree.
    pub first: &'a JudgedRun,
    /// On the base, if it was run there.
    pub base: Option<&'a JudgedRun>,
    /// On the handed-off tree with the tests as on the base: only when tests or fixtures were changed.
    pub composed: Option<&'a JudgedRun>,
    /// Which of them were asked for.
    pub named: TestsNamed,
    /// Whether every changed test is a new file, so that with the tests as on the base nothing of the base's is missing.
    pub only_added: bool,
    /// Whether the check had to be red on the base: failures that are reported there excuse none.
    pub red_first: bool,
    /// Whether it may run no test: a guard and a checkpoint need not show anything new.
    pub may_run_none: bool,
    /// What the change takes from tests that are in product files.
    pub softened: &'a Softened,
}

impl Runs<'_> {
    /// Whether a run of them is green, by its report as well.
    pub(super) fn green(&self, run: &JudgedRun) -> bool {
        run.is_green(self.base.filter(|_| !self.red_first))
    }

    /// What the first run has against itself.
    pub(super) fn against_first(&self) -> Option<CriterionReason> {
        self.first.against(self.base.filter(|_| !self.red_first))
    }
}
