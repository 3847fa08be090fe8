//! Where in a trace something is: W3C trace context, and the ids that everybody can work out.
//!
//! A waypoint is one trace, flown by many processes of which each may die. So the ids of what outlives a process are no
//! random numbers: they follow from the flight, the waypoint and the turn, and any orchestrator, also one that was
//! started later, names the same spans. `tracestate` is not carried: nothing here makes any.

use std::sync::OnceLock;

use holdpoint_protocol::{
    Digest,
    ids::{ArtifactId, FlightId, TurnId, WaypointId},
};
use opentelemetry::{
    Context, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, TraceContextExt as _, TraceState},
};
use opentelemetry_sdk::trace::{Config, IdGenerator as _, RandomIdGenerator, SamplingDecision, ShouldSample};

/// The version of `traceparent` that is written.
const VERSION: &str = "00";
/// Lengths in hex digits.
const TRACE_LEN: usize = 32;
const SPAN_LEN: usize = 16;

/// One span of one trace, of any process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace: TraceId,
    span: SpanId,
    sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`; `None` for anything that is none.
    #[must_use]
    pub fn read(traceparent: &str) -> Option<Self> {
        let lower_hex = |text: &&str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut parts = traceparent.split('-');
        let version = parts.next().filter(|v| v.len() == 2 && *v != "ff").filter(lower_hex)?;
        let trace = parts.next().filter(|t| t.len() == TRACE_LEN).filter(lower_hex)?;
        let span = parts.next().filter(|s| s.len() == SPAN_LEN).filter(lower_hex)?;
        let flags = parts.next().filter(|f| f.len() == 2).filter(lower_hex)?;
        // Later versions may say more; this one says just that.
        if version == VERSION && parts.next().is_some() {
            return None;
        }
        let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        (trace != TraceId::INVALID && span != SpanId::INVALID).then_some(Self { trace, span, sampled })
    }

    /// As a header's value.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("{VERSION}-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }

    /// 32 hex digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        self.trace.to_string()
    }

    /// 16 hex digits.
    #[must_use]
    pub fn span_id(&self) -> String {
        self.span.to_string()
    }

    /// Whether the spans of its trace are exported.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    pub(super) fn ids(&self) -> (TraceId, SpanId) {
        (self.trace, self.span)
    }

    pub(super) fn of_span(span: &SpanContext) -> Option<Self> {
        span.is_valid().then(|| Self { trace: span.trace_id(), span: span.span_id(), sampled: span.is_sampled() })
    }

    pub(super) fn span_context(&self) -> SpanContext {
        let flags = TraceFlags::default().with_sampled(self.sampled);
        SpanContext::new(self.trace, self.span, flags, true, TraceState::NONE)
    }

    /// For being the parent of a span of this process.
    pub(super) fn remote_parent(&self) -> Context {
        Context::new().with_remote_span_context(self.span_context())
    }
}

/// The trace of one waypoint, and the spans in it that have ids of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaypointTrace {
    trace: TraceId,
    sampled: bool,
}

impl WaypointTrace {
    /// The trace of this waypoint. Whether it is exported is the sampler's word, the same in every process.
    #[must_use]
    pub fn of(flight: &FlightId, waypoint: &WaypointId) -> Self {
        let hex = hex_of(&["trace", flight.as_str(), waypoint.as_str()]);
        let trace = TraceId::from_hex(hex.get(..TRACE_LEN).unwrap_or_default()).unwrap_or(TraceId::INVALID);
        Self { trace, sampled: is_sampled(trace) }
    }

    /// The trace that a message was sent in.
    #[must_use]
    pub fn around(context: &TraceContext) -> Self {
        Self { trace: context.trace, sampled: context.sampled }
    }

    /// The waypoint as a whole: what every other span is below.
    #[must_use]
    pub fn root(&self) -> TraceContext {
        // One a trace: the trace's id is enough.
        self.span(&["waypoint", &self.trace.to_string()])
    }

    /// A turn, from its opening to its answer.
    #[must_use]
    pub fn turn(&self, turn: &TurnId) -> TraceContext {
        self.span(&["turn", turn.as_str()])
    }

    /// The sending of a turn.
    #[must_use]
    pub fn sending(&self, turn: &TurnId) -> TraceContext {
        self.span(&["send", turn.as_str()])
    }

    /// One delivery of a turn in the hands of an agent.
    #[must_use]
    pub fn delivery(&self, turn: &TurnId, number: u32) -> TraceContext {
        self.span(&["delivery", turn.as_str(), &number.to_string()])
    }

    /// A decision.
    #[must_use]
    pub fn decision(&self, decision: &ArtifactId) -> TraceContext {
        self.span(&["decision", decision.as_str()])
    }

    /// A span that nobody else needs to name.
    #[must_use]
    pub fn another(&self) -> TraceContext {
        TraceContext { trace: self.trace, span: RandomIdGenerator::default().new_span_id(), sampled: self.sampled }
    }

    /// Whether something said to be part of this trace is.
    #[must_use]
    pub fn has(&self, context: &TraceContext) -> bool {
        self.trace == context.trace
    }

    fn span(&self, words: &[&str]) -> TraceContext {
        let hex = hex_of(words);
        let span = SpanId::from_hex(hex.get(..SPAN_LEN).unwrap_or_default()).unwrap_or(SpanId::INVALID);
        TraceContext { trace: self.trace, span, sampled: self.sampled }
    }
}

/// Ids are single words, so lines cannot be mistaken for others.
fn hex_of(words: &[&str]) -> String {
    Digest::of(format!("holdpoint/v1\n{}", words.join("\n")).as_bytes()).hex()
}

/// What the sampler of this process says of a trace that begins. It looks at the trace's id only, so that processes
/// with the same variables agree.
fn is_sampled(trace: TraceId) -> bool {
    static SAMPLER: OnceLock<Box<dyn ShouldSample>> = OnceLock::new();
    let sampler = SAMPLER.get_or_init(|| Config::default().sampler);
    let said = sampler.should_sample(None, trace, "waypoint", &SpanKind::Internal, &[], &[]);
    said.decision == SamplingDecision::RecordAndSample
}
