//! Mutations of whole statements: what is returned, and what is done.

use std::ops::Range;

use super::{
    language::Language,
    line::{Edit, Line},
    words::{first_word, is_balanced, words},
};

/// Words of lines that are output for people: nobody has to test how it is put.
const PEOPLE: [&str; 36] = [
    "log",
    "logger",
    "logging",
    "print",
    "println",
    "eprintln",
    "eprint",
    "printf",
    "fprintf",
    "warnings",
    "warn",
    "raise",
    "throw",
    "panic",
    "expect",
    "bail",
    "anyhow",
    "todo",
    "unreachable",
    "unimplemented",
    "tracing",
    "console",
    "Errorf",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug",
    "info",
    "trace",
    "help",
    "description",
    "Println",
    "Printf",
    "getLogger",
    "Error",
];
/// First words of statements that cannot go: what follows needs what they name, or they are none.
const KEPT: [&str; 44] = [
    "let", "const", "var", "return", "use", "pub", "fn", "def", "class", "if", "else", "elif", "for", "while", "do",
    "match", "switch", "case", "default", "break", "continue", "try", "except", "catch", "finally", "with", "yield",
    "await", "async", "static", "struct", "enum", "impl", "trait", "func", "function", "export", "defer", "go", "new",
    "typedef", "public", "private", "pass",
];

/// For each line, whether a statement begins in it: no bracket but a block's is open, and the line before ended one.
pub(super) fn begins(language: Language, code: &[u8], lines: &[Range<usize>]) -> Vec<bool> {
    let mut open: Vec<u8> = Vec::new();
    let mut ended = true;
    let mut begins = Vec::with_capacity(lines.len());
    for range in lines {
        let line = code.get(range.clone()).unwrap_or_default();
        let block = match language {
            Language::Python => open.is_empty(),
            _ => open.last().is_none_or(|last| *last == b'{'),
        };
        begins.push(block && ended);
        for byte in line {
            match byte {
                b'(' | b'[' | b'{' => open.push(*byte),
                b')' | b']' | b'}' => drop(open.pop()),
                _ => {}
            }
        }
        let line = line.trim_ascii();
        if !line.is_empty() {
            ended = match language {
                Language::Python => !line.ends_with(b"\\"),
                Language::Go => !line.ends_with(b".") && !line.ends_with(b",") && !line.ends_with(b"="),
                _ => matches!(line.last(), Some(b'{' | b'}' | b';')),
            };
        }
    }
    begins
}

/// Whether a line is output for people.
pub(super) fn is_for_people(line: &Line<'_>) -> bool {
    words(line.code).into_iter().any(|place| {
        let word = std::str::from_utf8(line.at(place)).unwrap_or_default();
        PEOPLE.contains(&word) || word.ends_with("Error") || word.ends_with("Exception")
    })
}

/// A returned value becomes nothing, or what stands for it. Where a type has no such value it does not build.
pub(super) fn returned(line: &Line<'_>) -> Vec<Edit> {
    let nothing = match line.language {
        Language::Python => "None",
        Language::Script | Language::Java => "null",
        Language::Rust => "Default::default()",
        Language::C => "0",
        // Which of its values have which types is not known.
        Language::Go => return Vec::new(),
    };
    let Some(value) = value(line) else { return Vec::new() };
    let is_nothing = matches!(line.at(value.clone()), b"None" | b"null" | b"undefined" | b"0" | b"NULL" | b"nullptr");
    let is_truth = matches!(line.at(value.clone()), b"True" | b"False" | b"true" | b"false");
    if is_nothing || is_truth { Vec::new() } else { vec![line.edit(value, nothing)] }
}

/// What this line returns.
fn value(line: &Line<'_>) -> Option<Range<usize>> {
    let indent = line.code.len() - line.code.trim_ascii_start().len();
    let end = line.code.trim_ascii_end().len();
    if first_word(line.code) != b"return" || !line.begins {
        return None;
    }
    let end = match line.language {
        Language::Python => end,
        _ => line.at(0..end).strip_suffix(b";").map_or(end, <[u8]>::len),
    };
    let start = indent + b"return".len();
    let code = line.code.get(start..end)?;
    let start = start + code.len() - code.trim_ascii_start().len();
    let end = start + code.trim_ascii().len();
    (start < end && is_balanced(line.at(start..end))).then_some(start..end)
}

/// A statement that is done for its effect, left out.
pub(super) fn deleted(line: &Line<'_>) -> Vec<Edit> {
    let indent = line.code.len() - line.code.trim_ascii_start().len();
    let end = line.code.trim_ascii_end().len();
    let first = std::str::from_utf8(first_word(line.code)).unwrap_or_default();
    let throws = matches!(first, "raise" | "throw");
    let whole = line.at(indent..end);
    if !line.begins || first.is_empty() || KEPT.contains(&first) || !is_balanced(whole) {
        return Vec::new();
    }
    let (statement, with) = match line.language {
        Language::Python => (whole, "pass"),
        Language::Go => (whole, ""),
        _ => match whole.strip_suffix(b";") {
            Some(statement) => (statement, ";"),
            None => return Vec::new(),
        },
    };
    let effect = throws || is_call(statement) || sets_part(statement);
    if !effect || (is_for_people(line) && !throws) {
        return Vec::new();
    }
    vec![line.edit(indent..end, with)]
}

/// `a.b(c)`, with nothing but names before its brackets.
fn is_call(statement: &[u8]) -> bool {
    let Some(open) = statement.iter().position(|byte| *byte == b'(') else { return false };
    let named = statement.get(..open).unwrap_or_default();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    !named.is_empty() && named.iter().all(is_name) && matches!(statement.last(), Some(b')' | b'?'))
}

/// `a.b = c`, `a[b] = c`, `a.b += c`: something else has what it had before.
fn sets_part(statement: &[u8]) -> bool {
    let Some(sign) = statement.iter().position(|byte| *byte == b'=') else { return false };
    let before = statement.get(..sign).unwrap_or_default();
    let target = before.trim_ascii_end().trim_ascii_end();
    let target = target.strip_suffix(b"+").or_else(|| target.strip_suffix(b"-")).unwrap_or(target).trim_ascii_end();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'[' | b']' | b'"');
    statement.get(sign + 1) != Some(&b'=')
        && target.iter().all(is_part)
        && target.iter().any(|byte| matches!(byte, b'.' | b'['))
}
