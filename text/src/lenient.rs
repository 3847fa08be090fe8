//! JSON as programs of others print it, read as a person would read it: what one line gets wrong is replaced, and the rest of it counts.
//!
//! Text that serde_json takes is read by serde_json alone. Otherwise what it refuses is replaced first, and only that: half a surrogate
//! pair, an escape that there is not, a control character in a text, a number that is none or does not fit, nesting without end. A text
//! that breaks off, or is no JSON, stays none.

use std::borrow::Cow;

use serde_json::Value;

/// How deep values are kept; what is deeper becomes `null`. serde_json reads 127 levels, and handoffs take fewer.
const DEPTH_MAX: usize = 100;
/// What stands for a character that there is not.
const REPLACEMENT: &str = "\\ufffd";
const BOM: char = '\u{feff}';

/// The value in a line; `None`: it is no JSON, however much is replaced.
#[must_use]
pub fn value(line: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(line) {
        return Some(value);
    }
    serde_json::from_str(&repaired(&String::from_utf8_lossy(line))?).ok()
}

/// The value that a text begins with, and how many bytes of the text it takes.
///
/// # Errors
/// Why it begins with none, however much is replaced.
pub fn first(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let refused = match values.next() {
        Some(Ok(value)) => return Ok((value, values.byte_offset())),
        Some(Err(error)) => error,
        None => return serde_json::from_str(text).map(|value| (value, text.len())),
    };
    let end = end(text).unwrap_or(0);
    let value = text.get(..end).filter(|whole| !whole.is_empty()).and_then(repaired);
    value.and_then(|value| serde_json::from_str(&value).ok()).map(|value| (value, end)).ok_or(refused)
}

/// Where the object or list ends that a text begins with.
fn end(text: &str) -> Option<usize> {
    let mut rest = Scan { text, at: 0 };
    let mut depth = 0_usize;
    while let Some(token) = rest.next() {
        match token {
            Token::Opens => depth += 1,
            Token::Closes => depth = depth.checked_sub(1)?,
            Token::Text(_) | Token::Word(_) | Token::Other(_) => {}
        }
        if depth == 0 && token == Token::Closes {
            return Some(rest.at);
        }
    }
    None
}

/// The text with what serde_json refuses replaced; `None`: a text in it does not end.
fn repaired(text: &str) -> Option<String> {
    let text = text.trim_start_matches(BOM);
    let mut out = String::with_capacity(text.len());
    let mut rest = Scan { text, at: 0 };
    let mut depth = 0_usize;
    while let Some(token) = rest.next() {
        let shown = depth < DEPTH_MAX;
        match token {
            Token::Opens => {
                depth += 1;
                match depth.cmp(&DEPTH_MAX) {
                    std::cmp::Ordering::Less => out.push_str(rest.last()),
                    std::cmp::Ordering::Equal => out.push_str("null"),
                    std::cmp::Ordering::Greater => {}
                }
            }
            Token::Closes => {
                if shown {
                    out.push_str(rest.last());
                }
                depth = depth.checked_sub(1)?;
            }
            Token::Text(text) if shown => push_text(&mut out, text?),
            Token::Word(word) if shown => out.push_str(word_of(word)),
            Token::Other(other) if shown => out.push_str(other),
            Token::Text(_) | Token::Word(_) | Token::Other(_) => {}
        }
    }
    Some(out)
}

/// A piece of JSON.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Opens,
    Closes,
    /// A text without its quotes; `None`: it does not end.
    Text(Option<&'a str>),
    /// A number, or a word such as `true`.
    Word(&'a str),
    Other(&'a str),
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.text.get(self.at..)?;
        let first = rest.chars().next()?;
        let is_word = |next: char| next.is_ascii_alphanumeric() || "+-._".contains(next);
        let (token, bytes) = match first {
            '{' | '[' => (Token::Opens, 1),
            '}' | ']' => (Token::Closes, 1),
            '"' => match closing(rest) {
                Some(end) => (Token::Text(rest.get(1..end)), end + 1),
                None => (Token::Text(None), rest.len()),
            },
            first if is_word(first) => {
                let end = rest.find(|next: char| !is_word(next)).unwrap_or(rest.len());
                (Token::Word(rest.get(..end)?), end)
            }
            first => (Token::Other(rest.get(..first.len_utf8())?), first.len_utf8()),
        };
        self.at += bytes;
        Some(token)
    }

    /// The bracket that was read last.
    fn last(&self) -> &'a str {
        self.text.get(self.at - 1..self.at).unwrap_or_default()
    }
}

/// Where the quote is that ends the text that begins here.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// A text with its quotes, in escapes that there are.
fn push_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|next: char| next == '\\' || next < ' ') {
        let (before, special) = rest.split_at(at);
        out.push_str(before);
        let (shown, bytes) = special_of(special);
        out.push_str(&shown);
        rest = special.get(bytes..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}

/// An escape or a control character as it may stand, and how many bytes of the text it takes.
fn special_of(text: &str) -> (Cow<'_, str>, usize) {
    let Some(escape) = text.strip_prefix('\\') else {
        let control = text.chars().next().map_or(0, u32::from);
        return (format!("\\u{control:04x}").into(), 1);
    };
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok();
    let as_it_is = |bytes: usize| (text.get(..bytes).unwrap_or_default().into(), bytes);
    match (escape.chars().next(), unit(escape)) {
        (Some('u'), Some(0xd800..=0xdbff)) => {
            let low = escape.get(5..).and_then(|after| unit(after.strip_prefix('\\')?));
            if matches!(low, Some(0xdc00..=0xdfff)) { as_it_is(12) } else { (REPLACEMENT.into(), 6) }
        }
        (Some('u'), Some(0xdc00..=0xdfff)) => (REPLACEMENT.into(), 6),
        (Some('u'), Some(_)) => as_it_is(6),
        (Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't'), _) => as_it_is(2),
        // There is no such escape: the backslash is meant.
        _ => ("\\\\".into(), 1),
    }
}

/// A word as it is; `null` for a number that is none, or does not fit.
fn word_of(word: &str) -> &str {
    let is_number = word.trim_start_matches('-').starts_with(|next: char| next.is_ascii_digit());
    let is_none = ["NaN", "Infinity", "-Infinity"].contains(&word);
    if is_none || is_number && serde_json::from_str::<Value>(word).is_err() { "null" } else { word }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_line_gets_wrong_is_replaced_and_the_rest_counts() {
        let half = "\\ud83d";
        for (line, read) in [
            (format!(r#"{{"a": "x {half}", "cost": 0.9}}"#), json!({"a": "x \u{fffd}", "cost": 0.9})),
            (format!(r#"{{"a": "{half}{half}\ude00"}}"#), json!({"a": "\u{fffd}\u{1f600}"})),
            (r#"{"a": "\ude00\ud83d\n"}"#.to_owned(), json!({"a": "\u{fffd}\u{fffd}\n"})),
            (format!(r#"{{"{half}": "\\{half}", "b": "\\ud83d"}}"#), json!({"\u{fffd}": "\\\u{fffd}", "b": "\\ud83d"})),
            (r#"{"path": "C:\Users\x", "u": "\u12"}"#.to_owned(), json!({"path": "C:\\Users\\x", "u": "\\u12"})),
            ("{\"a\": \"tab\there\"}".to_owned(), json!({"a": "tab\there"})),
            (
                r#"{"a": NaN, "b": -Infinity, "c": 1e999, "d": 1}"#.to_owned(),
                json!({"a": null, "b": null, "c": null, "d": 1}),
            ),
            ("\u{feff}{\"a\": 1}".to_owned(), json!({"a": 1})),
        ] {
            assert_eq!(value(line.as_bytes()), Some(read), "{line}");
        }
        assert_eq!(value(b"{\"a\": \"\xff\", \"b\": 1}"), Some(json!({"a": "\u{fffd}", "b": 1})));
    }

    #[test]
    fn what_is_nested_too_deep_is_left_out_and_what_stands_next_to_it_is_not() {
        for depth in [DEPTH_MAX - 1, DEPTH_MAX, 127, 128, 100_000] {
            let line = format!("{{\"deep\": {}\"]\"{}, \"id\": 7}}", "[".repeat(depth), "]".repeat(depth));
            let read = value(line.as_bytes()).unwrap_or_else(|| panic!("{depth}"));
            assert_eq!(read["id"], 7, "{depth}");
        }
    }

    #[test]
    fn what_breaks_off_or_is_no_json_stays_none() {
        for line in
            ["", "hello", "{\"a\": \"\\ud83d", "{\"a\": 1", "[1,", "{a: 1}", "{\"a\": \"\\ud83d\"}}", "[\"\\ud83d\"]]"]
        {
            assert_eq!(value(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn the_value_that_a_text_begins_with_ends_where_its_bracket_does() {
        let text = "{\"a\": \"} \\ud83d\"} and more }";
        let (read, bytes) = first(text).unwrap();
        assert_eq!((read, text.get(bytes..)), (json!({"a": "} \u{fffd}"}), Some(" and more }")));
        assert_eq!(first("{\"a\": 1}\n{").unwrap().1, 8);
        assert!(first("{\"a\": \"\\ud83d").unwrap_err().is_eof());
        assert!(first("").is_err() && first("{\"a\": yes}").is_err());
    }

    proptest! {
        #[test]
        fn json_is_read_as_it_is_and_nothing_breaks_the_reader(text in "[{}\\[\\]\":,\\\\ud8c0-9a-f ]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(strict) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(value(text.as_bytes()), Some(strict));
            }
            let _ = value(&bytes);
            let _ = first(&text);
        }
    }
}
