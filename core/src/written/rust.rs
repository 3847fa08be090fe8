//! Rust's tokens, as far as tests are concerned: attributes, modules, functions, macros.

use std::{collections::BTreeSet, iter::Peekable, str::Chars};

use super::ByName;

/// Macros of the standard library by which tests fail.
const ASSERTS: [&str; 11] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "matches",
    "panic",
    "todo",
    "unimplemented",
    "unreachable",
];
/// Last parts of the names of attributes that make a function a test.
const TEST_ATTRIBUTES: [&str; 5] = ["test", "rstest", "test_case", "quickcheck", "wasm_bindgen_test"];
/// Attributes that decide whether a test is built and run, and how it ends.
const DECIDING: [&str; 4] = ["should_panic", "ignore", "cfg", "cfg_attr"];

/// The tests and macros of files.
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// Tests by the names of their functions.
    pub(super) tests: ByName,
    /// Modules in files of their own, as `mod name`.
    pub(super) modules: ByName,
    /// Macros with the names of the standard library's.
    pub(super) macros: BTreeSet<String>,
}

/// Whether a mark turns a failure into a success.
pub(super) fn reverses(mark: &str) -> bool {
    mark.contains("should_panic")
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// Without its brackets and blanks; whether it is the module's own (`#![…]`).
    Attribute(String, bool),
    Mark(char),
}

impl Tests {
    /// Adds what a file has.
    pub(super) fn read(&mut self, text: &str) {
        let tokens = tokens(text);
        // Conditions of the file, and of every open brace.
        let mut scopes: Vec<Vec<String>> = vec![Vec::new()];
        let mut pending: Vec<String> = Vec::new();
        let mut module: Option<Vec<String>> = None;
        for (at, token) in tokens.iter().enumerate() {
            let word = |ahead: usize| match tokens.get(at + ahead) {
                Some(Token::Word(word)) => Some(word.as_str()),
                _ => None,
            };
            match token {
                Token::Attribute(text, false) => pending.push(text.clone()),
                Token::Attribute(text, true) => {
                    if let Some(scope) = scopes.last_mut() {
                        scope.extend(deciding(std::slice::from_ref(text)));
                    }
                }
                Token::Word(kind) if kind == "mod" => {
                    let own: Vec<String> = deciding(&pending).collect();
                    if let (Some(name), Some(Token::Mark(';'))) = (word(1), tokens.get(at + 2)) {
                        let known = self.modules.entry(format!("mod {name}")).or_default();
                        known.add(own.iter().chain(scopes.iter().flatten()));
                        known.for_tests |= pending.iter().any(|attribute| is_for_tests(attribute));
                    }
                    module = Some(own);
                }
                Token::Word(kind) if kind == "fn" => {
                    if let Some(name) = word(1).filter(|_| pending.iter().any(|attribute| is_test(attribute))) {
                        let own: Vec<String> = deciding(&pending).collect();
                        let known = self.tests.entry(name.to_owned()).or_default();
                        known.add(own.iter().chain(scopes.iter().flatten()));
                    }
                    pending.clear();
                }
                Token::Word(kind) if kind == "as" => self.macros.extend(asserting(word(1))),
                Token::Word(kind) if kind == "macro_rules" => self.macros.extend(asserting(word(2))),
                Token::Mark('{') => {
                    scopes.push(module.take().unwrap_or_default());
                    pending.clear();
                }
                Token::Mark('}') => {
                    // The file's own stays, however many braces are closed.
                    if scopes.len() > 1 {
                        scopes.pop();
                    }
                    pending.clear();
                }
                Token::Mark(';') => {
                    module = None;
                    pending.clear();
                }
                Token::Word(_) | Token::Mark(_) => {}
            }
        }
    }
}

fn asserting(name: Option<&str>) -> Option<String> {
    name.filter(|name| ASSERTS.contains(name)).map(str::to_owned)
}

/// The name of an attribute without the path before it.
fn name(attribute: &str) -> &str {
    let path = attribute.split(['(', '=']).next().unwrap_or(attribute);
    path.rsplit("::").next().unwrap_or(path)
}

fn is_test(attribute: &str) -> bool {
    TEST_ATTRIBUTES.contains(&name(attribute))
}

fn is_for_tests(attribute: &str) -> bool {
    name(attribute) == "cfg" && attribute.contains("test")
}

/// Those that decide; what every module of tests has is no condition.
fn deciding(attributes: &[String]) -> impl Iterator<Item = String> + '_ {
    attributes.iter().filter(|text| DECIDING.contains(&name(text)) && *text != "cfg(test)").cloned()
}

/// The tokens of a text, without comments, texts and numbers.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => skip_comment(&mut chars),
            '"' => skip_text(&mut chars),
            '\'' => skip_char(&mut chars),
            '#' if matches!(chars.peek(), Some('[' | '!')) => {
                let own = chars.next_if_eq(&'!').is_some();
                if chars.next_if_eq(&'[').is_some() {
                    tokens.push(Token::Attribute(attribute(&mut chars), own));
                }
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                if matches!(word.as_str(), "r" | "br" | "cr") && matches!(chars.peek(), Some('#' | '"')) {
                    skip_raw(&mut chars);
                } else {
                    tokens.push(Token::Word(word));
                }
            }
            c if !c.is_whitespace() => tokens.push(Token::Mark(c)),
            _ => {}
        }
    }
    tokens
}

/// The rest of an attribute up to its bracket, without blanks and texts.
fn attribute(chars: &mut Peekable<Chars<'_>>) -> String {
    let (mut text, mut depth) = (String::new(), 1_u32);
    while let Some(c) = chars.next() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        match c {
            _ if depth == 0 => break,
            '"' => {
                // Features differ by their texts.
                while let Some(c) = chars.next_if(|c| *c != '"') {
                    text.push(c);
                }
                chars.next();
            }
            c if c.is_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

/// The rest of a comment; comments nest.
fn skip_comment(chars: &mut Peekable<Chars<'_>>) {
    let (mut depth, mut last) = (0_u32, '/');
    for c in chars.by_ref() {
        match (last, c) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                last = c;
                continue;
            }
        }
        if depth == 0 {
            return;
        }
        last = ' ';
    }
}

fn skip_text(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// The rest of a raw text, from its hashes on; of a raw name only the hash.
fn skip_raw(chars: &mut Peekable<Chars<'_>>) {
    let mut hashes = 0;
    while chars.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if chars.next_if_eq(&'"').is_none() {
        return;
    }
    let mut seen = None;
    for c in chars.by_ref() {
        seen = match (c, seen) {
            ('"', _) => Some(0),
            ('#', Some(number)) => Some(number + 1),
            _ => None,
        };
        if seen == Some(hashes) {
            return;
        }
    }
}

/// A character, or the quote of a lifetime.
fn skip_char(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(_)) => {
            chars.next();
            chars.next();
            while chars.next_if(|c| *c != '\'').is_some() {}
            chars.next();
        }
        (Some(_), Some('\'')) => {
            chars.next();
            chars.next();
        }
        _ => {}
    }
}
