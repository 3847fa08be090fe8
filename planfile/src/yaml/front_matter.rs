//! Markdown files with front matter: YAML between two lines of `---` at their beginning.

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
