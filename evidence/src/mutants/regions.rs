//! Lines that are not broken whatever is in them: imports, attributes, tests inside product files, what only runs when
//! the file is a program.

use std::ops::Range;

use super::{
    language::Language,
    words::{closing, first_word, has_word},
};

/// First words of lines that only say where things come from or what they are.
const PYTHON: [&str; 6] = ["import", "from", "global", "nonlocal", "class", "assert"];
const RUST: [&str; 4] = ["use", "extern", "mod", "type"];
const SCRIPT: [&str; 4] = ["import", "interface", "type", "declare"];
const GO: [&str; 3] = ["import", "package", "type"];
const C: [&str; 3] = ["using", "namespace", "typedef"];
const JAVA: [&str; 2] = ["import", "package"];

/// For each line, whether it may be broken. `code` is the masked text.
pub(super) fn open(language: Language, code: &[u8], lines: &[Range<usize>]) -> Vec<bool> {
    let line = |range: &Range<usize>| code.get(range.clone()).unwrap_or_default();
    let mut open: Vec<bool> = lines.iter().map(|range| is_open(language, line(range))).collect();
    for closed in closed(language, code, lines) {
        for (open, range) in open.iter_mut().zip(lines) {
            *open &= range.end <= closed.start || range.start >= closed.end;
        }
    }
    open
}

fn is_open(language: Language, line: &[u8]) -> bool {
    let trimmed = line.trim_ascii();
    let first = std::str::from_utf8(first_word(line)).unwrap_or_default();
    let begins = |text: &str| trimmed.starts_with(text.as_bytes());
    let closed = match language {
        Language::Python => {
            PYTHON.contains(&first) || begins("@") || first.starts_with("__") || has_word(line, "TYPE_CHECKING")
        }
        Language::Rust => RUST.contains(&first) || begins("#"),
        Language::Script => {
            SCRIPT.contains(&first) || begins("@") || has_word(line, "require") || has_word(line, "from")
        }
        Language::Go => GO.contains(&first),
        Language::C => C.contains(&first) || begins("#"),
        Language::Java => JAVA.contains(&first) || begins("@"),
    };
    !trimmed.is_empty() && !closed
}

/// Pieces of the text in which no line is broken.
fn closed(language: Language, code: &[u8], lines: &[Range<usize>]) -> Vec<Range<usize>> {
    match language {
        Language::Python => lines.iter().enumerate().filter_map(|(at, _)| main_block(code, lines, at)).collect(),
        Language::Rust => lines.iter().filter_map(|range| test_item(code, range.clone())).collect(),
        Language::Go => lines.iter().filter_map(|range| imports(code, range.clone())).collect(),
        Language::Script | Language::C | Language::Java => Vec::new(),
    }
}

/// `if __name__ == "__main__":` and what is indented below it.
fn main_block(code: &[u8], lines: &[Range<usize>], at: usize) -> Option<Range<usize>> {
    let line = |range: &Range<usize>| code.get(range.clone()).unwrap_or_default();
    let head = lines.get(at)?;
    if first_word(line(head)) != b"if" || !has_word(line(head), "__name__") {
        return None;
    }
    let indent = |range: &Range<usize>| line(range).len() - line(range).trim_ascii_start().len();
    let below = lines.get(at + 1..).unwrap_or_default();
    let belongs = |range: &&Range<usize>| line(range).trim_ascii().is_empty() || indent(range) > indent(head);
    let end = below.iter().take_while(belongs).last().unwrap_or(head).end;
    Some(head.start..end)
}

/// An item of Rust's that only tests have, from its attribute on.
fn test_item(code: &[u8], line: Range<usize>) -> Option<Range<usize>> {
    let text = code.get(line.clone())?;
    let open = text.iter().position(|byte| *byte != b' ').filter(|at| text.get(*at..*at + 2) == Some(b"#["))?;
    let end = closing(code, line.start + open + 1)?;
    let attribute = code.get(line.start + open..end)?;
    let is_test = ["test", "rstest", "quickcheck", "test_case", "bench"].iter().any(|word| has_word(attribute, word));
    if !is_test || has_word(attribute, "not") {
        return None;
    }
    // Further attributes, arguments and types have brackets of their own.
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(end + 1) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return Some(line.start..at),
            b'{' if depth == 0 => return Some(line.start..closing_brace(code, at)),
            _ => {}
        }
    }
    Some(line.start..code.len())
}

/// `import (`, up to the bracket that closes it.
fn imports(code: &[u8], line: Range<usize>) -> Option<Range<usize>> {
    let head = code.get(line.clone())?;
    if first_word(head) != b"import" {
        return None;
    }
    let open = head.iter().position(|byte| *byte == b'(')? + line.start;
    Some(line.start..closing(code, open).unwrap_or(code.len()))
}

/// Where a brace is closed, by braces alone: other brackets of code that is being written need not be in pairs.
fn closing_brace(code: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}
