//! What changed between the base and the tree under review, from a diff of our own: the path rules, and the tree with
//! the tests as on the base.
//!
//! Which path is what is decided by `holdpoint_evidence::paths`, over what `holdpoint_runtime::path_rules` reads.

use std::collections::BTreeSet;

use holdpoint_evidence::{
    checks::TestsNamed,
    paths::{self, PathClass, PathRules},
    written::{self, ChangedText, Softened},
};
use holdpoint_protocol::{
    Digest,
    artifact::VerificationRequest,
    facts::{DiffSummary, Oid, Violation},
};
use holdpoint_runtime::{
    mirror::{diff_summary, from_wire, to_wire, wire_path},
    path_rules::{self, RuleTexts},
};
use holdpoint_workspace::{Change, FileAs, Mirror, Replacement};

use crate::{criterion::NAMES_SHOWN, error::VerifyError};

/// The difference between the base and the tree under review, judged.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Broken path rules.
    pub(crate) violations: Vec<Violation>,
    /// Changed files that decide what checks run, and that the scope names.
    pub(crate) steering: BTreeSet<String>,
    /// Files that Python could import and that the base does not have.
    pub(crate) new_modules: BTreeSet<String>,
    /// What the change takes from tests in product files.
    pub(crate) softened: Softened,
    /// How much changed.
    pub(crate) summary: DiffSummary,
    /// Changed tests and fixtures that `changed_tests` does not name. A new test module of a product file is not among them.
    unnamed: Vec<Replacement>,
    /// Changed tests and fixtures that `changed_tests` names.
    named: Vec<Replacement>,
    /// Everything else that changed, as on the base.
    product: Vec<Replacement>,
    /// Those of them that the work deleted.
    gone: BTreeSet<String>,
    /// Everything that changed.
    pub(crate) all: Vec<Change>,
    /// Changed files of the product, none of which decides what a check runs: those whose lines may be broken.
    pub(crate) mutable: Vec<Change>,
    /// Whether the scope asks for tests and nothing else.
    scope_is_tests: bool,
    /// Tests by name that may change or go.
    pub(crate) changed_names: BTreeSet<String>,
}

impl Changes {
    /// Computes and judges the difference.
    pub(crate) async fn between(
        mirror: &Mirror,
        base_tree: &Oid,
        request: &VerificationRequest,
    ) -> Result<Self, VerifyError> {
        let (from, to) = (from_wire(base_tree), from_wire(&request.tree));
        let texts = texts(request);
        let (found, summary) =
            tokio::join!(path_rules::judge(mirror, &from, &to, &texts), mirror.diff_summary(&from, &to));
        let (found, summary) = (found?, summary?);
        let put_back = |change: &&Change| {
            let path = wire_path(&change.path);
            let kept = change.old.is_none() && paths::is_test_module(&path);
            found.judgement.tests.contains(&path) && !kept
        };
        let product = found.changes.iter().filter(|change| !found.judgement.tests.contains(&wire_path(&change.path)));
        let tests = found.changes.iter().filter(put_back);
        let (named, unnamed): (Vec<_>, Vec<_>) =
            tests.partition(|change| found.rules.may_change_test(&wire_path(&change.path)));
        Ok(Self {
            product: product.map(as_on_base).collect(),
            mutable: found.changes.iter().filter(|change| is_product(&found.rules, change)).cloned().collect(),
            gone: found.changes.iter().filter(|c| c.new.is_none()).map(|c| wire_path(&c.path)).collect(),
            scope_is_tests: found.rules.scope_is_tests(),
            changed_names: found.rules.changed_names().clone(),
            violations: found.judgement.violations,
            steering: found.judgement.steering,
            new_modules: found.new_modules,
            softened: softened(mirror, &found.changes, &found.judgement.tests).await?,
            summary: diff_summary(&summary),
            unnamed: unnamed.into_iter().map(as_on_base).collect(),
            named: named.into_iter().map(as_on_base).collect(),
            all: found.changes,
        })
    }

    /// What a person should read of the change, in sentences.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let named: Vec<&str> = self.steering.iter().map(String::as_str).take(NAMES_SHOWN).collect();
        let more = if self.steering.len() > NAMES_SHOWN { ", …" } else { "" };
        let steering = (!named.is_empty()).then(|| {
            format!(
                "the scope names files that decide what checks run: {}{more}; read how they changed",
                named.join(", ")
            )
        });
        self.softened.doubts().into_iter().chain(steering).collect()
    }

    /// Whether tests were changed at all.
    pub(crate) fn tests_changed(&self) -> bool {
        !self.unnamed.is_empty() || !self.named.is_empty()
    }

    /// Whether tests were changed, and `changed_tests` names every one of them.
    pub(crate) fn tests_named(&self) -> bool {
        self.named() == TestsNamed::All
    }

    /// Which of the changed tests `changed_tests` names.
    pub(crate) fn named(&self) -> TestsNamed {
        match (self.unnamed.is_empty(), self.named.is_empty()) {
            (true, false) => TestsNamed::All,
            (false, false) => TestsNamed::Some,
            (_, true) => TestsNamed::None,
        }
    }

    /// Whether every changed test that it does not name is a new file: all tests of the base are there as they
    /// were.
    pub(crate) fn tests_only_added(&self) -> bool {
        self.unnamed.iter().all(|(_, on_base)| on_base.is_none())
    }

    /// The tree under review with the tests exactly as on the base. Tests that `changed_tests` names stay as they are, unless
    /// it names all that changed: then the tree only shows the difference.
    pub(crate) async fn with_tests_of_base(&self, mirror: &Mirror, tree: &Oid) -> Result<Oid, VerifyError> {
        let back = if self.tests_named() { &self.named } else { &self.unnamed };
        Ok(to_wire(&mirror.compose_tree(&from_wire(tree), back).await?))
    }
}

impl Changes {
    /// Whether every changed test is a new file.
    pub(crate) fn tests_are_new(&self) -> bool {
        self.unnamed.iter().chain(&self.named).all(|(_, on_base)| on_base.is_none())
    }

    /// Whether the scope asks for tests and nothing else, so that no product is to be compared.
    pub(crate) fn scope_is_tests(&self) -> bool {
        self.scope_is_tests
    }

    /// All changed paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + '_ {
        [&self.unnamed, &self.named, &self.product].into_iter().flatten().map(|(path, _)| wire_path(path))
    }

    /// Changed files that are no tests and are still there: what a test may notice.
    pub(crate) fn product_files(&self) -> impl Iterator<Item = String> + '_ {
        self.product.iter().map(|(path, _)| wire_path(path)).filter(|path| !self.gone.contains(path))
    }

    /// The tree under review with the product exactly as on the base.
    pub(crate) async fn with_product_of_base(&self, mirror: &Mirror, tree: &Oid) -> Result<Oid, VerifyError> {
        Ok(to_wire(&mirror.compose_tree(&from_wire(tree), &self.product).await?))
    }

    /// The tree under review with one file as on the base.
    pub(crate) async fn with_file_of_base(&self, mirror: &Mirror, tree: &Oid, file: &str) -> Result<Oid, VerifyError> {
        let back: Vec<_> = self.product.iter().filter(|(path, _)| wire_path(path) == file).cloned().collect();
        Ok(to_wire(&mirror.compose_tree(&from_wire(tree), &back).await?))
    }
}

/// The ignore files of a base, as one name.
pub(crate) async fn ignores(mirror: &Mirror, base_tree: &Oid) -> Result<Digest, VerifyError> {
    let files = mirror.ignore_files(&from_wire(base_tree)).await?;
    let lines: String = files.iter().map(|file| format!("{} {}\n", file.oid.as_str(), file.path)).collect();
    Ok(Digest::of(lines.as_bytes()))
}

/// Reads the texts of changed files, and what they take from tests.
async fn softened(mirror: &Mirror, changes: &[Change], tests: &BTreeSet<String>) -> Result<Softened, VerifyError> {
    let (mut texts, mut unread) = (Vec::new(), 0);
    for change in changes {
        let path = wire_path(&change.path);
        if !written::is_read(&path) {
            continue;
        }
        if texts.len() == written::WRITTEN_FILES_MAX {
            unread += 1;
            continue;
        }
        let before = path_rules::text_of(mirror, change.old.as_ref(), written::WRITTEN_BYTES_MAX).await?;
        let after = path_rules::text_of(mirror, change.new.as_ref(), written::WRITTEN_BYTES_MAX).await?;
        let is_read = before.is_some() == change.old.is_some() && after.is_some() == change.new.is_some();
        unread += u64::from(!is_read);
        texts.push((path, before, after));
    }
    let files = texts.iter().map(|(path, before, after)| ChangedText {
        path,
        test: tests.contains(path),
        before: before.as_deref(),
        after: after.as_deref(),
    });
    let mut softened = written::softened(&files.collect::<Vec<_>>());
    softened.told.unread = unread;
    Ok(softened)
}

/// Whether a changed path is a file of the product, and neither steers nor tests it.
fn is_product(rules: &PathRules, change: &Change) -> bool {
    !change.is_symlink() && !change.is_gitlink() && rules.classify(&wire_path(&change.path)) == PathClass::Other
}

/// The path as it is on the base.
fn as_on_base(change: &Change) -> Replacement {
    let old = change.old.clone().map(|(mode, oid)| FileAs { mode, oid });
    (change.path.clone(), old)
}

fn texts(request: &VerificationRequest) -> RuleTexts {
    RuleTexts {
        scope: request.scope.clone(),
        new_tests: request.new_tests.clone(),
        changed_tests: request.changed_tests.clone(),
        protected: request.protected.clone(),
        covenant: request.covenant.clone(),
        commands: commands(request),
    }
}

/// All commands that a request has run.
pub(crate) fn commands(request: &VerificationRequest) -> Vec<String> {
    let criteria = request.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    let of_checkpoints = request.checkpoints.iter().map(|asked| &asked.command.check);
    let checks = criteria.chain(request.guards.iter().map(|guard| &guard.check)).chain(of_checkpoints);
    RuleTexts::commands(checks, Some(&request.environment))
}
