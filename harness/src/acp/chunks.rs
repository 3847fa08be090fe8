//! An agent's words, which come in pieces of a few characters, as whole lines. Pure.

use super::event::AcpEvent;

/// What waits for the end of its line, in bytes; more is printed without.
const OPEN_BYTES_MAX: usize = 64 << 10;

/// Whose pieces they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// Words.
    Message,
    /// Thoughts.
    Thought,
}

/// Puts pieces together.
#[derive(Debug, Default)]
pub struct Chunks {
    /// What is being said, and in which message.
    now: Option<(ChunkKind, Option<String>)>,
    /// The line that is not whole yet.
    open: String,
    /// Whether something of the message was printed.
    began: bool,
}

impl Chunks {
    /// Takes a piece of the message with this id, if it has one.
    #[must_use]
    pub fn push(&mut self, kind: ChunkKind, id: Option<&str>, text: &str) -> Vec<AcpEvent> {
        let mut events = Vec::new();
        let same = self.now.as_ref().is_some_and(|(now, of)| *now == kind && (id.is_none() || of.as_deref() == id));
        if !same {
            events.extend(self.end());
            self.now = Some((kind, id.map(|id| id.chars().take(128).collect())));
        }
        self.open.push_str(text);
        let whole = if self.open.len() > OPEN_BYTES_MAX {
            self.open.len()
        } else {
            self.open.rfind('\n').map_or(0, |at| at + 1)
        };
        if whole > 0 {
            let rest = self.open.split_off(whole);
            let text = std::mem::replace(&mut self.open, rest);
            events.extend(self.event(text));
        }
        events
    }

    /// Nothing more of this message comes.
    #[must_use]
    pub fn end(&mut self) -> Option<AcpEvent> {
        let text = std::mem::take(&mut self.open);
        let event = if text.is_empty() { None } else { self.event(text) };
        (self.now, self.began) = (None, false);
        event
    }

    fn event(&mut self, text: String) -> Option<AcpEvent> {
        let begins = !std::mem::replace(&mut self.began, true);
        Some(match self.now.as_ref()?.0 {
            ChunkKind::Message => AcpEvent::Message { text, begins },
            ChunkKind::Thought => AcpEvent::Thought { text },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, begins: bool) -> AcpEvent {
        AcpEvent::Message { text: text.to_owned(), begins }
    }

    #[test]
    fn pieces_become_whole_lines_of_their_message() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.push(ChunkKind::Message, None, "I lo"), []);
        assert_eq!(chunks.push(ChunkKind::Message, None, "ok.\nThen"), [message("I look.\n", true)]);
        assert_eq!(chunks.push(ChunkKind::Thought, None, "hm"), [message("Then", false)]);
        let thought = AcpEvent::Thought { text: "hm".to_owned() };
        assert_eq!(chunks.push(ChunkKind::Message, Some("m2"), "Two"), [thought]);
        assert_eq!(chunks.push(ChunkKind::Message, Some("m3"), "Three"), [message("Two", true)]);
        assert_eq!(chunks.end(), Some(message("Three", true)));
        assert_eq!(chunks.end(), None);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut chunks = Chunks::default();
        let mut printed = 0;
        for _ in 0..1_000 {
            printed += chunks.push(ChunkKind::Message, None, &"x".repeat(1_000)).len();
            assert!(chunks.open.len() <= OPEN_BYTES_MAX);
        }
        assert!(printed > 10);
    }
}
