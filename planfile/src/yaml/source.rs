//! A file's bytes as text: not too large, and in UTF-8.

use holdpoint_text::bom;

use super::{
    error::{PlanErrors, Problems},
    place::Position,
};

/// How large a file may be, and what is said of a larger one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBound {
    /// The most bytes.
    pub(crate) bytes: usize,
    /// What it is, such as `the skill`.
    pub(crate) what: &'static str,
    /// What to do about a larger one.
    pub(crate) hint: &'static str,
}

impl FileBound {
    fn message(self) -> String {
        let (size, unit) = if self.bytes < 1 << 20 { (self.bytes >> 10, "KiB") } else { (self.bytes >> 20, "MiB") };
        format!("{} is larger than {size} {unit}", self.what)
    }
}

/// Reads a file: its text, by what `read` makes of it. `file` is only the name under which problems are reported.
///
/// # Errors
/// All problems of the file: it is too large, no text, or what `read` found.
pub(crate) fn read<T>(
    bytes: &[u8],
    file: &str,
    bound: FileBound,
    read: impl FnOnce(&str, &mut Problems) -> Option<T>,
) -> Result<T, PlanErrors> {
    let mut problems = Problems::default();
    let text = if bytes.len() > bound.bytes {
        problems.add(Position::START, bound.message(), bound.hint);
        Err("")
    } else {
        text_of(bytes, &mut problems)
    };
    let (found, text) = match text {
        Ok(text) => (read(text, &mut problems), text),
        Err(before) => (None, before),
    };
    match found {
        Some(found) if problems.is_empty() => Ok(found),
        _ => Err(problems.finish(file, text)),
    }
}

/// A file's bytes as text, without a byte order mark; else the text before the first byte that is none, which is reported.
pub(crate) fn text_of<'a>(bytes: &'a [u8], problems: &mut Problems) -> Result<&'a str, &'a str> {
    std::str::from_utf8(bytes).map(bom::stripped).map_err(|error| {
        let before = std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        let hint = "save it in UTF-8: a byte here belongs to another encoding";
        problems.add(Position { line, column }, "the file is not UTF-8 text", hint);
        before
    })
}
