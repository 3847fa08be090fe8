//! Receives traces and metrics over OTLP/gRPC and gives them on as plain data: for tests, and for machines without a collector.
//!
//! It is no collector: it keeps nothing, searches nothing and lets everybody in who reaches its port.

mod file;
mod point;
mod receive;
mod span;
mod tree;

pub use file::{LinesFile, read_file};
pub use point::Point;
pub use receive::{Receiver, SinkError};
pub use span::{ReceivedSpan, SpanLink};
pub use tree::{SpanFilter, tree};
