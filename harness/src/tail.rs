//! The end of an output, as people and the next attempt see it.

use holdpoint_text::shown;

/// Lines of output that are shown to people and to the next attempt.
const TAIL_LINES_MAX: usize = 20;
/// Bytes of them: lines can be long.
const TAIL_BYTES_MAX: usize = 2 << 10;

/// The last lines of an output as printable text.
#[must_use]
pub fn last_lines(output: &[u8]) -> String {
    // Twice the bytes are decoded, so that a character cut at the front does not matter.
    let start = output.len().saturating_sub(2 * TAIL_BYTES_MAX);
    let text = String::from_utf8_lossy(output.get(start..).unwrap_or_default());
    let text = shown::lines(&text);
    let text = text.trim_end();
    let lines = text.rmatch_indices('\n').nth(TAIL_LINES_MAX - 1).map_or(0, |(at, _)| at + 1);
    let bytes = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES_MAX));
    text.get(lines.max(bytes)..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_few_short_and_printable() {
        let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let tail = last_lines(many.as_bytes());
        assert!(tail.starts_with("line 80\n") && tail.ends_with("line 99"), "{tail}");
        assert!(last_lines("ä".repeat(10_000).as_bytes()).len() <= TAIL_BYTES_MAX);
        assert_eq!(last_lines(b"\x1b[31mred\x1b[0m\r\n\x1b[2J\n\n"), "red\n\\u{1b}[2J");
        assert_eq!(last_lines(b""), "");
    }
}
