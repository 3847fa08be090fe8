//! Gauges that are worked out when they are asked for.

use std::{collections::BTreeMap, fmt, time::Instant};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, gauge::ConstGauge},
    registry::Registry,
};

use super::bounded::{Known, Labels};

/// A value of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The gauge, without the prefix.
    pub name: &'static str,
    /// Its labels.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
}

/// What a gauge is about, and how values that fall together are one.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// Its name, without the prefix.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Whether the largest of several values counts, or their sum.
    pub largest: bool,
}

type Look = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// Gauges whose values `look` gives at each scrape. Values of the same labels fall together.
pub(super) struct Gauges {
    described: Vec<Described>,
    look: Look,
}

impl fmt::Debug for Gauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauges").field("described", &self.described).finish_non_exhaustive()
    }
}

impl Gauges {
    /// Adds them to a registry.
    pub(super) fn register(
        registry: &mut Registry,
        described: Vec<Described>,
        look: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) {
        registry.register_collector(Box::new(Self { described, look: Box::new(look) }));
    }

    /// The values of one gauge.
    fn values(&self, described: &Described, samples: &[Sample]) -> BTreeMap<Labels, f64> {
        let (mut known, now) = (Known::default(), Instant::now());
        let mut values: BTreeMap<Labels, f64> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.name == described.name) {
            let value = values.entry(known.admit(sample.labels.clone(), now).labels).or_default();
            *value = if described.largest { value.max(sample.value) } else { *value + sample.value };
        }
        values
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let samples = (self.look)();
        for described in &self.described {
            let values = self.values(described, &samples);
            let Described { name, help, .. } = described;
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            // One without labels has one value; a family would write empty braces.
            if let Some(value) = values.get(&Labels::new()) {
                ConstGauge::new(*value).encode(family)?;
                continue;
            }
            for (labels, value) in values {
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;
    use crate::metrics::SERIES_MAX;

    fn text(samples: Vec<Sample>, largest: bool) -> String {
        let mut registry = Registry::with_prefix("p");
        let described = Described { name: "g", help: "G", largest };
        Gauges::register(&mut registry, vec![described], move || samples.clone());
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        text
    }

    fn sample(gate: &str, value: f64) -> Sample {
        Sample { name: "g", labels: vec![("gate", gate.to_owned())], value }
    }

    #[test]
    fn values_of_the_same_labels_are_their_sum_or_the_largest_one() {
        let samples = || vec![sample("a", 1.0), sample("b", 2.5), sample("a", 3.0)];
        let sum = text(samples(), false);
        assert!(sum.contains("p_g{gate=\"a\"} 4.0\n") && sum.contains("p_g{gate=\"b\"} 2.5\n"), "{sum}");
        assert!(text(samples(), true).contains("p_g{gate=\"a\"} 3.0\n"));
        assert!(text(Vec::new(), true).contains("# TYPE p_g gauge"));
        let plain = Sample { name: "g", labels: Labels::new(), value: 2.0 };
        assert!(text(vec![plain], true).contains("p_g 2.0\n"));
    }

    #[test]
    fn gauges_are_bounded_as_counters_are() {
        let samples = (0..SERIES_MAX + 50).map(|n| sample(&format!("g{n}"), 1.0)).collect();
        let text = text(samples, false);
        assert!(text.contains("p_g{gate=\"other\"} 50.0\n"), "{text}");
    }
}
