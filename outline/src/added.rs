//! The matches in the changed files that are new. Code that moves, within a file or to another, is not.

use std::{collections::HashMap, hash::Hash};

use crate::{
    ChangeFinding, ChangeFindings, ChangedSource, FINDINGS_MAX, UnseenFile,
    rules::{RuleInfo, Scanned, ScannedMatch},
};

/// A match with the position of its file among the changed ones.
type Place<'a> = (usize, &'a ScannedMatch);

/// The findings of a change whose files were scanned, in the same order.
pub(crate) fn findings(changes: &[ChangedSource], rules: &[RuleInfo], scanned: &[Scanned]) -> ChangeFindings {
    let mut findings: Vec<ChangeFinding> =
        added(scanned).into_iter().filter_map(|(file, found)| finding(changes.get(file)?, rules, found)).collect();
    findings.sort_by(|a, b| (a.group, &a.path, a.line, &a.rule).cmp(&(b.group, &b.path, b.line, &b.rule)));
    findings.dedup_by(|a, b| (&a.path, a.line, &a.rule) == (&b.path, b.line, &b.rule));
    let more = u32::try_from(findings.len().saturating_sub(FINDINGS_MAX)).unwrap_or(u32::MAX);
    findings.truncate(FINDINGS_MAX);
    ChangeFindings { findings, more, unseen: unseen(changes, scanned) }
}

fn finding(change: &ChangedSource, rules: &[RuleInfo], found: &ScannedMatch) -> Option<ChangeFinding> {
    let rule = rules.get(found.rule)?;
    Some(ChangeFinding {
        path: change.path.clone(),
        line: found.line,
        rule: rule.id.clone(),
        group: rule.group,
        sentence: rule.sentence.clone(),
        text: found.text.clone(),
    })
}

fn unseen(changes: &[ChangedSource], scanned: &[Scanned]) -> Vec<UnseenFile> {
    let mut unseen: Vec<UnseenFile> = changes
        .iter()
        .zip(scanned)
        .filter_map(|(change, scanned)| match scanned {
            Scanned::Unseen(reason) => Some(UnseenFile { path: change.path.clone(), reason: *reason }),
            Scanned::Seen { .. } => None,
        })
        .collect();
    unseen.sort_by(|a, b| a.path.cmp(&b.path));
    unseen
}

/// The matches that stand for none of the base. The pairs that are most alike are taken first, so that of two equal matches
/// the one that was there keeps its place, and the other one is the new one.
fn added(scanned: &[Scanned]) -> Vec<Place<'_>> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (file, scanned) in scanned.iter().enumerate() {
        if let Scanned::Seen { before: old, after: new } = scanned {
            before.extend(old.iter().map(|found| (file, found)));
            after.extend(new.iter().map(|found| (file, found)));
        }
    }
    without_equals(&mut before, &mut after, |(file, found)| (file, found.rule, found.node, found.in_line));
    without_equals(&mut before, &mut after, |(_, found)| (found.rule, found.node, found.in_line));
    without_equals(&mut before, &mut after, |(file, found)| (file, found.rule, found.node));
    without_equals(&mut before, &mut after, |(_, found)| (found.rule, found.node));
    after
}

/// Takes out of both sides what has the same key, each of one side with one of the other.
fn without_equals<'a, K: Hash + Eq>(
    before: &mut Vec<Place<'a>>,
    after: &mut Vec<Place<'a>>,
    key: impl Fn(Place<'a>) -> K,
) {
    let mut counts: HashMap<K, usize> = HashMap::new();
    for place in &*before {
        *counts.entry(key(*place)).or_default() += 1;
    }
    let mut taken: HashMap<K, usize> = HashMap::new();
    after.retain(|place| {
        let key = key(*place);
        let Some(count) = counts.get_mut(&key).filter(|count| **count > 0) else { return true };
        *count -= 1;
        *taken.entry(key).or_default() += 1;
        false
    });
    before.retain(|place| match taken.get_mut(&key(*place)).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    });
}
