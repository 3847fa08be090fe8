//! Markdown files with front matter: YAML between two lines of `---` at their beginning.

use super::{PlanErrors, error::Problems, text_of, tree::Position};

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

/// The line before the front matter, and behind it.
const FENCE: &str = "---";

/// The front matter with the line before it, so that its places are those of the file; and the text behind it. `None`: the file
/// does not begin with one, or it has no end.
#[must_use]
pub fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == FENCE;
        if n == 0 && !is_fence {
            return None;
        }
        if n > 0 && is_fence {
            return Some((text.get(..at)?, text.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}
