//! The way to the broker, as configured.

use std::{sync::Arc, time::Duration};

use holdpoint_bus::{
    Bus, ConnectArgs, ConnectError,
    auth::{Credentials, Trust, TrustRoots},
};
use holdpoint_protocol::ids::RoleId;
use tokio::time::Instant;

use super::{error::BrokerConnectionError, trust};
use crate::{clock, config::Config, telemetry::ErrorChain};

/// How long a broker that is not there is waited for: fleets start all at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads the credentials and the trust roots, and connects; waits a while for a broker that is not there yet. The trust roots
/// follow their file from now on.
///
/// # Errors
/// Keys that are missing, unreadable or for another role, or a broker that cannot be used.
pub async fn connect(config: &Config, role: &RoleId) -> Result<(Bus, Trust), BrokerConnectionError> {
    let (credentials, roots) = keys(config)?;
    // Whether they count at all is the broker's to say. It does not say that they are another user's.
    if let Ok(found) = roots.check_credentials(&credentials, clock::now())
        && found != *role
    {
        return Err(BrokerConnectionError::OtherRole {
            name: credentials.name().clone(),
            expected: role.clone(),
            found,
        });
    }
    if let Some(configured) = config.agent.name.as_ref().filter(|name| *name != credentials.name()) {
        return Err(BrokerConnectionError::OtherName {
            configured: configured.clone(),
            found: credentials.name().clone(),
        });
    }
    let args = ConnectArgs { url: config.nats.url.clone(), credentials, tls: config.nats.tls.files() };
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Bus::connect(args.clone()).await {
            Ok(bus) => {
                let trust = Trust::from(Arc::new(roots));
                trust::follow(config.nats.trust.clone().unwrap_or_default(), &trust, trust::LOOK_EVERY);
                return Ok((bus, trust));
            }
            Err(error @ ConnectError::NoBroker { .. }) if Instant::now() < deadline => {
                tracing::warn!(error = %ErrorChain(&error), "waiting for the broker");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(BrokerConnectionError::Connect(error)),
        }
    }
}

/// The credentials and trust roots that are configured. Where a folder of credentials is, [`crate::own::take`] came before.
fn keys(config: &Config) -> Result<(Credentials, TrustRoots), BrokerConnectionError> {
    let creds = config.nats.creds.as_ref().ok_or(BrokerConnectionError::Missing { key: "nats.creds" })?;
    let credentials = Credentials::load(creds).map_err(BrokerConnectionError::Credentials)?;
    Ok((credentials, roots(config)?))
}

/// Whose signatures count, as configured.
pub(crate) fn roots(config: &Config) -> Result<TrustRoots, BrokerConnectionError> {
    let trust = config.nats.trust.as_ref().ok_or(BrokerConnectionError::Missing { key: "nats.trust" })?;
    TrustRoots::load(trust).map_err(BrokerConnectionError::Trust)
}
