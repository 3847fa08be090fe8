//! Metrics of a process, served to Prometheus and sent by OTLP (GATE-24). Off unless either is configured.
//!
//! Each process decides what it counts; here are the registry, families whose series are bounded, gauges that are
//! worked out when they are asked for, and the endpoint. Nothing that is counted names a flight, a waypoint or a person.

mod agent;
mod bounded;
mod gauges;
mod otlp;
mod parse;
mod push;
mod server;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_bus::tries::{self, RetriedKind};
use holdpoint_protocol::Timestamp;
use prometheus_client::{
    encoding::text,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

pub use agent::{exchange, exchange_circular, exchange_failed, help, publish_agent, turn};
pub use bounded::{CounterFamily, Histograms, Labels, OTHER, SERIES_MAX, Total};
use gauges::Gauges;
pub use gauges::{Described, Sample};
use push::Push;
pub use server::Server;

use crate::{
    clock,
    config::Config,
    telemetry::{self, VariableError},
};

/// What every name begins with.
const PREFIX: &str = "holdpoint";

/// Requests that the broker had to be asked again.
const TRIED_AGAIN: Described = Described {
    name: "broker_tries_again",
    help: "Times since its start that this process stored, got or sent something again because the broker did not answer",
    largest: false,
};

/// Everything that a process counts; cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    /// Since when it counts.
    started: Timestamp,
}

/// Why metrics cannot be served or sent.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The address is not this machine's, or something else listens there.
    #[error("cannot serve metrics on {listen} (metrics.listen): each process needs a port of its own")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A variable of the environment cannot be followed.
    #[error("metrics cannot be sent as the environment says")]
    Variable(#[source] VariableError),
    /// The endpoint is none.
    #[error("cannot send metrics to {endpoint}")]
    Endpoint {
        /// Where to.
        endpoint: String,
        /// What was wrong.
        #[source]
        source: tonic::transport::Error,
    },
}

/// Served or sent until it is dropped.
#[derive(Debug)]
pub struct Published {
    metrics: Metrics,
    server: Option<Server>,
    _push: Option<Push>,
}

impl Published {
    /// Where it is served; `None`: nowhere.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// What it says at this moment; empty if that cannot be written.
    #[must_use]
    pub fn text(&self) -> String {
        self.metrics.text().unwrap_or_default()
    }
}

impl Metrics {
    /// Nothing but what every process says: what it is, and since when. `process` is `orchestrator`, or the role of an agent.
    #[must_use]
    pub fn new(process: &str) -> Self {
        let metrics = Self { registry: Arc::new(Mutex::new(Registry::with_prefix(PREFIX))), started: clock::now() };
        let build = Family::<Labels, Gauge>::default();
        let labels = vec![("process", process.to_owned()), ("version", env!("CARGO_PKG_VERSION").to_owned())];
        build.get_or_create(&labels).set(1);
        metrics.registry().register("build_info", "What this process is. Always 1", build);
        let started: Gauge = Gauge::default();
        started.set(metrics.started.as_seconds());
        metrics.registry().register("process_start_time_seconds", "When this process started, in Unix time", started);
        metrics.gauges(vec![TRIED_AGAIN], || {
            let sample = |(tried, word): &(RetriedKind, &'static str)| Sample {
                name: TRIED_AGAIN.name,
                labels: vec![("kind", (*word).to_owned())],
                value: tries::count(*tried) as f64,
            };
            RetriedKind::ALL.iter().map(sample).collect()
        });
        metrics
    }

    /// Adds counters of a name, which gets the prefix and the suffix `_total`.
    #[must_use]
    pub fn counters(&self, name: &str, help: &str) -> CounterFamily {
        CounterFamily::register(&mut self.registry(), name, help)
    }

    /// Adds one counter without labels.
    #[must_use]
    pub fn total(&self, name: &str, help: &str) -> Total {
        Total::register(&mut self.registry(), name, help)
    }

    /// Adds histograms of a name, which gets the prefix, with these upper bounds.
    #[must_use]
    pub fn histograms(&self, name: &str, help: &str, buckets: &'static [f64]) -> Histograms {
        Histograms::register(&mut self.registry(), name, help, buckets)
    }

    /// Adds gauges whose values `look` gives at each scrape. Values of the same labels fall together.
    pub fn gauges(&self, described: Vec<Described>, look: impl Fn() -> Vec<Sample> + Send + Sync + 'static) {
        Gauges::register(&mut self.registry(), described, look);
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything in the text format of OpenMetrics.
    ///
    /// # Errors
    /// A metric cannot be written, which none of ours does.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry())?;
        Ok(text)
    }

    /// Serves and sends them, as configured; `None`: neither.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub async fn publish(&self, config: &Config) -> Result<Option<Published>, MetricsError> {
        let endpoint = if config.metrics.otlp {
            telemetry::metrics_endpoint(&config.telemetry).map_err(MetricsError::Variable)?
        } else {
            None
        };
        if config.metrics.otlp && endpoint.is_none() {
            tracing::warn!("metrics.otlp is set, and metrics are sent nowhere: set telemetry.otlp_endpoint");
        }
        let every = config.metrics.otlp_interval.duration();
        let push = endpoint.map(|endpoint| Push::begin(self.clone(), &endpoint, every)).transpose()?;
        let server = self.serve(config.metrics.listen, config.health.file.clone()).await?;
        let is_on = push.is_some() || server.is_some();
        Ok(is_on.then(|| Published { metrics: self.clone(), server, _push: push }))
    }

    async fn serve(&self, listen: Option<SocketAddr>, sign: Option<PathBuf>) -> Result<Option<Server>, MetricsError> {
        let Some(listen) = listen else { return Ok(None) };
        let server = Server::begin(listen, self.clone(), sign).await?;
        tracing::info!(listen = %server.address(), "metrics are served");
        if !is_own(listen) {
            tracing::warn!(%listen, "metrics are served without a password to anyone who reaches this address");
        }
        Ok(Some(server))
    }
}

/// Whether only this machine reaches an address.
fn is_own(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
