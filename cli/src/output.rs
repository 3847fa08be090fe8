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

/// Text of others without what could move a terminal's cursor.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect()
}
