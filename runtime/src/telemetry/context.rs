//! W3C trace context, from a span into a header and back. `tracestate` is not carried: nothing here makes any.

use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

const TRACEPARENT: &str = "traceparent";

/// The one header that is carried.
struct Carrier(Option<String>);

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        if key == TRACEPARENT {
            self.0 = Some(value);
        }
    }
}

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.as_deref().filter(|_| key == TRACEPARENT)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

/// The `traceparent` that says "caused by this span"; `None` when the span is not recorded by this process.
#[must_use]
pub fn inject(span: &Span) -> Option<String> {
    let mut carrier = Carrier(None);
    TraceContextPropagator::new().inject_context(&span.context(), &mut carrier);
    carrier.0
}

/// Makes a span that was not entered yet a child of the sender's span. Without a valid `traceparent` it stays what it
/// is: a child of the current span, or the root of a trace of its own.
pub fn adopt(span: &Span, traceparent: Option<&str>) {
    use opentelemetry::trace::TraceContextExt as _;

    let Some(traceparent) = traceparent else { return };
    let context = TraceContextPropagator::new().extract(&Carrier(Some(traceparent.to_owned())));
    if context.span().span_context().is_valid() {
        // Fails only where nothing records spans, and then there is nothing to be a child of.
        let _ = span.set_parent(context);
    }
}
