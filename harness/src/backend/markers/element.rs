//! The XML-like elements in a text. What is not one of ours, or not closed, is text.

use holdpoint_protocol::{artifact::Confidence, reason::BlockReason};

use super::{Claim, Completion, MARKERS_MAX, Markers, PrintedQuestion, Validation, cut};
use crate::backend::question::{BadQuestion, ValidQuestion, confidence_word};

const STAGE: &str = "execution-stage";
const VALIDATION: &str = "validation";
const CRITERION: &str = "acceptance-criterion";
const QUESTION: &str = "clarification-request";
pub(crate) const COMPLETE: &str = "waypoint-complete";
const NAMES: [&str; 5] = [STAGE, VALIDATION, CRITERION, QUESTION, COMPLETE];
/// What is between two options of a question.
const BETWEEN_OPTIONS: char = '|';
/// The most that an opening tag may be long, in bytes: a command line fits.
const TAG_BYTES_MAX: usize = 4 << 10;
/// The most that an element may be long, in bytes. A tag that is never closed is not looked for in megabytes.
const ELEMENT_BYTES_MAX: usize = 64 << 10;

/// How many tags may be left open before the reading ends: each costs a look for its end.
const UNCLOSED_MAX: usize = 256;

/// All elements of ours, and the first question among them.
pub(super) fn read(text: &str) -> (Markers, Option<PrintedQuestion>) {
    let mut markers = Markers::default();
    let mut asked = None;
    let mut rest = text;
    let mut unclosed = 0;
    while let Some(start) = rest.find('<') {
        let at = rest.get(start..).unwrap_or_default();
        rest = match element(at) {
            Some(Element::Whole { name: QUESTION, attributes, content, end }) => {
                asked = asked.or_else(|| Some(question(attributes, content)));
                at.get(end..).unwrap_or_default()
            }
            Some(Element::Whole { name, attributes, content, end }) => {
                take(&mut markers, name, attributes, content.trim());
                at.get(end..).unwrap_or_default()
            }
            Some(Element::Unclosed { name, content }) => {
                if name == COMPLETE {
                    push(&mut markers.unfinished, cut(first_word(content.trim_start()).0));
                }
                // Prose that speaks of the element asks nobody.
                let before = text.get(..text.len() - at.len()).unwrap_or_default();
                if name == QUESTION && before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty()) {
                    asked = asked.or(Some(Err(BadQuestion::NotWhole)));
                }
                unclosed += 1;
                if unclosed == UNCLOSED_MAX {
                    return (markers, asked);
                }
                at.get(1..).unwrap_or_default()
            }
            None => at.get(1..).unwrap_or_default(),
        };
    }
    (markers, asked)
}

/// The name of the first of our elements that begins in a line.
pub(super) fn named(line: &str) -> Option<&'static str> {
    line.match_indices('<').find_map(|(at, _)| {
        let after = line.get(at + 1..)?;
        let name = NAMES.into_iter().find(|name| after.starts_with(name))?;
        let next = after.get(name.len()..)?.chars().next();
        next.is_none_or(|next| next == '>' || next.is_whitespace()).then_some(name)
    })
}

fn question(attributes: &str, content: &str) -> PrintedQuestion {
    let confidence = match attribute(attributes, "confidence") {
        None => Confidence::Low,
        Some(word) => confidence_word(word.trim())
            .ok_or(BadQuestion::Type { part: "confidence", wanted: "`low`, `medium` or `high`" })?,
    };
    let options = attribute(attributes, "options").map(|all| all.split(BETWEEN_OPTIONS).map(str::to_owned).collect());
    let question = ValidQuestion {
        question: content.to_owned(),
        decision_context: attribute(attributes, "context").unwrap_or_default().to_owned(),
        confidence,
        options: options.unwrap_or_default(),
        block_reason: BlockReason::default(),
    };
    question.checked()
}

enum Element<'a> {
    Whole { name: &'static str, attributes: &'a str, content: &'a str, end: usize },
    Unclosed { name: &'static str, content: &'a str },
}

/// The element of ours that begins at the start of a text.
fn element(text: &str) -> Option<Element<'_>> {
    let name = NAMES.into_iter().find(|name| text.get(1..).is_some_and(|after| after.starts_with(name)))?;
    let after_name = text.get(1 + name.len()..)?;
    if !after_name.starts_with(|next: char| next == '>' || next.is_whitespace()) {
        return None;
    }
    let window = after_name.get(..after_name.floor_char_boundary(TAG_BYTES_MAX))?;
    let Some(tag_len) = tag_end(window) else { return Some(Element::Unclosed { name, content: "" }) };
    let (attributes, content) = (window.get(..tag_len)?, after_name.get(tag_len + 1..)?);
    let window = content.get(..content.floor_char_boundary(ELEMENT_BYTES_MAX))?;
    let closing = format!("</{name}>");
    let Some(content_len) = window.find(&closing) else { return Some(Element::Unclosed { name, content: window }) };
    let end = 1 + name.len() + tag_len + 1 + content_len + closing.len();
    Some(Element::Whole { name, attributes, content: content.get(..content_len)?, end })
}

/// Where the tag's `>` is, quoted ones aside.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

fn take(markers: &mut Markers, name: &str, attributes: &str, content: &str) {
    match name {
        STAGE => push(&mut markers.stages, cut(content)),
        VALIDATION => {
            let command = attribute(attributes, "command").unwrap_or(content);
            let exit_code = attribute(attributes, "exit").and_then(|code| code.trim().parse().ok());
            push(&mut markers.validations, Validation { command: cut(command), exit_code });
        }
        CRITERION => {
            let (id, text) = match attribute(attributes, "id") {
                Some(id) => (id, content),
                None => first_word(content),
            };
            push(&mut markers.claims, Claim { id: cut(id.trim()), text: cut(text.trim()) });
        }
        _ => {
            let confidence = attribute(attributes, "confidence").map(cut);
            push(&mut markers.completions, Completion { text: cut(content), confidence });
        }
    }
}

/// A program that prints more than that has no more to say.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MARKERS_MAX {
        list.push(item);
    }
}

/// The first word, and what follows it after an optional colon.
pub(crate) fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(|next: char| next.is_whitespace() || next == ':').unwrap_or((text, ""));
    (word, rest.trim_start_matches(|next: char| next.is_whitespace() || next == ':'))
}

/// The value of `name="value"` or `name='value'` among attributes.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        let (key, after) = rest.split_once('=')?;
        let quote = after.trim_start().chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let (value, next) = after.trim_start().get(1..)?.split_once(quote)?;
        if key.trim() == name {
            return Some(value);
        }
        rest = next;
    }
}
