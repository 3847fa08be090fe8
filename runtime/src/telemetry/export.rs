//! Whether and where spans are exported: the standard `OTEL_*` variables, then our configuration.
//!
//! What the SDK reads by itself is not read here: the sampler, the batches (`OTEL_BSP_*`), headers, time-outs, resource
//! attributes.

use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};

use super::ErrorChain;

const SDK_DISABLED: &str = "OTEL_SDK_DISABLED";

/// What is exported, and the variables that say so. Of several the first one that is set counts.
#[derive(Debug)]
pub(super) struct Signal {
    exporter: &'static str,
    endpoints: [&'static str; 2],
    protocols: [&'static str; 2],
}

pub(super) const TRACES: Signal = Signal {
    exporter: "OTEL_TRACES_EXPORTER",
    endpoints: ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
    protocols: ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
};

pub(super) const METRICS: Signal = Signal {
    exporter: "OTEL_METRICS_EXPORTER",
    endpoints: ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
    protocols: ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
};

const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];
/// Where a collector listens that nobody named.
const DEFAULT_ENDPOINT: &str = "http://localhost:4317";
/// What names of variables begin with that a process of ours hands on to the processes it starts.
const PREFIX: &str = "OTEL_";

/// A variable that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {problem}")]
pub struct VariableError {
    name: &'static str,
    problem: String,
}

/// Where spans or metrics go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Export {
    /// Nowhere.
    Off,
    /// To a collector.
    To(String),
}

/// The `OTEL_*` variables of this process, for processes of ours that it starts with a small environment.
#[must_use]
pub fn otel_variables() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| name.starts_with(PREFIX))).collect()
}

/// Decides by these variables and the configured endpoint. An empty variable is as good as none.
pub(super) fn export(
    signal: &Signal,
    configured: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Export, VariableError> {
    let variable = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    if variable(SDK_DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(Export::Off);
    }
    let named = signal.endpoints.iter().find_map(|name| Some((*name, variable(name)?)));
    if let Some((name, _)) = named.as_ref().filter(|(_, endpoint)| endpoint.contains('@')) {
        let problem = "must not hold a user or password: use OTEL_EXPORTER_OTLP_HEADERS".to_owned();
        return Err(VariableError { name, problem });
    }
    let endpoint = named.map(|(_, endpoint)| endpoint).or_else(|| configured.map(str::to_owned));
    let endpoint = match (variable(signal.exporter).as_deref(), endpoint) {
        (Some("none"), _) | (None, None) => return Ok(Export::Off),
        (None | Some("otlp"), Some(endpoint)) => endpoint,
        (Some("otlp"), None) => DEFAULT_ENDPOINT.to_owned(),
        (Some(other), _) => {
            let problem = format!("is {other:?}: this build exports by `otlp`, or not at all with `none`");
            return Err(VariableError { name: signal.exporter, problem });
        }
    };
    if let Some((name, protocol)) = signal.protocols.iter().find_map(|name| Some((*name, variable(name)?)))
        && protocol != "grpc"
    {
        let problem = format!(
            "is {protocol:?}: this build exports by `grpc` only. Set it to grpc, with the collector's port for gRPC (4317, \
             not 4318)"
        );
        return Err(VariableError { name, problem });
    }
    Ok(Export::To(endpoint))
}

/// What is wrong with the sampler's variables. The SDK then samples everything, and says nothing of it.
pub(super) fn sampler_problem(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let sampler = variable(SAMPLER).filter(|value| !value.is_empty())?;
    if !SAMPLERS.contains(&sampler.as_str()) {
        return Some(format!("{SAMPLER} is {sampler:?}, and not one of {}", SAMPLERS.join(", ")));
    }
    let ratio = variable(SAMPLER_ARG);
    let is_ratio = |text: &String| text.parse().is_ok_and(|ratio: f64| (0.0..=1.0).contains(&ratio));
    if sampler.ends_with("traceidratio") && !ratio.as_ref().is_some_and(is_ratio) {
        return Some(format!("{SAMPLER} is {sampler}, and {SAMPLER_ARG} is no number from 0 to 1"));
    }
    None
}

/// An exporter that says once that it cannot export, and once that it can again. Spans that found no room in the queue
/// meanwhile are lost: a collector that is away holds up nobody.
#[derive(Debug)]
pub(super) struct Telltale<E> {
    exporter: E,
    endpoint: String,
    failing: AtomicBool,
}

impl<E> Telltale<E> {
    pub(super) fn new(exporter: E, endpoint: &str) -> Self {
        Self { exporter, endpoint: endpoint.to_owned(), failing: AtomicBool::new(false) }
    }
}

impl<E: SpanExporter> SpanExporter for Telltale<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exported = self.exporter.export(batch).await;
        let endpoint = self.endpoint.as_str();
        match &exported {
            Err(error) if !self.failing.swap(true, Ordering::Relaxed) => {
                tracing::warn!(endpoint, error = %ErrorChain(error), "traces cannot be exported: they are lost until the collector is back");
            }
            Ok(()) if self.failing.swap(false, Ordering::Relaxed) => {
                tracing::info!(endpoint, "traces are exported again");
            }
            Ok(()) | Err(_) => {}
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: std::time::Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn by(configured: Option<&str>, variables: &[(&str, &str)]) -> Result<Export, String> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        export(&TRACES, configured, |name| variables.get(name).map(|value| (*value).to_owned()))
            .map_err(|e| e.to_string())
    }

    fn to(endpoint: &str) -> Result<Export, String> {
        Ok(Export::To(endpoint.to_owned()))
    }

    #[test]
    fn nothing_is_exported_unless_an_endpoint_or_exporter_is_named() {
        assert_eq!(by(None, &[]), Ok(Export::Off));
        assert_eq!(by(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(Export::Off));
        assert_eq!(by(Some("http://a:1"), &[]), to("http://a:1"));
        assert_eq!(by(None, &[("OTEL_TRACES_EXPORTER", "otlp")]), to("http://localhost:4317"));
    }

    #[test]
    fn the_most_specific_variable_wins_over_the_configuration() {
        let (general, traces) =
            (("OTEL_EXPORTER_OTLP_ENDPOINT", "http://b:1"), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:1"));
        assert_eq!(by(Some("http://a:1"), &[general]), to("http://b:1"));
        assert_eq!(by(Some("http://a:1"), &[general, traces]), to("http://c:1"));
    }

    #[test]
    fn metrics_have_variables_of_their_own() {
        let variables = HashMap::from([
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:1"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ]);
        let found = export(&METRICS, None, |name| variables.get(name).map(|value| (*value).to_owned()));
        assert_eq!(found, Ok(Export::To("http://m:1".to_owned())));
        let off =
            export(&METRICS, Some("http://a:1"), |name| (name == "OTEL_METRICS_EXPORTER").then(|| "none".to_owned()));
        assert_eq!(off, Ok(Export::Off));
    }

    #[test]
    fn export_can_be_switched_off() {
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert_eq!(by(Some("http://a:1"), &[off]), Ok(Export::Off), "{off:?}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_with_what_can() {
        let protocol = by(Some("http://a:1"), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]).unwrap_err();
        assert!(protocol.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && protocol.contains("grpc"), "{protocol}");
        let exporter = by(None, &[("OTEL_TRACES_EXPORTER", "zipkin")]).unwrap_err();
        assert!(exporter.contains("zipkin") && exporter.contains("otlp"), "{exporter}");
        let endpoint = by(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@a:1")]).unwrap_err();
        assert!(!endpoint.contains("secret"), "{endpoint}");
        // Without an endpoint the protocol says nothing.
        assert_eq!(by(None, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]), Ok(Export::Off));
    }

    #[test]
    fn a_sampler_that_the_sdk_would_pass_over_is_told() {
        let problem = |variables: &[(&str, &str)]| {
            let variables: HashMap<_, _> = variables.iter().copied().collect();
            sampler_problem(|name| variables.get(name).map(|value| (*value).to_owned()))
        };
        assert_eq!(problem(&[]), None);
        assert_eq!(problem(&[("OTEL_TRACES_SAMPLER", "always_off")]), None);
        let ratio = ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
        assert_eq!(problem(&[ratio, ("OTEL_TRACES_SAMPLER_ARG", "0.25")]), None);
        assert!(problem(&[ratio, ("OTEL_TRACES_SAMPLER_ARG", "25")]).is_some());
        assert!(problem(&[("OTEL_TRACES_SAMPLER", "sometimes")]).is_some());
    }
}
