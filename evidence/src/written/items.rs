//! What tests are made of, item by item: test functions, everything that is built for tests only, macros to assert with,
//! and what brings other macros in their place. A body is its tokens, so comments and layout do not count.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::Digest;

use super::rust::{is_for_tests, is_test, name};
use super::tokens::Token;

/// What the names of macros begin with that people write to assert with.
const ASSERTING: [&str; 6] = ["assert", "debug_assert", "prop_assert", "check", "ensure", "expect"];
/// Attributes that say nothing of what an item does.
const SILENT: [&str; 7] = ["doc", "allow", "expect", "warn", "inline", "must_use", "derive"];
/// Attributes by which code runs before a test program's own, or is linked in the place of other code.
const HOOKS: [&str; 12] = [
    "ctor",
    "dtor",
    "no_mangle",
    "export_name",
    "link_section",
    "linkage",
    "used",
    "no_main",
    "test_runner",
    "global_allocator",
    "panic_handler",
    "start",
];
/// Macros to assert with whose names nothing else of the standard library has.
const ASSERTS: [&str; 6] = ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne"];
/// Words before a bracket that are no call.
const NO_CALLS: [&str; 9] = ["if", "while", "match", "for", "in", "return", "let", "else", "move"];

/// What tests of a file are made of.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// Bodies by the modules around them and their names. Functions of several `impl`s may have one name.
    pub(super) bodies: BTreeMap<String, Vec<Body>>,
    /// `use` of macros with the names of the standard library's.
    pub(super) imports: BTreeSet<String>,
    /// Those of them that are the crate's own.
    pub(super) own_imports: BTreeSet<String>,
    /// Attributes of [`HOOKS`], with what else is in them.
    pub(super) hooks: Vec<String>,
}

/// An item's attributes and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Body {
    /// Of the attributes and tokens: files may be many and long.
    pub(super) digest: Digest,
    /// Whether it is a test, and not what tests use.
    pub(super) is_test: bool,
    /// Whether anything is called in it before it returns.
    pub(super) acts: bool,
}

/// An open brace.
#[derive(Debug, Clone, Default)]
struct Scope {
    module: Option<String>,
    for_tests: bool,
}

impl Items {
    /// What a file has.
    pub(super) fn read(tokens: &[Token]) -> Self {
        let mut reader =
            Reader { tokens, at: 0, scopes: vec![Scope::default()], pending: Vec::new(), items: Self::default() };
        while reader.at < tokens.len() {
            reader.step();
        }
        reader.items
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    scopes: Vec<Scope>,
    /// Attributes of the item that comes.
    pending: Vec<&'a str>,
    items: Items,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        match self.tokens.get(self.at) {
            Some(Token::Attribute(text, own)) => self.attribute(text, *own),
            Some(Token::Word(word)) => return self.word(word),
            Some(Token::Mark('{')) => {
                let for_tests = self.is_for_tests();
                self.open(Scope { module: None, for_tests });
            }
            Some(Token::Mark('}')) => {
                if self.scopes.len() > 1 {
                    self.scopes.pop();
                }
                self.pending.clear();
            }
            Some(Token::Mark(';')) => self.pending.clear(),
            Some(Token::Mark(_) | Token::Text(_)) | None => {}
        }
        self.at += 1;
    }

    fn attribute(&mut self, text: &'a str, own: bool) {
        if HOOKS.iter().any(|hook| words(text).any(|word| word == *hook)) {
            self.items.hooks.push(text.to_owned());
        }
        if !own {
            self.pending.push(text);
        } else if is_for_tests(text)
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.for_tests = true;
        }
    }

    fn word(&mut self, word: &str) {
        let next = self.word_at(1).map(str::to_owned);
        match (word, next) {
            ("mod", Some(module)) if self.mark_at(2) == Some('{') => {
                let for_tests = self.is_for_tests();
                self.open(Scope { module: Some(module), for_tests });
                self.at += 3;
            }
            ("fn", Some(name)) if self.is_for_tests() || self.is_test() => self.item(&name, end_of_block),
            ("const" | "static", Some(name)) if self.is_for_tests() && name != "fn" => {
                let name = if name == "mut" { self.word_at(2).unwrap_or("_").to_owned() } else { name };
                self.item(&name, end_of_statement);
            }
            ("macro_rules", None) => match self.word_at(2).map(str::to_owned) {
                Some(name) if self.is_for_tests() || is_asserting(&name) => {
                    self.item(&format!("{name}!"), end_of_block);
                }
                _ => self.at += 1,
            },
            ("use", _) => self.import(),
            _ => self.at += 1,
        }
    }

    fn open(&mut self, scope: Scope) {
        self.scopes.push(scope);
        self.pending.clear();
    }

    fn is_for_tests(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.for_tests) || self.pending.iter().any(|text| is_test_only(text))
    }

    fn is_test(&self) -> bool {
        self.pending.iter().any(|text| is_test(text))
    }

    fn word_at(&self, ahead: usize) -> Option<&'a str> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn mark_at(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Mark(mark)) => Some(*mark),
            _ => None,
        }
    }

    /// Keeps the item that begins here, and goes on behind it.
    fn item(&mut self, called: &str, end: fn(&[Token]) -> usize) {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let end = end(rest);
        let own = rest.get(..end).unwrap_or(rest);
        let inner = own
            .iter()
            .position(|token| *token == Token::Mark('{'))
            .and_then(|at| own.get(at + 1..))
            .unwrap_or_default();
        let marks = self.pending.iter().filter(|text| !SILENT.contains(&name(text)));
        let mut text: String = marks.map(|mark| format!("#[{mark}] ")).collect();
        own.iter().for_each(|token| token.write_to(&mut text));
        let body = Body { digest: Digest::of(text.as_bytes()), is_test: self.is_test(), acts: acts(inner) };
        let modules = self.scopes.iter().filter_map(|scope| scope.module.as_deref());
        let path = modules.chain([called]).collect::<Vec<_>>().join("::");
        self.items.bodies.entry(path).or_default().push(body);
        self.at += end.max(1);
        self.pending.clear();
    }

    /// A `use` to its end.
    fn import(&mut self) {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|token| *token == Token::Mark(';')).map_or(rest.len(), |at| at + 1);
        let own = rest.get(1..end).unwrap_or_default();
        let words = || {
            own.iter().filter_map(|token| match token {
                Token::Word(word) => Some(word.as_str()),
                _ => None,
            })
        };
        let is_own = words().next().is_some_and(|first| matches!(first, "crate" | "self" | "super"));
        for name in words().skip(1).filter(|word| ASSERTS.contains(word)) {
            let found = if is_own { &mut self.items.own_imports } else { &mut self.items.imports };
            found.insert(name.to_owned());
        }
        self.at += end;
        self.pending.clear();
    }
}

/// Where an item with a block ends: behind its block, or behind its semicolon if it has none.
fn end_of_block(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Mark(mark) = token else { continue };
        match mark {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && *mark == '}' {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Where an item with a value ends: behind its semicolon.
fn end_of_statement(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Mark(';') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether a block calls anything, a function or a macro, or passes on a failure, before it returns.
fn acts(block: &[Token]) -> bool {
    if matches!(block.first(), Some(Token::Word(word)) if word == "return") {
        return false;
    }
    let is_call = |three: &[Token]| match three {
        [Token::Word(word), Token::Mark('('), ..] => !NO_CALLS.contains(&word.as_str()),
        [Token::Word(_), Token::Mark('!'), after] => *after != Token::Mark('='),
        [Token::Mark('>'), Token::Mark('('), ..] | [_, Token::Mark('?'), ..] => true,
        _ => false,
    };
    // A block ends in a bracket, so that the last pair is no call.
    block.windows(3).any(is_call)
}

/// Whether something with this attribute is in no build but one of tests.
fn is_test_only(attribute: &str) -> bool {
    is_for_tests(attribute) && !attribute.contains("not(test)")
}

fn is_asserting(name: &str) -> bool {
    ASSERTING.iter().any(|start| name.starts_with(start))
}

/// The words of an attribute.
fn words(attribute: &str) -> impl Iterator<Item = &str> {
    attribute.split(|c: char| !c.is_alphanumeric() && c != '_')
}
