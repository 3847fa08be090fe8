//! Reading the fields of a mapping: one method per kind of value, each reporting what cannot be read as one. Which values
//! are allowed is for rules to say.
//!
//! A method answers `None` when the key is not there or its value was reported; the plan is then refused anyway.

use holdpoint_protocol::{ids::InvalidId, time::Millis};

use super::{
    error::Problems,
    likeness::closest,
    place::Position,
    tree::{Key, Node, Value},
    words::{self, Words, quoted},
};

/// A mapping whose keys were looked at.
pub(crate) struct Fields<'t> {
    /// Where it begins.
    pub(crate) at: Position,
    /// What it is called in messages.
    what: String,
    entries: &'t [(Key, Node)],
}

/// A scalar's text and place.
#[derive(Clone, Copy)]
pub(crate) struct Word<'t> {
    pub(crate) at: Position,
    pub(crate) text: &'t str,
}

impl<'t> Fields<'t> {
    /// Takes `node` as a mapping of any keys; `hint` says which make sense.
    pub(crate) fn free(node: &'t Node, what: &str, hint: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => Some(Self { at: node.at, what: what.to_owned(), entries }),
            Value::Refused => None,
            other => {
                problems.add(node.at, format!("{what} is a mapping, not {}", other.kind()), hint);
                None
            }
        }
    }

    /// Takes `node` as a mapping and reports keys that are not `allowed`.
    pub(crate) fn open(node: &'t Node, what: &str, allowed: &[&str], problems: &mut Problems) -> Option<Self> {
        let fields = Self::free(node, what, &format!("its keys are {}", names(allowed)), problems)?;
        for (key, _) in fields.entries {
            if allowed.contains(&key.name.as_str()) {
                continue;
            }
            // A search for similar words is expensive, and of problems past the limit only the number is reported.
            let similar = if problems.is_full() { None } else { closest(&key.name, allowed.iter().copied()) };
            let hint = match similar {
                Some(meant) => {
                    problems.was_misspelled(fields.at, meant);
                    format!("did you mean `{meant}`?")
                }
                None => format!("the keys of {what} are {}", names(allowed)),
            };
            problems.add(key.at, format!("unknown key `{}` in {what}", quoted(&key.name)), hint);
        }
        Some(fields)
    }

    /// Every key that is there, with its value.
    pub(crate) fn entries(&self) -> &'t [(Key, Node)] {
        self.entries
    }

    /// The value of a key that has one. A key without a value is reported.
    pub(crate) fn get(&self, key: &str, problems: &mut Problems) -> Option<&'t Node> {
        let (key, node) = self.entries.iter().find(|(k, _)| k.name == key)?;
        if node.value.is_null() {
            problems.add(key.at, format!("`{}` has no value", key.name), "give it one, or remove the key");
            problems.was_reported(node.at);
            return None;
        }
        Some(node)
    }

    /// Whether the key has this very word as its value.
    pub(crate) fn is_word(&self, key: &str, word: &str) -> bool {
        let is_it = |node: &Node| matches!(&node.value, Value::Scalar { text, .. } if text == word);
        self.entries.iter().any(|(k, node)| k.name == key && is_it(node))
    }

    /// Whether the key is there, with whatever value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(k, _)| k.name == key)
    }

    /// Reports that a key is missing if it is not there.
    pub(crate) fn demand(&self, key: &str, hint: &str, problems: &mut Problems) {
        if !self.has(key) && !problems.is_misspelled(self.at, key) {
            problems.add(self.at, format!("{} has no `{key}`", self.what), hint);
        }
    }

    /// A text.
    pub(crate) fn word(&self, key: &str, problems: &mut Problems) -> Option<Word<'t>> {
        let node = self.get(key, problems)?;
        word(node, &format!("`{key}`"), problems)
    }

    /// A text, owned.
    pub(crate) fn text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        self.word(key, problems).map(|word| word.text.to_owned())
    }

    /// A text that `read` understands; else the words of `wrong` about it are reported.
    fn parsed<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Option<T>,
        wrong: impl FnOnce(&str, String) -> Words,
        problems: &mut Problems,
    ) -> Option<T> {
        let word = self.word(key, problems)?;
        let value = read(word.text);
        if value.is_none() {
            let (message, hint) = wrong(key, quoted(word.text));
            problems.add(word.at, message, hint);
        }
        value
    }

    /// One of several words, which `choices` have the values of; `what` they are.
    pub(crate) fn choice<T: Copy>(
        &self,
        key: &str,
        what: &str,
        choices: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let read = |text: &str| choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        let wrong = |key: &str, text: String| {
            (
                format!("`{key}: {text}` is not {what}"),
                format!("write {}", one_of(choices.iter().map(|(word, _)| *word))),
            )
        };
        self.parsed(key, read, wrong, problems)
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        let read = |text: &str| match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        };
        let wrong = |key: &str, text: String| {
            (format!("`{key}: {text}` is not a yes or no"), "write `true` or `false`".to_owned())
        };
        self.parsed(key, read, wrong, problems)
    }

    /// A whole number; `range` is what is allowed.
    pub(crate) fn number<T: TryFrom<u64>>(
        &self,
        key: &str,
        range: &std::ops::RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<T> {
        let read = |text: &str| text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        self.parsed(key, read, |key, text| words::not_a_number(key, text, range), problems)
    }

    /// An amount of money.
    pub(crate) fn money(&self, key: &str, problems: &mut Problems) -> Option<f64> {
        self.parsed(key, |text| text.parse().ok(), words::not_an_amount, problems)
    }

    /// A duration.
    pub(crate) fn duration(&self, key: &str, problems: &mut Problems) -> Option<Millis> {
        self.parsed(key, holdpoint_text::units::duration, words::not_a_duration, problems)
    }

    /// A size in bytes.
    pub(crate) fn size(&self, key: &str, problems: &mut Problems) -> Option<u64> {
        self.parsed(key, holdpoint_text::units::size, words::not_a_size, problems)
    }

    /// An id.
    pub(crate) fn id<T>(
        &self,
        key: &str,
        read: impl FnOnce(String) -> Result<T, InvalidId>,
        problems: &mut Problems,
    ) -> Option<T> {
        id(self.word(key, problems)?, read, problems)
    }

    /// Reads a list's items one by one; none when the key is not there. A lone value is not taken for a list. Which items
    /// could not be read is remembered with the problems.
    pub(crate) fn list<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        mut read: impl FnMut(&'t Node, &mut Problems) -> Option<T>,
    ) -> Vec<T> {
        let Some(node) = self.get(key, problems) else { return Vec::new() };
        let items = match &node.value {
            Value::List(items) => items,
            Value::Refused => return Vec::new(),
            other => {
                let message = format!("`{key}` is a list, not {}", other.kind());
                problems.add(node.at, message, format!("write `{key}: [ … ]`, or one `- …` a line"));
                return Vec::new();
            }
        };
        let (mut values, mut kept) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for (i, item) in items.iter().enumerate() {
            if let Some(value) = read(item, problems) {
                values.push(value);
                kept.push(i);
            }
        }
        if kept.len() < items.len() {
            problems.keep_only(node.at, kept);
        }
        values
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str, problems: &mut Problems) -> Vec<String> {
        let what = format!("an item of `{key}`");
        self.list(key, problems, |node, problems| word(node, &what, problems).map(|word| word.text.to_owned()))
    }

    /// A list of ids.
    pub(crate) fn ids<T>(
        &self,
        key: &str,
        read: impl Fn(String) -> Result<T, InvalidId>,
        problems: &mut Problems,
    ) -> Vec<T> {
        let what = format!("an item of `{key}`");
        self.list(key, problems, |node, problems| id(word(node, &what, problems)?, &read, problems))
    }

    /// One id, or a list of them.
    pub(crate) fn id_or_ids<T>(
        &self,
        key: &str,
        read: impl Fn(String) -> Result<T, InvalidId>,
        problems: &mut Problems,
    ) -> Vec<T> {
        match self.get(key, problems).map(|node| &node.value) {
            Some(Value::List(_)) => self.ids(key, read, problems),
            Some(_) => self.id(key, read, problems).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// An id from a text.
fn id<T>(word: Word<'_>, read: impl FnOnce(String) -> Result<T, InvalidId>, problems: &mut Problems) -> Option<T> {
    let id = read(word.text.to_owned());
    if id.is_err() {
        let (message, hint) = words::not_an_id(word.text);
        problems.add(word.at, message, hint);
    }
    id.ok()
}

/// A text.
pub(crate) fn word<'t>(node: &'t Node, what: &str, problems: &mut Problems) -> Option<Word<'t>> {
    match &node.value {
        Value::Refused => None,
        Value::Scalar { text, .. } if !node.value.is_null() => Some(Word { at: node.at, text }),
        other => {
            let hint = "write one text; put it into quotes if it starts with `[`, `{`, `*`, `&`, `!` or has `: ` in it";
            problems.add(node.at, format!("{what} is a text, not {}", other.kind()), hint);
            None
        }
    }
}

/// Words to choose from: `a`, `b` or `c`.
pub(crate) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match (words.pop(), words.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => format!("{} or {last}", words.join(", ")),
        (None, _) => String::new(),
    }
}

fn names(allowed: &[&str]) -> String {
    allowed.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
