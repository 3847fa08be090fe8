//! What is kept of a program's output: all of it as evidence, the last lines for people.

use std::fmt::Write;

use holdpoint_evidence::telling;
use holdpoint_sandbox::Ended;
use holdpoint_text::shown;

use crate::backend::BackendResult;

/// The longest last words, in bytes.
const WORDS_BYTES_MAX: usize = 2 << 10;

/// The last paragraph of what an agent said, as printable text; `None`: it said nothing.
#[must_use]
pub fn last_words(text: &[u8]) -> Option<String> {
    // Twice the bytes are decoded, so that a character cut at the front does not matter.
    let start = text.len().saturating_sub(2 * WORDS_BYTES_MAX);
    let text = String::from_utf8_lossy(text.get(start..).unwrap_or_default());
    let text = shown::lines(&text);
    let text = text.trim();
    let last = text.rsplit("\n\n").find(|paragraph| !paragraph.trim().is_empty())?.trim();
    let from = last.ceil_char_boundary(last.len().saturating_sub(WORDS_BYTES_MAX));
    Some(last.get(from..).unwrap_or_default().to_owned())
}

/// The whole output as it is stored: what was run, how it ended, and both streams. Never empty.
#[must_use]
pub fn evidence(result: &BackendResult) -> Vec<u8> {
    let mut head = format!("$ {}\n", result.command);
    let _ = match result.ended {
        Ended::Exited(code) => write!(head, "exit code {code}"),
        Ended::Signalled(signal) => write!(head, "ended by {}", telling::signal(signal)),
        Ended::TimedOut => write!(head, "ended: its time was up"),
        Ended::OutputLimit => write!(head, "ended: it printed more than it may"),
        Ended::MemoryLimit => write!(head, "ended: it used more memory than it may"),
        Ended::DiskLimit => write!(head, "ended: it used up more disk space than it may"),
    };
    let _ = writeln!(head, " after {} ms", result.duration.as_millis());
    let mut bytes = head.into_bytes();
    for (name, stream) in [("output", &result.stdout), ("error", &result.stderr)] {
        bytes.extend_from_slice(format!("--- standard {name}, {} bytes ---\n", stream.len()).as_bytes());
        bytes.extend_from_slice(stream);
        if !stream.is_empty() && !stream.ends_with(b"\n") {
            bytes.push(b'\n');
        }
    }
    bytes
}
