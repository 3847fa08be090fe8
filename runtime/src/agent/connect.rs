//! The way to the broker, as configured.

use std::{sync::Arc, time::Duration};

use holdpoint_bus::{
    Bus, ConnectArgs, ConnectError,
    auth::{Credentials, TrustRoots},
};
use tokio::time::Instant;

use super::error::AgentError;
use crate::{config::Config, telemetry::ErrorChain};

/// How long a broker that is not there is waited for: fleets start all at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads the credentials and the trust roots, and connects; waits a while for a broker that is not there yet.
///
/// # Errors
/// Keys that are missing or unreadable, or a broker that cannot be used.
pub async fn connect(config: &Config) -> Result<(Bus, Arc<TrustRoots>), AgentError> {
    let creds = config.nats.creds.as_ref().ok_or(AgentError::Missing { key: "nats.creds" })?;
    let trust = config.nats.trust.as_ref().ok_or(AgentError::Missing { key: "nats.trust" })?;
    let credentials = Credentials::load(creds).map_err(AgentError::Credentials)?;
    let trust_error = |source| AgentError::Trust { path: trust.clone(), source };
    let roots = std::fs::read(trust).map_err(trust_error)?;
    let roots: TrustRoots = serde_json::from_slice(&roots).map_err(|error| trust_error(error.into()))?;
    if let Some(configured) = config.agent.name.as_ref().filter(|name| *name != credentials.name()) {
        return Err(AgentError::OtherName { configured: configured.clone(), found: credentials.name().clone() });
    }
    let args = ConnectArgs { url: config.nats.url.clone(), credentials };
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Bus::connect(args.clone()).await {
            Ok(bus) => return Ok((bus, Arc::new(roots))),
            Err(error @ ConnectError::NoBroker { .. }) if Instant::now() < deadline => {
                tracing::warn!(error = %ErrorChain(&error), "waiting for the broker");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(AgentError::Connect(error)),
        }
    }
}
