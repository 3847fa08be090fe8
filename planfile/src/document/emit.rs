//! Writing values as YAML that no reader can take for others: texts are in double quotes but for plain words, numbers are as both
//! versions of YAML read them, and what cannot be seen is written out.

use std::fmt::Write as _;

use holdpoint_text::shown;
use serde_json::{Map, Number, Value};

/// Levels that are written as indented lines; deeper ones are in brackets, so that indentation cannot make a small value large.
const BLOCK_LEVELS_MAX: usize = 6;
/// Keys that are longer are written behind `?`: YAML looks for the colon within 1,024 characters only.
const KEY_BYTES_MAX: usize = 256;
/// Words that some readers of YAML take for booleans or nothing.
const TAKEN: [&str; 9] = ["y", "n", "yes", "no", "true", "false", "on", "off", "null"];

/// The front matter, with the fences around it.
pub(super) fn front_matter(entries: &[(&'static str, Value)]) -> String {
    let mut out = String::from("---\n");
    for (key, value) in entries {
        out.push_str(key);
        out.push(':');
        below(&mut out, value, 1);
    }
    out.push_str("---\n");
    out
}

/// A value behind a colon or a dash: in the same line, or in lines of its own.
fn below(out: &mut String, value: &Value, level: usize) {
    if is_flat(value, level) {
        out.push(' ');
        flow(out, value);
        out.push('\n');
    } else {
        out.push('\n');
        block(out, value, level, false);
    }
}

fn is_flat(value: &Value, level: usize) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || level > BLOCK_LEVELS_MAX,
        Value::Object(entries) => entries.is_empty() || level > BLOCK_LEVELS_MAX,
        _ => true,
    }
}

/// The lines of a collection. `begun`: the first of them has its indentation already.
fn block(out: &mut String, value: &Value, level: usize, begun: bool) {
    let mut indented = begun;
    let mut indent = |out: &mut String| {
        if !std::mem::take(&mut indented) {
            out.extend(std::iter::repeat_n("  ", level));
        }
    };
    match value {
        Value::Array(items) => {
            for item in items {
                indent(out);
                out.push('-');
                if is_flat(item, level + 1) {
                    below(out, item, level + 1);
                } else {
                    out.push(' ');
                    block(out, item, level + 1, true);
                }
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                indent(out);
                if key.len() > KEY_BYTES_MAX {
                    out.push_str("? ");
                    text(out, key);
                    out.push('\n');
                    out.extend(std::iter::repeat_n("  ", level));
                } else {
                    text(out, key);
                }
                out.push(':');
                below(out, value, level + 1);
            }
        }
        _ => {}
    }
}

/// A value in one line.
fn flow(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&written(number)),
        Value::String(words) => text(out, words),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                flow(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => flow_entries(out, entries),
    }
}

fn flow_entries(out: &mut String, entries: &Map<String, Value>) {
    out.push('{');
    for (at, (key, value)) in entries.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        let long = key.len() > KEY_BYTES_MAX;
        out.push_str(if long { "? " } else { "" });
        text(out, key);
        out.push_str(if long { " : " } else { ": " });
        flow(out, value);
    }
    out.push('}');
}

/// A number: JSON's `1e300` is a text to older readers of YAML, `1.0e+300` is a number to all.
fn written(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

fn text(out: &mut String, words: &str) {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let plain = words.starts_with(|c: char| c.is_ascii_lowercase()) && words.chars().all(is_word);
    if plain && !TAKEN.contains(&words) {
        out.push_str(words);
        return;
    }
    out.push('"');
    for character in words.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_written_out(character) => {
                let code = u32::from(character);
                // Writing into a string cannot fail.
                let _ = if code > 0xffff { write!(out, "\\U{code:08x}") } else { write!(out, "\\u{code:04x}") };
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Whether a reader could not see a character, or YAML does not allow it.
fn is_written_out(character: char) -> bool {
    shown::is_hidden(character) || u32::from(character) & 0xfffe == 0xfffe
}
