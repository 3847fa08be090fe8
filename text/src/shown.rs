//! How text of others is shown: in a terminal, a log line, a commit message, a prompt. The one rule of Holdpoint.
//!
//! What a reader cannot see, or what would move a cursor, reorder words or begin a line that the text has no right to, is
//! written out: `\n`, `\u{202e}`. Nothing is left out but colours, so that an attempt stays visible. Text of several
//! lines among lines of ours is [`quoted`]. This module does not cut or indent: callers do.

use std::borrow::Cow;

/// What is written out, as ranges in order: controls (Cc), line and paragraph separators (Zl, Zp), and everything that
/// Unicode 16 calls `Default_Ignorable_Code_Point`, which has the marks, embeddings, overrides and isolates of
/// bidirectional text, joiners and other characters without a width, and tags; also the interlinear annotations. Left out
/// are U+FE0E and U+FE0F, with which people choose between two looks of an emoji.
const HIDDEN: [(char, char); 19] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0d}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Text as one line: line breaks and tabs are written out as well.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    written_out(text, &[])
}

/// Text of several lines: LF and tabs stay, and CR before LF goes. A lone CR, which would write over the line, is written
/// out like everything else.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    written_out(text, &['\n', '\t'])
}

/// What begins each line of others among lines of ours.
const QUOTE: &str = "| ";

/// Text of several lines, as [`lines`], each line behind `| `: no line of others can be taken for one of ours, such as the
/// commands that we suggest to a person.
pub fn quoted(text: &str) -> Vec<String> {
    lines(text).lines().map(|line| format!("{QUOTE}{line}").trim_end().to_owned()).collect()
}

/// JSON text as the same JSON: what [`line()`] writes out is written `\u202e` inside of its strings, so that every value
/// stays what it was. Line breaks between tokens stay.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let is_shown = |c: char| c == '\n' || !is_hidden(c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_shown(character) {
            shown.push(character);
        } else {
            let units =
                character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            shown.push_str(&units);
        }
    }
    Cow::Owned(shown)
}

/// The first character that [`line()`] would write out.
#[must_use]
pub fn first_hidden(text: &str) -> Option<char> {
    text.chars().find(|character| is_hidden(*character))
}

/// Whether a reader cannot see a character, or it would move or reorder what they see.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return false;
    }
    let after = HIDDEN.partition_point(|(first, _)| *first <= character);
    after.checked_sub(1).and_then(|at| HIDDEN.get(at)).is_some_and(|(_, last)| character <= *last)
}

fn written_out<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_shown = |c: char| !is_hidden(c) || kept.contains(&c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = after_colour(rest) {
            rest = after;
            continue;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            _ if is_shown(character) => shown.push(character),
            '\r' if kept.contains(&'\n') && rest.starts_with('\n') => {}
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.extend(character.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// What follows the control sequence that a text begins with, if that only chooses a colour or clears to the line's end,
/// as compilers and test runners do all the time: they say nothing.
fn after_colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    parameters.trim_start_matches(|c: char| matches!(c, '0'..='9' | ';' | ':')).strip_prefix(['m', 'K'])
}

#[cfg(test)]
mod tests;
