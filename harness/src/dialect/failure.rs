//! What the words of a failure say: whether the provider refuses for the time being, and whether the conversation is too long.

use super::{Limited, Said};

/// How a provider's "not now" reads. The statuses come first.
const STATUSES: [u16; 3] = [429, 503, 529];
const NOT_NOW: [&str; 5] = ["too many requests", "overloaded", "usage limit", "rate limit", "at capacity"];
/// How a conversation that is too long reads.
const TOO_LONG: [&str; 3] = ["context_length_exceeded", "context window", "ran out of room"];

/// The run failed with this message.
pub(super) fn failed(message: Option<&str>, said: &mut Said) {
    let message = message.unwrap_or("the run failed");
    said.set_error(message);
    let words = message.to_ascii_lowercase();
    said.context_full = TOO_LONG.iter().any(|sign| words.contains(sign));
    let status = STATUSES
        .into_iter()
        .find(|status| words.contains(&format!("status {status}")) || words.contains(&format!("status: {status}")));
    let limited = status.is_some() || NOT_NOW.iter().any(|sign| words.contains(sign));
    said.rate_limited = (limited && !said.context_full).then_some(Limited { status, until: None });
}
