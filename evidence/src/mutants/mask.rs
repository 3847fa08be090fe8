//! A text with everything that is no code blotted out: comments become blanks, and texts become quotation marks.
//!
//! Offsets stay, and so do line breaks. The rest is ASCII: other characters of code count as letters.

use std::ops::Range;

use super::language::Language;

/// What a byte of a text literal becomes.
pub(super) const TEXT: u8 = b'"';

/// A text literal that begins and ends in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    /// With its prefix and quotes.
    pub(super) whole: Range<usize>,
    /// Where its content begins.
    pub(super) content: usize,
}

/// A masked text.
#[derive(Debug)]
pub(super) struct Mask {
    /// As many bytes as the text has, all ASCII.
    pub(super) code: Vec<u8>,
    pub(super) literals: Vec<Literal>,
}

/// What is at a place of a text.
enum Token {
    Code,
    Comment,
    /// A text, and where its content begins. Characters and patterns have no content to be changed.
    Text(Option<usize>),
}

/// Masks a text.
pub(super) fn mask(language: Language, text: &str) -> Mask {
    let bytes = text.as_bytes();
    let mut mask = Mask { code: Vec::with_capacity(bytes.len()), literals: Vec::new() };
    let mut at = 0;
    while at < bytes.len() {
        let (token, end) = next(language, bytes, at, &mask.code);
        let end = end.clamp(at + 1, bytes.len());
        for &byte in bytes.get(at..end).unwrap_or_default() {
            mask.code.push(match token {
                _ if byte == b'\n' => b'\n',
                Token::Comment => b' ',
                Token::Text(_) => TEXT,
                Token::Code if byte.is_ascii_graphic() || byte == b' ' => byte,
                Token::Code if byte.is_ascii() => b' ',
                Token::Code => b'_',
            });
        }
        if let Token::Text(Some(content)) = token
            && !bytes.get(at..end).unwrap_or_default().contains(&b'\n')
        {
            mask.literals.push(Literal { whole: at..end, content });
        }
        at = end;
    }
    mask
}

/// The token at a place, and where it ends.
fn next(language: Language, bytes: &[u8], at: usize, before: &[u8]) -> (Token, usize) {
    let here = |text: &str| bytes.get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
    let word = word_end(bytes, at);
    if word > at {
        let quote = bytes.get(word).copied().unwrap_or_default();
        if is_prefix(language, bytes.get(at..word).unwrap_or_default(), quote) {
            return literal(language, bytes, at, word).unwrap_or((Token::Code, word));
        }
        return (Token::Code, word);
    }
    match language {
        Language::Python if here("#") => return (Token::Comment, line_end(bytes, at)),
        Language::Python => {}
        _ if here("//") => return (Token::Comment, line_end(bytes, at)),
        _ if here("/*") => return (Token::Comment, comment_end(bytes, at, language == Language::Rust)),
        _ => {}
    }
    if language == Language::Script && here("/") && begins_pattern(before) {
        return (Token::Text(None), pattern_end(bytes, at + 1));
    }
    literal(language, bytes, at, at).unwrap_or((Token::Code, at + 1))
}

/// The literal whose prefix begins at `at` and whose quote is at `quote`.
fn literal(language: Language, bytes: &[u8], at: usize, quote: usize) -> Option<(Token, usize)> {
    let here = |text: &str| bytes.get(quote..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
    let raw = bytes.get(at..quote).is_some_and(|prefix| prefix.contains(&b'r'));
    let of = |delimiter: &str, escapes: bool, lines: bool| {
        let content = quote + delimiter.len();
        Some((Token::Text(Some(content)), quoted_end(bytes, content, delimiter, escapes, lines)))
    };
    match language {
        Language::Python => ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|delimiter| here(delimiter))
            .and_then(|delimiter| of(delimiter, true, delimiter.len() == 3)),
        Language::Rust if raw => {
            let hashes = bytes.get(quote..)?.iter().take_while(|byte| **byte == b'#').count();
            let content = quote + hashes + 1;
            let closing = format!("\"{}", "#".repeat(hashes));
            (bytes.get(content - 1) == Some(&b'"'))
                .then(|| (Token::Text(Some(content)), quoted_end(bytes, content, &closing, false, true)))
        }
        Language::Rust if here("'") => character_end(bytes, quote).map(|end| (Token::Text(None), end)),
        Language::Rust => here("\"").then(|| of("\"", true, true))?,
        Language::Java if here("\"\"\"") => of("\"\"\"", true, true),
        Language::Go | Language::C | Language::Java if here("'") => {
            Some((Token::Text(None), quoted_end(bytes, quote + 1, "'", true, false)))
        }
        Language::Go if here("`") => Some((Token::Text(None), quoted_end(bytes, quote + 1, "`", false, true))),
        Language::Script if here("`") => Some((Token::Text(Some(quote + 1)), template_end(bytes, quote + 1))),
        Language::Script if here("'") => of("'", true, false),
        _ => here("\"").then(|| of("\"", true, false))?,
    }
}

/// Whether a word before a quote belongs to the literal.
fn is_prefix(language: Language, word: &[u8], quote: u8) -> bool {
    let any_case = word.to_ascii_lowercase();
    match language {
        Language::Python => {
            matches!(quote, b'"' | b'\'') && word.len() <= 2 && any_case.iter().all(|byte| b"rbfu".contains(byte))
        }
        Language::Rust => match quote {
            b'"' => matches!(word, b"b" | b"c" | b"r" | b"br" | b"cr"),
            b'#' => matches!(word, b"r" | b"br" | b"cr"),
            b'\'' => word == b"b",
            _ => false,
        },
        Language::C => matches!(quote, b'"' | b'\'') && matches!(word, b"L" | b"u" | b"U" | b"u8"),
        _ => false,
    }
}

pub(super) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_letter(**byte)).count()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte != b'\n').count()
}

fn comment_end(bytes: &[u8], at: usize, nests: bool) -> usize {
    let (mut depth, mut end) = (0_usize, at);
    while end < bytes.len() {
        match bytes.get(end..end + 2) {
            Some(b"/*") if nests || depth == 0 => (depth, end) = (depth + 1, end + 2),
            Some(b"*/") => (depth, end) = (depth.saturating_sub(1), end + 2),
            _ => end += 1,
        }
        if depth == 0 {
            break;
        }
    }
    end
}

/// Behind the closing delimiter. A text of one line that is not closed ends with its line.
fn quoted_end(bytes: &[u8], from: usize, delimiter: &str, escapes: bool, lines: bool) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(delimiter.as_bytes())) {
            return at + delimiter.len();
        }
        match byte {
            b'\\' if escapes => at += 2,
            b'\n' if !lines => return at,
            _ => at += 1,
        }
    }
    at
}

/// Behind the slash that closes a pattern: one in a class of characters does not.
fn pattern_end(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut class) = (from, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => class = true,
            b']' => class = false,
            b'/' if !class => return at + 1,
            b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Behind the backtick that closes a template. Code inside may have templates of its own; deeper ones end it early.
fn template_end(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'`' if depth == 0 => return at + 1,
            b'`' => at = quoted_end(bytes, at + 1, "`", true, true) - 1,
            b'$' if bytes.get(at + 1) == Some(&b'{') => (depth, at) = (depth + 1, at + 1),
            b'{' if depth > 0 => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    at
}

/// Behind a character of Rust's; `None`: it is a lifetime.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        return Some(quoted_end(bytes, at + 1, "'", true, false));
    }
    let long = bytes.get(at + 2..)?.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    (bytes.get(at + 2 + long) == Some(&b'\'')).then_some(at + 3 + long)
}

/// Whether a slash behind this code begins a pattern and is no division.
fn begins_pattern(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let Some(last) = before.last() else { return true };
    let letters = before.iter().rev().take_while(|byte| is_letter(**byte)).count();
    let word = before.get(before.len() - letters..).unwrap_or_default();
    b"(,=:[!&|?{};+-*%<>~^".contains(last) || matches!(word, b"return" | b"typeof" | b"case" | b"in" | b"of")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(language: Language, text: &str) -> String {
        String::from_utf8(mask(language, text).code).unwrap()
    }

    #[test]
    fn what_is_no_code_is_blotted_out_and_nothing_moves() {
        for (language, text, expected) in [
            (Language::Python, "a = 'x#y' # z\n", "a = \"\"\"\"\"    \n"),
            (Language::Python, "\"\"\"Doc\n'\"\"\"\nx", "\"\"\"\"\"\"\n\"\"\"\"\nx"),
            (Language::Python, "rb'\\'' + f\"{a}\"", "\"\"\"\"\"\" + \"\"\"\"\"\""),
            (Language::Python, "ä = 'unclosed\nb", "__ = \"\"\"\"\"\"\"\"\"\nb"),
            (
                Language::Rust,
                "a /* b /* */ */ 'x' 'a: '\\'' r#\"\"\"#;",
                "a               \"\"\" 'a: \"\"\"\" \"\"\"\"\"\";",
            ),
            (Language::Rust, "for'a \"b\n//\" // c", "for'a \"\"\n\"\"\"     "),
            (Language::Script, "a / b; x = /['\"/]/.test(y)", "a / b; x = \"\"\"\"\"\"\".test(y)"),
            (Language::Script, "`a${`b${1}`}c` + 'd'", "\"\"\"\"\"\"\"\"\"\"\"\"\"\" + \"\"\""),
            (Language::Go, "'\\'' + `a\n\\` // b", "\"\"\"\" + \"\"\n\"\"     "),
            (Language::C, "L\"a\" u8'x' /* // */ b", "\"\"\"\" \"\"\"\"\"          b"),
            (Language::Java, "\"\"\"\n a \"\" \"\"\" + \"b\"", "\"\"\"\n\"\"\"\"\"\"\"\"\" + \"\"\""),
        ] {
            let found = masked(language, text);
            assert_eq!(found.len(), text.len(), "{text}: {found}");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn only_texts_of_one_line_can_be_changed() {
        let of = |language, text: &str| {
            let mask = mask(language, text);
            mask.literals.iter().map(|one| text[one.content..one.whole.end].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(Language::Python, "'a', '''b\nc''', '''d''', rb\"e\""), ["a'", "d'''", "e\""]);
        assert_eq!(of(Language::Rust, "r##\"a\"## + b'x' + \"b\""), ["a\"##", "b\""]);
        assert_eq!(of(Language::Script, "/x/, `a`, 'b'"), ["a`", "b'"]);
        assert_eq!(of(Language::Go, "`a`, 'b', \"c\""), ["c\""]);
    }
}
