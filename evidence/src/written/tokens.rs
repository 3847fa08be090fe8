//! Rust's tokens, as far as tests are concerned: no grammar, and nothing of what macros make.

use std::{iter::Peekable, str::Chars};

/// One token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// A text or a character, as it is written, without its first quotes.
    Text(String),
    /// Without its brackets and blanks; whether it is the module's own (`#![…]`).
    Attribute(String, bool),
    /// Anything else.
    Mark(char),
}

impl Token {
    /// Adds it to a text in which no two lists of tokens look alike.
    pub(super) fn write_to(&self, text: &mut String) {
        match self {
            Self::Word(word) => text.push_str(word),
            Self::Text(quoted) => text.extend(["\"", quoted, "\""]),
            Self::Attribute(attribute, own) => text.extend(["#", if *own { "!" } else { "" }, "[", attribute, "]"]),
            Self::Mark(mark) => text.push(*mark),
        }
        text.push('\n');
    }
}

/// The tokens of a text, without comments and blanks.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => skip_comment(&mut chars),
            '"' => tokens.push(Token::Text(quoted(&mut chars))),
            '\'' => tokens.extend(character(&mut chars)),
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
                    tokens.extend(raw(&mut chars));
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
            // Features differ by their texts.
            '"' => text.push_str(&quoted(chars)),
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

/// The rest of a text up to its quote, as it is written.
fn quoted(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next_if(|c| *c != '"') {
        text.push(c);
        if c == '\\' {
            text.extend(chars.next());
        }
    }
    chars.next();
    text
}

/// The rest of a raw text, from its hashes on; of a raw name nothing.
fn raw(chars: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let mut hashes = 0;
    while chars.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    chars.next_if_eq(&'"')?;
    let mut text = String::new();
    let mut seen = None;
    for c in chars.by_ref() {
        text.push(c);
        seen = match (c, seen) {
            ('"', _) => Some(0),
            ('#', Some(number)) => Some(number + 1),
            _ => None,
        };
        if seen == Some(hashes) {
            break;
        }
    }
    Some(Token::Text(text))
}

/// A character; `None` for the quote of a lifetime.
fn character(chars: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let mut ahead = chars.clone();
    let mut text = String::new();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(escaped)) => {
            text.extend(['\\', escaped]);
            chars.next();
            chars.next();
            while let Some(c) = chars.next_if(|c| *c != '\'') {
                text.push(c);
            }
            chars.next();
        }
        (Some(plain), Some('\'')) => {
            text.push(plain);
            chars.next();
            chars.next();
        }
        _ => return None,
    }
    Some(Token::Text(text))
}
