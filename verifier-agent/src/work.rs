//! The changed files of the product, as texts.

use std::collections::BTreeMap;

use holdpoint_evidence::{
    checks::unrun::LinesByFile,
    mutants::{self, ChangedFile, Site},
};
use holdpoint_protocol::facts::Oid;
use holdpoint_runtime::{mirror::wire_path, path_rules::text_of};
use holdpoint_workspace::Change;

use crate::{criterion::Subject, error::VerifyError};

/// The changed files of the product.
pub(crate) struct Work {
    /// By their paths: the change, and the text on the base and on the tree under review.
    pub(crate) files: BTreeMap<String, (Change, Option<String>, String)>,
    gone: Vec<String>,
}

impl Work {
    /// Reads their texts.
    pub(crate) async fn read(subject: &Subject<'_>) -> Result<Self, VerifyError> {
        let mut work = Self { files: BTreeMap::new(), gone: Vec::new() };
        let changes = subject.changes.mutable.iter();
        for change in changes.filter(|change| mutants::is_read(&wire_path(&change.path))) {
            if work.files.len() + work.gone.len() >= mutants::MUTATED_FILES_MAX {
                break;
            }
            let before = text_of(subject.mirror, change.old.as_ref(), mutants::MUTATED_BYTES_MAX).await?;
            let after = text_of(subject.mirror, change.new.as_ref(), mutants::MUTATED_BYTES_MAX).await?;
            match (before, after) {
                // Without the text on the base nobody knows which lines are new.
                (None, Some(_)) if change.old.is_some() => {}
                (before, Some(after)) => {
                    drop(work.files.insert(wire_path(&change.path), (change.clone(), before, after)));
                }
                (Some(before), None) if change.new.is_none() => work.gone.push(before),
                _ => {}
            }
        }
        Ok(work)
    }

    /// The lines that may be broken.
    pub(crate) fn sites(&self, tree: &Oid) -> Vec<Site> {
        mutants::sites(tree.as_str(), &self.changed().collect::<Vec<_>>(), &self.gone())
    }

    /// The changed lines of Python's files.
    pub(crate) fn lines_of_python(&self) -> LinesByFile {
        let files = self.changed().filter(|file| file.path.ends_with(".py"));
        let lines = files.map(|file| (file.path.to_owned(), mutants::changed_lines(&file, &self.gone())));
        lines.filter(|(path, lines)| !lines.is_empty() && !path.contains('\n')).collect()
    }

    fn changed(&self) -> impl Iterator<Item = ChangedFile<'_>> {
        self.files.iter().map(|(path, (_, before, after))| ChangedFile { path, before: before.as_deref(), after })
    }

    fn gone(&self) -> Vec<&str> {
        self.gone.iter().map(String::as_str).collect()
    }
}
