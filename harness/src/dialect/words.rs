//! The agent's words, one message after another, as one text.

use crate::backend::markers::closing_fence;

/// Adds a message of its own paragraph, and says where it begins. What one message quotes does not hide the next: a code
/// fence that it leaves open is closed behind it.
pub(super) fn message(text: &mut Vec<u8>, message: &str) -> usize {
    end_line(text);
    if !text.is_empty() {
        text.push(b'\n');
    }
    let at = text.len();
    text.extend_from_slice(message.as_bytes());
    end_line(text);
    if let Some(fence) = closing_fence(message) {
        text.extend_from_slice(fence.as_bytes());
        text.push(b'\n');
    }
    at
}

/// Adds a line that is no event.
pub(super) fn plain(text: &mut Vec<u8>, line: &[u8]) {
    end_line(text);
    text.extend_from_slice(line);
    text.push(b'\n');
}

fn end_line(text: &mut Vec<u8>) {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
}
