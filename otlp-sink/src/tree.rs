//! Spans as a tree of text, for people without a page to look at.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use holdpoint_text::shown;

use crate::ReceivedSpan;

/// Which spans are shown.
#[derive(Debug, Clone, Default)]
pub struct SpanFilter {
    /// Of this flight.
    pub flight: String,
    /// And of this waypoint; `None`: of all of them.
    pub waypoint: Option<String>,
}

impl SpanFilter {
    /// The ids of the traces that are wanted.
    #[must_use]
    pub fn traces<'a>(&self, spans: &'a [ReceivedSpan]) -> BTreeSet<&'a str> {
        let is_wanted = |span: &&ReceivedSpan| {
            let waypoint = span.text("holdpoint.waypoint");
            span.text("holdpoint.flight") == Some(self.flight.as_str())
                && self.waypoint.as_ref().is_none_or(|id| waypoint == Some(id))
        };
        spans.iter().filter(is_wanted).map(|span| span.trace_id.as_str()).collect()
    }
}

/// Attributes that are shown after a span's name, each with the word for it.
const SHOWN: [(&str, &str); 10] = [
    ("holdpoint.waypoint", ""),
    ("holdpoint.criterion", ""),
    ("holdpoint.tested", "on "),
    ("holdpoint.agent", "by "),
    ("holdpoint.attempt", "attempt "),
    ("holdpoint.delivery", "delivery "),
    ("holdpoint.verdict", ""),
    ("holdpoint.disposition", ""),
    ("holdpoint.reason_code", ""),
    ("holdpoint.settled", ""),
];

/// Where a waypoint's time goes: the words for it, and the names with which the spans begin that are summed up.
const SUMS: [(&str, &[&str]); 4] = [
    ("in queues", &["queue turn"]),
    ("in agents' programs", &["invoke_agent "]),
    ("in checks", &["check", "setup"]),
    ("in merges and landings", &["merge", "land"]),
];

/// The traces of what is wanted, the oldest first: a line a span, below its parent, and a line that sums up.
#[must_use]
pub fn tree(spans: &[ReceivedSpan], wanted: &SpanFilter) -> String {
    let mut traces: Vec<Trace<'_>> = wanted.traces(spans).into_iter().map(|id| Trace::new(spans, id)).collect();
    traces.sort_by_key(|trace| trace.begin_ns);
    let mut text = String::new();
    for trace in traces {
        let _ = writeln!(text, "trace {}", trace.id);
        for top in &trace.tops {
            trace.write(&mut text, top, 0);
        }
        trace.write_sums(&mut text);
    }
    text
}

struct Trace<'a> {
    id: &'a str,
    begin_ns: u64,
    /// Spans without a parent, or whose parent is not there.
    tops: Vec<&'a ReceivedSpan>,
    below: BTreeMap<&'a str, Vec<&'a ReceivedSpan>>,
}

impl<'a> Trace<'a> {
    fn new(spans: &'a [ReceivedSpan], id: &'a str) -> Self {
        let mut own: Vec<&ReceivedSpan> = spans.iter().filter(|span| span.trace_id == id).collect();
        own.sort_by_key(|span| (span.start_ns, span.end_ns));
        let there: BTreeSet<&str> = own.iter().map(|span| span.span_id.as_str()).collect();
        let (mut tops, mut below) = (Vec::new(), BTreeMap::<&str, Vec<&ReceivedSpan>>::new());
        for span in &own {
            match span.parent_span_id.as_deref().filter(|parent| there.contains(parent)) {
                Some(parent) => below.entry(parent).or_default().push(*span),
                None => tops.push(*span),
            }
        }
        Self { id, begin_ns: own.first().map_or(0, |span| span.start_ns), tops, below }
    }

    /// What is under way at the same time counts twice.
    fn write_sums(&self, text: &mut String) {
        let spans = || self.tops.iter().chain(self.below.values().flatten());
        let took_ms = |span: &&&ReceivedSpan| span.end_ns.saturating_sub(span.start_ns) / 1_000_000;
        let end_ns = spans().map(|span| span.end_ns).max().unwrap_or(self.begin_ns);
        let _ = write!(text, "  in all {} ms:", end_ns.saturating_sub(self.begin_ns) / 1_000_000);
        for (index, (words, names)) in SUMS.iter().enumerate() {
            let is_one = |span: &&&ReceivedSpan| {
                names.iter().any(|name| span.name == *name || (name.ends_with(' ') && span.name.starts_with(name)))
            };
            let sum: u64 = spans().filter(is_one).map(|span| took_ms(&span)).sum();
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(text, "{comma} {sum} ms {words}");
        }
        text.push('\n');
    }

    fn write(&self, text: &mut String, span: &ReceivedSpan, depth: usize) {
        let after_ms = span.start_ns.saturating_sub(self.begin_ns) / 1_000_000;
        let took_ms = span.end_ns.saturating_sub(span.start_ns) / 1_000_000;
        let (indent, name, service) = ("  ".repeat(depth + 1), shown::line(&span.name), shown::line(span.service()));
        let _ = write!(text, "{indent}{name}  [{service}] +{after_ms} ms, {took_ms} ms");
        for (attribute, word) in SHOWN {
            if let Some(value) = span.attributes.get(attribute) {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let _ = write!(text, ", {word}{}", shown::line(&value));
            }
        }
        if let Some(error) = &span.error {
            let _ = write!(text, "  FAILED: {}", shown::line(error));
        }
        if depth == 0 && span.parent_span_id.is_some() {
            text.push_str("  (its parent is not there)");
        }
        text.push('\n');
        for child in self.below.get(span.span_id.as_str()).into_iter().flatten() {
            self.write(text, child, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: &str, parent: Option<&str>, name: &str, start_ms: u64) -> ReceivedSpan {
        let attributes = [("holdpoint.flight", "f"), ("holdpoint.waypoint", "w"), ("holdpoint.verdict", "pass")];
        ReceivedSpan {
            trace_id: "t".to_owned(),
            span_id: id.to_owned(),
            parent_span_id: parent.map(str::to_owned),
            name: name.to_owned(),
            kind: "internal".to_owned(),
            start_ns: start_ms * 1_000_000,
            end_ns: (start_ms + 5) * 1_000_000,
            error: None,
            attributes: attributes.map(|(name, value)| (name.to_owned(), value.into())).into(),
            links: Vec::new(),
            events: Vec::new(),
            resource: [("service.name".to_owned(), "s".into())].into(),
        }
    }

    #[test]
    fn children_stand_below_their_parent_in_the_order_they_began() {
        let spans = [span("c", Some("a"), "later", 9), span("b", Some("a"), "sooner", 2), span("a", None, "root", 1)];
        let wanted = SpanFilter { flight: "f".to_owned(), waypoint: Some("w".to_owned()) };
        assert_eq!(
            tree(&spans, &wanted),
            "trace t\n  root  [s] +0 ms, 5 ms, w, pass\n    sooner  [s] +1 ms, 5 ms, w, pass\n    later  [s] +8 ms, 5 ms, w, pass\n  \
             in all 13 ms: 0 ms in queues, 0 ms in agents' programs, 0 ms in checks, 0 ms in merges and landings\n"
        );
        assert_eq!(tree(&spans, &SpanFilter { waypoint: Some("x".to_owned()), ..wanted }), "");
    }

    #[test]
    fn a_trace_says_where_the_time_went() {
        let mut invoked = span("b", Some("a"), "invoke_agent b1", 20);
        invoked.end_ns += 100_000_000;
        let spans = [span("a", None, "waypoint", 1), span("q", Some("a"), "queue turn", 2), invoked];
        let checks = ["check", "check", "checkout", "land"].iter().enumerate();
        let checks = checks.map(|(n, name)| span(&format!("c{n}"), Some("a"), name, 200));
        let spans: Vec<ReceivedSpan> = spans.into_iter().chain(checks).collect();
        let text = tree(&spans, &SpanFilter { flight: "f".to_owned(), waypoint: None });
        let sums = "  in all 204 ms: 5 ms in queues, 105 ms in agents' programs, 10 ms in checks, 5 ms in merges and landings\n";
        assert!(text.ends_with(sums), "{text}");
    }

    #[test]
    fn a_span_whose_parent_is_lost_is_shown_and_says_so() {
        let mut lost = span("b", Some("a"), "work\u{1b}[2J", 2);
        lost.error = Some("out of\u{202e} luck\nnext".to_owned());
        let text = tree(&[lost], &SpanFilter { flight: "f".to_owned(), waypoint: None });
        assert!(text.contains("FAILED: out of\\u{202e} luck\\nnext  (its parent is not there)\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
