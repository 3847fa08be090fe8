//! A broker with everything that can be attacked, and the attempts on it.

mod acks;

use std::time::Duration;

use async_nats::{Client, Message, jetstream};
use futures::{FutureExt as _, StreamExt as _};
use holdpoint_bus::{
    api::{self, ApiRequest, ApiServer},
    auth::{Authority, Credentials, KnownUsers},
};
use holdpoint_protocol::{
    ids::{FlightId, role},
    plan::Priority,
    streams, subjects,
};
use serde_json::Value;

use super::{
    Cell, Effect, Effects,
    families::{Family, ROLES, known_blob},
    spies::{Account, Spy},
    ways::Way,
};
use crate::support::{Raw, SOON, TestBroker, flight};

/// What the marks of attempts travel in.
const MARK: &str = "Mark";
/// What is asked for to know that the broker has seen everything before.
const BARRIER: &str = "barrier";
/// Turns of each role that wait to be pulled: one for each way that may get one, and some more.
const TURNS: usize = 16;

pub(super) struct Lab {
    broker: TestBroker,
    /// An orchestrator's connection, for what the tests themselves do.
    owner: Raw,
    spies: Vec<Spy>,
    _api: ApiServer,
}

impl Lab {
    pub(super) async fn start() -> Self {
        let broker = TestBroker::start().await;
        let owner = broker.raw(&broker.local.orchestrator).await;
        for stream in [
            r#"{"name":"KV_config","subjects":["$KV.config.>"],"max_msgs_per_subject":1,"allow_rollup_hdrs":true}"#,
            r#"{"name":"OBJ_files","subjects":["$O.files.C.>","$O.files.M.>"],"allow_rollup_hdrs":true}"#,
            r#"{"name":"DECOY","subjects":["decoy.>"]}"#,
        ] {
            let name = serde_json::from_str::<Value>(stream).unwrap()["name"].as_str().unwrap().to_owned();
            let made = owner.ask(&format!("$JS.API.STREAM.CREATE.{name}"), stream).await;
            assert!(made.contains("\"did_create\":true"), "{made}");
        }
        let other: FlightId = flight("other");
        broker.ensure_pool(role::BUILDER, &streams::flight_pool(&other), Some(&other), SOON).await;
        for role in role::AGENTS {
            for turn in 0..TURNS {
                broker.open_turn(&flight("f"), &format!("{role}{turn}"), role, Priority::High).await;
            }
        }
        broker.open_local_turn(&other, "w", role::BUILDER, Priority::High).await;
        for known in ROLES.map(known_blob) {
            owner.ask(&known, "known").await;
        }
        for known in ["hp.v1.handoff.verifier.0.f.known.build_plan", "hp.v1.journal.f.known.decided", "$KV.config.a"] {
            owner.ask(known, "known").await;
        }
        let answer = |_: ApiRequest| async { Ok("{}".into()) };
        let endpoints = ["status", "submit", "progress", "complete", "task", "retire"];
        let users = KnownUsers::new(broker.roots());
        let api = api::serve(&broker.orchestrator, users, &endpoints, api::REQUESTS_PER_MINUTE, answer).await.unwrap();
        let mut spies = Vec::new();
        for account in Account::ALL {
            spies.push(Spy::start(&broker.local.broker.url(), &broker.keys(), account).await);
        }
        Self { broker, owner, spies, _api: api }
    }

    fn credentials(&self, role: &str, name: &str) -> Credentials {
        match role {
            role::ORCHESTRATOR => self.broker.local.orchestrator.clone(),
            role => self.broker.mint(role, name, &streams::fleet_pool()),
        }
    }

    /// Tries everything that is to be tried as this role.
    pub(super) async fn attempt(&self, role: &str, cells: &[Cell], families: &[Family], effects: &mut Effects) {
        let own: Vec<_> = cells.iter().enumerate().filter(|(_, cell)| cell.actor.role == role).collect();
        let actor = &own.first().expect("every role has cells").1.actor;
        let raw = self.broker.raw(&self.credentials(role, &actor.name)).await;
        // An orchestrator's inbox is within its account, whatever its name.
        let mut answers = raw.0.subscribe(format!("_INBOX.{}.>", actor.name)).await.unwrap();
        let mut listening = Vec::new();
        for (id, cell) in &own {
            let (family, mark) = (&families[cell.family], Cell::mark(*id));
            if Way::LISTENING.contains(&cell.way) {
                let subject = family.subject(actor, TRIGGER);
                let heard = match cell.way {
                    Way::QueueSubscribe => raw.0.queue_subscribe(subject, mark.clone()).await,
                    _ => raw.0.subscribe(subject).await,
                };
                listening.push((*id, heard.unwrap()));
                continue;
            }
            let mut headers = cell.way.headers(actor, &mark);
            headers.insert(MARK, mark.as_str());
            let (subject, payload) = (family.subject(actor, &mark), family.payload(&mark).to_owned().into());
            match cell.way.reply(actor, &mark) {
                None => raw.0.publish_with_headers(subject, headers, payload).await.unwrap(),
                Some(reply) => {
                    raw.0.publish_with_reply_and_headers(subject, reply, headers, payload).await.unwrap();
                }
            }
        }
        note_answers(until_barrier(&raw.0, &actor.name, role, &mut answers).await, effects);
        self.settle(role).await;
        self.trigger(cells, families).await;
        note_answers(until_barrier(&raw.0, &actor.name, role, &mut answers).await, effects);
        for (id, mut heard) in listening {
            while let Some(Some(message)) = tokio::task::unconstrained(heard.next()).now_or_never() {
                let Some(effect) = heard_from(&message) else { continue };
                effects.entry(id).or_default().insert(effect);
            }
        }
    }

    /// Waits until every stream has stored what was sent to it, and every ear has heard it.
    async fn settle(&self, word: &str) {
        let all = [
            format!("hp.v1.journal.f.after-{word}.decided"),
            format!("$KV.config.{word}"),
            format!("$O.files.M.{word}"),
        ];
        let handoffs = role::HANDING.map(|role| format!("hp.v1.handoff.{role}.0.f.after-{word}.build_plan"));
        let digest = holdpoint_protocol::Digest::of(word.as_bytes());
        let blobs = role::STORING.map(|role| subjects::blob_chunk(&role::id(role), &digest, 7));
        for subject in all.into_iter().chain(handoffs).chain(blobs) {
            let stored = self.owner.ask(&subject, "after").await;
            assert!(stored.contains("\"seq\":") || stored.contains("10077"), "{subject}: {stored}");
        }
        for spy in &self.spies {
            spy.caught_up(word).await;
        }
    }

    /// Says something on every subject in every account, for those who listen.
    async fn trigger(&self, cells: &[Cell], families: &[Family]) {
        let mut subjects: Vec<String> = families
            .iter()
            .filter(|family| !family.listen_only)
            .flat_map(|family| ROLES.map(|role| family.subject(&super::Actor::new(role), TRIGGER)))
            .collect();
        subjects.sort();
        subjects.dedup();
        assert!(!cells.is_empty());
        for spy in &self.spies {
            for subject in &subjects {
                // What the broker would obey.
                if spy.account == Account::Holdpoint && subject.starts_with("$JS.API.") {
                    continue;
                }
                spy.client.publish(subject.clone(), format!("{TRIGGER} {:?}", spy.account).into()).await.unwrap();
            }
            spy.client.flush().await.unwrap();
            spy.caught_up("triggered").await;
        }
    }

    /// What was stored and heard, from any sender.
    pub(super) async fn look(&self, cells: &[Cell], families: &[Family], effects: &mut Effects) {
        let subject_of = |id: usize, account: Account| {
            let cell = &cells[id];
            families[cell.family].subject_in(account, &cell.actor, &Cell::mark(id))
        };
        let mut note = |id: usize, effect| {
            effects.entry(id).or_default().insert(effect);
        };
        for spy in &self.spies {
            let heard: Vec<_> = spy.heard(|all| {
                let marked = all.iter().filter(|message| !message.subject.starts_with("$JS.EVENT."));
                marked.filter_map(|message| Some((message.subject.to_string(), mark_of(message)?))).collect()
            });
            for (subject, id) in heard {
                let cell = &cells[id];
                // Its own inbox is where an answer belongs.
                let own_inbox = subject.starts_with(&format!("_INBOX.{}.", cell.actor.name));
                if own_inbox && families[cell.family].name != "own inbox" {
                    continue;
                }
                let effect = match (spy.account, subject == subject_of(id, spy.account)) {
                    (Account::Agents, true) => Effect::Agents,
                    (Account::Agents, false) => Effect::AgentsElsewhere,
                    (Account::Holdpoint, true) => Effect::Holdpoint,
                    (Account::Holdpoint, false) => Effect::HoldpointElsewhere,
                    (Account::System, _) => Effect::System,
                };
                note(id, effect);
            }
        }
        // After the ears: they hear what is read here as well.
        for (subject, id) in self.stored().await {
            note(id, if subject == subject_of(id, Account::Holdpoint) { Effect::Stored } else { Effect::Forged });
        }
    }

    /// Subject and cell of everything in the streams.
    async fn stored(&self) -> Vec<(String, usize)> {
        let context = jetstream::new(self.owner.0.clone());
        let mut found = Vec::new();
        for name in self.streams().await {
            let stream = context.get_stream(&name).await.unwrap();
            for sequence in 1..=stream.cached_info().state.last_sequence {
                let Ok(message) = stream.get_raw_message(sequence).await else { continue };
                let header = message.headers.get(MARK).map(|mark| mark.as_str().to_owned()).unwrap_or_default();
                let text = format!("{header} {} {}", String::from_utf8_lossy(&message.payload), message.subject);
                found.extend(Cell::marked(&text).map(|id| (message.subject.to_string(), id)));
            }
        }
        found
    }

    async fn streams(&self) -> Vec<String> {
        let names: Value = serde_json::from_str(&self.owner.ask("$JS.API.STREAM.NAMES", "").await).unwrap();
        names["streams"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    /// How streams and consumers are set up, and that nothing of them is gone.
    pub(super) async fn settings(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for name in self.streams().await {
            let ask = async |call: &str| -> Value {
                serde_json::from_str(&self.owner.ask(&format!("$JS.API.{call}.{name}"), "").await).unwrap()
            };
            let stream = ask("STREAM.INFO").await;
            let state = &stream["state"];
            if name.starts_with("HP_") {
                assert!(state["num_deleted"].is_null() && state["first_seq"].as_u64() <= Some(1), "{stream}");
            }
            all.push(stream["config"].clone());
            let consumers = ask("CONSUMER.LIST").await;
            all.extend(consumers["consumers"].as_array().unwrap().iter().map(|consumer| consumer["config"].clone()));
        }
        all.sort_by_key(ToString::to_string);
        all
    }

    /// A message that a user sent under another message's id does not get in that one's way.
    pub(super) async fn ids_of_others_are_free(&self, cells: &[Cell], families: &[Family]) {
        for (id, cell) in cells.iter().enumerate() {
            let own = families[cell.family].name == format!("handoff {}", cell.actor.role);
            if !own || cell.way != Way::MessageId || !role::HANDING.contains(&cell.actor.role) {
                continue;
            }
            for other in role::HANDING.into_iter().filter(|role| *role != cell.actor.role) {
                let victim = self.broker.raw_agent(other, &format!("{other}-9")).await;
                let headers = cell.way.headers(&cell.actor, &Cell::mark(id));
                let subject = format!("hp.v1.handoff.{other}.0.f.victim-of-{}.build_plan", cell.actor.role);
                let stored = victim.ask_with(&subject, "mine", headers).await;
                assert!(stored.contains("\"seq\":") && !stored.contains("duplicate"), "{other}: {stored}");
            }
        }
    }

    /// Nobody at all, users of another authority, and users that say who they are without a signature.
    pub(super) async fn strangers_stay_out(&self) {
        let url = self.broker.local.broker.url();
        let connect = async |options: async_nats::ConnectOptions| {
            let result = tokio::time::timeout(Duration::from_secs(20), options.connect(url.as_str())).await;
            result.expect("an answer").map(drop)
        };
        assert!(connect(async_nats::ConnectOptions::new()).await.is_err());
        let with_password = async_nats::ConnectOptions::with_user_and_password("holdpoint".into(), "holdpoint".into());
        assert!(connect(with_password).await.is_err());
        let mut foreign = Authority::create();
        let fleet = streams::fleet_pool();
        let name = |role: &str| format!("{role}-1").parse().unwrap();
        let mut all = vec![foreign.mint_orchestrator(&name("orchestrator")), foreign.mint_operator(&name("operator"))];
        all.extend(role::AGENTS.map(|role| foreign.mint_agent(&role::id(role), &name(role), &fleet, None).unwrap()));
        for credentials in all {
            let options = async_nats::ConnectOptions::with_credentials(&credentials.to_text()).unwrap();
            assert!(connect(options).await.is_err(), "{credentials:?}");
        }
        // The JWT of one user with the key of another.
        let (one, two) = (self.credentials(role::BUILDER, "b1"), self.credentials(role::VERIFIER, "v1"));
        let signer = one.signer();
        let borrowed = async_nats::ConnectOptions::with_jwt(two.jwt().to_owned(), move |nonce| {
            let signature = signer.sign("", &nonce).into_bytes();
            async move { Ok(signature) }
        });
        assert!(connect(borrowed).await.is_err());
    }
}

/// What stands for the mark in subjects that are listened to.
const TRIGGER: &str = "trigger";

fn mark_of(message: &Message) -> Option<usize> {
    let header = message.headers.as_ref().and_then(|map| map.get(MARK)).map(|mark| mark.as_str().to_owned());
    let text =
        format!("{} {} {}", header.unwrap_or_default(), String::from_utf8_lossy(&message.payload), message.subject);
    Cell::marked(&text)
}

/// Waits for answers that can only come after everything that was sent before on this connection; what came until then.
async fn until_barrier(client: &Client, name: &str, role: &str, answers: &mut async_nats::Subscriber) -> Vec<Message> {
    let missing = subjects::blob_chunk(&role::id(role::BUILDER), &holdpoint_protocol::Digest::of(b"missing"), 0);
    let inside = [role::ORCHESTRATOR, role::ARCHIVIST].contains(&role);
    let stream = if inside { "HP_BLOB_BUILDER" } else { "HP_BLOB" };
    let endpoint = if role::AGENTS.contains(&role) { "progress" } else { "status" };
    let mut came = Vec::new();
    for subject in [subjects::direct_get(stream, &missing), subjects::api(endpoint)] {
        let reply = format!("_INBOX.{name}.{BARRIER}");
        client.publish_with_reply(subject, reply.clone(), "".into()).await.unwrap();
        client.flush().await.unwrap();
        loop {
            let message = tokio::time::timeout(SOON, answers.next()).await.expect("an answer").unwrap();
            if *message.subject == *reply {
                break;
            }
            came.push(message);
        }
    }
    came
}

fn note_answers(answers: Vec<Message>, effects: &mut Effects) {
    for answer in answers {
        let Some(id) = Cell::marked(&answer.subject) else { continue };
        let failed = answer.headers.as_ref().is_some_and(|map| map.get("Nats-Service-Error").is_some());
        let refused = failed || String::from_utf8_lossy(&answer.payload).contains("\"error\"");
        let effect = match answer.status.map(|status| status.as_u16()) {
            // Nobody there to answer.
            Some(503) => continue,
            Some(code) if code >= 400 => Effect::Refused,
            _ if refused => Effect::Refused,
            _ => Effect::Answered,
        };
        effects.entry(id).or_default().insert(effect);
    }
}

fn heard_from(message: &Message) -> Option<Effect> {
    match &*message.payload {
        b"trigger Agents" => Some(Effect::HearsAgents),
        b"trigger Holdpoint" => Some(Effect::HearsHoldpoint),
        b"trigger System" => Some(Effect::HearsSystem),
        _ => None,
    }
}
