//! A series of a metric as plain data: one JSON object a line in a file.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{HistogramDataPoint, Metric, NumberDataPoint, metric::Data, number_data_point::Value as Number},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::span::attributes;

/// A series at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The metric.
    pub name: String,
    /// What it says, in words.
    pub description: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Its labels.
    pub attributes: BTreeMap<String, Value>,
    /// Its value; of a histogram how many values it counted.
    pub value: f64,
    /// The sum of all values; `None`: it is no histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// The upper bounds of the buckets of a histogram; the last bucket has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<f64>,
    /// How many values each bucket counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
    /// Since when it counts, in nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// When it was read.
    pub time_ns: u64,
    /// The attributes of the process that sent it: `service.name` and others.
    pub resource: BTreeMap<String, Value>,
}

/// Everything in a request. Kinds of metrics that Holdpoint does not send are left out.
pub(crate) fn points_of(request: ExportMetricsServiceRequest) -> Vec<Point> {
    let mut points = Vec::new();
    for batch in request.resource_metrics {
        let resource = attributes(batch.resource.map(|resource| resource.attributes).unwrap_or_default());
        for metric in batch.scope_metrics.into_iter().flat_map(|scope| scope.metrics) {
            points.extend(of_metric(metric, &resource));
        }
    }
    points
}

fn of_metric(metric: Metric, resource: &BTreeMap<String, Value>) -> Vec<Point> {
    let Metric { name, description, data, .. } = metric;
    let empty = |kind: &str| Point {
        name: name.clone(),
        description: description.clone(),
        kind: kind.to_owned(),
        attributes: BTreeMap::new(),
        value: 0.0,
        sum: None,
        bounds: Vec::new(),
        buckets: Vec::new(),
        start_ns: 0,
        time_ns: 0,
        resource: resource.clone(),
    };
    match data {
        Some(Data::Sum(sum)) => sum.data_points.into_iter().map(|point| of_number(empty("counter"), point)).collect(),
        Some(Data::Gauge(gauge)) => {
            gauge.data_points.into_iter().map(|point| of_number(empty("gauge"), point)).collect()
        }
        Some(Data::Histogram(histogram)) => {
            histogram.data_points.into_iter().map(|point| of_histogram(empty("histogram"), point)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_number(empty: Point, point: NumberDataPoint) -> Point {
    let value = match point.value {
        Some(Number::AsInt(n)) => n as f64,
        Some(Number::AsDouble(x)) => x,
        None => 0.0,
    };
    Point {
        attributes: attributes(point.attributes),
        value,
        start_ns: point.start_time_unix_nano,
        time_ns: point.time_unix_nano,
        ..empty
    }
}

fn of_histogram(empty: Point, point: HistogramDataPoint) -> Point {
    Point {
        attributes: attributes(point.attributes),
        value: point.count as f64,
        sum: point.sum,
        bounds: point.explicit_bounds,
        buckets: point.bucket_counts,
        start_ns: point.start_time_unix_nano,
        time_ns: point.time_unix_nano,
        ..empty
    }
}
