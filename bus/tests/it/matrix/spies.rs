//! Ears in every account, with credentials that no fleet has: everything that is sent is heard, by whomever it was.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use async_nats::{Client, Message};
use data_encoding::BASE64URL_NOPAD;
use futures::StreamExt as _;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::support::SOON;

/// An account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Account {
    Agents,
    Holdpoint,
    System,
}

impl Account {
    pub(super) const ALL: [Self; 3] = [Self::Agents, Self::Holdpoint, Self::System];

    /// The key of its seed in the authority's file.
    fn seed_name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Holdpoint => "holdpoint",
            Self::System => "system",
        }
    }
}

/// Who hears and may say everything in one account.
pub(super) struct Spy {
    pub(super) account: Account,
    pub(super) client: Client,
    heard: Arc<Mutex<Vec<Message>>>,
}

impl Spy {
    pub(super) async fn start(url: &str, keys: &Path, account: Account) -> Self {
        let saved: Value = serde_json::from_slice(&std::fs::read(keys.join("authority.json")).unwrap()).unwrap();
        let issuer = KeyPair::from_seed(saved[account.seed_name()].as_str().unwrap()).unwrap();
        let user = KeyPair::new_user();
        let jwt = user_jwt(&issuer, &user.public_key());
        let sign = move |nonce: Vec<u8>| {
            let signature = user.sign(&nonce).map_err(async_nats::AuthError::new);
            async move { signature }
        };
        let client = async_nats::ConnectOptions::with_jwt(jwt, sign).connect(url).await.unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut everything = client.subscribe(">").await.unwrap();
        let ear = heard.clone();
        tokio::spawn(async move {
            while let Some(message) = everything.next().await {
                ear.lock().unwrap().push(message);
            }
        });
        let spy = Self { account, client, heard };
        spy.caught_up("hello").await;
        spy
    }

    /// Waits until everything was heard that the broker sent on before.
    pub(super) async fn caught_up(&self, word: &str) {
        self.client.publish("spy", word.to_owned().into()).await.unwrap();
        self.client.flush().await.unwrap();
        let deadline = tokio::time::Instant::now() + SOON;
        while !self.heard(|all| all.iter().any(|message| &*message.subject == "spy" && message.payload == word)) {
            assert!(tokio::time::Instant::now() < deadline, "{:?} does not hear itself", self.account);
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn heard<T>(&self, look: impl FnOnce(&[Message]) -> T) -> T {
        look(&self.heard.lock().unwrap())
    }
}

/// A user of an account without limits, signed by the account's own key.
fn user_jwt(issuer: &KeyPair, user: &str) -> String {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "jti": user, "iat": now_s, "iss": issuer.public_key(), "name": "spy", "sub": user,
        "nats": {"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1},
    });
    let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let signed =
        format!("{}.{}", encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#), encode(claims.to_string().as_bytes()));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", encode(&signature))
}
