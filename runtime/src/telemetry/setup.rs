//! Setting up logs and spans for a process.

use std::{
    io::IsTerminal as _,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider},
};
use tracing::{Metadata, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, Targets, filter_fn},
    fmt,
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use super::{
    ErrorChain,
    context::TraceContext,
    export::{self, Export, METRICS, TRACES, Telltale, VariableError},
    lines::{JsonLines, text_fields},
    spans::{self, GivenOrRandom, TRACE, Telling},
};
use crate::config::{LogFormat, TelemetryConfig};

/// How long the last spans may take to leave. A collector that is away must not hold up the end of a process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The name of what makes the spans.
const SCOPE: &str = "holdpoint";

/// Whether log lines are JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// What this process is called where spans and metrics go.
static RESOURCE: OnceLock<Resource> = OnceLock::new();

/// Why logs and spans could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The log filter is no filter.
    #[error("telemetry.log is no log filter")]
    Filter(#[source] tracing_subscriber::filter::ParseError),
    /// A variable of the environment cannot be followed.
    #[error("traces cannot be exported as the environment says")]
    Variable(#[source] VariableError),
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
pub struct TelemetryGuard {
    telling: Option<Telling>,
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        let Some(telling) = &self.telling else { return };
        if let Err(error) = telling.provider().shutdown_with_timeout(FLUSH_TIMEOUT) {
            tracing::debug!(error = %ErrorChain(&error), "the last spans may be lost");
        }
    }
}

/// Sets up logs and spans for the whole process. It has to be called within a tokio runtime.
///
/// # Errors
/// [`TelemetryError`].
pub fn init(config: &TelemetryConfig, service_name: &str, instance: &str) -> Result<TelemetryGuard, TelemetryError> {
    let variable = |name: &str| std::env::var(name).ok();
    RESOURCE.get_or_init(|| resource(service_name, instance));
    let export =
        export::export(&TRACES, config.otlp_endpoint.as_deref(), variable).map_err(TelemetryError::Variable)?;
    let provider = match &export {
        Export::Off => None,
        Export::To(endpoint) => Some(exporting(endpoint, service_name, instance)?),
    };
    let filter = EnvFilter::try_new(&config.log).map_err(TelemetryError::Filter)?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match config.log_format {
        LogFormat::Text => lines.fmt_fields(text_fields()).boxed(),
        LogFormat::Json => lines.json().event_format(JsonLines).boxed(),
    };
    JSON.store(config.log_format == LogFormat::Json, Ordering::Relaxed);
    let tracer = provider.as_ref().map(|provider| provider.tracer(SCOPE));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter.and(filter_fn(is_for_logs))))
        .with(tracer.clone().map(layer))
        .try_init()
        .map_err(TelemetryError::Twice)?;
    if let (Export::To(endpoint), Some(problem)) = (&export, export::sampler_problem(variable)) {
        tracing::warn!(endpoint, problem, "all traces are exported");
    }
    let telling = provider.zip(tracer).map(|(provider, tracer)| spans::tell_to(&provider, tracer));
    Ok(TelemetryGuard { telling })
}

/// Where metrics go that are sent by OTLP; `None`: nowhere, as nothing says where, or a variable says not to.
///
/// # Errors
/// A variable of the environment cannot be followed.
pub fn metrics_endpoint(config: &TelemetryConfig) -> Result<Option<String>, VariableError> {
    let variable = |name: &str| std::env::var(name).ok();
    match export::export(&METRICS, config.otlp_endpoint.as_deref(), variable)? {
        Export::Off => Ok(None),
        Export::To(endpoint) => Ok(Some(endpoint)),
    }
}

/// The attributes that name this process where spans and metrics go; none before [`init`].
#[must_use]
pub fn process_attributes() -> Vec<(String, String)> {
    let attributes = RESOURCE.get().into_iter().flat_map(Resource::iter);
    attributes.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// The ids for the fields `trace_id` and `span_id` of a span that shows in logs. In lines for people the trace's is enough.
#[must_use]
pub fn log_ids(context: &TraceContext) -> (String, Option<String>) {
    (context.trace_id(), JSON.load(Ordering::Relaxed).then(|| context.span_id()))
}

fn is_for_logs(metadata: &Metadata<'_>) -> bool {
    metadata.target() != TRACE
}

/// Makes spans and sends them to a collector.
fn exporting(endpoint: &str, service_name: &str, instance: &str) -> Result<SdkTracerProvider, TelemetryError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build();
    let exporter = exporter.map_err(|source| TelemetryError::Exporter { endpoint: endpoint.to_owned(), source })?;
    let builder = SdkTracerProvider::builder().with_resource(resource(service_name, instance));
    let builder = builder.with_id_generator(GivenOrRandom::default());
    Ok(builder.with_batch_exporter(Telltale::new(exporter, endpoint)).build())
}

/// Who makes the spans. A service name from the environment goes before ours.
fn resource(service_name: &str, instance: &str) -> Resource {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let named = !variable("OTEL_SERVICE_NAME").is_empty()
        || variable("OTEL_RESOURCE_ATTRIBUTES").split(',').any(|pair| pair.trim_start().starts_with("service.name="));
    let mut builder = Resource::builder()
        .with_attribute(KeyValue::new("service.instance.id", instance.to_owned()))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if !named {
        builder = builder.with_service_name(service_name.to_owned());
    }
    builder.build()
}

/// Records the spans of our target. The log filter does not touch them, and log lines are no events of theirs.
pub(super) fn layer<S>(tracer: SdkTracer) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false);
    spans.with_filter(Targets::new().with_target(TRACE, LevelFilter::INFO))
}
