//! Who is connected to the broker as an agent or operator, and ending connections.
//!
//! Through the broker's own account, with credentials that open nothing else: looking at the connections of one account,
//! hearing how many there are, and ending one by its number. The broker does not limit the last to an account.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_nats::Subscriber;
use bytes::Bytes;
use futures::StreamExt as _;
use holdpoint_protocol::Timestamp;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::{Bus, auth};

/// Connections in one answer of a server.
const PAGE: u64 = 256;
/// Pages that are asked for: as many as the account may have connections.
const PAGES_MAX: u64 = auth::CONNECTIONS_MAX / PAGE;
/// How long a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long the servers of a cluster are waited for: how many there are nobody says.
const CLUSTER_WAIT: Duration = Duration::from_millis(500);

/// How long those are waited for that answered lately.
const KNOWN_WAIT: Duration = Duration::from_secs(3);
/// How long a server of a cluster that does not answer is still waited for.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Ended connections that are reported at once; more wait for the next time.
const WENT_MAX: usize = 16_384;

/// Why connections are not known or could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// The broker does not answer.
    #[error("the broker does not answer about its connections")]
    Silent(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Its answer is not in its format.
    #[error("the broker's answer about its connections cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// It refused.
    #[error("the broker refused: {0}")]
    Refused(String),
}

impl ConnectionsError {
    fn silent(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Silent(error.into())
    }
}

/// A connection to the broker. Those of one key are ordered by their age, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Since when it is there, by its server's clock.
    pub since: Timestamp,
    /// Its number at its server; numbers of one server grow.
    pub number: u64,
    /// The server that holds it.
    pub server: String,
    /// The public key of its user.
    pub key: String,
    /// The name that its client gave, which may be any.
    pub name: String,
    /// The JWT that it showed; empty of one that has ended.
    pub jwt: String,
    /// Bytes of the messages that it sent, without their subjects.
    pub bytes: u64,
    /// Messages that it sent.
    pub messages: u64,
}

/// The connections of one account.
#[derive(Debug)]
pub struct Connections {
    bus: Bus,
    account: String,
    changes: Subscriber,
    /// Says what each connection sent that ended.
    gone: Subscriber,
    /// The servers that answered lately, with when they last did.
    servers: BTreeMap<String, Instant>,
}

/// What a server answers, in its words.
#[derive(Deserialize)]
struct Answer<T> {
    server: Server,
    data: Option<T>,
    error: Option<Refused>,
}

#[derive(Deserialize)]
struct Server {
    id: String,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Page {
    /// When it was made, by the server's clock.
    now: Timestamp,
    total: u64,
    connections: Vec<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    cid: u64,
    start: Timestamp,
    #[serde(default)]
    authorized_user: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    jwt: String,
    #[serde(default)]
    in_bytes: u64,
    #[serde(default)]
    in_msgs: u64,
    /// When it ended, of one that has.
    stop: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Ended {}

/// What a server says of a connection that ended.
#[derive(Deserialize)]
struct Gone {
    server: Server,
    client: GoneClient,
    sent: Sent,
}

#[derive(Deserialize)]
struct GoneClient {
    id: u64,
    start: Timestamp,
    #[serde(default)]
    user: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    jwt: String,
}

#[derive(Deserialize)]
struct Sent {
    #[serde(default)]
    msgs: u64,
    #[serde(default)]
    bytes: u64,
}

/// Which connections are asked for.
#[derive(Clone, Copy)]
enum Which {
    /// Those that are there.
    Open,
    /// Those that ended within this time.
    Ended(Duration),
}

impl Which {
    /// What asks for one page, in the broker's words. Those that ended come with the last first.
    fn query(self, offset: u64) -> Bytes {
        let (state, sort) = match self {
            Self::Open => (0, "cid"),
            Self::Ended(_) => (1, "stop"),
        };
        let query = json!({"auth": true, "state": state, "sort": sort, "limit": PAGE, "offset": offset});
        query.to_string().into()
    }

    /// Whether a connection of a page is one of these.
    fn has(self, shown: &Shown, now: Timestamp) -> bool {
        match self {
            Self::Open => true,
            Self::Ended(within) => shown.stop.is_some_and(|stop| now.since(stop) <= within),
        }
    }
}

impl Connections {
    /// Looks at the connections of the account of agents and people; `bus` has credentials for that.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn watch(bus: Bus, account: &str) -> Result<Self, ConnectionsError> {
        let changes = bus.client().subscribe(changes(account)).await.map_err(ConnectionsError::silent)?;
        // Credentials that are older than this subject's permission hear nothing here: then `ended` is all that there is.
        let gone = bus.client().subscribe(gone(account)).await.map_err(ConnectionsError::silent)?;
        Ok(Self { bus, account: account.to_owned(), changes, gone, servers: BTreeMap::new() })
    }

    /// Completes when a user came or went since the last time; never, if none does.
    pub async fn changed(&mut self) {
        if self.changes.next().await.is_none() {
            // The connection was closed: those who wait for something else go on.
            std::future::pending::<()>().await;
        }
        // Changes that came meanwhile are looked at together.
        while futures::FutureExt::now_or_never(self.changes.next()).flatten().is_some() {}
    }

    /// The connections that ended since the last time, each with all that it sent, however short it was there. Nobody is heard
    /// of twice.
    pub fn went(&mut self) -> Vec<Connection> {
        let mut all = Vec::new();
        while all.len() < WENT_MAX
            && let Some(message) = futures::FutureExt::now_or_never(self.gone.next()).flatten()
        {
            let Ok(Gone { server, client, sent }) = serde_json::from_slice(&message.payload) else { continue };
            let GoneClient { id: number, start: since, user: key, name, jwt } = client;
            let Sent { msgs: messages, bytes } = sent;
            all.push(Connection { since, number, server: server.id, key, name, jwt, bytes, messages });
        }
        all
    }

    /// Whether every server answered the last time that answered in the minute before.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let last = self.servers.values().max();
        self.servers.values().all(|at| Some(at) == last)
    }

    /// Everybody who is connected, on all servers.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn look(&mut self) -> Result<Vec<Connection>, ConnectionsError> {
        self.all(Which::Open).await
    }

    /// The connections that ended within this time, on all servers, of the last 10,000 that each server remembers.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn ended(&mut self, within: Duration) -> Result<Vec<Connection>, ConnectionsError> {
        self.all(Which::Ended(within)).await
    }

    async fn all(&mut self, which: Which) -> Result<Vec<Connection>, ConnectionsError> {
        let mut all = Vec::new();
        for page in 0..PAGES_MAX {
            let (asked, offset) = (look(&self.account), page * PAGE);
            let mut more = false;
            for answer in self.ask(asked, which.query(offset)).await? {
                let answer: Answer<Page> = serde_json::from_slice(&answer).map_err(ConnectionsError::Unreadable)?;
                let Some(page) = answer.data else {
                    let why = answer.error.map(|error| error.description);
                    return Err(ConnectionsError::Refused(why.unwrap_or_else(|| "it does not say why".to_owned())));
                };
                let (now, shown) = (page.now, page.connections.len());
                let wanted = page.connections.into_iter().filter(|shown| which.has(shown, now));
                let before = all.len();
                all.extend(wanted.map(|shown| connection(shown, &answer.server.id)));
                more |= page.total > offset + PAGE && all.len() - before == shown;
            }
            if !more {
                break;
            }
        }
        Ok(all)
    }

    /// Ends a connection; `false`: it had ended.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn end(&self, connection: &Connection) -> Result<bool, ConnectionsError> {
        let payload = Bytes::from(json!({"cid": connection.number}).to_string());
        let asked = self.bus.client().request(end(&connection.server), payload);
        let answer = tokio::time::timeout(ANSWER_WITHIN, asked).await.map_err(ConnectionsError::silent)?;
        let answer = answer.map_err(ConnectionsError::silent)?;
        let answer: Answer<Ended> = serde_json::from_slice(&answer.payload).map_err(ConnectionsError::Unreadable)?;
        Ok(answer.error.is_none())
    }

    /// The answers of all servers.
    async fn ask(&mut self, subject: String, payload: Bytes) -> Result<Vec<Bytes>, ConnectionsError> {
        let client = self.bus.client().clone();
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.map_err(ConnectionsError::silent)?;
        client.publish_with_reply(subject, inbox, payload).await.map_err(ConnectionsError::silent)?;
        let first = tokio::time::timeout(ANSWER_WITHIN, answers.next()).await.map_err(ConnectionsError::silent)?;
        let mut all: Vec<Bytes> = first.map(|message| message.payload).into_iter().collect();
        let now = Instant::now();
        self.servers.retain(|_, at| now - *at < KNOWN_FOR);
        let mut heard: BTreeSet<String> = all.iter().filter_map(|answer| server_of(answer)).collect();
        while self.bus.is_clustered() {
            // A new and slow connection is looked at the next time.
            let is_missing = self.servers.keys().any(|known| !heard.contains(known));
            let until = now + if is_missing { KNOWN_WAIT } else { CLUSTER_WAIT };
            let Ok(Some(message)) = timeout_at(until, answers.next()).await else { break };
            heard.extend(server_of(&message.payload));
            all.push(message.payload);
        }
        if !self.bus.is_clustered() {
            // One that was started again has another id.
            self.servers.clear();
        }
        self.servers.extend(heard.into_iter().map(|server| (server, now)));
        Ok(all)
    }
}

/// Which server an answer is from.
fn server_of(answer: &[u8]) -> Option<String> {
    serde_json::from_slice::<Answer<IgnoredAny>>(answer).ok().map(|answer| answer.server.id)
}

fn connection(shown: Shown, server: &str) -> Connection {
    let Shown { cid: number, start: since, authorized_user: key, name, jwt, in_bytes, in_msgs, stop: _ } = shown;
    Connection { since, number, server: server.to_owned(), key, name, jwt, bytes: in_bytes, messages: in_msgs }
}

/// Asks for the connections of an account.
pub(crate) fn look(account: &str) -> String {
    format!("$SYS.REQ.ACCOUNT.{account}.CONNZ")
}

/// Says that a user of an account came or went.
pub(crate) fn changes(account: &str) -> String {
    format!("$SYS.ACCOUNT.{account}.SERVER.CONNS")
}

/// Says what a user of an account sent whose connection ended.
pub(crate) fn gone(account: &str) -> String {
    format!("$SYS.ACCOUNT.{account}.DISCONNECT")
}

/// Ends a connection of a server.
pub(crate) fn end(server: &str) -> String {
    format!("$SYS.REQ.SERVER.{server}.KICK")
}
