//! The agent's words, one message after another, as one text.

use crate::backend::markers::closing_fence;

/// Adds a message of its own paragraph, and says where it begins. What one message quotes does not hide the next: a code
/// fence that it leaves open is closed behind it.
pub(super) fn message(text: &mut Vec<u8>, message: &str) -> usize {
    let at = begin(text);
    text.extend_from_slice(message.as_bytes());
    close(text, at);
    at
}

/// Begins a message that comes in pieces, and says where.
pub(super) fn begin(text: &mut Vec<u8>) -> usize {
    end_line(text);
    if !text.is_empty() {
        text.push(b'\n');
    }
    text.len()
}

/// Ends the message that begins there.
pub(super) fn close(text: &mut Vec<u8>, from: usize) {
    end_line(text);
    let fence = closing_fence(&String::from_utf8_lossy(text.get(from..).unwrap_or_default()));
    if let Some(fence) = fence {
        text.extend_from_slice(fence.as_bytes());
        text.push(b'\n');
    }
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
