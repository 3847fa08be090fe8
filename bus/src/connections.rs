//! Who is connected to the broker as an agent or operator, and ending connections.
//!
//! Through the broker's own account, with credentials that open nothing else: looking at the connections of one account,
//! hearing how many there are, and ending one by its number. The broker does not limit the last to an account.

use std::time::Duration;

use async_nats::Subscriber;
use bytes::Bytes;
use futures::StreamExt as _;
use holdpoint_protocol::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::{Bus, auth};

/// Connections in one answer of a server.
const PAGE: u64 = 256;
/// Pages that are asked for: as many as the account may have connections.
const PAGES_MAX: u64 = auth::CONNECTIONS_MAX / PAGE;
/// How long a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long the servers of a cluster are waited for: how many there are nobody says.
const CLUSTER_WAIT: Duration = Duration::from_millis(500);

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
}

/// The connections of one account.
#[derive(Debug)]
pub struct Connections {
    bus: Bus,
    account: String,
    changes: Subscriber,
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
}

#[derive(Deserialize)]
struct Ended {}

impl Connections {
    /// Looks at the connections of the account of agents and people; `bus` has credentials for that.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn watch(bus: Bus, account: &str) -> Result<Self, ConnectionsError> {
        let changes = bus.client().subscribe(changes(account)).await.map_err(ConnectionsError::silent)?;
        Ok(Self { bus, account: account.to_owned(), changes })
    }

    /// Completes when somebody came or went since the last time; never, if nobody does.
    pub async fn changed(&mut self) {
        if self.changes.next().await.is_none() {
            // The connection was closed: whoever waits for something else goes on.
            std::future::pending::<()>().await;
        }
        // What came meanwhile is looked at together.
        while futures::FutureExt::now_or_never(self.changes.next()).flatten().is_some() {}
    }

    /// Everybody who is connected, on all servers.
    ///
    /// # Errors
    /// [`ConnectionsError`].
    pub async fn look(&self) -> Result<Vec<Connection>, ConnectionsError> {
        let mut all = Vec::new();
        for page in 0..PAGES_MAX {
            let (asked, offset) = (look(&self.account), page * PAGE);
            let query = json!({"auth": true, "limit": PAGE, "offset": offset, "sort": "cid"});
            let mut more = false;
            for answer in self.ask(asked, query.to_string().into()).await? {
                let answer: Answer<Page> = serde_json::from_slice(&answer).map_err(ConnectionsError::Unreadable)?;
                let Some(page) = answer.data else {
                    let why = answer.error.map(|error| error.description);
                    return Err(ConnectionsError::Refused(why.unwrap_or_else(|| "it does not say why".to_owned())));
                };
                more |= page.total > offset + PAGE;
                all.extend(page.connections.into_iter().map(|shown| connection(shown, &answer.server.id)));
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
    async fn ask(&self, subject: String, payload: Bytes) -> Result<Vec<Bytes>, ConnectionsError> {
        let client = self.bus.client();
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.map_err(ConnectionsError::silent)?;
        client.publish_with_reply(subject, inbox, payload).await.map_err(ConnectionsError::silent)?;
        let first = tokio::time::timeout(ANSWER_WITHIN, answers.next()).await.map_err(ConnectionsError::silent)?;
        let mut all: Vec<Bytes> = first.map(|message| message.payload).into_iter().collect();
        if self.bus.is_clustered() {
            let rest = async {
                while let Some(message) = answers.next().await {
                    all.push(message.payload);
                }
            };
            // Whoever is slower is looked at the next time.
            let _ = tokio::time::timeout(CLUSTER_WAIT, rest).await;
        }
        Ok(all)
    }
}

fn connection(shown: Shown, server: &str) -> Connection {
    let Shown { cid: number, start: since, authorized_user: key, name } = shown;
    Connection { since, number, server: server.to_owned(), key, name }
}

/// Asks for the connections of an account.
pub(crate) fn look(account: &str) -> String {
    format!("$SYS.REQ.ACCOUNT.{account}.CONNZ")
}

/// Says that somebody of an account came or went.
pub(crate) fn changes(account: &str) -> String {
    format!("$SYS.ACCOUNT.{account}.SERVER.CONNS")
}

/// Ends a connection of a server.
pub(crate) fn end(server: &str) -> String {
    format!("$SYS.REQ.SERVER.{server}.KICK")
}
