//! Who was heard of: agents say every ten seconds that they are there. Nothing is decided by it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use holdpoint_bus::signals::{Signal, Signals};
use holdpoint_console::HeardOf;
use holdpoint_protocol::{Timestamp, ids::AgentName, presence::Presence, subjects};
use holdpoint_runtime::clock;
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    client::Client,
    failure::{Failure, chain},
};

/// How long after an agent was heard of last it is shown.
const SHOWN_FOR: Duration = Duration::from_secs(35);
/// Agents that are remembered at once.
const AGENTS_MAX: usize = 4_096;
/// The longest message that is read, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Listens as long as it lives.
pub(crate) struct Crew {
    heard: Arc<Mutex<BTreeMap<AgentName, HeardOf>>>,
    news: Arc<Notify>,
    listening: JoinHandle<()>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Crew {
    /// From now on.
    pub(crate) async fn listen(client: &Client) -> Result<Self, Failure> {
        let mut signals = Signals::listen(client.bus(), subjects::presences()).await.map_err(|error| {
            Failure::environment(
                "not_listening",
                format!("cannot listen to agents: {}", chain(&error)),
                "is the fleet running?",
            )
        })?;
        let (heard, news): (Arc<Mutex<BTreeMap<_, _>>>, Arc<Notify>) = Default::default();
        let (kept, told) = (Arc::clone(&heard), Arc::clone(&news));
        let listening = tokio::spawn(async move {
            while let Some(signal) = signals.next().await {
                let mut heard = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if take(&mut heard, &signal, clock::now()) {
                    told.notify_one();
                }
            }
        });
        Ok(Self { heard, news, listening })
    }

    /// Those who were heard of lately.
    pub(super) fn heard_of(&self, now: Timestamp) -> Vec<HeardOf> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.values().filter(|heard| now.since(heard.at) < SHOWN_FOR).cloned().collect()
    }

    /// Returns when somebody is new or does something else.
    pub(crate) async fn changed(&self) {
        self.news.notified().await;
    }
}

/// Takes what an agent says of itself; whether it is news. The broker lets a key say it in its own role and name only.
fn take(heard: &mut BTreeMap<AgentName, HeardOf>, signal: &Signal, now: Timestamp) -> bool {
    if signal.payload.len() > MESSAGE_BYTES_MAX {
        return false;
    }
    let Ok(said) = serde_json::from_slice::<Presence>(&signal.payload) else { return false };
    if signal.subject != subjects::presence(&said.role, &said.agent) {
        return false;
    }
    if heard.len() >= AGENTS_MAX && !heard.contains_key(&said.agent) {
        heard.retain(|_, heard| now.since(heard.at) < SHOWN_FOR);
        if heard.len() >= AGENTS_MAX {
            return false;
        }
    }
    let name = said.agent.clone();
    let new = HeardOf {
        role: said.role,
        agent: said.agent,
        at: now,
        turn: said.turn,
        delivery: said.delivery,
        version: said.version,
    };
    let before = heard.insert(name, new.clone());
    before.is_none_or(|before| before.turn != new.turn || now.since(before.at) >= SHOWN_FOR)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signal(subject: &str, turn: Option<&str>) -> Signal {
        let said = json!({"role": "builder", "agent": "builder-1", "pid": 1, "turn": turn});
        let payload = serde_json::to_vec(&said).unwrap().into();
        Signal { subject: subject.to_owned(), payload, traceparent: None, signature: None }
    }

    #[test]
    fn only_what_changes_is_news_and_nobody_speaks_for_another() {
        let mut heard = BTreeMap::new();
        let at = Timestamp::from_millis;
        let own = "hp.v1.presence.builder.builder-1";
        assert!(take(&mut heard, &signal(own, None), at(0)));
        assert!(!take(&mut heard, &signal(own, None), at(10_000)));
        assert!(take(&mut heard, &signal(own, Some("t1")), at(20_000)));
        assert!(!take(&mut heard, &signal("hp.v1.presence.builder.builder-2", Some("t2")), at(21_000)));
        assert_eq!(heard.len(), 1);
        assert!(take(&mut heard, &signal(own, Some("t1")), at(90_000)), "it was silent for long");
    }
}
