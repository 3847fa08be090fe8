//! A collector of traces and metrics in the test's own process.

use std::{
    collections::BTreeSet,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use holdpoint_otlp_sink::{Point, ReceivedSpan, Receiver};

/// Keeps every span and every series it gets, until the test ends.
pub struct Collector {
    endpoint: String,
    spans: Arc<Mutex<Vec<ReceivedSpan>>>,
    points: Arc<Mutex<Vec<Point>>>,
}

/// What a collector has got.
#[derive(Debug)]
pub struct Spans(pub Vec<ReceivedSpan>);

impl Collector {
    /// Listens on a free port. Its thread ends with the test's process.
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let receiver = runtime.block_on(Receiver::listen("127.0.0.1:0".parse().unwrap())).unwrap();
        let endpoint = format!("http://{}", receiver.address());
        let spans = Arc::<Mutex<Vec<ReceivedSpan>>>::default();
        let to = spans.clone();
        let take = move |batch: Vec<ReceivedSpan>| {
            to.lock().unwrap().extend(batch);
            Ok(())
        };
        let points = Arc::<Mutex<Vec<Point>>>::default();
        let to = points.clone();
        let take_points = move |batch: Vec<Point>| {
            to.lock().unwrap().extend(batch);
            Ok(())
        };
        thread::spawn(move || runtime.block_on(receiver.serve(take, take_points)));
        Self { endpoint, spans, points }
    }

    /// Lets a command's processes export to this collector, soon after each span's end.
    pub fn told_by(&self, mut command: Command) -> Command {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "100");
        command
    }

    /// The series that have come so far, in order.
    pub fn points(&self) -> Vec<Point> {
        self.points.lock().unwrap().clone()
    }

    /// What has come so far.
    pub fn spans(&self) -> Spans {
        Spans(self.spans.lock().unwrap().clone())
    }
}

impl Spans {
    /// All spans of this name, in the order they began.
    pub fn named(&self, name: &str) -> Vec<&ReceivedSpan> {
        let mut named: Vec<&ReceivedSpan> = self.0.iter().filter(|span| span.name == name).collect();
        named.sort_by_key(|span| span.start_ns);
        named
    }

    /// The one span of this name.
    #[track_caller]
    pub fn one(&self, name: &str) -> &ReceivedSpan {
        let named = self.named(name);
        let [one] = named.as_slice() else { panic!("{} spans {name:?} in {}", named.len(), self.names()) };
        one
    }

    /// The one span of this name below that one.
    #[track_caller]
    pub fn below(&self, parent: &ReceivedSpan, name: &str) -> &ReceivedSpan {
        let named = self.named(name);
        let below: Vec<_> = named.iter().filter(|span| span.parent_span_id.as_ref() == Some(&parent.span_id)).collect();
        let [one] = below.as_slice() else {
            panic!("{} spans {name:?} below {:?} in {}", below.len(), parent.name, self.names())
        };
        one
    }

    /// The span that a link of this kind leads to.
    #[track_caller]
    pub fn linked(&self, from: &ReceivedSpan, why: &str) -> &ReceivedSpan {
        let link = from.links.iter().find(|link| link.attributes["holdpoint.link"] == why);
        let link = link.unwrap_or_else(|| panic!("no link {why:?} in {from:?}"));
        assert_eq!(link.trace_id, from.trace_id);
        self.0.iter().find(|span| span.span_id == link.span_id).unwrap_or_else(|| panic!("{why:?} leads nowhere"))
    }

    /// The ids of all traces.
    pub fn traces(&self) -> BTreeSet<&str> {
        self.0.iter().map(|span| span.trace_id.as_str()).collect()
    }

    /// Spans whose parent is not there.
    pub fn orphans(&self) -> Vec<&ReceivedSpan> {
        let ids: BTreeSet<&str> = self.0.iter().map(|span| span.span_id.as_str()).collect();
        assert_eq!(ids.len(), self.0.len(), "no span is told twice: {}", self.names());
        self.0.iter().filter(|s| s.parent_span_id.as_ref().is_some_and(|p| !ids.contains(p.as_str()))).collect()
    }

    fn names(&self) -> String {
        format!("{:#?}", self.0.iter().map(|s| (&s.name, &s.span_id, &s.parent_span_id)).collect::<Vec<_>>())
    }
}
