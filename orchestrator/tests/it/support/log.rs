//! What is logged in this process, by all of its tests: the names in lines distinguish them.

use std::{
    fmt,
    sync::{Mutex, OnceLock, PoisonError},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

use super::SOON;

static LINES: OnceLock<Mutex<Vec<String>>> = OnceLock::new();

/// Keeps the lines of all tests, from the first call on.
pub(crate) fn keep() {
    LINES.get_or_init(|| {
        set_global_default(Keeper).unwrap();
        Mutex::default()
    });
}

/// The first line that has all of these parts, once there is one.
pub(crate) async fn line_with(parts: &[&str]) -> String {
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        let lines = LINES.get().expect("lines are kept").lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(line) = lines.iter().find(|line| parts.iter().all(|part| line.contains(part))) {
            return line.clone();
        }
        assert!(tokio::time::Instant::now() < deadline, "no line with {parts:?} in {lines:#?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// How many lines have all of these parts.
pub(crate) fn count(parts: &[&str]) -> usize {
    let lines = LINES.get().expect("lines are kept").lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().filter(|line| parts.iter().all(|part| line.contains(part))).count()
}

struct Keeper;

/// An event as text.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        if let Some(lines) = LINES.get() {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(text.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
