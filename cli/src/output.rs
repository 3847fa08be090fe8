//! Where words go: results to standard output, everything else to standard error. Nothing that moves a terminal's cursor
//! or cannot be seen leaves here; text of others that is a part of a line goes through [`shown::line`] before.

use std::{
    io::{self, ErrorKind, IsTerminal as _, Write},
    sync::OnceLock,
};

use holdpoint_text::shown;
use serde::Serialize;

/// Why something that was printed did not get to where standard output goes.
static LOST: OnceLock<String> = OnceLock::new();

/// Why a part of the results is lost; `None`: it is not, or nobody reads them any more.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Whether results were written. Remembers that they are lost, unless nobody reads them any more.
pub(crate) fn noted(written: io::Result<()>) -> bool {
    let Err(error) = written else { return true };
    if error.kind() != ErrorKind::BrokenPipe {
        let _ = LOST.set(error.to_string());
    }
    false
}

/// Prints a line to standard output.
pub(crate) fn out(line: &str) {
    noted(writeln!(io::stdout().lock(), "{}", shown::lines(line)));
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
pub(crate) fn exactly(json: &str) {
    noted(writeln!(io::stdout().lock(), "{}", shown::json(json)));
}

/// A file of ours (credentials, a configuration, a script): as it is for a program or file, without what could not be seen
/// for a terminal.
pub(crate) fn bytes(bytes: &[u8]) {
    write(bytes, |text| shown::lines(text).into_owned());
}

/// Bytes of others: as they are for a program or file, and as a quotation for a terminal.
pub(crate) fn of_others(bytes: &[u8]) {
    write(bytes, |text| shown::quoted(text).into_iter().map(|line| line + "\n").collect());
}

fn write(bytes: &[u8], for_terminal: impl FnOnce(&str) -> String) {
    let mut stdout = io::stdout().lock();
    let written = if stdout.is_terminal() {
        stdout.write_all(for_terminal(&String::from_utf8_lossy(bytes)).as_bytes())
    } else {
        stdout.write_all(bytes)
    };
    noted(written.and_then(|()| stdout.flush()));
}

/// Standard output for lines of JSON: byte for byte for a program or file; for a terminal the same JSON with everything
/// written out that could move a cursor or not be seen.
pub(crate) fn json_lines() -> JsonLines<io::Stdout> {
    let stdout = io::stdout();
    JsonLines { escapes: stdout.is_terminal(), out: stdout, line: Vec::new() }
}

/// See [`json_lines`]. A line is written once it is whole; what lacks a line's end is left out.
pub(crate) struct JsonLines<W> {
    out: W,
    escapes: bool,
    line: Vec<u8>,
}

impl<W: Write> Write for JsonLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.escapes {
            return self.out.write(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.out.write_all(shown::json(&String::from_utf8_lossy(&line)).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = "{\"a\":\"x\u{202e}y\"}\n{\"b\":\"\u{9b}2J\"}\n".as_bytes();

    fn written(escapes: bool) -> Vec<u8> {
        let mut lines = JsonLines { out: Vec::new(), escapes, line: Vec::new() };
        for part in LINES.chunks(3) {
            lines.write_all(part).unwrap();
        }
        lines.flush().unwrap();
        lines.out
    }

    #[test]
    fn lines_of_json_are_written_byte_for_byte_to_anything_but_a_terminal() {
        assert_eq!(written(false), LINES);
    }

    #[test]
    fn a_terminal_gets_the_same_json_and_nothing_that_moves_its_cursor() {
        let text = String::from_utf8(written(true)).unwrap();
        assert_eq!(text, "{\"a\":\"x\\u202ey\"}\n{\"b\":\"\\u009b2J\"}\n");
    }
}
