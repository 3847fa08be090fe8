//! Mutations of what is asked: comparisons, conditions, and what joins them.

use std::ops::Range;

use super::{
    language::Language,
    line::{Edit, Line},
    words::{Sides, closing, first_word, has_word, is_balanced, signs, words},
};

/// Comparisons, and their opposites: what holds no longer holds for any value.
const COMPARISONS: [(&[u8], &str); 8] = [
    (b"==", "!="),
    (b"!=", "=="),
    (b"===", "!=="),
    (b"!==", "==="),
    (b"<", ">="),
    (b">", "<="),
    (b"<=", ">"),
    (b">=", "<"),
];

/// Comparisons turned into their opposites.
pub(super) fn comparisons(line: &Line<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for place in signs(line.code) {
        let sign = line.at(place.clone());
        let Some((_, other)) = COMPARISONS.iter().find(|(known, _)| *known == sign) else { continue };
        // Elsewhere they may be the brackets of types.
        let spaced = Sides::of(line.code, &place).spaced == (true, true);
        if sign.len() > 1 || spaced || line.language == Language::Python {
            edits.push(line.edit(place, *other));
        }
    }
    if line.language == Language::Python {
        edits.extend(worded(line));
    }
    edits
}

/// `is` and `in`, with and without `not`. The `in` of a loop is none.
fn worded(line: &Line<'_>) -> Vec<Edit> {
    let words = words(line.code);
    let word = |at: usize| words.get(at).map_or(&b""[..], |place| line.at(place.clone()));
    let mut edits = Vec::new();
    for (at, place) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or(&b""[..], word);
        match word(at) {
            b"is" if word(at + 1) == b"not" => {
                let end = words.get(at + 1).map_or(place.end, |not| not.end);
                edits.push(line.edit(place.start..end, "is"));
            }
            b"is" => edits.push(line.edit(place.clone(), "is not")),
            b"in" if before == b"not" => {
                let start = words.get(at - 1).map_or(place.start, |not| not.start);
                edits.push(line.edit(start..place.end, "in"));
            }
            b"in" if !has_word(line.code, "for") => edits.push(line.edit(place.clone(), "not in")),
            _ => {}
        }
    }
    edits
}

/// `and` becomes `or`, and the other way round.
pub(super) fn connectives(line: &Line<'_>) -> Vec<Edit> {
    let pairs: [(&[u8], &str); 2] = if line.language == Language::Python {
        [(b"and", "or"), (b"or", "and")]
    } else {
        [(b"&&", "||"), (b"||", "&&")]
    };
    let places = if line.language == Language::Python { words(line.code) } else { signs(line.code) };
    let mut edits = Vec::new();
    for place in places {
        let Some((_, other)) = pairs.iter().find(|(known, _)| *known == line.at(place.clone())) else { continue };
        // The bars of a closure have nothing before them.
        if line.language == Language::Python || Sides::of(line.code, &place).has_left() {
            edits.push(line.edit(place, *other));
        }
    }
    edits
}

/// The condition of an `if` in this line, negated. Loops would not end.
pub(super) fn negated(line: &Line<'_>) -> Vec<Edit> {
    let condition = match line.language {
        Language::Python => of_python(line),
        Language::Rust | Language::Go => of_braces(line),
        Language::Script | Language::C | Language::Java => of_brackets(line),
    };
    let Some(range) = condition.filter(|range| !line.at(range.clone()).trim_ascii().is_empty()) else {
        return Vec::new();
    };
    let (open, close) = if line.language == Language::Python { ("not (", ")") } else { ("!(", ")") };
    vec![line.wrap(range, open, close)]
}

fn of_python(line: &Line<'_>) -> Option<Range<usize>> {
    let first = first_word(line.code);
    if !matches!(first, b"if" | b"elif") {
        return None;
    }
    let start = line.code.len() - line.code.trim_ascii_start().len() + first.len();
    let end = line.code.trim_ascii_end().strip_suffix(b":")?.len();
    trimmed(line, start..end).filter(|range| is_balanced(line.at(range.clone())))
}

/// `if a {`, also behind `else`, and in Go behind a statement.
fn of_braces(line: &Line<'_>) -> Option<Range<usize>> {
    let head = words(line.code).into_iter().find(|word| line.at(word.clone()) == b"if")?;
    if has_word(line.code, "let") {
        return None;
    }
    let end = line.code.trim_ascii_end().strip_suffix(b"{")?.len();
    let inner = line.at(head.end..end);
    let start = inner.iter().rposition(|byte| *byte == b';').map_or(head.end, |at| head.end + at + 1);
    trimmed(line, start..end).filter(|range| is_balanced(line.at(range.clone())))
}

/// `if (a)`.
fn of_brackets(line: &Line<'_>) -> Option<Range<usize>> {
    let head = words(line.code).into_iter().find(|word| line.at(word.clone()) == b"if")?;
    let open = head.end + line.code.get(head.end..)?.iter().position(|byte| *byte != b' ')?;
    if line.code.get(open) != Some(&b'(') {
        return None;
    }
    Some(open + 1..closing(line.code, open)?)
}

fn trimmed(line: &Line<'_>, range: Range<usize>) -> Option<Range<usize>> {
    let code = line.code.get(range.clone())?;
    let start = range.start + code.len() - code.trim_ascii_start().len();
    Some(start..start + code.trim_ascii().len())
}
