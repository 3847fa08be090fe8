//! Families of metrics with a bounded number of series. Names of workflows and gates are words of repositories, which may
//! be anybody's: a repository that invents names without end gets one series for all of them.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use prometheus_client::{
    encoding::EncodeMetric,
    metrics::{
        TypedMetric,
        counter::Counter,
        family::{Family, MetricConstructor},
        histogram::Histogram,
    },
    registry::Registry,
};

/// Names and values, in the order of the family.
pub type Labels = Vec<(&'static str, String)>;

/// The most series that a family has under names of others.
pub const SERIES_MAX: usize = 512;

/// What stands for every name beyond that.
pub const OTHER: &str = "other";

/// Labels whose values are ours, and few.
const CLOSED: [&str; 3] = ["outcome", "reason", "kind"];

/// A family whose series are bounded; cheap to clone.
#[derive(Debug)]
pub struct Bounded<M, C> {
    family: Family<Labels, M, C>,
    known: Arc<Mutex<Known>>,
}

/// How long a series that nothing is added to keeps its place when others want it.
pub(super) const IDLE: Duration = Duration::from_secs(6 * 60 * 60);

/// The series there are, and when something was added to each.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Labels, Instant>);

/// Where a value goes.
pub(super) struct Admitted {
    /// Its series.
    pub(super) labels: Labels,
    /// The series that made room for it, which is no more.
    pub(super) gone: Option<Labels>,
}

impl Known {
    /// The labels, or what stands for them where there are too many already.
    pub(super) fn admit(&mut self, labels: Labels, now: Instant) -> Admitted {
        if let Some(last) = self.0.get_mut(&labels) {
            *last = now;
            return Admitted { labels, gone: None };
        }
        let gone = if self.0.len() < SERIES_MAX { None } else { self.idle(now) };
        if gone.is_none() && self.0.len() >= SERIES_MAX {
            return Admitted { labels: other(labels), gone: None };
        }
        self.0.insert(labels.clone(), now);
        Admitted { labels, gone }
    }

    /// Takes out the series that was idle longest, if it was so for long.
    fn idle(&mut self, now: Instant) -> Option<Labels> {
        let (oldest, last) = self.0.iter().min_by_key(|(_, last)| **last)?;
        let oldest = (now.duration_since(*last) > IDLE).then(|| oldest.clone())?;
        self.0.remove(&oldest);
        Some(oldest)
    }
}

fn other(mut labels: Labels) -> Labels {
    for (name, value) in &mut labels {
        if !CLOSED.contains(name) {
            OTHER.clone_into(value);
        }
    }
    labels
}

/// Counters.
pub type CounterFamily = Bounded<Counter, fn() -> Counter>;
/// A counter without labels; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Total(Counter);

impl Total {
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str) -> Self {
        let total = Self::default();
        registry.register(name, help, total.0.clone());
        total
    }

    /// Counts one.
    pub fn count(&self) {
        self.0.inc();
    }
}

/// Histograms.
pub type Histograms = Bounded<Histogram, Buckets>;

/// The upper bounds of a histogram's buckets, in order.
#[derive(Debug, Clone, Copy)]
pub struct Buckets(pub &'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

impl<M, C: Clone> Clone for Bounded<M, C> {
    fn clone(&self) -> Self {
        Self { family: self.family.clone(), known: self.known.clone() }
    }
}

impl CounterFamily {
    /// Counters of a name, which gets the suffix `_total`.
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str) -> Self {
        Self::with(registry, name, help, Counter::default)
    }

    /// Counts one.
    pub fn count(&self, labels: Labels) {
        self.of(labels, |counter| {
            counter.inc();
        });
    }
}

impl Histograms {
    /// Histograms of a name.
    pub(super) fn register(registry: &mut Registry, name: &str, help: &str, buckets: &'static [f64]) -> Self {
        Self::with(registry, name, help, Buckets(buckets))
    }

    /// Adds a value.
    pub fn observe(&self, labels: Labels, value: f64) {
        self.of(labels, |histogram| histogram.observe(value));
    }
}

impl<M, C> Bounded<M, C>
where
    M: EncodeMetric + TypedMetric + Send + Sync + fmt::Debug + Clone + 'static,
    C: MetricConstructor<M> + Send + Sync + fmt::Debug + Clone + 'static,
{
    fn with(registry: &mut Registry, name: &str, help: &str, new: C) -> Self {
        let family = Family::new_with_constructor(new);
        registry.register(name, help, family.clone());
        Self { family, known: Arc::default() }
    }

    /// Has a series begin at nothing: rates show its first value as an increase.
    pub fn touch(&self, labels: Labels) {
        self.of(labels, |_| {});
    }

    fn of(&self, labels: Labels, change: impl FnOnce(&M)) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Admitted { labels, gone } = known.admit(labels, Instant::now());
        if let Some(gone) = gone {
            self.family.remove(&gone);
        }
        change(&self.family.get_or_create(&labels));
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn names_without_end_are_one_series_and_none_is_lost() {
        let mut registry = Registry::default();
        let counters = CounterFamily::register(&mut registry, "seen", "Seen");
        for n in 0..SERIES_MAX + 100 {
            counters.count(vec![("gate", format!("g{n}")), ("outcome", "complete".to_owned())]);
        }
        counters.count(vec![("gate", "g0".to_owned()), ("outcome", "complete".to_owned())]);
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        let series = text.lines().filter(|line| line.starts_with("seen_total")).count();
        assert_eq!(series, SERIES_MAX + 1);
        assert!(text.contains("seen_total{gate=\"other\",outcome=\"complete\"} 100\n"), "{text}");
        assert!(text.contains("seen_total{gate=\"g0\",outcome=\"complete\"} 2\n"), "those that were first go on");
    }

    #[test]
    fn a_series_that_is_idle_for_long_makes_room_for_a_new_name() {
        let (mut known, begun) = (Known::default(), Instant::now());
        let labels = |n: usize| vec![("gate", format!("g{n}"))];
        for n in 0..SERIES_MAX {
            known.admit(labels(n), begun);
        }
        let later = begun + IDLE;
        known.admit(labels(0), later);
        assert_eq!(known.admit(labels(9_000), later).labels, [("gate", OTHER.to_owned())], "not yet");
        let later = later + Duration::from_secs(1);
        let admitted = known.admit(labels(9_000), later);
        assert_eq!(admitted.labels, labels(9_000));
        assert!(admitted.gone.is_some_and(|gone| gone != labels(0)));
        assert_eq!(known.0.len(), SERIES_MAX);
    }

    #[test]
    fn a_name_cannot_break_out_of_its_label() {
        let mut registry = Registry::default();
        let counters = CounterFamily::register(&mut registry, "seen", "Seen");
        counters.count(vec![("gate", "a\"} 1\nevil 2".to_owned())]);
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        assert!(text.contains(r#"seen_total{gate="a\"} 1\nevil 2"} 1"#), "{text}");
    }
}
