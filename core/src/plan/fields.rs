//! Reading the fields of a mapping: one method per kind of value, each reporting what is wrong with it.
//!
//! A method answers `None` when the key is not there or its value was reported; the plan is then refused anyway.

use holdpoint_protocol::{ids::InvalidId, time::Millis};
use regex::Regex;

use crate::paths::Glob;

use super::{
    error::Problems,
    likeness::closest,
    tree::{Key, Node, Position, Value},
    units,
};

/// The longest shell command in bytes. The system takes 128 KiB for one argument of a program, and the sandbox's own
/// words come before it.
const COMMAND_BYTES_MAX: usize = 64 << 10;

/// A mapping of which every key is known.
pub(super) struct Fields<'t> {
    /// Where it begins.
    pub(super) at: Position,
    /// What it is called in messages.
    what: String,
    entries: &'t [(Key, Node)],
}

/// A scalar's text and place.
#[derive(Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) at: Position,
    pub(super) text: &'t str,
}

impl<'t> Fields<'t> {
    /// Takes `node` as a mapping and reports keys that are not `allowed`.
    pub(super) fn open(node: &'t Node, what: &str, allowed: &[&str], problems: &mut Problems) -> Option<Self> {
        let entries = match &node.value {
            Value::Map(entries) => entries,
            Value::Refused => return None,
            other => {
                let message = format!("{what} is a mapping, not {}", other.kind());
                problems.add(node.at, message, format!("its keys are {}", words(allowed)));
                return None;
            }
        };
        for (key, _) in entries {
            if allowed.contains(&key.name.as_str()) {
                continue;
            }
            // Looking for similar words is dear, and of problems past the limit only the number is told.
            let similar = if problems.is_full() { None } else { closest(&key.name, allowed.iter().copied()) };
            let hint = match similar {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the keys of {what} are {}", words(allowed)),
            };
            problems.add(key.at, format!("unknown key `{}` in {what}", shown(&key.name)), hint);
        }
        Some(Self { at: node.at, what: what.to_owned(), entries })
    }

    /// Calls this mapping by another name in messages from here on.
    pub(super) fn call(&mut self, what: String) {
        self.what = what;
    }

    /// The name in messages.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// The value of a key that has one. A key without a value is reported.
    pub(super) fn get(&self, key: &str, problems: &mut Problems) -> Option<&'t Node> {
        let (key, node) = self.entries.iter().find(|(k, _)| k.name == key)?;
        if node.value.is_null() {
            problems.add(key.at, format!("`{}` has no value", key.name), "give it one, or remove the key");
            return None;
        }
        Some(node)
    }

    /// Whether the key is there, with whatever value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(k, _)| k.name == key)
    }

    /// Reports that a key is missing if it is not there.
    pub(super) fn demand(&self, key: &str, hint: &str, problems: &mut Problems) {
        if !self.has(key) {
            problems.add(self.at, format!("{} has no `{key}`", self.what), hint);
        }
    }

    /// A text that is not empty.
    pub(super) fn word(&self, key: &str, problems: &mut Problems) -> Option<Word<'t>> {
        let node = self.get(key, problems)?;
        word(node, &format!("`{key}`"), problems)
    }

    /// A text that is not empty, owned.
    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        self.word(key, problems).map(|word| word.text.to_owned())
    }

    /// A shell command.
    pub(super) fn command(&self, key: &str, problems: &mut Problems) -> Option<String> {
        let word = self.word(key, problems)?;
        if word.text.len() > COMMAND_BYTES_MAX {
            let message =
                format!("`{key}` is longer than {} KiB, too long for a command line", COMMAND_BYTES_MAX >> 10);
            problems.add(word.at, message, "put it into a script of the repository, and run that");
            return None;
        }
        Some(word.text.to_owned())
    }

    /// A text that `read` understands; else `message` (after the text) and `hint` are reported.
    pub(super) fn parsed<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Option<T>,
        (message, hint): (&str, &str),
        problems: &mut Problems,
    ) -> Option<T> {
        let word = self.word(key, problems)?;
        let value = read(word.text);
        if value.is_none() {
            problems.add(word.at, format!("`{key}: {}` is not {message}", shown(word.text)), hint);
        }
        value
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        let read = |text: &str| match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        };
        self.parsed(key, read, ("a yes or no", "write `true` or `false`"), problems)
    }

    /// A whole number in a range.
    pub(super) fn number(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<u64> {
        let hint = if *range.end() == u64::MAX {
            format!("write a whole number from {}", range.start())
        } else {
            format!("write a whole number from {} to {}", range.start(), range.end())
        };
        let read = |text: &str| text.parse().ok().filter(|number| range.contains(number));
        self.parsed(key, read, ("a number that is allowed here", &hint), problems)
    }

    /// An amount of money: a number above zero.
    pub(super) fn money(&self, key: &str, problems: &mut Problems) -> Option<f64> {
        let read = |text: &str| text.parse::<f64>().ok().filter(|sum| sum.is_finite() && *sum > 0.0);
        self.parsed(key, read, ("an amount above zero", "write dollars as a number, such as `2.50`"), problems)
    }

    /// A duration.
    pub(super) fn duration(&self, key: &str, problems: &mut Problems) -> Option<Millis> {
        let hint = "write a number with ms, s, m, h or d, such as `90s`, `10m` or `1h30m`; at most 30d";
        self.parsed(key, units::duration, ("a duration", hint), problems)
    }

    /// A size in bytes.
    pub(super) fn size(&self, key: &str, problems: &mut Problems) -> Option<u64> {
        let hint = "write a number with B, KiB, MiB or GiB, such as `1MiB`";
        self.parsed(key, units::size, ("a size", hint), problems)
    }

    /// A regular expression, checked and kept as text.
    pub(super) fn regex(&self, key: &str, problems: &mut Problems) -> Option<String> {
        let word = self.word(key, problems)?;
        if let Err(error) = Regex::new(word.text) {
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
            let hint =
                "the syntax is that of Rust's `regex`; put `\\` before (, [, { and . that are meant as they stand";
            problems.add(word.at, format!("`{key}` is not a regular expression: {why}"), hint);
            return None;
        }
        Some(word.text.to_owned())
    }

    /// An id.
    pub(super) fn id<T>(
        &self,
        key: &str,
        read: impl FnOnce(String) -> Result<T, InvalidId>,
        problems: &mut Problems,
    ) -> Option<T> {
        id(self.word(key, problems)?, read, problems)
    }

    /// A list's items; empty when the key is not there. A lone value is not taken for a list.
    pub(super) fn list(&self, key: &str, problems: &mut Problems) -> &'t [Node] {
        let Some(node) = self.get(key, problems) else { return &[] };
        match &node.value {
            Value::List(items) => items,
            Value::Refused => &[],
            other => {
                let message = format!("`{key}` is a list, not {}", other.kind());
                problems.add(node.at, message, format!("write `{key}: [ … ]`, or one `- …` a line"));
                &[]
            }
        }
    }

    /// A list of texts.
    pub(super) fn words(&self, key: &str, problems: &mut Problems) -> Vec<Word<'t>> {
        let what = format!("an item of `{key}`");
        self.list(key, problems).iter().filter_map(|node| word(node, &what, problems)).collect()
    }

    /// A list of globs, checked and kept as text.
    pub(super) fn globs(&self, key: &str, problems: &mut Problems) -> Vec<String> {
        let mut globs = Vec::new();
        for word in self.words(key, problems) {
            if let Err(error) = Glob::new(word.text) {
                let message = format!("`{}` in `{key}` is not a glob: {error}", shown(word.text));
                problems.add(word.at, message, error.hint());
            }
            globs.push(word.text.to_owned());
        }
        globs
    }

    /// A path inside the repository.
    pub(super) fn path(&self, key: &str, problems: &mut Problems) -> Option<String> {
        let word = self.word(key, problems)?;
        inside(word, problems).then(|| word.text.to_owned())
    }

    /// A list of paths inside the repository.
    pub(super) fn paths(&self, key: &str, problems: &mut Problems) -> Vec<String> {
        let words = self.words(key, problems);
        words.into_iter().filter(|word| inside(*word, problems)).map(|word| word.text.to_owned()).collect()
    }
}

/// An id from a text.
pub(super) fn id<T>(
    word: Word<'_>,
    read: impl FnOnce(String) -> Result<T, InvalidId>,
    problems: &mut Problems,
) -> Option<T> {
    let id = read(word.text.to_owned());
    if id.is_err() {
        let hint = "use letters, digits, `_` and `-`, start with a letter or digit, at most 64 characters";
        problems.add(word.at, format!("`{}` is not an id", shown(word.text)), hint);
    }
    id.ok()
}

fn word<'t>(node: &'t Node, what: &str, problems: &mut Problems) -> Option<Word<'t>> {
    match &node.value {
        Value::Refused => None,
        Value::Scalar { text, .. } if text.contains('\0') => {
            problems.add(
                node.at,
                format!("{what} has a NUL in it"),
                "remove it: no program and no commit can have one",
            );
            None
        }
        Value::Scalar { text, .. } if !text.trim().is_empty() && !node.value.is_null() => {
            Some(Word { at: node.at, text })
        }
        Value::Scalar { .. } => {
            problems.add(node.at, format!("{what} is empty"), "write a text, or remove it");
            None
        }
        other => {
            let hint = "write one text; put it into quotes if it starts with `[`, `{`, `*`, `&`, `!` or has `: ` in it";
            problems.add(node.at, format!("{what} is a text, not {}", other.kind()), hint);
            None
        }
    }
}

fn inside(word: Word<'_>, problems: &mut Problems) -> bool {
    let inside = !word.text.starts_with('/') && !word.text.split('/').any(|segment| segment == "..");
    if !inside {
        let message = format!("`{}` is not a path inside the repository", shown(word.text));
        problems.add(word.at, message, "write it from the repository's root, without a leading `/` and without `..`");
    }
    inside
}

/// A user's text in a message: on one line, not too long, without what a terminal would act on.
pub(super) fn shown(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn words(allowed: &[&str]) -> String {
    allowed.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
