use std::{
    fmt, io,
    sync::{Arc, Mutex},
};

use holdpoint_protocol::ids::{FlightId, TurnId, WaypointId};
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use tracing::info_span;
use tracing_subscriber::{Layer as _, filter::filter_fn, layer::SubscriberExt as _};

use super::{
    lines::{JsonLines, text_fields},
    setup::layer,
    spans::{GivenOrRandom, tell_to},
    *,
};

const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps what is exported.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

fn provider(kept: &Kept) -> SdkTracerProvider {
    let builder = SdkTracerProvider::builder().with_id_generator(GivenOrRandom::default());
    builder.with_simple_exporter(kept.clone()).build()
}

/// The spans that `work` makes.
fn recorded(work: impl FnOnce()) -> Vec<SpanData> {
    let kept = Kept::default();
    let provider = provider(&kept);
    let subscriber = tracing_subscriber::registry().with(layer(provider.tracer("test")));
    tracing::subscriber::with_default(subscriber, work);
    provider.shutdown().unwrap();
    let spans = kept.0.lock().unwrap();
    spans.clone()
}

fn trace() -> WaypointTrace {
    WaypointTrace::of(&"greet-1".parse::<FlightId>().unwrap(), &"hello".parse::<WaypointId>().unwrap())
}

fn turn() -> TurnId {
    "t1".parse().unwrap()
}

#[test]
fn trace_context_survives_a_header() {
    let context = TraceContext::read(SENT).unwrap();
    assert_eq!(context.traceparent(), SENT);
    assert_eq!((context.trace_id().len(), context.span_id().as_str()), (32, "b7ad6b7169203331"));
    assert!(context.is_sampled());
    assert!(!TraceContext::read(&SENT.replace("-01", "-00")).unwrap().is_sampled());
    // Of a later version what this one says is taken.
    assert_eq!(TraceContext::read(&format!("{}-more", SENT.replace("00-", "01-"))), Some(context));
}

#[test]
fn what_is_no_trace_context_is_passed_over() {
    for sent in [
        "",
        "00",
        "00-zz-1-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ] {
        assert_eq!(TraceContext::read(sent), None, "{sent:?}");
    }
}

proptest::proptest! {
    /// Headers of agents are read as they come.
    #[test]
    fn any_header_is_read_as_it_would_be_written_or_passed_over(text in "[0-9a-f+-]{0,60}|[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|.*") {
        if let Some(context) = TraceContext::read(&text) {
            let written = context.traceparent();
            proptest::prop_assert_eq!(TraceContext::read(&written), Some(context));
            proptest::prop_assert_eq!(&written[3..52], &text[3..52]);
        }
    }
}

#[test]
fn everybody_names_the_same_spans_of_a_waypoint_and_no_two_are_the_same() {
    let (here, there) = (trace(), trace());
    assert_eq!(here, there);
    let named = [
        here.root(),
        here.turn(&turn()),
        here.sending(&turn()),
        here.delivery(&turn(), 1),
        here.delivery(&turn(), 2),
        here.decision(&"t1".parse().unwrap()),
        here.another(),
        here.another(),
    ];
    for (n, context) in named.iter().enumerate() {
        assert!(here.has(context));
        assert!(!named.iter().skip(n + 1).any(|other| other == context), "{context:?}");
    }
    let other = WaypointTrace::of(&"greet-1".parse().unwrap(), &"bye".parse().unwrap());
    assert_ne!(here, other);
    assert_eq!(WaypointTrace::around(&there.turn(&turn())).turn(&turn()), here.turn(&turn()));
}

#[test]
fn a_span_goes_on_below_another_process_under_the_id_that_was_named() {
    let (parent, own) = (trace().turn(&turn()), trace().delivery(&turn(), 2));
    let spans = recorded(|| {
        let span = info_span!(target: TRACE, "process turn", otel.kind = "consumer");
        begin(&span, &parent, &own);
        link(&span, &trace().delivery(&turn(), 1), "earlier_delivery");
        assert_eq!(context_of(&span), Some(own.clone()));
        let _inner = span.in_scope(|| info_span!(target: TRACE, "check"));
        fail(&span, "given back");
    });
    let span = spans.iter().find(|span| span.name == "process turn").unwrap();
    assert_eq!(span.span_context.trace_id().to_string(), parent.trace_id());
    assert_eq!(span.span_context.span_id().to_string(), own.span_id());
    assert_eq!(span.parent_span_id.to_string(), parent.span_id());
    assert_eq!((&span.span_kind, &span.status), (&SpanKind::Consumer, &Status::error("given back")));
    let link = span.links.iter().next().unwrap();
    assert_eq!(link.span_context.span_id().to_string(), trace().delivery(&turn(), 1).span_id());
    let inner = spans.iter().find(|span| span.name == "check").unwrap();
    assert_eq!(inner.parent_span_id, span.span_context.span_id());
    assert_ne!(inner.span_context.span_id(), span.span_context.span_id());
}

#[test]
fn a_past_span_is_told_with_its_times_once_somebody_listens() {
    let (start, end) = (time_of(holdpoint_protocol::Timestamp::from_millis(1_000)), now());
    let tell = || {
        let span = PastSpan::new("turn build", trace().turn(&turn()), start).below(&trace().root());
        let span = span.with(fields::ATTEMPT, 2_i64).with_some(fields::AGENT, None::<String>).kind(SpanRole::Client);
        span.linked(&trace().root(), "opened_by").event("landed", end).failed("out of luck").ended(end);
        PastSpan::new("waypoint", trace().root(), start).ended(end);
    };
    assert!(!is_recording());
    tell();
    let kept = Kept::default();
    let provider = provider(&kept);
    let telling = tell_to(&provider, provider.tracer("test"));
    assert!(is_recording());
    tell();
    drop(telling);
    let spans = kept.0.lock().unwrap();
    let [turned, root] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!((turned.start_time, turned.end_time), (start, end));
    assert_eq!(turned.parent_span_id, root.span_context.span_id());
    assert_eq!(root.span_context.trace_id().to_string(), trace().root().trace_id());
    assert_eq!(root.parent_span_id, opentelemetry::SpanId::INVALID);
    assert_eq!((turned.attributes.len(), turned.links.len(), turned.events.len()), (1, 1, 1));
    assert_eq!((&turned.span_kind, &turned.status), (&SpanKind::Client, &Status::error("out of luck")));
}

#[test]
fn spans_of_our_target_alone_are_exported_and_lines_are_no_events() {
    let spans = recorded(|| {
        let _other = info_span!("turn").entered();
        let _ours = info_span!(target: TRACE, "process turn").entered();
        tracing::info!(secret = "x", "a line");
    });
    assert_eq!(spans.iter().map(|span| span.name.as_ref()).collect::<Vec<_>>(), ["process turn"]);
    assert_eq!((spans[0].events.len(), spans[0].attributes.len()), (0, 0), "{spans:?}");
}

#[test]
fn without_a_recorder_nothing_is_made() {
    let span = info_span!(target: TRACE, "turn");
    begin(&span, &TraceContext::read(SENT).unwrap(), &trace().root());
    assert_eq!(context_of(&span), None);
}

/// A writer whose bytes can be read afterwards.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_json_line_has_the_ids_of_the_nearest_trace_at_its_top() {
    let written = Written::default();
    let to = written.clone();
    let lines = tracing_subscriber::fmt::layer().with_writer(move || to.clone()).json().event_format(JsonLines);
    let lines = lines.with_filter(filter_fn(|metadata| metadata.target() != TRACE));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
        let turn = info_span!("turn", { fields::TRACE_ID } = "t", { fields::SPAN_ID } = "s", { fields::FLIGHT } = "f");
        let _turn = turn.entered();
        let _hidden = info_span!(target: TRACE, "process turn").entered();
        let _inner = info_span!("inner", { fields::ROLE } = "builder").entered();
        tracing::warn!(n = 3, ok = true, "careful");
    });
    let bytes = written.0.lock().unwrap().clone();
    let line: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((&line["trace_id"], &line["span_id"], &line["level"]), (&"t".into(), &"s".into(), &"WARN".into()));
    assert_eq!(line["fields"], serde_json::json!({"message": "careful", "n": 3, "ok": true}));
    assert_eq!(line["span"], serde_json::json!({"name": "inner", "holdpoint.role": "builder"}));
    assert!(line["timestamp"].is_string() && bytes.ends_with(b"\n"));
}

#[test]
fn an_event_is_one_line_with_nothing_hidden_whatever_it_quotes() {
    let said = "x\u{1b}[2J\n2026-01-01T00:00:00Z ERROR forged\u{202e}\u{2028}\u{200b}\r\u{9b}";
    let as_text = Written::default();
    let as_json = Written::default();
    let (to_text, to_json) = (as_text.clone(), as_json.clone());
    let text = tracing_subscriber::fmt::layer().with_writer(move || to_text.clone()).with_ansi(false);
    let json = tracing_subscriber::fmt::layer().with_writer(move || to_json.clone()).json().event_format(JsonLines);
    let lines = tracing_subscriber::registry().with(text.fmt_fields(text_fields())).with(json);
    tracing::subscriber::with_default(lines, || {
        let _span = info_span!("turn", title = %said).entered();
        tracing::warn!(why = %said, n = 1, error = said, "refused: {said}");
    });
    for written in [&as_text, &as_json] {
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let line = text.strip_suffix('\n').unwrap();
        assert_eq!(holdpoint_text::shown::first_hidden(line), None, "{text:?}");
    }
    let text = String::from_utf8(as_text.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("refused: x\\u{1b}[2J\\n2026-01-01") && text.contains(" n=1 "), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&as_json.0.lock().unwrap()).unwrap();
    assert_eq!((&json["fields"]["why"], &json["span"]["title"]), (&said.into(), &said.into()));
}

#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read the plan")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn a_chain_shows_every_cause() {
    let error = Outer(io::Error::other("disk on fire"));
    assert_eq!(ErrorChain(&error).to_string(), "cannot read the plan: disk on fire");
}
