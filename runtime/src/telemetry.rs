//! Logs to standard error, spans, and the W3C trace context that travels with every message.
//!
//! [`init`] is called once by a process; libraries only use `tracing`, the names in [`fields`], and [`inject`] and
//! [`adopt`] at the places where a message is sent or taken. Spans have ids and are passed on whether they are
//! exported or not.

mod chain;
mod context;
pub mod fields;
mod setup;
#[cfg(test)]
mod tests;

pub use chain::ErrorChain;
pub use context::{adopt, inject};
pub use setup::{Guard, TelemetryError, init};
