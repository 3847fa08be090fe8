//! Where words go: results to standard output, everything else to standard error.

use std::io::{self, Write};

use serde::Serialize;

/// Prints a line to standard output. Nobody is told when nobody reads it.
pub(crate) fn out(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints a line to standard error.
pub(crate) fn err(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a value as one object, over several lines.
pub(crate) fn json(value: &impl Serialize) {
    out(&serde_json::to_string_pretty(value).expect("plain data with text keys"));
}

/// Prints a value as one object a line.
pub(crate) fn json_line(value: &impl Serialize) {
    out(&serde_json::to_string(value).expect("plain data with text keys"));
}

/// Bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// Text of others without colours and without what could move a terminal's cursor.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' && characters.next_if_eq(&'[').is_some() {
            // A control sequence: parameters, then one letter.
            while characters.next_if(|c| !c.is_ascii_alphabetic() && c.is_ascii()).is_some() {}
            characters.next_if(char::is_ascii_alphabetic);
        } else {
            plain.push(if character.is_control() && character != '\t' { ' ' } else { character });
        }
    }
    plain
}

/// The same for text of several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_control_characters_are_taken_out() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m and \u{7}plain\u{1b}]x"), "red and  plain ]x");
        assert_eq!(plain("cut\u{1b}["), "cut");
        assert_eq!(plain("ä\u{1b}[2Jü"), "äü");
    }
}
