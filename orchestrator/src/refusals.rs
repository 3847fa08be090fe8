//! Reporting to an agent what is wrong with its handoff.
//!
//! Not stored: the handoff is, and an agent that was away asks `progress` and sees its turn still open.

use holdpoint_bus::{Stored, handoffs::Received, signals};
use holdpoint_protocol::{
    api::RefusedHandoff,
    codec::{self, Encoding},
    ids::RoleId,
    refusal::RefusalCode,
    subjects,
};

use crate::shell::Shell;

/// The longest explanation, in characters: an error's chain may carry a program's whole output.
const ERROR_LEN_MAX: usize = 2_000;

/// Reports it to the agent whose key signed it. Where nobody's did, the agent that it names hears of it as of something
/// in its name; one that names nobody is not reported.
pub(crate) async fn tell(shell: &Shell, received: &Received, code: RefusalCode, error: &str) {
    teach(shell, received, code, error, None).await;
}

/// As [`tell`], with what programs learn from.
pub(crate) async fn teach(
    shell: &Shell,
    received: &Received,
    code: RefusalCode,
    error: &str,
    details: Option<serde_json::Value>,
) {
    let stored = &received.stored;
    let role = role(stored);
    let author = role.as_ref().and_then(|role| shell.senders.author(role, stored));
    let sender = author.as_ref().filter(|(_, signed)| *signed).map(|(agent, _)| agent.as_str());
    log(shell, stored, sender, code, error);
    let (Some(role), Some((agent, signed))) = (role, author) else { return };
    let reference = format!("{}/{}", received.stream, stored.sequence.0);
    let error = error.chars().take(ERROR_LEN_MAX).collect();
    let own = RefusedHandoff::new(stored.message_id.clone(), reference, code, error);
    let notice = RefusedHandoff { claimed: !signed, details, ..own };
    let Ok(payload) = codec::encode(&notice, Encoding::Json) else { return };
    let to = subjects::refused(&role, &agent);
    // An agent that does not hear it finds its turn still open.
    let _ = signals::send(&shell.bus, to, payload.into(), stored.traceparent.as_deref()).await;
}

/// Says it in the log, as often as one role may be spoken of, and one sender of it. Those whose signature shows nobody are one
/// sender.
fn log(shell: &Shell, stored: &Stored, sender: Option<&str>, code: RefusalCode, error: &str) {
    let role = role(stored).map(|role| role.to_string()).unwrap_or_default();
    if shell.may_log_of(&role, sender.unwrap_or_default()) {
        tracing::info!(subject = %stored.subject, %code, error, "handoff refused");
    }
}

/// The role of the sender: the broker lets a role publish on its own subjects only.
fn role(stored: &Stored) -> Option<RoleId> {
    stored.subject.strip_prefix(subjects::ROOT)?.strip_prefix(".handoff.")?.split('.').next()?.parse().ok()
}
