//! Setting up logs and spans for a process.

use std::{io::IsTerminal as _, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use super::ErrorChain;
use crate::config::{LogFormat, TelemetryConfig};

/// How long the last spans may take to leave. A collector that is away must not hold up the end of a process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Only our own spans are recorded: a span of the exporter's own connection would make another one to export.
const OUR_TARGETS: &str = "holdpoint";

/// Why logs and spans could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The log filter is no filter.
    #[error("telemetry.log is no log filter")]
    Filter(#[source] tracing_subscriber::filter::ParseError),
    /// The exporter could not be made.
    #[error("cannot export traces to {endpoint}")]
    Exporter {
        /// Where to.
        endpoint: String,
        /// What was wrong.
        #[source]
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// It was set up before.
    #[error("logs are set up already in this process")]
    Twice(#[source] tracing_subscriber::util::TryInitError),
}

/// Sends the last spans off when it is dropped. Keep it until the process ends.
#[derive(Debug)]
#[must_use = "spans are lost when it is dropped early"]
pub struct Guard {
    provider: SdkTracerProvider,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FLUSH_TIMEOUT) {
            tracing::debug!(error = %ErrorChain(&error), "the last spans may be lost");
        }
    }
}

/// Sets up logs and spans for the whole process. With an exporter it has to be called within a tokio runtime.
///
/// # Errors
/// [`TelemetryError`].
pub fn init(config: &TelemetryConfig, service_name: &str, instance: &str) -> Result<Guard, TelemetryError> {
    let provider = provider(config, service_name, instance)?;
    let filter = EnvFilter::try_new(&config.log).map_err(TelemetryError::Filter)?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match config.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().with_current_span(true).with_span_list(false).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
    with_spans(subscriber, &provider, service_name).try_init().map_err(TelemetryError::Twice)?;
    Ok(Guard { provider })
}

/// Where spans get their ids, and go to where there is an endpoint.
pub(super) fn provider(
    config: &TelemetryConfig,
    service_name: &str,
    instance: &str,
) -> Result<SdkTracerProvider, TelemetryError> {
    let resource = Resource::builder()
        .with_service_name(service_name.to_owned())
        .with_attribute(KeyValue::new("service.instance.id", instance.to_owned()))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let mut builder = SdkTracerProvider::builder().with_resource(resource);
    if let Some(endpoint) = &config.otlp_endpoint {
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build();
        let exporter = exporter.map_err(|source| TelemetryError::Exporter { endpoint: endpoint.clone(), source })?;
        builder = builder.with_batch_exporter(exporter);
    }
    Ok(builder.build())
}

/// Adds the recording of our spans. The log filter does not touch them: trace context is passed on at every log level.
pub(super) fn with_spans<S>(
    subscriber: S,
    provider: &SdkTracerProvider,
    service_name: &str,
) -> impl Subscriber + Send + Sync + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let tracer = provider.tracer(service_name.to_owned());
    let ours = Targets::new().with_target(OUR_TARGETS, LevelFilter::INFO);
    subscriber.with(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(ours))
}
