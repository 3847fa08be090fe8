//! Checkpoints of a gate: how each is established, and what follows from all of them (DOC-2 to DOC-6, SDLC-3).
//!
//! Agents' harnesses, orchestrators and audits compute the same from the same bytes. What a document says of itself establishes
//! statements and nothing else.

mod feedback;
mod in_plan;
mod judged;
mod score;
mod written;

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Digest,
    checkpoint::{
        CheckpointResult, CheckpointRule, CheckpointSpec, CheckpointStatement, CheckpointStatus, DocumentRef,
        EstablishedBy, GateDemands, GateDocument, PathKind, TouchedPaths,
    },
    facts::BlobRef,
    ids::{CriterionId, role},
    proposal::PlanProposal,
};
use regex::Regex;

pub use crate::declared::checkpoint::DOCUMENT;
pub use feedback::{are_untried, feedback, in_one_line};
pub use in_plan::{SeveralCheckPresets, auto, in_plan};
pub use judged::{Judged, ran};
pub use score::{Score, gate_checkpoints, lines};
pub use written::{Block, WrittenDocument, read_document};

use holdpoint_evidence::paths::{Glob, is_test_path};

use crate::{declared::checkpoint::PROPOSAL, proposal};

/// Bytes of what an agent says of one checkpoint.
pub const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// What is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct HandedOver<'a> {
    /// The document's Markdown.
    pub text: &'a str,
    /// The checkpoints on touched paths that hold, as [`touching`] says.
    pub touched: &'a [CriterionId],
    /// What came of checkpoints that somebody has to run or to say.
    pub said: &'a [CheckpointResult],
    /// What a verifier found; `None`: none has judged it yet.
    pub judged: Option<Judged<'a>>,
    /// The waypoints that are proposed.
    pub proposal: Option<&'a PlanProposal>,
}

/// What follows from a gate's checkpoints (DOC-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateValidation {
    /// Each one that is required holds, and the score is high enough.
    pub handoff_ready: bool,
    /// How many of them passed.
    pub score: Score,
    /// What came of each, in the gate's order.
    pub checkpoints: Vec<CheckpointResult>,
    /// Its maker is asked again.
    pub retry_needed: bool,
    /// A person has to look.
    pub escalate: bool,
}

/// The checkpoints of a gate: its own, that its document is there, and that what it proposes is sound.
pub fn all(demands: &GateDemands) -> impl Iterator<Item = CheckpointSpec> {
    let own = |name: &str| CheckpointSpec {
        name: CriterionId::try_new(name).expect("a literal name"),
        rule: None,
        required: true,
    };
    let document = demands.document.as_ref().map(|_| own(DOCUMENT));
    let proposal = demands.proposes.as_ref().map(|_| own(PROPOSAL));
    document.into_iter().chain(proposal).chain(demands.checkpoints.iter().cloned())
}

/// The checkpoints of a gate that demand touched paths, and get them. It is all that has to be known of the paths later.
#[must_use]
pub fn touching(demands: &GateDemands, paths: &[String]) -> Vec<CriterionId> {
    let touches = |spec: &&CheckpointSpec| match &spec.rule {
        Some(CheckpointRule::Touches(wanted)) => are_touched(paths, wanted),
        _ => false,
    };
    demands.checkpoints.iter().filter(touches).map(|spec| spec.name.clone()).collect()
}

/// Establishes every checkpoint of a gate and says what follows. `retry_count` is how often its maker was asked again so far.
#[must_use]
pub fn validate(demands: &GateDemands, over: &HandedOver<'_>, retry_count: u32) -> GateValidation {
    let results: Vec<CheckpointResult> = all(demands).map(|spec| establish(&spec, demands, over)).collect();
    GateValidation::of(demands, results, retry_count)
}

/// The same at the boundary, by a document as it was handed over and the paths that git says the work touches.
#[must_use]
pub fn validate_document(demands: &GateDemands, document: &GateDocument, touched: &[String]) -> GateValidation {
    let (touched, proposal) = (touching(demands, touched), document.proposal.as_ref());
    let said = &document.checkpoints;
    let over = HandedOver { text: &document.text, touched: &touched, said, judged: None, proposal };
    validate(demands, &over, document.retry_count)
}

impl GateValidation {
    /// What follows from these results where its maker was asked again so often.
    #[must_use]
    pub fn of(demands: &GateDemands, checkpoints: Vec<CheckpointResult>, retry_count: u32) -> Self {
        let (score, more) = (Score::of(&checkpoints), retry_count < demands.retries());
        let is_enough = demands.threshold.is_none_or(|least| score.of_100() >= least);
        let handoff_ready = is_enough && is_ready(demands, &checkpoints);
        let (retry_needed, escalate) = (!handoff_ready && more, !handoff_ready && !more);
        Self { handoff_ready, score, checkpoints, retry_needed, escalate }
    }
}

/// Whether each required checkpoint passes. One of which nothing is known, or that was skipped, does not.
fn is_ready(demands: &GateDemands, results: &[CheckpointResult]) -> bool {
    let status: BTreeMap<_, _> = results.iter().map(|result| (&result.name, result.status)).collect();
    all(demands).filter(|spec| spec.required).all(|spec| status.get(&spec.name) == Some(&CheckpointStatus::Pass))
}

/// The text of a document, as the blob under which an orchestrator stores it for later turns.
#[must_use]
pub fn blob(document: &GateDocument) -> BlobRef {
    let digest = Digest::of(document.text.as_bytes());
    BlobRef { role: role::id(role::ORCHESTRATOR), digest, bytes: document.text.len() as u64 }
}

/// Puts the newest document of a gate in the place of the one before it; the first of a gate comes last.
pub fn put_newest(documents: &mut Vec<DocumentRef>, newest: DocumentRef) {
    match documents.iter_mut().find(|earlier| earlier.gate == newest.gate) {
        Some(earlier) => *earlier = newest,
        None => documents.push(newest),
    }
}

/// What an agent says of checkpoints, as results.
#[must_use]
pub fn stated(statements: Vec<CheckpointStatement>) -> Vec<CheckpointResult> {
    let stated = statements.into_iter().map(|CheckpointStatement { name, status, message }| CheckpointResult {
        name,
        by: EstablishedBy::Statement,
        status,
        message: bounded(message),
    });
    stated.collect()
}

fn bounded(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
    message
}

fn establish(spec: &CheckpointSpec, demands: &GateDemands, over: &HandedOver<'_>) -> CheckpointResult {
    let document = demands.document.as_ref().filter(|_| spec.name.as_str() == DOCUMENT);
    let looked = |wrong: Option<String>| CheckpointResult {
        name: spec.name.clone(),
        by: EstablishedBy::Predicate,
        status: if wrong.is_none() { CheckpointStatus::Pass } else { CheckpointStatus::Fail },
        message: wrong.map(bounded).unwrap_or_default(),
    };
    if let Some(document) = document {
        return looked(incomplete(over.text, &document.sections));
    }
    if let Some(bounds) = demands.proposes.as_ref().filter(|_| spec.name.as_str() == PROPOSAL) {
        return looked(proposal::unsound(over.proposal, bounds));
    }
    match &spec.rule {
        Some(CheckpointRule::Proposal(rule)) => looked(proposal::broken(*rule, over.proposal)),
        Some(CheckpointRule::Section(title)) => looked(incomplete(over.text, std::slice::from_ref(title))),
        Some(CheckpointRule::Matches(pattern)) => looked(unmatched(over.text, pattern)),
        Some(CheckpointRule::Lacks(pattern)) => looked(found(over.text, pattern)),
        Some(CheckpointRule::Touches(paths)) => looked(untouched(over.touched.contains(&spec.name), paths)),
        Some(CheckpointRule::Report(part)) => judged::found(spec, *part, over.judged),
        Some(CheckpointRule::Command(_)) => said(spec, over, EstablishedBy::Command),
        Some(CheckpointRule::Guard(_)) | None => said(spec, over, EstablishedBy::Statement),
    }
}

/// What was run or said; of a checkpoint of which nothing was, that.
fn said(spec: &CheckpointSpec, over: &HandedOver<'_>, by: EstablishedBy) -> CheckpointResult {
    let result = over.said.iter().rev().find(|result| result.name == spec.name && result.by == by);
    result.cloned().unwrap_or_else(|| CheckpointResult {
        name: spec.name.clone(),
        by,
        status: CheckpointStatus::Fail,
        message: match by {
            EstablishedBy::Command => "its command was not run".to_owned(),
            EstablishedBy::Statement | EstablishedBy::Predicate => {
                format!("nothing was said of it: say `{}: pass`, or why it does not hold", spec.name)
            }
        },
    })
}

/// What a document lacks: all of it, or some of its sections.
fn incomplete(text: &str, sections: &[String]) -> Option<String> {
    if text.trim().is_empty() {
        return Some("there is no document".to_owned());
    }
    let missing: Vec<String> = sections.iter().filter_map(|title| without_section(text, title)).collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Why a document does not have this section, with text below its heading.
fn without_section(text: &str, title: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let headings = headings(&lines);
    let is_it = |words: &str| words.to_lowercase() == title.trim().to_lowercase();
    let Some((begins, depth, _)) = headings.iter().find(|(_, _, words)| is_it(words)) else {
        return Some(format!("there is no section `{title}`"));
    };
    let next = headings.iter().find(|(at, next, _)| at > begins && next <= depth);
    let below = begins + 1..next.map_or(lines.len(), |(at, ..)| *at);
    let is_heading = |at: &usize| headings.iter().any(|(heading, ..)| heading == at);
    let says = |at: &usize| lines.get(*at).is_some_and(|line| !line.trim().is_empty());
    let is_empty = !below.filter(|at| !is_heading(at)).any(|at| says(&at));
    is_empty.then(|| format!("section `{title}` has no text"))
}

/// The headings outside of code blocks: line, depth and words of each.
fn headings<'t>(lines: &[&'t str]) -> Vec<(usize, usize, &'t str)> {
    let (mut found, mut fence) = (Vec::new(), None);
    for (at, line) in lines.iter().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => found.extend(heading(line).map(|(depth, words)| (at, depth, words))),
        }
    }
    found
}

/// The depth and the words of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let depth = line.len() - words.len();
    let is_one = (1..=6).contains(&depth) && words.starts_with([' ', '\t']);
    is_one.then(|| (depth, words.trim().trim_end_matches('#').trim_end()))
}

fn unmatched(text: &str, pattern: &str) -> Option<String> {
    match Regex::new(pattern) {
        Ok(regex) if regex.is_match(text) => None,
        Ok(_) => Some(format!("nothing in the document matches `{pattern}`")),
        Err(error) => Some(format!("`{pattern}` is no regular expression: {error}")),
    }
}

fn found(text: &str, pattern: &str) -> Option<String> {
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => return Some(format!("`{pattern}` is no regular expression: {error}")),
    };
    let at = regex.find(text)?.start();
    let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
    Some(format!("line {line} of the document matches `{pattern}`, and nothing may"))
}

fn are_touched(touched: &[String], paths: &TouchedPaths) -> bool {
    let globs = if let TouchedPaths::Globs(globs) = paths { globs.as_slice() } else { &[] };
    let read: Vec<Glob> = globs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
    let is_one = |path: &String| match paths {
        TouchedPaths::Kind(PathKind::Tests) => is_test_path(path),
        TouchedPaths::Kind(PathKind::Docs) => is_docs_path(path),
        TouchedPaths::Globs(_) => read.iter().any(|glob| glob.matches(path)),
    };
    touched.iter().any(is_one)
}

fn untouched(is_touched: bool, paths: &TouchedPaths) -> Option<String> {
    let what = match paths {
        TouchedPaths::Kind(PathKind::Tests) => "test".to_owned(),
        TouchedPaths::Kind(PathKind::Docs) => "document for readers".to_owned(),
        TouchedPaths::Globs(globs) => format!("path that matches {}", globs.join(" or ")),
    };
    (!is_touched).then(|| format!("the work touches no {what}"))
}

/// Whether a path is a file for readers, by its folder or its ending.
fn is_docs_path(path: &str) -> bool {
    const FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];
    const ENDINGS: [&str; 4] = ["md", "rst", "adoc", "mdx"];
    let mut segments = path.rsplit('/');
    let name = segments.next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) || segments.any(|folder| FOLDERS.contains(&folder))
}

#[cfg(test)]
mod tests;
