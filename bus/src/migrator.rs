//! Copying the streams of a fleet from one broker to another, whole: every message with its place, its time and its headers, and how
//! far each consumer is. The broker does it (its snapshots); here it is asked, and each copy is compared with what it is a copy of.
//!
//! Nothing is deleted or changed: a copy is restored only where no stream has its name. Who may do so is a user of the account with
//! the streams whose key is made for it ([`holdpoint_protocol::ids::role::MIGRATOR`]). Files and folders are the caller's.

mod content;
mod copying;

use std::time::{Duration, Instant};

use async_nats::{Message, Request, RequestErrorKind};
use bytes::Bytes;
use futures::TryStreamExt as _;
use holdpoint_protocol::{Digest, journal::Sequence};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{Bus, api::SERVICE};

/// Why something was not copied.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The credentials are not a migrator's.
    #[error("these credentials may not copy streams")]
    NoMigrator,
    /// The broker does not say which streams there are.
    #[error("cannot list the streams")]
    List(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The broker does not answer, or does not allow it.
    #[error("the broker does not answer when it is to {what} the stream {stream}")]
    Silent {
        /// What was asked.
        what: &'static str,
        /// Of which stream.
        stream: String,
        /// What the client said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The broker refuses.
    #[error("the broker does not {what} the stream {stream}: {message}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Of which stream.
        stream: String,
        /// The broker's words.
        message: String,
    },
    /// A snapshot ended before it was whole.
    #[error("the snapshot of the stream {stream} was cut off: {why}")]
    CutOff {
        /// Of which stream.
        stream: String,
        /// What was missing.
        why: String,
    },
    /// Messages could not be read.
    #[error("cannot read the stream {stream}")]
    Read {
        /// The stream.
        stream: String,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The copy could not be written or read.
    #[error("cannot read or write the copy of the stream {stream}")]
    Copy {
        /// The stream.
        stream: String,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}

/// How a stream stands, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamContent {
    /// Messages.
    pub messages: u64,
    /// The last place that was given away, also if its message is gone.
    pub last: Sequence,
    /// Of all messages in order: place, time, subject, headers, payload. The same for the same messages, on any broker.
    pub digest: Digest,
}

/// What the broker says of a stream that it copies, which restoring needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamShape {
    /// The stream's configuration, in the broker's words.
    config: Value,
    /// Its state, in the broker's words.
    state: Value,
}

/// An answer of the broker's API.
#[derive(Debug, Deserialize)]
struct Answer<T> {
    error: Option<Refusal>,
    #[serde(flatten)]
    value: Option<T>,
}

/// The broker's reason.
#[derive(Debug, Deserialize)]
struct Refusal {
    description: String,
}

/// The streams of a fleet, as a migrator sees them.
#[derive(Debug)]
pub struct Migrator {
    bus: Bus,
    account: String,
}

impl Migrator {
    /// Uses this connection.
    ///
    /// # Errors
    /// [`MigrateError::NoMigrator`].
    pub fn open(bus: &Bus) -> Result<Self, MigrateError> {
        let account = bus.own_account().ok_or(MigrateError::NoMigrator)?.to_owned();
        Ok(Self { bus: bus.clone(), account })
    }

    /// The account whose streams these are: two brokers with the same one are of the same fleet.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// How many copies a broker like this one should keep of each message: three in a cluster.
    #[must_use]
    pub fn replicas(&self) -> usize {
        if self.bus.is_clustered() { 3 } else { 1 }
    }

    /// The streams, by name.
    ///
    /// # Errors
    /// [`MigrateError::List`].
    pub async fn streams(&self) -> Result<Vec<String>, MigrateError> {
        let listed: Result<Vec<String>, _> = self.bus.jetstream().stream_names().try_collect().await;
        let mut names = listed.map_err(|source| MigrateError::List(source.into()))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Whether an orchestrator of the fleet runs and is connected here.
    ///
    /// # Errors
    /// [`MigrateError::List`]: the broker is away.
    pub async fn is_orchestrated(&self) -> Result<bool, MigrateError> {
        let ping = Request::new().timeout(Some(PING_TIMEOUT)).inbox(self.bus.client().new_inbox());
        match self.bus.client().send_request(format!("$SRV.PING.{SERVICE}"), ping).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(false),
            Err(source) => Err(MigrateError::List(source.into())),
        }
    }

    /// Asks the broker for something of a stream.
    async fn ask<T: DeserializeOwned>(
        &self,
        (what, call): (&'static str, &str),
        stream: &str,
        wanted: &Value,
        timeout: Duration,
    ) -> Result<T, MigrateError> {
        let subject = format!("$JS.API.STREAM.{call}.{stream}");
        let answer = self.send((what, stream), subject, wanted.to_string().into(), timeout).await?;
        answered((what, stream), &answer)
    }

    async fn send(
        &self,
        (what, stream): (&'static str, &str),
        subject: String,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Message, MigrateError> {
        let client = self.bus.client();
        let deadline = Instant::now() + HEARD_WITHIN;
        loop {
            // An inbox of its own: a multiplexed one would see answers of requests that were given up.
            let request = Request::new().payload(payload.clone()).timeout(Some(timeout)).inbox(client.new_inbox());
            match client.send_request(subject.clone(), request).await {
                // Nobody got it. In a cluster our server may not know yet that another one listens.
                Err(error) if error.kind() == RequestErrorKind::NoResponders && Instant::now() < deadline => {
                    tokio::time::sleep(HEARD_PAUSE).await;
                }
                sent => {
                    return sent.map_err(|source| MigrateError::Silent {
                        what,
                        stream: stream.to_owned(),
                        source: source.into(),
                    });
                }
            }
        }
    }
}

/// How long it may take until a server that listens is known to all of its cluster.
const HEARD_WITHIN: Duration = Duration::from_secs(10);
/// The pause before it is tried again.
const HEARD_PAUSE: Duration = Duration::from_millis(50);
/// How long an orchestrator may take to say that it is there.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

fn answered<T: DeserializeOwned>((what, stream): (&'static str, &str), answer: &Message) -> Result<T, MigrateError> {
    let refused = |message| MigrateError::Refused { what, stream: stream.to_owned(), message };
    let read: Answer<T> = serde_json::from_slice(&answer.payload).map_err(|error| refused(error.to_string()))?;
    match read {
        Answer { error: Some(error), .. } => Err(refused(error.description)),
        Answer { value: Some(value), .. } => Ok(value),
        Answer { .. } => Err(refused("an answer of another kind".to_owned())),
    }
}

/// What restoring is asked with. Streams of earlier versions let nobody delete, which the broker takes back from no stream that is there.
fn restoring(shape: &StreamShape, replicas: usize) -> Value {
    let mut config = shape.config.clone();
    config["num_replicas"] = json!(replicas);
    for denial in ["deny_delete", "deny_purge"] {
        config[denial] = json!(false);
    }
    json!({"config": config, "state": shape.state})
}
