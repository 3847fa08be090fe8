//! What a change adds that a person should see: no further run shows it. Only work that would be accepted is looked through.

use holdpoint_evidence::paths;
use holdpoint_outline::{
    ChangeFinding, ChangeFindings, ChangedSource, OutlineHelper, RuleFile, SCANNED_BYTES_MAX, UnseenReason,
};
use holdpoint_protocol::facts::Oid;
use holdpoint_runtime::{
    mirror::{from_wire, wire_path},
    path_rules,
};
use holdpoint_workspace::{Change, Mirror};

use crate::error::VerifyError;

/// Where a project has rules of its own, on the base.
const FOLDER: &str = ".holdpoint/rules/";
/// How the files of rules end.
const ENDING: &str = ".scm";
/// Files of rules that are read, and bytes of each.
const RULES_MAX: usize = 16;
const RULE_BYTES_MAX: usize = 256 << 10;
/// Changed files that are read: as many as are read for what they take from tests.
const FILES_MAX: usize = 500;
/// Files that nobody looked at which one doubt names.
const UNSEEN_SHOWN: usize = 5;

/// What was found, and what is to be said of what could not be looked at.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    pub(crate) findings: Vec<ChangeFinding>,
    /// For people.
    pub(crate) notes: Vec<String>,
}

/// A finding in a sentence.
#[must_use]
pub fn in_words(finding: &ChangeFinding) -> String {
    let ChangeFinding { path, line, rule, sentence, text, .. } = finding;
    format!("{path}:{line}: {sentence} ({rule}: `{text}`)")
}

/// Looks through a change. A helper that fails, and rules of the project that cannot be read, keep nothing from being judged.
pub(crate) async fn suspects(
    helper: &OutlineHelper,
    (mirror, base_tree): (&Mirror, &Oid),
    changes: &[Change],
) -> Result<Suspects, VerifyError> {
    let mut sources = Vec::new();
    for change in changes.iter().take(FILES_MAX) {
        sources.push(source(mirror, change).await?);
    }
    let rules = own_rules(mirror, base_tree).await?;
    let mut notes = Vec::new();
    if let Some(more) = changes.len().checked_sub(FILES_MAX).filter(|more| *more > 0) {
        notes.push(format!(
            "{more} changed files were not looked through for suspicious code: there are more than {FILES_MAX}"
        ));
    }
    let found = match helper.findings(&sources, &rules).await {
        Ok(found) => found,
        Err(error) => {
            notes.push(format!("the change was not looked through for suspicious code: {error}"));
            return Ok(Suspects { findings: Vec::new(), notes });
        }
    };
    let ChangeFindings { findings, more, unseen } = found;
    if more > 0 {
        notes.push(format!("{more} more places of the change are suspicious, or silence a warning"));
    }
    if !unseen.is_empty() {
        let reason = |reason| match reason {
            UnseenReason::TooLong => "too long",
            UnseenReason::NotText => "no text, or too long",
            UnseenReason::TooComplex => "too complex",
        };
        let named: Vec<String> =
            unseen.iter().take(UNSEEN_SHOWN).map(|file| format!("{} ({})", file.path, reason(file.reason))).collect();
        let dots = if unseen.len() > UNSEEN_SHOWN { ", …" } else { "" };
        notes.push(format!("not looked through for suspicious code: {}{dots}", named.join(", ")));
    }
    Ok(Suspects { findings, notes })
}

async fn source(mirror: &Mirror, change: &Change) -> Result<ChangedSource, VerifyError> {
    let path = wire_path(&change.path);
    let text = async |side| path_rules::text_of(mirror, side, SCANNED_BYTES_MAX).await;
    let (before, after) = (text(change.old.as_ref()).await?, text(change.new.as_ref()).await?);
    let after = if change.new.is_some() { after } else { Some(String::new()) };
    Ok(ChangedSource { is_test: paths::is_test_path(&path), path, before, after })
}

/// The rules of the project, as they stand on the base: no change can take them away from itself.
async fn own_rules(mirror: &Mirror, base_tree: &Oid) -> Result<Vec<RuleFile>, VerifyError> {
    let entries = mirror.list_tree(&from_wire(base_tree)).await?;
    let is_rules = |path: &str| path.starts_with(FOLDER) && path.ends_with(ENDING);
    let mut rules = Vec::new();
    for entry in entries.iter().filter(|entry| is_rules(&wire_path(&entry.path))).take(RULES_MAX) {
        let side = (entry.mode, entry.oid.clone());
        if let Some(text) = path_rules::text_of(mirror, Some(&side), RULE_BYTES_MAX).await? {
            let name = wire_path(&entry.path).trim_start_matches(FOLDER).to_owned();
            rules.push(RuleFile { name, text });
        }
    }
    Ok(rules)
}
