use std::{fmt, io};

use tracing::info_span;

use super::{
    setup::{provider, with_spans},
    *,
};
use crate::config::TelemetryConfig;

fn recorded<T>(f: impl FnOnce() -> T) -> T {
    let provider = provider(&TelemetryConfig::default(), "test", "1").unwrap();
    let subscriber = with_spans(tracing_subscriber::registry(), &provider, "test");
    tracing::subscriber::with_default(subscriber, f)
}

fn trace_id(traceparent: &str) -> &str {
    traceparent.split('-').nth(1).unwrap()
}

#[test]
fn a_span_has_a_traceparent_without_any_exporter() {
    let traceparent = recorded(|| inject(&info_span!("turn"))).unwrap();
    assert_eq!(traceparent.len(), 55, "{traceparent}");
    assert!(traceparent.starts_with("00-"), "{traceparent}");
}

#[test]
fn a_trace_goes_on_in_another_process() {
    let sent = recorded(|| inject(&info_span!("decide"))).unwrap();
    let passed_on = recorded(|| {
        let span = info_span!("turn");
        adopt(&span, Some(&sent));
        let inner = span.in_scope(|| info_span!("work"));
        inject(&inner)
    });
    let passed_on = passed_on.unwrap();
    assert_eq!(trace_id(&passed_on), trace_id(&sent));
    assert_ne!(passed_on, sent);
}

#[test]
fn a_header_that_is_no_traceparent_begins_a_new_trace() {
    for sent in [None, Some(""), Some("00-zz-1-01"), Some("00-00000000000000000000000000000000-0000000000000000-01")] {
        let passed_on = recorded(|| {
            let span = info_span!("turn");
            adopt(&span, sent);
            inject(&span)
        });
        assert_eq!(passed_on.map(|traceparent| traceparent.len()), Some(55), "{sent:?}");
    }
}

#[test]
fn without_a_recorder_there_is_nothing_to_pass_on() {
    let span = info_span!("turn");
    adopt(&span, Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert_eq!(inject(&span), None);
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
