//! Metrics of a process, served to Prometheus (GATE-24). Off unless an address is configured.
//!
//! What a process counts is its own business; here are the registry, families whose series are bounded, gauges that are
//! worked out when they are asked for, and the endpoint. Nothing that is counted names a flight, a waypoint or a person.

mod agent;
mod bounded;
mod gauges;
mod server;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    encoding::text,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

pub use agent::{serve_agent, turn};
pub use bounded::{Counters, Histograms, Labels, OTHER, SERIES_MAX, Total};
use gauges::Gauges;
pub use gauges::{Described, Sample};
pub use server::{MetricsError, Server};

use crate::{clock, config::MetricsConfig};

/// What every name begins with.
const PREFIX: &str = "holdpoint";

/// Everything that a process counts; cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

impl Metrics {
    /// Nothing but what every process says: what it is, and since when. `process` is `orchestrator`, or the role of an agent.
    #[must_use]
    pub fn new(process: &str) -> Self {
        let metrics = Self { registry: Arc::new(Mutex::new(Registry::with_prefix(PREFIX))) };
        let build = Family::<Labels, Gauge>::default();
        let labels = vec![("process", process.to_owned()), ("version", env!("CARGO_PKG_VERSION").to_owned())];
        build.get_or_create(&labels).set(1);
        metrics.registry().register("build_info", "What this process is. Always 1", build);
        let started: Gauge = Gauge::default();
        started.set(clock::now().as_seconds());
        metrics.registry().register("process_start_time_seconds", "When this process started, in Unix time", started);
        metrics
    }

    /// Adds counters of a name, which gets the prefix and the suffix `_total`.
    #[must_use]
    pub fn counters(&self, name: &str, help: &str) -> Counters {
        Counters::register(&mut self.registry(), name, help)
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

    /// Serves them, where an address is configured.
    ///
    /// # Errors
    /// [`MetricsError`]: nobody can listen there.
    pub async fn serve(&self, config: &MetricsConfig) -> Result<Option<Server>, MetricsError> {
        let Some(listen) = config.listen else { return Ok(None) };
        let server = Server::begin(listen, self.clone()).await?;
        tracing::info!(listen = %server.address(), "metrics are served");
        if !is_own(listen) {
            tracing::warn!(%listen, "metrics are served to whoever reaches this address, without a password");
        }
        Ok(Some(server))
    }
}

/// Whether only this machine reaches an address.
fn is_own(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
