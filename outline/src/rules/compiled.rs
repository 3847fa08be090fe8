//! A file of rules as a query, with the settings of its patterns.

use regex::Regex;
use serde::{Deserialize, Serialize};
use tree_sitter::{Query, QueryError, QueryErrorKind, QueryProperty};

use super::{RuleFile, RuleFileError, language::RuleLanguage};
use crate::FindingGroup;

/// The words on a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleInfo {
    pub(crate) id: String,
    pub(crate) group: FindingGroup,
    pub(crate) sentence: String,
}

/// In which code a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Product,
    Test,
    Any,
}

/// The meaning of a match.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A rule names the place.
    Rule(Rule),
    /// `@region` is a region of this name, where `@name` belongs to a set if one is named.
    Region { region: String, named: Option<String> },
    /// `@name` belongs to the set of this name.
    Name(String),
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) info: RuleInfo,
    pub(super) whereabouts: Whereabouts,
    pub(super) not_in: Vec<String>,
    /// Regions that `@body` has none of.
    pub(super) without: Vec<String>,
    pub(super) named: Option<String>,
}

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) meaning: Meaning,
    /// The capture that is the place, the region or the name.
    pub(super) capture: u32,
    path: Option<Regex>,
    not_path: Option<Regex>,
}

impl Pattern {
    pub(super) fn holds_for(&self, path: &str) -> bool {
        self.path.as_ref().is_none_or(|regex| regex.is_match(path))
            && !self.not_path.as_ref().is_some_and(|regex| regex.is_match(path))
    }
}

#[derive(Debug)]
pub(super) struct CompiledFile {
    pub(super) query: Query,
    pub(super) patterns: Vec<Pattern>,
    /// The capture `@name`.
    pub(super) name: Option<u32>,
    /// The capture `@body`.
    pub(super) body: Option<u32>,
}

impl CompiledFile {
    pub(super) fn new(language: RuleLanguage, file: &RuleFile) -> Result<Self, RuleFileError> {
        let query = Query::new(&language.grammar().into(), &file.text)
            .map_err(|error| RuleFileError::new(file, error.row + 1, problem(&error)))?;
        let mut patterns: Vec<Pattern> = Vec::new();
        for index in 0..query.pattern_count() {
            let line = line_at(&file.text, query.start_byte_for_pattern(index));
            let pattern = pattern(&query, index, &patterns).map_err(|why| RuleFileError::new(file, line, why))?;
            patterns.push(pattern);
        }
        let (name, body) = (query.capture_index_for_name("name"), query.capture_index_for_name("body"));
        Ok(Self { query, patterns, name, body })
    }
}

/// The line of the first character of a pattern; comments may come before it.
fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}

fn problem(error: &QueryError) -> String {
    let message = error.message.trim_end();
    match error.kind {
        QueryErrorKind::NodeType => format!("the grammar has no node {message}"),
        QueryErrorKind::Field => format!("the grammar has no field {message}"),
        QueryErrorKind::Capture => format!("a predicate names a capture {message} that the pattern has not"),
        QueryErrorKind::Predicate => format!("a predicate is wrong: {message}"),
        QueryErrorKind::Structure => format!("no code can match this pattern:\n{message}"),
        QueryErrorKind::Syntax => format!("this is no tree-sitter query:\n{message}"),
        QueryErrorKind::Language => format!("the grammar cannot be used: {message}"),
    }
}

/// The settings of one pattern, each of which is made once.
struct Settings<'a>(&'a [QueryProperty]);

const KEYS: [&str; 11] =
    ["rule", "group", "sentence", "where", "path", "not-path", "not-in", "without", "named", "region", "names"];

impl Settings<'_> {
    fn check(&self) -> Result<(), String> {
        for (at, setting) in self.0.iter().enumerate() {
            let key = &*setting.key;
            if !KEYS.contains(&key) {
                return Err(format!("no setting is called {key:?}; there are {}", KEYS.join(", ")));
            }
            if self.0.iter().take(at).any(|earlier| *earlier.key == *key) {
                return Err(format!("the pattern sets {key:?} twice"));
            }
            if setting.value.as_ref().is_none_or(|value| value.trim().is_empty()) {
                return Err(format!("the setting {key:?} has no value"));
            }
        }
        let kinds = ["rule", "region", "names"].into_iter().filter(|key| self.get(key).is_some()).count();
        if kinds == 1 { Ok(()) } else { Err("a pattern sets one of rule, region and names".to_owned()) }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|setting| &*setting.key == key)?.value.as_deref()
    }

    fn regex(&self, key: &str) -> Result<Option<Regex>, String> {
        let compiled = self.get(key).map(Regex::new).transpose();
        compiled.map_err(|error| format!("the setting {key:?} is no regular expression: {error}"))
    }
}

fn pattern(query: &Query, index: usize, earlier: &[Pattern]) -> Result<Pattern, String> {
    if let Some(predicate) = query.general_predicates(index).first() {
        return Err(format!("no predicate is called #{}", predicate.operator));
    }
    if !query.property_predicates(index).is_empty() {
        return Err("#is? and #is-not? have no meaning here".to_owned());
    }
    let settings = Settings(query.property_settings(index));
    settings.check()?;
    let named = settings.get("named").map(str::to_owned);
    let (meaning, capture) = if let Some(region) = settings.get("region") {
        (Meaning::Region { region: region.to_owned(), named: named.clone() }, "region")
    } else if let Some(name) = settings.get("names") {
        (Meaning::Name(name.to_owned()), "name")
    } else {
        (Meaning::Rule(rule(&settings, earlier)?), "at")
    };
    if named.is_some() {
        captured(query, index, "name")?;
    }
    if matches!(&meaning, Meaning::Rule(rule) if !rule.without.is_empty()) {
        captured(query, index, "body")?;
    }
    let capture = captured(query, index, capture)?;
    Ok(Pattern { meaning, capture, path: settings.regex("path")?, not_path: settings.regex("not-path")? })
}

/// The index of a capture that the pattern has to have.
fn captured(query: &Query, index: usize, name: &str) -> Result<u32, String> {
    let missing = || format!("the pattern has no @{name}");
    let capture = query.capture_index_for_name(name).ok_or_else(missing)?;
    let quantifiers = query.capture_quantifiers(index);
    let quantifier = usize::try_from(capture).ok().and_then(|at| quantifiers.get(at));
    match quantifier {
        Some(tree_sitter::CaptureQuantifier::Zero) | None => Err(missing()),
        Some(_) => Ok(capture),
    }
}

fn rule(settings: &Settings<'_>, earlier: &[Pattern]) -> Result<Rule, String> {
    let id = settings.get("rule").unwrap_or_default();
    if !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Err(format!("the rule {id:?} has other characters than a-z, 0-9 and -"));
    }
    let like = earlier.iter().rev().find_map(|pattern| match &pattern.meaning {
        Meaning::Rule(rule) if rule.info.id == id => Some(rule),
        _ => None,
    });
    let group = match settings.get("group") {
        Some("suspicious") => FindingGroup::Suspicious,
        Some("suppression") => FindingGroup::Suppression,
        Some(other) => return Err(format!("the group is suspicious or suppression, not {other:?}")),
        None => like.ok_or_else(|| format!("the first pattern of {id:?} sets no group"))?.info.group,
    };
    let sentence = settings.get("sentence").or_else(|| like.map(|rule| &*rule.info.sentence));
    let sentence = sentence.ok_or_else(|| format!("the first pattern of {id:?} sets no sentence"))?;
    let whereabouts = match settings.get("where") {
        Some("product") => Whereabouts::Product,
        Some("test") => Whereabouts::Test,
        Some("any") => Whereabouts::Any,
        Some(other) => return Err(format!("where is product, test or any, not {other:?}")),
        None => like.map_or(Whereabouts::Product, |rule| rule.whereabouts),
    };
    let regions = |key| {
        let words = settings.get(key).map(str::split_whitespace);
        words.map(|words| words.map(str::to_owned).collect::<Vec<_>>())
    };
    let not_in = regions("not-in").or_else(|| like.map(|rule| rule.not_in.clone()));
    Ok(Rule {
        info: RuleInfo { id: id.to_owned(), group, sentence: sentence.to_owned() },
        whereabouts,
        not_in: not_in.unwrap_or_default(),
        without: regions("without").unwrap_or_default(),
        named: settings.get("named").map(str::to_owned),
    })
}
