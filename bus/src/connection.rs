//! One connection to the broker, shared by everything a process does with it.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_nats::{Client, ClientError, ConnectErrorKind, ConnectOptions, Event, jetstream};
use bytes::Bytes;
use holdpoint_protocol::ids::AgentName;
use tokio::sync::watch;

use crate::{
    auth::{Credentials, Signer},
    broker::{FLOOR, ServerVersion},
    tls::{TlsError, TlsFiles},
};

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the broker is asked whether it is still there. The third question without an answer ends the connection: a
/// network that was cut says nothing by itself.
const PING_EVERY: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to come back. Attempts never end: nothing is lost by waiting.
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);
/// The first pause; it doubles with every attempt.
const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(20);
/// After how many refusals in a row, when a connection comes back, its credentials are taken to be of no use any more. It
/// takes some seconds, in which a broker may be given new keys.
const REFUSALS_MAX: u32 = 6;
/// How long the broker's own API (streams, consumers, gets) may take to answer.
pub(crate) const API_TIMEOUT: Duration = Duration::from_secs(10);

/// Where to connect, and as whom.
#[derive(Debug, Clone)]
pub struct ConnectArgs {
    /// `nats://host:port` or `tls://host:port`; several with commas.
    pub url: String,
    /// The user. Its name is the connection's name and the last part of its inbox prefix, `_INBOX.<name>`.
    pub credentials: Credentials,
    /// Files for TLS.
    pub tls: TlsFiles,
}

impl ConnectArgs {
    /// No files for TLS.
    #[must_use]
    pub fn new(url: String, credentials: Credentials) -> Self {
        Self { url, credentials, tls: TlsFiles::default() }
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("no broker at {url}")]
    NoBroker {
        /// The address.
        url: String,
        /// What the client said.
        #[source]
        source: async_nats::ConnectError,
    },
    /// The server is older than what works.
    #[error("the broker at {url} is nats-server {found}: {FLOOR} or newer is needed")]
    TooOld {
        /// The address.
        url: String,
        /// The version as the server reports it.
        found: String,
    },
    /// The server does not accept the credentials.
    #[error("the broker at {url} does not accept the credentials of {name}")]
    NotAuthorized {
        /// The address.
        url: String,
        /// Whose credentials.
        name: AgentName,
        /// What the client said.
        #[source]
        source: async_nats::ConnectError,
    },
    /// A server is there, but there is no TLS connection that both sides agree to.
    #[error("no TLS connection to the broker at {url}")]
    Tls {
        /// The address.
        url: String,
        /// What was wrong.
        #[source]
        source: TlsError,
    },
}

/// A connection. Cheap to clone; it comes back by itself for ever when the broker goes away.
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    jetstream: jetstream::Context,
    signer: Signer,
    public_key: String,
    own_account: Option<String>,
    jwt: String,
    name: AgentName,
    is_scoped: bool,
    /// How often messages may not have come: the connection was lost, or more came than were taken.
    losses: watch::Receiver<u64>,
    /// How often in a row the broker did not let it come back.
    refusals: watch::Receiver<u32>,
}

impl Bus {
    /// Connects, and refuses a server that is too old.
    ///
    /// # Errors
    /// [`ConnectError`] says which of several things is wrong.
    pub async fn connect(args: ConnectArgs) -> Result<Self, ConnectError> {
        let ConnectArgs { url, credentials, tls } = args;
        if let Err(source) = tls.check() {
            return Err(ConnectError::Tls { url, source });
        }
        let signer = credentials.signer();
        let (lost, losses) = watch::channel(0);
        let (refused, refusals) = watch::channel(0);
        let options = tls.apply(&url, options(&credentials, signer.clone(), Changes { lost, refused }));
        // Boxed: the future is large, and everybody who connects would carry it.
        let client = Box::pin(options.connect(servers(&url))).await.map_err(|source| match source.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                ConnectError::NotAuthorized { url: url.clone(), name: credentials.name().clone(), source }
            }
            _ => match tls.blame(&url, source) {
                Ok(source) => ConnectError::Tls { url: url.clone(), source },
                Err(source) => ConnectError::NoBroker { url: url.clone(), source },
            },
        })?;
        let found = client.server_info().version;
        if !found.parse::<ServerVersion>().is_ok_and(|version| version >= FLOOR) {
            return Err(ConnectError::TooOld { url, found });
        }
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(API_TIMEOUT);
        let inner = Inner {
            client,
            jetstream,
            signer,
            public_key: credentials.public_key().to_owned(),
            own_account: credentials.is_of_account().then(|| credentials.issuer().to_owned()),
            jwt: credentials.jwt().to_owned(),
            name: credentials.name().clone(),
            is_scoped: credentials.is_scoped(),
            losses,
            refusals,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name in the credentials.
    #[must_use]
    pub fn name(&self) -> &AgentName {
        &self.inner.name
    }

    /// The public key of the credentials.
    #[must_use]
    pub fn public_key(&self) -> &str {
        &self.inner.public_key
    }

    /// The account that signed the credentials itself; `None`: a signing key did.
    pub(crate) fn own_account(&self) -> Option<&str> {
        self.inner.own_account.as_deref()
    }

    /// Signs as the user of this connection.
    #[must_use]
    pub fn signer(&self) -> &Signer {
        &self.inner.signer
    }

    /// The JWT of the credentials.
    #[must_use]
    pub fn jwt(&self) -> &str {
        &self.inner.jwt
    }

    /// The server's version, as it reports it.
    #[must_use]
    pub fn server_version(&self) -> String {
        self.inner.client.server_info().version
    }

    /// Whether the broker is there at this moment.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.inner.client.connection_state() == async_nats::connection::State::Connected
    }

    /// The largest message that the broker takes, with its headers.
    pub(crate) fn payload_max(&self) -> usize {
        self.inner.client.server_info().max_payload
    }

    /// Whether this is an agent or an operator, in the account that sees imports only, and not an orchestrator.
    pub(crate) fn is_outside(&self) -> bool {
        self.inner.is_scoped
    }

    /// Whether several servers hold what is stored: one that was away may not have all of it yet.
    pub(crate) fn is_clustered(&self) -> bool {
        self.inner.client.server_info().cluster.is_some()
    }

    /// Bytes that came and went over this connection so far.
    #[must_use]
    pub fn bytes_moved(&self) -> u64 {
        let statistics = self.inner.client.statistics();
        statistics.in_bytes.load(Ordering::Relaxed) + statistics.out_bytes.load(Ordering::Relaxed)
    }

    /// Sends everything that was published so far, and ends the connection.
    pub async fn close(&self) {
        if let Err(error) = self.inner.client.drain().await {
            tracing::debug!(%error, "the connection was gone before it was closed");
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Completes when the connection is gone for good: it was closed, or the broker does not accept the credentials any
    /// more. A broker that is away is waited for instead.
    pub async fn gone(&self) {
        let mut refusals = self.inner.refusals.clone();
        // An error means that the client gave up.
        let _ = refusals.wait_for(|refusals| *refusals >= REFUSALS_MAX).await;
    }

    /// Completes when messages may not have come after this call, because the connection was lost, or more came than were taken:
    /// answers that are under way may not come.
    pub(crate) fn lost(&self) -> impl Future<Output = ()> + use<> {
        let mut losses = self.inner.losses.clone();
        losses.mark_unchanged();
        async move {
            if losses.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.inner.jetstream
    }

    pub(crate) fn sign(&self, subject: &str, payload: &Bytes) -> String {
        self.inner.signer.sign(subject, payload)
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

/// Every address; the client tries them in any order.
fn servers(url: &str) -> Vec<&str> {
    url.split(',').map(str::trim).collect()
}

/// What is reported of a connection.
struct Changes {
    lost: watch::Sender<u64>,
    refused: watch::Sender<u32>,
}

impl Changes {
    fn note(&self, event: &Event) {
        match event {
            Event::Connected => {
                self.refused.send_replace(0);
            }
            Event::Disconnected | Event::SlowConsumer(_) => self.lost.send_modify(|count| *count += 1),
            // The client says why an attempt failed by these words only.
            Event::ClientError(ClientError::Other(why))
                if *why == ConnectErrorKind::AuthorizationViolation.to_string() =>
            {
                self.refused.send_modify(|count| *count += 1);
            }
            _ => {}
        }
    }
}

fn options(credentials: &Credentials, signer: Signer, changes: Changes) -> ConnectOptions {
    let name = credentials.name().clone();
    ConnectOptions::with_jwt(credentials.jwt().to_owned(), move |nonce| {
        let signature = signer.sign_raw(&nonce);
        async move { Ok(signature) }
    })
    .name(name.as_str())
    .custom_inbox_prefix(format!("_INBOX.{name}"))
    .connection_timeout(CONNECT_TIMEOUT)
    .ping_interval(PING_EVERY)
    .max_reconnects(None)
    .reconnect_delay_callback(|attempts| {
        let doublings = u32::try_from(attempts.min(16)).unwrap_or(16);
        RECONNECT_PAUSE_MIN.saturating_mul(1 << doublings).min(RECONNECT_PAUSE_MAX)
    })
    .event_callback(move |event| {
        changes.note(&event);
        let name = name.clone();
        async move { log_event(&name, &event) }
    })
}

fn log_event(name: &AgentName, event: &Event) {
    match event {
        Event::Connected => tracing::debug!(%name, "connected to the broker"),
        Event::Disconnected => tracing::warn!(%name, "lost the broker"),
        Event::ServerError(error) => tracing::warn!(%name, %error, "the broker refused something"),
        Event::SlowConsumer(_) => tracing::warn!(%name, "more messages came than were taken: some are missed"),
        other => tracing::debug!(%name, event = %other, "broker connection"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_were_dropped_are_missed_as_those_of_a_lost_connection_are() {
        let ((lost, losses), (refused, refusals)) = (watch::channel(0), watch::channel(0));
        let changes = Changes { lost, refused };
        let missed = |event: Event| {
            changes.note(&event);
            *losses.borrow()
        };
        assert_eq!(missed(Event::Connected), 0);
        assert_eq!(missed(Event::SlowConsumer(7)), 1);
        assert_eq!(missed(Event::Disconnected), 2);
        assert_eq!(*refusals.borrow(), 0);
    }
}
