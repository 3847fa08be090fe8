//! `trace` and `otlp-sink`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use holdpoint_protocol::ids::{FlightId, WaypointId};
use holdpoint_runtime::config::ByteSize;

/// `trace`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint trace harden-client-0a1b2c3d retry-backoff --from traces.jsonl\n\n\
    One line a span, below what it is part of: its name, who did it, when it began after the beginning of the trace, and \
    how long it took. docs/tracing.md says what each span means. With Jaeger, search for the tag holdpoint.waypoint.")]
pub(crate) struct TraceArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// The waypoint; without it the traces of all of them
    pub(crate) waypoint: Option<WaypointId>,
    /// The file that `otlp-sink --out` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// Print the spans as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `otlp-sink`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    holdpoint otlp-sink --out traces.jsonl &\n  \
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 holdpoint run plan.yaml --builder ./agent.sh\n  \
    holdpoint trace FLIGHT --from traces.jsonl\n\n\
    It takes OTLP over gRPC, without TLS and from anybody who reaches the port, and writes one JSON object a span. It is \
    for machines without a collector; Jaeger shows more.")]
pub(crate) struct SinkArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4317")]
    pub(crate) listen: SocketAddr,
    /// Where to append the spans to; without it they go to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Where to append metrics to; without it they are refused
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
    /// How large each file may grow before it becomes FILE.1 and another is begun
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub(crate) limit: ByteSize,
    /// Only look whether a sink listens there: exit 0 if it does, 3 if not
    #[arg(long, conflicts_with = "out")]
    pub(crate) healthcheck: bool,
}
