//! Making spans.
//!
//! There are two ways. Work that one process does from beginning to end is a `tracing` span of the target [`TRACE`],
//! which log lines do not show. Work that outlives a process, or is only known when it is over, is reported afterwards:
//! a [`PastSpan`]. Both cost next to nothing where nothing is exported.

use std::{
    borrow::Cow,
    cell::Cell,
    sync::{PoisonError, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use holdpoint_protocol::Timestamp;
use opentelemetry::{
    Context, KeyValue, SpanId, TraceId, Value,
    trace::{Event, Link, Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, SdkTracerProvider};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::{context::TraceContext, fields};

/// The target of `tracing` spans that are exported and do not show in logs:
/// `info_span!(target: telemetry::TRACE, "check")`.
pub const TRACE: &str = "holdpoint.trace";

/// Where told spans go to, once there is an exporter.
static TRACER: RwLock<Option<SdkTracer>> = RwLock::new(None);

thread_local! {
    /// The ids of the span that this thread makes next.
    static GIVEN: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
}

/// Random ids, unless others are given.
#[derive(Debug, Default)]
pub(super) struct GivenOrRandom(RandomIdGenerator);

impl IdGenerator for GivenOrRandom {
    fn new_trace_id(&self) -> TraceId {
        GIVEN.get().map_or_else(|| self.0.new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        GIVEN.get().map_or_else(|| self.0.new_span_id(), |(_, span)| span)
    }
}

fn with_ids<T>(context: &TraceContext, make: impl FnOnce() -> T) -> T {
    GIVEN.set(Some(context.ids()));
    let made = make();
    GIVEN.set(None);
    made
}

/// Lets told spans go to this provider's exporter.
pub(super) fn tell_to(provider: &SdkTracerProvider, tracer: SdkTracer) -> Telling {
    *TRACER.write().unwrap_or_else(PoisonError::into_inner) = Some(tracer);
    Telling(provider.clone())
}

/// While it lives, told spans are exported.
#[derive(Debug)]
pub(super) struct Telling(SdkTracerProvider);

impl Telling {
    pub(super) fn provider(&self) -> &SdkTracerProvider {
        &self.0
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        *TRACER.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether spans are exported at all: code that has to look something up for them asks first.
#[must_use]
pub fn is_recording() -> bool {
    TRACER.read().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// The time, to report a span later.
#[must_use]
pub fn now() -> SystemTime {
    opentelemetry::time::now()
}

/// A time of a journal, to report a span.
#[must_use]
pub fn time_of(timestamp: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(timestamp.as_millis()).unwrap_or_default())
}

/// A count as an attribute. The conventions know signed numbers only; others would be exported as texts.
#[must_use]
pub fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What a span is in a conversation of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanRole {
    /// Work within a process.
    Internal,
    /// A message is sent.
    Producer,
    /// A message is worked on.
    Consumer,
    /// A request is made.
    Client,
}

/// A span that is reported when it is over.
#[derive(Debug)]
pub struct PastSpan {
    context: TraceContext,
    parent: Option<TraceContext>,
    builder: SpanBuilder,
    status: Status,
}

impl PastSpan {
    /// One that began at `start`. Without a parent it is the root of its trace.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, context: TraceContext, start: SystemTime) -> Self {
        let builder = SpanBuilder::from_name(name).with_start_time(start).with_kind(SpanKind::Internal);
        Self { context, parent: None, builder, status: Status::Unset }
    }

    /// Below this one.
    #[must_use]
    pub fn below(mut self, parent: &TraceContext) -> Self {
        self.parent = Some(parent.clone());
        self
    }

    /// Of this kind; otherwise internal.
    #[must_use]
    pub fn kind(mut self, kind: SpanRole) -> Self {
        self.builder.span_kind = Some(match kind {
            SpanRole::Internal => SpanKind::Internal,
            SpanRole::Producer => SpanKind::Producer,
            SpanRole::Consumer => SpanKind::Consumer,
            SpanRole::Client => SpanKind::Client,
        });
        self
    }

    /// With an attribute of [`fields`].
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.builder.attributes.get_or_insert_with(Vec::new).push(KeyValue::new(name, value));
        self
    }

    /// With an attribute, where there is a value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Related to another span, for this reason.
    #[must_use]
    pub fn linked(mut self, to: &TraceContext, why: &'static str) -> Self {
        let link = Link::new(to.span_context(), vec![KeyValue::new(fields::LINK, why)], 0);
        self.builder.links.get_or_insert_with(Vec::new).push(link);
        self
    }

    /// Something happened during it.
    #[must_use]
    pub fn event(mut self, name: impl Into<Cow<'static, str>>, at: SystemTime) -> Self {
        self.builder.events.get_or_insert_with(Vec::new).push(Event::new(name, at, Vec::new(), 0));
        self
    }

    /// What was to be done failed, for this reason.
    #[must_use]
    pub fn failed(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.status = Status::error(why);
        self
    }

    /// Reports it; nothing where nothing is exported.
    pub fn ended(self, at: SystemTime) {
        let Some(tracer) = TRACER.read().unwrap_or_else(PoisonError::into_inner).clone() else { return };
        let Self { context, parent, builder, status } = self;
        let parent = parent.map_or_else(Context::new, |parent| parent.remote_parent());
        // Journals have milliseconds, and clocks are set: nothing ends before it began.
        let at = builder.start_time.map_or(at, |start| start.max(at));
        let mut span = with_ids(&context, || tracer.build_with_context(builder, &parent));
        span.set_status(status);
        span.end_with_timestamp(at);
    }
}

/// Where a `tracing` span is; `None` when it is not recorded.
#[must_use]
pub fn context_of(span: &Span) -> Option<TraceContext> {
    if span.is_disabled() {
        return None;
    }
    TraceContext::of_span(span.context().span().span_context())
}

/// Begins a `tracing` span below another process's, under an id of its own. Nothing if it is not recorded.
pub fn begin(span: &Span, parent: &TraceContext, own: &TraceContext) {
    if span.is_disabled() {
        return;
    }
    // Fails only where nothing records spans, and then there is nothing to be a child of.
    let _ = span.set_parent(parent.remote_parent());
    // Asking for its context is what makes it.
    let _ = with_ids(own, || span.context());
}

/// Relates a `tracing` span to another one.
pub fn link(span: &Span, to: &TraceContext, why: &'static str) {
    if !span.is_disabled() {
        span.add_link_with_attributes(to.span_context(), vec![KeyValue::new(fields::LINK, why)]);
    }
}

/// Says in a `tracing` span that what was to be done failed.
pub fn fail(span: &Span, why: impl Into<Cow<'static, str>>) {
    if !span.is_disabled() {
        span.set_status(Status::error(why));
    }
}
