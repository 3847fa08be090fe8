//! Sending metrics by OTLP over gRPC, every few seconds. One message is under way at a time and has a bounded time: a
//! collector that is away holds up nothing, and what was counted meanwhile is in what is sent next.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use tokio::{task::JoinHandle, time::MissedTickBehavior};
use tonic::{
    Request, Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
    transport::{Channel, ClientTlsConfig, Endpoint},
};

use super::{
    Metrics, MetricsError,
    otlp::{self, Times},
};
use crate::{
    clock,
    telemetry::{self, ErrorChain},
};

/// Variables that say what is sent along, such as a key. The first one that is set counts.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
/// Variables that say how long one message may take, in milliseconds.
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
/// How long one message may take that nothing is said of.
const TIMEOUT: Duration = Duration::from_secs(10);
const NANOS_PER_MS: u64 = 1_000_000;

/// Sends until it is dropped.
#[derive(Debug)]
pub(super) struct Push {
    task: JoinHandle<()>,
}

impl Push {
    /// Sends to this endpoint, so often. Nothing is connected yet.
    pub(super) fn begin(metrics: Metrics, endpoint: &str, every: Duration) -> Result<Self, MetricsError> {
        let refused = |source| MetricsError::Endpoint { endpoint: endpoint.to_owned(), source };
        // An empty variable is as good as none.
        let said = |name: &&str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let variable = |names: [&str; 2]| names.iter().find_map(said);
        let timeout = variable(TIMEOUTS).and_then(|text| text.trim().parse().ok()).filter(|millis| *millis > 0);
        let timeout = timeout.map_or(TIMEOUT, Duration::from_millis);
        let mut channel = Endpoint::from_shared(endpoint.to_owned()).map_err(refused)?;
        if endpoint.starts_with("https:") {
            channel = channel.tls_config(ClientTlsConfig::new().with_native_roots()).map_err(refused)?;
        }
        let channel = channel.connect_timeout(timeout).timeout(timeout).connect_lazy();
        let sender = Sender {
            metrics,
            client: MetricsServiceClient::new(channel),
            headers: headers(&variable(HEADERS).unwrap_or_default()),
            timeout,
            endpoint: endpoint.to_owned(),
            failing: false,
        };
        Ok(Self { task: tokio::spawn(sender.run(every)) })
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Sender {
    metrics: Metrics,
    client: MetricsServiceClient<Channel>,
    headers: MetadataMap,
    timeout: Duration,
    endpoint: String,
    failing: bool,
}

impl Sender {
    async fn run(mut self, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let sent = self.send().await;
            self.tell(sent);
        }
    }

    async fn send(&mut self) -> Result<(), Status> {
        let text = self.metrics.text().map_err(|_| Status::internal("the metrics cannot be written"))?;
        let nanos = |time: holdpoint_protocol::Timestamp| u64::try_from(time.as_millis()).unwrap_or(0) * NANOS_PER_MS;
        let times = Times { start: nanos(self.metrics.started), now: nanos(clock::now()) };
        for message in otlp::requests(&text, &telemetry::process_attributes(), times) {
            let mut request = Request::new(message);
            *request.metadata_mut() = self.headers.clone();
            let sent = tokio::time::timeout(self.timeout, self.client.export(request)).await;
            sent.map_err(|_| Status::deadline_exceeded("the collector does not answer"))??;
        }
        Ok(())
    }

    /// Says once that metrics cannot be sent, and once that they can again.
    fn tell(&mut self, sent: Result<(), Status>) {
        let endpoint = self.endpoint.as_str();
        match sent {
            Err(error) if !self.failing => {
                tracing::warn!(endpoint, error = %ErrorChain(&error), "metrics cannot be sent: the next ones say it all once the collector is back");
                self.failing = true;
            }
            Ok(()) if self.failing => {
                tracing::info!(endpoint, "metrics are sent again");
                self.failing = false;
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// What `name=value,…` says, with values in per cent encoding. An entry that cannot be sent is left out, and its value
/// is not logged.
fn headers(text: &str) -> MetadataMap {
    let mut map = MetadataMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = name.trim().to_lowercase().parse::<AsciiMetadataKey>();
        match (key, decoded(value.trim()).and_then(|value| value.parse::<AsciiMetadataValue>().ok())) {
            (Ok(key), Some(value)) => drop(map.insert(key, value)),
            _ => tracing::warn!("a header of {} is not understood, and left out", HEADERS.join(" or ")),
        }
    }
    map
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_decoded_and_what_cannot_be_sent_is_left_out() {
        let map = headers("X-Api-Key=a%20b%3D, bad name=1,plain=2,cut=%4,");
        assert_eq!(map.get("x-api-key").unwrap(), "a b=");
        assert_eq!(map.get("plain").unwrap(), "2");
        assert_eq!(map.len(), 2);
    }
}
