//! What changed between the base and the tree under review, from a diff of our own: the path rules, and the tree with
//! the tests as on the base.
//!
//! Which path is what is decided by `holdpoint_core::paths`, over what `holdpoint_runtime::path_rules` reads.

use std::collections::BTreeSet;

use holdpoint_core::{
    checks::TestsNamed,
    paths,
    written::{self, ChangedText, Softened},
};
use holdpoint_protocol::{
    artifact::VerificationRequest,
    facts::{DiffSummary, Oid, Violation},
};
use holdpoint_runtime::{
    mirror::{diff_summary, from_wire, to_wire, wire_path},
    path_rules::{self, RuleTexts},
};
use holdpoint_workspace::{Change, FileAs, Mirror, Replacement};

use crate::error::BenchError;

/// The difference between the base and the tree under review, judged.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Broken path rules.
    pub(crate) violations: Vec<Violation>,
    /// Files that Python could import and that the base does not have.
    pub(crate) new_modules: BTreeSet<String>,
    /// What the change takes from tests that stand in product files.
    pub(crate) softened: Softened,
    /// How much changed.
    pub(crate) summary: DiffSummary,
    /// Changed tests and fixtures that the scope does not name. A new test module of a product file is not among them.
    unnamed: Vec<Replacement>,
    /// Changed tests and fixtures that the scope names.
    named: Vec<Replacement>,
}

impl Changes {
    /// Computes and judges the difference.
    pub(crate) async fn between(
        mirror: &Mirror,
        base_tree: &Oid,
        request: &VerificationRequest,
    ) -> Result<Self, BenchError> {
        let (from, to) = (from_wire(base_tree), from_wire(&request.tree));
        let found = path_rules::judge(mirror, &from, &to, &texts(request)).await?;
        let put_back = |change: &&Change| {
            let path = wire_path(&change.path);
            let kept = change.old.is_none() && paths::is_test_module(&path);
            found.judgement.tests.contains(&path) && !kept
        };
        let tests = found.changes.iter().filter(put_back);
        let (named, unnamed): (Vec<_>, Vec<_>) =
            tests.partition(|change| found.rules.scope_names_test(&wire_path(&change.path)));
        Ok(Self {
            violations: found.judgement.violations,
            new_modules: found.new_modules,
            softened: softened(mirror, &found.changes, &found.judgement.tests).await?,
            summary: diff_summary(&mirror.diff_summary(&from, &to).await?),
            unnamed: unnamed.into_iter().map(as_on_base).collect(),
            named: named.into_iter().map(as_on_base).collect(),
        })
    }

    /// Whether tests were changed at all.
    pub(crate) fn tests_changed(&self) -> bool {
        !self.unnamed.is_empty() || !self.named.is_empty()
    }

    /// Whether tests were changed, and the scope names every one of them.
    pub(crate) fn tests_named(&self) -> bool {
        self.named() == TestsNamed::All
    }

    /// Which of the changed tests the scope names.
    pub(crate) fn named(&self) -> TestsNamed {
        match (self.unnamed.is_empty(), self.named.is_empty()) {
            (true, false) => TestsNamed::All,
            (false, false) => TestsNamed::Some,
            (_, true) => TestsNamed::None,
        }
    }

    /// Whether every changed test that the scope does not name is a new file: all tests of the base are there as they
    /// were.
    pub(crate) fn tests_only_added(&self) -> bool {
        self.unnamed.iter().all(|(_, on_base)| on_base.is_none())
    }

    /// The tree under review with the tests exactly as on the base. Tests that the scope names stay as they are, unless
    /// it names all that changed: then the tree only shows the difference.
    pub(crate) async fn with_tests_of_base(&self, mirror: &Mirror, tree: &Oid) -> Result<Oid, BenchError> {
        let back = if self.tests_named() { &self.named } else { &self.unnamed };
        Ok(to_wire(&mirror.compose_tree(&from_wire(tree), back).await?))
    }
}

/// Reads the texts of changed files, and what they take from tests.
async fn softened(mirror: &Mirror, changes: &[Change], tests: &BTreeSet<String>) -> Result<Softened, BenchError> {
    let mut texts = Vec::new();
    for change in changes {
        let path = wire_path(&change.path);
        if written::is_read(&path) && texts.len() < written::WRITTEN_FILES_MAX {
            let before = path_rules::text_of(mirror, change.old.as_ref(), written::WRITTEN_BYTES_MAX).await?;
            let after = path_rules::text_of(mirror, change.new.as_ref(), written::WRITTEN_BYTES_MAX).await?;
            texts.push((path, before, after));
        }
    }
    let files = texts.iter().map(|(path, before, after)| ChangedText {
        path,
        test: tests.contains(path),
        before: before.as_deref(),
        after: after.as_deref(),
    });
    Ok(written::softened(&files.collect::<Vec<_>>()))
}

/// The path as it is on the base.
fn as_on_base(change: &Change) -> Replacement {
    let old = change.old.clone().map(|(mode, oid)| FileAs { mode, oid });
    (change.path.clone(), old)
}

fn texts(request: &VerificationRequest) -> RuleTexts {
    let criteria = request.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    let checks = criteria.chain(request.guards.iter().map(|guard| &guard.check));
    RuleTexts {
        scope: request.scope.clone(),
        protected: request.protected.clone(),
        covenant: request.covenant.clone(),
        commands: RuleTexts::commands(checks, request.prepare.as_ref()),
    }
}
