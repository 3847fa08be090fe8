//! A span as plain data: one JSON object a line in a file.

use std::{collections::BTreeMap, fmt::Write as _};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value},
    trace::v1::{span::SpanKind, status::StatusCode},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A span as it was received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceivedSpan {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits.
    pub span_id: String,
    /// 16 hex digits; `None` for the root of a trace.
    pub parent_span_id: Option<String>,
    /// What was done.
    pub name: String,
    /// `internal`, `server`, `client`, `producer`, `consumer` or `unspecified`.
    pub kind: String,
    /// Nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub end_ns: u64,
    /// Why it failed; `None` if it did not.
    pub error: Option<String>,
    /// Its attributes.
    pub attributes: BTreeMap<String, Value>,
    /// Spans that it is related to.
    pub links: Vec<SpanLink>,
    /// Names of what happened during it.
    pub events: Vec<String>,
    /// The attributes of the process that made it: `service.name` and others.
    pub resource: BTreeMap<String, Value>,
}

/// A relation to another span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanLink {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits.
    pub span_id: String,
    /// Its attributes.
    pub attributes: BTreeMap<String, Value>,
}

impl ReceivedSpan {
    /// An attribute that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    /// The name of the service that made it.
    #[must_use]
    pub fn service(&self) -> &str {
        self.resource.get("service.name").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Everything in a request.
pub(crate) fn spans_of(request: ExportTraceServiceRequest) -> Vec<ReceivedSpan> {
    let mut spans = Vec::new();
    for batch in request.resource_spans {
        let resource = attributes(batch.resource.map(|resource| resource.attributes).unwrap_or_default());
        for span in batch.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let kind = SpanKind::try_from(span.kind).unwrap_or(SpanKind::Unspecified).as_str_name();
            let status = span.status.filter(|status| status.code == i32::from(StatusCode::Error));
            let links = span.links.into_iter().map(|link| SpanLink {
                trace_id: hex(&link.trace_id),
                span_id: hex(&link.span_id),
                attributes: attributes(link.attributes),
            });
            spans.push(ReceivedSpan {
                trace_id: hex(&span.trace_id),
                span_id: hex(&span.span_id),
                parent_span_id: Some(hex(&span.parent_span_id)).filter(|id| !id.is_empty()),
                name: span.name,
                kind: kind.trim_start_matches("SPAN_KIND_").to_lowercase(),
                start_ns: span.start_time_unix_nano,
                end_ns: span.end_time_unix_nano,
                error: status.map(|status| status.message),
                attributes: attributes(span.attributes),
                links: links.collect(),
                events: span.events.into_iter().map(|event| event.name).collect(),
                resource: resource.clone(),
            });
        }
    }
    spans
}

pub(crate) fn attributes(pairs: Vec<KeyValue>) -> BTreeMap<String, Value> {
    pairs.into_iter().map(|pair| (pair.key, pair.value.map_or(Value::Null, value))).collect()
}

fn value(any: AnyValue) -> Value {
    match any.value {
        Some(any_value::Value::StringValue(text)) => text.into(),
        Some(any_value::Value::BoolValue(flag)) => flag.into(),
        Some(any_value::Value::IntValue(number)) => number.into(),
        Some(any_value::Value::DoubleValue(number)) => number.into(),
        Some(any_value::Value::ArrayValue(array)) => array.values.into_iter().map(value).collect(),
        Some(any_value::Value::BytesValue(bytes)) => hex(&bytes).into(),
        Some(other) => format!("{other:?}").into(),
        None => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
