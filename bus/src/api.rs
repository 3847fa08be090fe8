//! The micro service `holdpoint`: requests whose sender is known, and their answers.
//!
//! The orchestrator decides what an endpoint does; here a request is only let through when its sender showed a JWT
//! of the right role and signed it with that JWT's key.

mod client;
mod room;
mod server;

use serde::{Deserialize, Serialize};

pub use client::{ApiError, Call, request, request_hedged};
pub use server::{ApiRequest, ApiServer, ServeError, serve};

/// The code of a failure: the sender has too many requests in hand.
pub(crate) const TOO_MANY: u16 = 429;
/// The code of a failure: who could answer is starting, stopping or busy.
const UNAVAILABLE: u16 = 503;

/// Requests of one key in hand at once: more than one command, or a page for several people, asks at the same time.
pub const REQUESTS_IN_HAND: usize = 16;

/// Requests of one key that an orchestrator works on in a minute unless it is configured: several times what a page that follows
/// a flight, a bot or an agent sends.
pub const REQUESTS_PER_MINUTE: u32 = 12_000;

/// The name of the service in the broker's service discovery.
pub const SERVICE: &str = "holdpoint";

/// Why a request was not answered as it was meant: what goes back to the sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ApiFailure {
    /// As in HTTP: 400 the request is wrong, 403 not allowed, 404 no such thing, 409 not now, 429 too many requests at once,
    /// 500 our fault, 503 nobody can answer now.
    pub code: u16,
    /// For people.
    pub message: String,
}

impl ApiFailure {
    /// A failure with a code and words.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Whether the same request may be answered a moment later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        [TOO_MANY, UNAVAILABLE].contains(&self.code)
    }
}
