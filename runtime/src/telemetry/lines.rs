//! Log lines. Fields quote plans and agents: what cannot be seen is written out, and an event is one line whatever it quotes.
//!
//! As text the format is the library's; as JSON it is one object a line, with the ids of the trace at the top.

use std::fmt;

use holdpoint_text::shown;
use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    field::MakeExt as _,
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::{Writer, debug_fn},
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

use super::fields;

/// How a terminal shows the name of a field, and the sign after it, as the library does.
const ITALIC: &str = "\u{1b}[3m";
const DIM: &str = "\u{1b}[2m";
const RESET: &str = "\u{1b}[0m";

/// Writes fields as text.
pub(super) fn text_fields() -> impl for<'a> FormatFields<'a> {
    debug_fn(write_field).delimited(" ")
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = shown::line(&value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name if writer.has_ansi_escapes() => write!(writer, "{ITALIC}{name}{RESET}{DIM}={RESET}{value}"),
        name => write!(writer, "{name}={value}"),
    }
}

/// Writes `timestamp`, `level`, `target`, `trace_id`, `span_id`, `fields`, and in `span` the fields of the span it was
/// written in.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, cx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = Map::new();
        let mut time = String::new();
        // A clock that cannot be read leaves the time out.
        if SystemTime.format_time(&mut Writer::new(&mut time)).is_ok() {
            line.insert("timestamp".to_owned(), time.into());
        }
        line.insert("level".to_owned(), event.metadata().level().as_str().into());
        line.insert("target".to_owned(), event.metadata().target().into());
        if let Some(mut span) = cx.lookup_current().and_then(|span| written_fields::<S, N>(&span)) {
            for id in [fields::TRACE_ID, fields::SPAN_ID] {
                if let Some(value) = span.remove(id) {
                    line.insert(id.to_owned(), value);
                }
            }
            line.insert("span".to_owned(), span.into());
        }
        let mut said = Fields(Map::new());
        event.record(&mut said);
        line.insert("fields".to_owned(), said.0.into());
        writeln!(writer, "{}", shown::json(&Value::from(line).to_string()))
    }
}

/// The fields of a span, with its name, and the ids of the nearest span around it that has them.
fn written_fields<S, N>(span: &tracing_subscriber::registry::SpanRef<'_, S>) -> Option<Map<String, Value>>
where
    S: for<'a> LookupSpan<'a>,
    N: 'static,
{
    let read = |span: &tracing_subscriber::registry::SpanRef<'_, S>| -> Option<Map<String, Value>> {
        serde_json::from_str(span.extensions().get::<FormattedFields<N>>()?.as_str()).ok()
    };
    let mut own = read(span)?;
    own.insert("name".to_owned(), span.name().into());
    if !own.contains_key(fields::TRACE_ID) {
        let around = span.scope().skip(1).find_map(|outer| read(&outer).filter(|f| f.contains_key(fields::TRACE_ID)));
        for (id, value) in around.into_iter().flatten() {
            if [fields::TRACE_ID, fields::SPAN_ID].contains(&id.as_str()) {
                own.insert(id, value);
            }
        }
    }
    Some(own)
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}
