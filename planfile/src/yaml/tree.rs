//! YAML as a tree in which every key and value knows its place.
//!
//! Built from parser events, so that depth and size are bounded before anything is stored. What people write for us is plain
//! data: aliases are refused (they can make a small file huge), and so are tags and several documents.

use std::collections::HashSet;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{error::Problems, place::Position, words::quoted};

/// The deepest nesting. The plan's own keys need six levels; the rest is for free `metadata` and `tests`.
const DEPTH_MAX: usize = 32;
/// The most keys and values. 5,000 waypoints of a hundred each.
pub(crate) const NODES_MAX: usize = 500_000;

/// A kind of file, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileKind {
    /// What such a file is called.
    pub(crate) name: &'static str,
    /// The least that one has.
    pub(crate) least: &'static str,
    /// How deep one is.
    pub(crate) depth: &'static str,
}

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// A value.
#[derive(Debug)]
pub(crate) enum Value {
    /// A scalar as it is written. `plain`: without quotes or block, so it may mean a number, a boolean or nothing.
    Scalar { text: String, plain: bool },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the file's order, without repeated keys.
    Map(Vec<(Key, Node)>),
    /// Something that was refused and reported already.
    Refused,
}

/// A key and its place.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) at: Position,
    pub(crate) name: String,
}

impl Value {
    /// Whether this is YAML's null: nothing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
            _ if self.is_null() => "nothing",
            _ => "a text",
        }
    }
}

/// Reads the one document of `text`. `None` when there is no tree to go on with; then a problem was added.
pub(crate) fn load(text: &str, kind: &FileKind, problems: &mut Problems) -> Option<Node> {
    load_within(text, kind, DEPTH_MAX, problems)
}

/// As [`load`], of a kind of file that is nested deeper than those that people begin.
pub(crate) fn load_within(text: &str, kind: &FileKind, depth_max: usize, problems: &mut Problems) -> Option<Node> {
    let mut builder = Builder { kind, depth_max, open: Vec::new(), root: None, nodes: 0, problems };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let at = Position::from(*error.marker());
                let hint = "check indentation, quotes and brackets; put a text with `: ` or ` #` in it into quotes";
                builder.problems.add(at, format!("this is not YAML: {}", error.info()), hint);
                return None;
            }
        };
        let at = Position::from(span.start);
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let hint = format!("a {} is one document: remove `---`", kind.name);
                builder.problems.add(at, "a second document starts here", hint);
                return None;
            }
        }
        builder.take(event, at)?;
    }
    let root = builder.root.take();
    if root.as_ref().is_none_or(|root| root.value.is_null()) {
        problems.add(Position::START, format!("the {} is empty", kind.name), kind.least);
        return None;
    }
    root
}

/// A collection whose end has not come yet.
enum Open {
    List { at: Position, items: Vec<Node> },
    Map { at: Position, entries: Vec<(Key, Node)>, names: HashSet<String>, key: Option<Option<Key>> },
}

struct Builder<'p> {
    kind: &'p FileKind,
    depth_max: usize,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    problems: &'p mut Problems,
}

impl Builder<'_> {
    /// Takes one event. `None` when a limit was passed and reading ends.
    fn take(&mut self, event: Event<'_>, at: Position) -> Option<()> {
        match event {
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    self.refuse_tag(at);
                }
                let plain = style == ScalarStyle::Plain;
                self.put(Node { at, value: Value::Scalar { text: text.into_owned(), plain } })?;
            }
            Event::Alias(_) => {
                self.problems.add(at, "aliases are not supported", "write the value out again");
                self.put(Node { at, value: Value::Refused })?;
            }
            Event::SequenceStart(_, tag) => {
                if tag.is_some() {
                    self.refuse_tag(at);
                }
                self.push(Open::List { at, items: Vec::new() }, at)?;
            }
            Event::MappingStart(_, tag) => {
                if tag.is_some() {
                    self.refuse_tag(at);
                }
                self.push(Open::Map { at, entries: Vec::new(), names: HashSet::new(), key: None }, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { at, items }) => self.put(Node { at, value: Value::List(items) })?,
                Some(Open::Map { at, entries, .. }) => self.put(Node { at, value: Value::Map(entries) })?,
                None => {}
            },
            _ => {}
        }
        Some(())
    }

    fn refuse_tag(&mut self, at: Position) {
        self.problems.add(at, "tags are not supported", "remove the word that starts with `!`, or quote the text");
    }

    fn push(&mut self, collection: Open, at: Position) -> Option<()> {
        let depth_max = self.depth_max;
        if self.open.len() >= depth_max {
            self.problems.add(at, format!("nested deeper than {depth_max} levels"), self.kind.depth);
            return None;
        }
        self.open.push(collection);
        Some(())
    }

    /// Puts a finished node where it belongs: into the innermost open collection, or as the root.
    fn put(&mut self, node: Node) -> Option<()> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let name = self.kind.name;
            let message = format!("the {name} has more than {NODES_MAX} keys and values");
            self.problems.add(node.at, message, format!("split the {name} into several"));
            return None;
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, names, key, .. }) => match key.take() {
                None => *key = Some(new_key(node, names, self.problems)),
                Some(Some(key)) => entries.push((key, node)),
                Some(None) => {}
            },
        }
        Some(())
    }
}

/// A node as a new key of a mapping; `None` if it was reported, and its value is then dropped.
fn new_key(node: Node, names: &mut HashSet<String>, problems: &mut Problems) -> Option<Key> {
    let Node { at, value } = node;
    match value {
        Value::Scalar { text, .. } if names.insert(text.clone()) => Some(Key { at, name: text }),
        Value::Scalar { text, .. } => {
            problems.add(at, format!("`{}` is given twice", quoted(&text)), "keep one of the two");
            None
        }
        Value::Refused => None,
        other => {
            problems.add(
                at,
                format!("{} cannot be a key", other.kind()),
                "a key is one word; quote `{` and `[` in texts",
            );
            None
        }
    }
}
