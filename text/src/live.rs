//! What programs say while they run: what of it is sent, at which pace, and whose words are shown.
//!
//! Nothing is decided by these lines, and all of them are an agent's words: both ends clean them and hold them to their
//! bounds. An agent can name any waypoint in a line; one counts only if it names the open turn of its waypoint, which other agents
//! cannot guess, and comes from the agent that has it.

mod ears;
mod outbox;

pub use ears::{Ears, LiveMessage, Spoken};
pub use outbox::{Outbox, Taken};

use std::borrow::Cow;

use anstream::adapter::strip_str;
use holdpoint_protocol::live::TEXT_CHARS_MAX;

use crate::shown;

/// The end of a text that was cut.
const CUT: char = '…';

/// One line of a program's words, as it is sent and shown: without terminal sequences, controls, marks of bidirectional text and
/// everything else that a reader cannot see; of a line that was written over by carriage returns the last state; at most
/// [`TEXT_CHARS_MAX`] characters. `None`: nothing is left.
#[must_use]
pub fn line(text: &str) -> Option<String> {
    let last = text.trim_end().rsplit('\r').next().unwrap_or_default();
    let plain = strip_str(last).to_string();
    let seen = plain.chars().filter_map(|character| match character {
        '\t' | '\n' => Some(' '),
        hidden if shown::is_hidden(hidden) => None,
        character => Some(character),
    });
    let mut line: String = seen.take(TEXT_CHARS_MAX + 1).collect();
    if let Some((at, _)) = line.char_indices().nth(TEXT_CHARS_MAX - 1)
        && line.chars().count() > TEXT_CHARS_MAX
    {
        line.truncate(at);
        line.push(CUT);
    }
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The part of an output that a line is made of: text of others may be large, and only its beginning is read.
#[must_use]
pub fn beginning(bytes: &[u8]) -> Cow<'_, str> {
    const READ_BYTES_MAX: usize = 64 << 10;
    String::from_utf8_lossy(bytes.get(..bytes.len().min(READ_BYTES_MAX)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_reorders_words_or_cannot_be_seen_is_removed() {
        for (text, shown) in [
            ("plain  words", Some("plain  words")),
            ("\u{1b}[31mred\u{1b}[0m and \u{1b}[2J\u{1b}[Hhome", Some("red and home")),
            ("\u{1b}]0;title\u{7}after", Some("after")),
            ("\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", Some("link")),
            ("one\rtwo\rthree", Some("three")),
            ("ended by a line's end\r\n", Some("ended by a line's end")),
            ("a\tb\u{202e}c\u{2066}d\u{200b}e\u{9b}f\u{7}g", Some("a bcdefg")),
            ("\u{1b}[999", None),
            ("\u{1b}]0;never ended", None),
            (" \u{202e} \n", None),
            ("", None),
        ] {
            assert_eq!(line(text).as_deref(), shown, "{text:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_character_and_says_so() {
        for character in ["x", "é", "語", "👩"] {
            let exact = character.repeat(TEXT_CHARS_MAX);
            assert_eq!(line(&exact).unwrap(), exact);
            let cut = line(&character.repeat(TEXT_CHARS_MAX + 9)).unwrap();
            assert_eq!(cut.chars().count(), TEXT_CHARS_MAX);
            assert!(cut.ends_with(CUT) && cut.starts_with(character));
        }
    }

    #[test]
    fn a_line_that_was_cleaned_is_left_as_it_is_by_a_second_reader() {
        let once = line("\u{1b}[1ma\u{202e}\u{1b}b\u{9b}1;2H c\u{1b}").unwrap();
        assert_eq!(line(&once).unwrap(), once);
    }
}
