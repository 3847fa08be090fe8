//! What is sent by OTLP: the metrics of a text as messages of bounded size. Sums and histograms are cumulative since the
//! process started, as they are on `/metrics`.

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
        ScopeMetrics, Sum, metric::Data, number_data_point::Value,
    },
    resource::v1::Resource,
};

use super::parse::{Family, Kind, Line, Number, families};

/// Series of one message: with some hundred bytes each it stays below what collectors take (4 MiB).
const SERIES_MAX: usize = 2_000;
/// The name of what makes the metrics.
const SCOPE: &str = "holdpoint";
/// The label of a histogram's bucket.
const LE: &str = "le";

/// When the metrics began and when they were read, in nanoseconds of Unix time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start: u64,
    pub(super) now: u64,
}

/// The messages that say what `text` says, of the process with these attributes.
pub(super) fn requests(text: &str, process: &[(String, String)], times: Times) -> Vec<ExportMetricsServiceRequest> {
    let (mut requests, mut metrics, mut series) = (Vec::new(), Vec::new(), 0);
    for family in families(text) {
        let (metric, count) = metric(family, times);
        if count == 0 {
            continue;
        }
        if series + count > SERIES_MAX && !metrics.is_empty() {
            requests.push(request(std::mem::take(&mut metrics), process));
            series = 0;
        }
        series += count;
        metrics.push(metric);
    }
    if !metrics.is_empty() {
        requests.push(request(metrics, process));
    }
    requests
}

fn request(metrics: Vec<Metric>, process: &[(String, String)]) -> ExportMetricsServiceRequest {
    let resource = Resource { attributes: attributes(process), ..Resource::default() };
    let scope = InstrumentationScope {
        name: SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() }];
    let resource = ResourceMetrics { resource: Some(resource), scope_metrics, schema_url: String::new() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }
}

/// A metric, and how many series it has.
fn metric(family: Family, times: Times) -> (Metric, usize) {
    let Family { name, help, kind, lines } = family;
    let temporality = AggregationTemporality::Cumulative.into();
    let (data, count) = match kind {
        Kind::Counter => {
            let data_points: Vec<_> = lines.iter().map(|line| number(line, times)).collect();
            let count = data_points.len();
            (Data::Sum(Sum { data_points, aggregation_temporality: temporality, is_monotonic: true }), count)
        }
        Kind::Gauge => {
            let data_points: Vec<_> = lines.iter().map(|line| number(line, times)).collect();
            let count = data_points.len();
            (Data::Gauge(Gauge { data_points }), count)
        }
        Kind::Histogram => {
            let data_points = histograms(&lines, times);
            let count = data_points.len();
            (Data::Histogram(Histogram { data_points, aggregation_temporality: temporality }), count)
        }
    };
    (Metric { name, description: help, data: Some(data), ..Metric::default() }, count)
}

fn number(line: &Line, times: Times) -> NumberDataPoint {
    let value = match line.value {
        Number::Whole(n) => i64::try_from(n).map_or(Value::AsDouble(n as f64), Value::AsInt),
        Number::Real(x) => Value::AsDouble(x),
    };
    NumberDataPoint {
        attributes: attributes(&line.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

/// The series of a histogram: their lines follow each other, sum and count before the buckets, which are sums up to there.
fn histograms(lines: &[Line], times: Times) -> Vec<HistogramDataPoint> {
    let mut points: Vec<HistogramDataPoint> = Vec::new();
    let mut before = 0;
    for line in lines {
        match line.suffix.as_str() {
            "_sum" => {
                points.push(HistogramDataPoint {
                    attributes: attributes(&line.labels),
                    start_time_unix_nano: times.start,
                    time_unix_nano: times.now,
                    sum: Some(line.value.real()),
                    ..HistogramDataPoint::default()
                });
                before = 0;
            }
            "_count" => {
                if let Some(point) = points.last_mut() {
                    point.count = line.value.whole();
                }
            }
            "_bucket" => {
                let Some(point) = points.last_mut() else { continue };
                point.bucket_counts.push(line.value.whole().saturating_sub(before));
                before = line.value.whole();
                let bound = line.labels.iter().find(|(name, _)| name == LE).and_then(|(_, value)| value.parse().ok());
                // The last one has no bound.
                point.explicit_bounds.extend(bound.filter(|bound: &f64| bound.is_finite()));
            }
            _ => {}
        }
    }
    points
}

fn attributes(pairs: &[(String, String)]) -> Vec<KeyValue> {
    let text = |value: &String| AnyValue { value: Some(any_value::Value::StringValue(value.clone())) };
    let pair = |(key, value): &(String, String)| KeyValue {
        key: key.clone(),
        value: Some(text(value)),
        ..KeyValue::default()
    };
    pairs.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Described, Metrics, Sample};

    const TIMES: Times = Times { start: 1, now: 2 };

    fn sent(metrics: &Metrics) -> Vec<Metric> {
        let requests = requests(&metrics.text().unwrap(), &[("service.name".to_owned(), "s".to_owned())], TIMES);
        let [request] = requests.as_slice() else { panic!("{} messages", requests.len()) };
        let [resource] = request.resource_metrics.as_slice() else { panic!("{request:?}") };
        assert_eq!(resource.resource.as_ref().unwrap().attributes[0].key, "service.name");
        resource.scope_metrics[0].metrics.clone()
    }

    fn data(metrics: &[Metric], name: &str) -> Data {
        let metric = metrics.iter().find(|metric| metric.name == name);
        metric.and_then(|metric| metric.data.clone()).unwrap_or_else(|| panic!("{name} in {metrics:?}"))
    }

    #[test]
    fn a_counter_a_gauge_and_a_histogram_are_sent_with_their_values() {
        let metrics = Metrics::new("test");
        let labels = || vec![("gate", "a\"b".to_owned())];
        let counters = metrics.counters("seen", "Seen");
        counters.count(labels());
        counters.count(labels());
        let histograms = metrics.histograms("took", "Took", &[1.0, 5.0]);
        [0.5, 2.0, 3.0, 9.0].iter().for_each(|value| histograms.observe(labels(), *value));
        let described = Described { name: "open", help: "Open", largest: false };
        metrics.gauges(vec![described], || vec![Sample { name: "open", labels: Vec::new(), value: 3.0 }]);
        let sent = sent(&metrics);
        let Data::Sum(sum) = data(&sent, "holdpoint_seen") else { panic!("{sent:?}") };
        assert!(sum.is_monotonic);
        assert_eq!(sum.aggregation_temporality, i32::from(AggregationTemporality::Cumulative));
        assert_eq!(sum.data_points[0].value, Some(Value::AsInt(2)));
        assert_eq!(sum.data_points[0].attributes, attributes(&[("gate".to_owned(), "a\"b".to_owned())]));
        assert_eq!((sum.data_points[0].start_time_unix_nano, sum.data_points[0].time_unix_nano), (1, 2));
        let Data::Gauge(gauge) = data(&sent, "holdpoint_open") else { panic!("{sent:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(3.0)));
        let Data::Histogram(histogram) = data(&sent, "holdpoint_took") else { panic!("{sent:?}") };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (4, Some(14.5)));
        assert_eq!((&point.explicit_bounds, &point.bucket_counts), (&vec![1.0, 5.0], &vec![1, 2, 1]));
        assert_eq!(point.attributes, attributes(&[("gate".to_owned(), "a\"b".to_owned())]));
    }

    #[test]
    fn many_series_are_sent_in_several_messages_and_none_is_lost() {
        let metrics = Metrics::new("test");
        for name in ["a", "b", "c", "d", "e", "f"] {
            let counters = metrics.counters(name, "Many");
            (0..400).for_each(|n| counters.count(vec![("gate", n.to_string())]));
        }
        let requests = requests(&metrics.text().unwrap(), &[], TIMES);
        assert_eq!(requests.len(), 2);
        let metrics = requests.iter().flat_map(|request| &request.resource_metrics[0].scope_metrics[0].metrics);
        let series: usize = metrics
            .map(|metric| match &metric.data {
                Some(Data::Sum(sum)) => sum.data_points.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(series, 6 * 400);
    }
}
