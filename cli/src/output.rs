//! Where words go: results to standard output, everything else to standard error. Nothing that moves a terminal's cursor
//! or cannot be seen leaves here; text of others that is a part of a line goes through [`shown::line`] before.

use std::io::{self, IsTerminal as _, Write};

use holdpoint_core::shown;
use serde::Serialize;

/// Prints a line to standard output. Nobody is told when nobody reads it.
pub(crate) fn out(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{}", shown::lines(line));
}

/// Prints a line to standard error.
pub(crate) fn err(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shown::lines(line));
}

/// Prints a value as one object, over several lines.
pub(crate) fn json(value: &impl Serialize) {
    exactly(&serde_json::to_string_pretty(value).expect("plain data with text keys"));
}

/// Prints a value as one object a line.
pub(crate) fn json_line(value: &impl Serialize) {
    exactly(&serde_json::to_string(value).expect("plain data with text keys"));
}

/// JSON, with every value as it is.
fn exactly(json: &str) {
    let _ = writeln!(io::stdout().lock(), "{}", shown::json(json));
}

/// Bytes of others: as they are for a program or file, and as text for a terminal.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let written = if stdout.is_terminal() {
        stdout.write_all(shown::lines(&String::from_utf8_lossy(bytes)).as_bytes())
    } else {
        stdout.write_all(bytes)
    };
    let _ = written.and_then(|()| stdout.flush());
}
