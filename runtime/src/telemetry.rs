//! Logs to standard error, spans, and the W3C trace context that travels with every message (ADR 10).
//!
//! [`init`] is called once by a process. Libraries use `tracing` for log lines, the names in [`fields`], spans of the
//! target [`TRACE`] for what one process does, and [`PastSpan`] for what outlives one. [`WaypointTrace`] says which ids
//! they have. Trace context is passed on whether spans are exported or not.

mod context;
mod export;
pub mod fields;
mod lines;
mod setup;
mod spans;
#[cfg(test)]
mod tests;

pub use context::{TraceContext, WaypointTrace};
pub use export::{VariableError, otel_variables};
pub use holdpoint_text::chain::ErrorChain;
pub use setup::{TelemetryError, TelemetryGuard, init, log_ids, metrics_endpoint, process_attributes};
pub use spans::{PastSpan, SpanRole, TRACE, begin, context_of, fail, is_recording, link, now, number, time_of};
