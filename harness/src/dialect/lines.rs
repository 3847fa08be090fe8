//! Bytes as lines, each bounded.

/// The longest line that is read, in bytes: several times the largest file that a tool shows in one.
pub(crate) const LINE_BYTES_MAX: usize = 4 << 20;

/// Collects bytes until a line is whole.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    /// The line is too long, and the rest of it is passed over.
    too_long: bool,
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It was longer than [`LINE_BYTES_MAX`].
    TooLong,
}

impl Lines {
    /// Takes the next bytes, and gives each line that they end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let content = piece.strip_suffix(b"\n");
            self.add(content.unwrap_or(piece));
            if content.is_some() {
                self.end(&mut each);
            }
        }
    }

    /// Gives what is there as the last line. Empty lines say nothing.
    pub(crate) fn end(&mut self, mut each: impl FnMut(Line<'_>)) {
        if std::mem::take(&mut self.too_long) {
            each(Line::TooLong);
        } else if !self.line.is_empty() {
            each(Line::Whole(&self.line));
        }
        self.line.clear();
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.too_long || self.line.len() + bytes.len() > LINE_BYTES_MAX {
            self.too_long = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }
}
