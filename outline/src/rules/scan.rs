//! Running the rules over the files of a change, in the helper.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::{ControlFlow, Range},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tree_sitter::{
    Node, ParseOptions, Parser, QueryCursor, QueryCursorOptions, QueryMatch, StreamingIterator as _, Tree,
};

use super::{
    RuleFile, RuleFileError, SCANNED_BYTES_MAX, compile,
    compiled::{CompiledFile, Meaning, Rule, RuleInfo, Whereabouts},
    language::RuleLanguage,
    languages_of,
};
use crate::{ChangedSource, FINDING_TEXT_CHARS_MAX, UnseenReason};

/// Time for all files of a request; the helper has some more until it is killed.
const TIME: Duration = Duration::from_secs(12);
/// Time for one text.
const TIME_EACH: Duration = Duration::from_secs(4);
/// Matches of one text that are compared. Past that somebody floods.
const MATCHES_MAX: usize = 2_000;
/// States that a query keeps at once.
const STATES_MAX: u32 = 4_096;
/// The region whose code counts as test code.
const TEST_REGION: &str = "test";

/// The answer of the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ScanAnswer {
    /// A file of rules cannot be used.
    BadRules(RuleFileError),
    /// All rules, and each file in its order.
    Scanned { rules: Vec<RuleInfo>, files: Vec<Scanned> },
}

/// The matches in one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Scanned {
    Seen { before: Vec<ScannedMatch>, after: Vec<ScannedMatch> },
    Unseen(UnseenReason),
}

impl Scanned {
    const NOTHING: Self = Self::Seen { before: Vec::new(), after: Vec::new() };

    /// The same with other positions of its rules.
    pub(crate) fn renumbered(mut self, numbers: &[usize]) -> Self {
        if let Self::Seen { before, after } = &mut self {
            for found in before.iter_mut().chain(after) {
                found.rule = numbers.get(found.rule).copied().unwrap_or(usize::MAX);
            }
        }
        self
    }
}

/// Adds the rules of an answer to those of earlier ones, and says at which position each of them is there.
pub(crate) fn merge(known: &mut Vec<RuleInfo>, rules: Vec<RuleInfo>) -> Vec<usize> {
    rules.into_iter().map(|info| position(known, &info)).collect()
}

fn position(known: &mut Vec<RuleInfo>, wanted: &RuleInfo) -> usize {
    known.iter().position(|info| info == wanted).unwrap_or_else(|| {
        known.push(wanted.clone());
        known.len() - 1
    })
}

fn language_of(change: &ChangedSource) -> Option<RuleLanguage> {
    let texts = [change.after.as_deref(), change.before.as_deref()];
    texts.into_iter().flatten().chain([""]).find_map(|text| RuleLanguage::of(&change.path, text))
}

/// Whether the helper has to look at a file.
pub(crate) fn concern(change: &ChangedSource) -> bool {
    language_of(change).is_some() && change.after.as_ref().is_some_and(|text| text.len() <= SCANNED_BYTES_MAX)
}

/// All that is known of a file before the helper looked at it.
pub(crate) fn unasked(change: &ChangedSource) -> Scanned {
    match (language_of(change), &change.after) {
        (None, _) => Scanned::NOTHING,
        (_, None) => Scanned::Unseen(UnseenReason::NotText),
        (_, Some(text)) if text.len() > SCANNED_BYTES_MAX => Scanned::Unseen(UnseenReason::TooLong),
        _ => Scanned::Unseen(UnseenReason::TooComplex),
    }
}

/// A match of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScannedMatch {
    /// The rule's position among those of the answer.
    pub(crate) rule: usize,
    /// From 1.
    pub(crate) line: u32,
    /// The text of the place without its layout, as a hash.
    pub(crate) node: u64,
    /// The line without its layout, as a hash.
    pub(crate) in_line: u64,
    /// The line, trimmed and cut.
    pub(crate) text: String,
}

/// Scans the files of a change with the shipped rules and those of the project.
pub(crate) fn scan(changes: &[ChangedSource], own: &[RuleFile]) -> ScanAnswer {
    match Scanner::new(own) {
        Ok(mut scanner) => {
            let files = changes.iter().map(|change| scanner.file(change)).collect();
            ScanAnswer::Scanned { rules: scanner.infos, files }
        }
        Err(error) => ScanAnswer::BadRules(error),
    }
}

struct Scanner {
    /// The files of rules of each language, compiled when the first file needs them: TypeScript's take most of a second.
    compiled: Vec<(RuleLanguage, Vec<CompiledFile>)>,
    own: Vec<RuleFile>,
    infos: Vec<RuleInfo>,
    end: Instant,
}

impl Scanner {
    fn new(own: &[RuleFile]) -> Result<Self, RuleFileError> {
        // A broken file is an error whatever the change is.
        for file in own {
            for language in languages_of(file)? {
                compile(language, file)?;
            }
        }
        Ok(Self { compiled: Vec::new(), own: own.to_vec(), infos: Vec::new(), end: Instant::now() + TIME })
    }

    fn file(&mut self, change: &ChangedSource) -> Scanned {
        let Some(language) = language_of(change) else { return Scanned::NOTHING };
        let Some(after) = &change.after else { return Scanned::Unseen(UnseenReason::NotText) };
        match self.text(language, change, after) {
            Ok(after) => Scanned::Seen { before: self.base(language, change), after },
            Err(reason) => Scanned::Unseen(reason),
        }
    }

    /// The matches on the base. Where they cannot be had, all that is there now counts as new.
    fn base(&mut self, language: RuleLanguage, change: &ChangedSource) -> Vec<ScannedMatch> {
        let before = change.before.as_deref().unwrap_or_default();
        self.text(language, change, before).unwrap_or_default()
    }

    fn text(
        &mut self,
        language: RuleLanguage,
        change: &ChangedSource,
        text: &str,
    ) -> Result<Vec<ScannedMatch>, UnseenReason> {
        if text.len() > SCANNED_BYTES_MAX {
            return Err(UnseenReason::TooLong);
        }
        let at = self.compiled(language);
        let end = self.end.min(Instant::now() + TIME_EACH);
        let tree = parse(language, text, end).ok_or(UnseenReason::TooComplex)?;
        let files = self.compiled.get(at).map_or(&[][..], |(_, files)| files);
        let source = Source { path: &change.path, is_test: change.is_test, text, tree: &tree, end };
        let matched = source.matches(files)?;
        Ok(matched.into_iter().map(|matched| self.scanned(text, &matched)).collect())
    }

    /// The position of the language's rules.
    fn compiled(&mut self, language: RuleLanguage) -> usize {
        if let Some(at) = self.compiled.iter().position(|(known, _)| *known == language) {
            return at;
        }
        let start = Instant::now();
        let shipped = language
            .shipped()
            .iter()
            .map(|(name, text)| RuleFile { name: (*name).to_owned(), text: (*text).to_owned() });
        let own = self.own.iter().filter(|file| languages_of(file).is_ok_and(|all| all.contains(&language))).cloned();
        // The shipped files are tested, and those of the project were compiled before.
        let files = shipped.chain(own).filter_map(|file| compile(language, &file).ok()).collect();
        self.compiled.push((language, files));
        // Compiling takes most of the time of a small change, and is not the fault of a file.
        self.end += start.elapsed();
        self.compiled.len() - 1
    }

    fn scanned(&mut self, text: &str, matched: &Matched) -> ScannedMatch {
        let rule = position(&mut self.infos, &matched.info);
        let line = line_around(text, matched.range.start);
        ScannedMatch {
            rule,
            line: u32::try_from(matched.row).unwrap_or(u32::MAX).saturating_add(1),
            node: hash(text.get(matched.range.clone()).unwrap_or_default()),
            in_line: hash(line),
            text: line.trim().chars().take(FINDING_TEXT_CHARS_MAX).collect(),
        }
    }
}

/// The line that a byte belongs to.
fn line_around(text: &str, at: usize) -> &str {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let from = before.rfind('\n').map_or(0, |end| end + 1);
    let to = after.find('\n').map_or(text.len(), |end| at + end);
    text.get(from..to).unwrap_or_default()
}

/// A text without its layout, so that code that is only formatted is the same.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split_whitespace().for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

fn parse(language: RuleLanguage, text: &str, end: Instant) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar().into()).ok()?;
    let mut progress = |_: &_| until(end);
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

fn until(end: Instant) -> ControlFlow<()> {
    if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

struct Source<'a> {
    path: &'a str,
    is_test: bool,
    text: &'a str,
    tree: &'a Tree,
    end: Instant,
}

/// A place that a rule names.
struct Matched {
    info: RuleInfo,
    row: usize,
    range: Range<usize>,
}

/// A region that is one if its name belongs to a set.
struct NamedRegion {
    region: String,
    range: Range<usize>,
    set: String,
    name: Option<String>,
}

/// The regions and names that patterns without a rule give.
#[derive(Default)]
struct Surroundings {
    regions: HashMap<String, Vec<Range<usize>>>,
    /// Those that are looked at when all names are known.
    named_regions: Vec<NamedRegion>,
    names: HashSet<(String, String)>,
}

impl Surroundings {
    fn complete(&mut self) {
        for it in std::mem::take(&mut self.named_regions) {
            if it.name.is_some_and(|name| self.names.contains(&(it.set, name))) {
                self.regions.entry(it.region).or_default().push(it.range);
            }
        }
        self.regions.values_mut().for_each(|all| all.sort_by_key(|of| of.start));
    }

    fn within(&self, region: &str, range: &Range<usize>) -> bool {
        self.regions.get(region).is_some_and(|all| all.iter().any(|of| holds(of, range)))
    }

    fn around(&self, region: &str, range: &Range<usize>) -> bool {
        self.regions.get(region).is_some_and(|all| {
            // A file may have as many regions as calls, so those before the range are not looked at.
            let inner = all.iter().skip(all.partition_point(|of| of.start < range.start));
            inner.take_while(|of| of.start < range.end).any(|of| holds(range, of))
        })
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// A match whose rule is looked at when the surroundings are known.
struct Candidate<'a> {
    rule: &'a Rule,
    name: Option<String>,
    body: Option<Range<usize>>,
    row: usize,
    range: Range<usize>,
}

impl Source<'_> {
    fn matches(&self, files: &[CompiledFile]) -> Result<Vec<Matched>, UnseenReason> {
        let (mut surroundings, mut candidates) = (Surroundings::default(), Vec::new());
        for file in files {
            self.run(file, &mut surroundings, &mut candidates)?;
        }
        surroundings.complete();
        let mut seen = HashSet::new();
        candidates.retain(|candidate: &Candidate<'_>| {
            self.holds(candidate, &surroundings) && seen.insert((&candidate.rule.info.id, candidate.range.clone()))
        });
        candidates.sort_by_key(|candidate| candidate.range.start);
        candidates.truncate(MATCHES_MAX);
        let matched = |it: Candidate<'_>| Matched { info: it.rule.info.clone(), row: it.row, range: it.range };
        Ok(candidates.into_iter().map(matched).collect())
    }

    fn holds(&self, candidate: &Candidate<'_>, surroundings: &Surroundings) -> bool {
        let rule = candidate.rule;
        let is_test = self.is_test || surroundings.within(TEST_REGION, &candidate.range);
        let place = match rule.whereabouts {
            Whereabouts::Product => !is_test,
            Whereabouts::Test => is_test,
            Whereabouts::Any => true,
        };
        let named = rule.named.as_ref().is_none_or(|set| {
            candidate.name.as_ref().is_some_and(|name| surroundings.names.contains(&(set.clone(), name.clone())))
        });
        let body = candidate.body.as_ref().unwrap_or(&candidate.range);
        place
            && named
            && !rule.not_in.iter().any(|region| surroundings.within(region, &candidate.range))
            && !rule.without.iter().any(|region| surroundings.around(region, body))
    }

    fn run<'f>(
        &self,
        file: &'f CompiledFile,
        surroundings: &mut Surroundings,
        candidates: &mut Vec<Candidate<'f>>,
    ) -> Result<(), UnseenReason> {
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(STATES_MAX);
        let mut stopped = false;
        let mut progress = |_: &_| {
            let flow = until(self.end);
            stopped |= flow.is_break();
            flow
        };
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let mut matches =
            cursor.matches_with_options(&file.query, self.tree.root_node(), self.text.as_bytes(), options);
        while let Some(found) = matches.next() {
            self.take(file, found, surroundings, candidates);
        }
        drop(matches);
        if stopped || cursor.did_exceed_match_limit() { Err(UnseenReason::TooComplex) } else { Ok(()) }
    }

    fn take<'f>(
        &self,
        file: &'f CompiledFile,
        found: &QueryMatch<'_, '_>,
        surroundings: &mut Surroundings,
        candidates: &mut Vec<Candidate<'f>>,
    ) {
        let Some(pattern) = file.patterns.get(found.pattern_index).filter(|pattern| pattern.holds_for(self.path))
        else {
            return;
        };
        let first = |capture: Option<u32>| capture.and_then(|capture| found.nodes_for_capture_index(capture).next());
        let name = || first(file.name).and_then(|node| self.text.get(node.byte_range())).map(str::to_owned);
        for node in found.nodes_for_capture_index(pattern.capture) {
            match &pattern.meaning {
                Meaning::Region { region, named: None } => {
                    surroundings.regions.entry(region.clone()).or_default().push(node.byte_range());
                }
                Meaning::Region { region, named: Some(set) } => surroundings.named_regions.push(NamedRegion {
                    region: region.clone(),
                    range: node.byte_range(),
                    set: set.clone(),
                    name: name(),
                }),
                Meaning::Name(set) => {
                    surroundings
                        .names
                        .extend(self.text.get(node.byte_range()).map(|name| (set.clone(), name.to_owned())));
                }
                Meaning::Rule(rule) => candidates.push(Candidate {
                    rule,
                    name: name(),
                    body: first(file.body).map(|node| node.byte_range()),
                    row: row(&node),
                    range: node.byte_range(),
                }),
            }
        }
    }
}

fn row(node: &Node<'_>) -> usize {
    node.start_position().row
}
