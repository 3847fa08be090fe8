//! Looking at connections and ending them, against a real server, and what else the user that does it can do: nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_nats::{Client, connection::State};
use holdpoint_bus::{
    auth::Credentials,
    connections::{Connection, Connections},
};
use holdpoint_protocol::{ids::role, streams};

use crate::support::{Raw, SOON, TestBroker};

/// A client that stays away once it is ended.
async fn client(broker: &TestBroker, credentials: &Credentials) -> Client {
    let options = async_nats::ConnectOptions::with_credentials(&credentials.to_text()).unwrap();
    let connected = Arc::new(AtomicBool::new(false));
    let was = connected.clone();
    let pause = move |_| if was.load(Ordering::Relaxed) { Duration::from_secs(3_600) } else { Duration::ZERO };
    let inbox = format!("_INBOX.{}", credentials.name());
    let options = options.reconnect_delay_callback(pause).name("a name of its own").custom_inbox_prefix(inbox);
    let client = options.connect(broker.local.broker.url()).await.unwrap();
    connected.store(true, Ordering::Relaxed);
    client
}

async fn watch(broker: &TestBroker) -> Connections {
    let bus = broker.local.connect(&broker.local.authority.mint_connections()).await.unwrap();
    Connections::watch(bus, &broker.roots().agents_account).await.unwrap()
}

/// The connections of a key, the oldest first.
async fn of(connections: &mut Connections, credentials: &Credentials) -> Vec<Connection> {
    let mut all = connections.look().await.unwrap();
    all.retain(|connection| connection.key == credentials.public_key());
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_connections_of_a_key_are_ended_and_no_others() {
    let broker = TestBroker::start().await;
    let mut connections = watch(&broker).await;
    let flood = broker.mint(role::BUILDER, "b1", &streams::fleet_pool());
    let other = client(&broker, &broker.mint(role::VERIFIER, "v1", &streams::fleet_pool())).await;
    let mut clients = Vec::new();
    for _ in 0..300 {
        clients.push(client(&broker, &flood).await);
    }
    tokio::time::timeout(SOON, connections.changed()).await.expect("the broker says that somebody came");
    // More than one page.
    let all = of(&mut connections, &flood).await;
    assert_eq!((all.len(), all[0].name.as_str()), (300, "a name of its own"));
    for connection in &all[10..] {
        assert!(connections.end(connection).await.unwrap());
    }
    assert!(!connections.end(&all[299]).await.unwrap(), "it has ended");
    let numbers = |all: &[Connection]| all.iter().map(|connection| connection.number).collect::<Vec<_>>();
    assert_eq!(numbers(&of(&mut connections, &flood).await), numbers(&all[..10]));
    for (number, client) in clients.iter().enumerate() {
        let expected = if number < 10 { State::Connected } else { State::Disconnected };
        let ended = async {
            while client.connection_state() != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, ended).await.unwrap_or_else(|_| panic!("{number} is not {expected:?}"));
    }
    assert_eq!(other.connection_state(), State::Connected);
    assert!(broker.orchestrator.is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_key_sent_is_known_while_it_is_there_and_after_it_has_gone() {
    let broker = TestBroker::start().await;
    let mut connections = watch(&broker).await;
    let key = broker.mint(role::BUILDER, "b1", &streams::fleet_pool());
    let other = broker.raw_agent(role::BUILDER, "b2").await;
    other.ask("hp.v1.blob.builder.x.0", "other").await;
    for long in [100_000, 200_000] {
        let agent = broker.raw(&key).await;
        let sent = "x".repeat(long);
        // Counted whether it is stored or refused, and whatever it is.
        agent.ask("hp.v1.blob.builder.x.0", &sent).await;
        agent.ask("hp.v1.blob.builder.x.0", &sent).await;
        // The broker answers a message before it counts it.
        let counted = async {
            loop {
                let [here] = &*of(&mut connections, &key).await else { panic!("it is connected once") };
                if here.messages >= 2 {
                    break here.clone();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let here = tokio::time::timeout(SOON, counted).await.expect("the broker counts both");
        assert_eq!((here.bytes, here.messages, here.jwt.as_str()), (2 * long as u64, 2, key.jwt()));
        let (number, bytes) = (here.number, here.bytes);
        drop(agent);
        let gone = async {
            loop {
                let ended = connections.ended(SOON).await.unwrap();
                if let Some(found) = ended.into_iter().find(|connection| connection.number == number) {
                    break found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let gone = tokio::time::timeout(SOON, gone).await.expect("the broker remembers it");
        assert_eq!((gone.key.as_str(), gone.bytes, gone.messages), (key.public_key(), bytes, 2));
    }
    // It went in the last millisecond, or longer ago.
    let forgotten = async { while !connections.ended(Duration::ZERO).await.unwrap().is_empty() {} };
    tokio::time::timeout(SOON, forgotten).await.expect("nobody went just now");
    let went = async {
        let mut went = Vec::new();
        while went.len() < 2 {
            went.extend(connections.went().into_iter().filter(|connection| connection.key == key.public_key()));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        went
    };
    let went = tokio::time::timeout(SOON, went).await.expect("the broker says what each sent that went");
    let sent: Vec<_> = went.iter().map(|went| (went.bytes, went.messages, went.jwt.as_str())).collect();
    assert_eq!(sent, [(200_000, 2, key.jwt()), (400_000, 2, key.jwt())]);
    assert_eq!(connections.went(), [], "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_looks_after_connections_can_do_nothing_else_with_the_broker() {
    let broker = TestBroker::start().await;
    let agent = client(&broker, &broker.mint(role::BUILDER, "b1", &streams::fleet_pool())).await;
    let credentials = broker.local.authority.mint_connections();
    let mut watching = watch(&broker).await;
    let Raw(raw) = broker.raw(&credentials).await;
    let raw = Raw(raw);
    let server = watching.look().await.unwrap()[0].server.clone();
    for subject in [
        "$SYS.REQ.SERVER.PING".to_owned(),
        "$SYS.REQ.SERVER.PING.CONNZ".to_owned(),
        format!("$SYS.REQ.SERVER.{server}.VARZ"),
        format!("$SYS.REQ.SERVER.{server}.RELOAD"),
        format!("$SYS.REQ.SERVER.{server}.LDM"),
        "$SYS.REQ.CLAIMS.LIST".to_owned(),
        "$SYS.REQ.CLAIMS.UPDATE".to_owned(),
        format!("$SYS.REQ.ACCOUNT.{}.SUBSZ", broker.roots().agents_account),
        "$JS.API.STREAM.NAMES".to_owned(),
        "hp.v1.api.flights".to_owned(),
    ] {
        assert!(raw.refused(&subject, "{}").await, "{subject}");
    }
    // Nothing else is heard: the broker says so, and delivers nothing.
    let mut heard = raw.0.subscribe("$SYS.>").await.unwrap();
    raw.0.flush().await.unwrap();
    let another = client(&broker, &broker.mint(role::BUILDER, "b2", &streams::fleet_pool())).await;
    another.flush().await.unwrap();
    tokio::time::timeout(SOON, watching.changed()).await.expect("who may hear it does");
    assert!(futures::FutureExt::now_or_never(futures::StreamExt::next(&mut heard)).flatten().is_none());
    // No agent ends anybody.
    let agent = Raw(agent);
    assert!(agent.refused(&format!("$SYS.REQ.SERVER.{server}.KICK"), "{\"cid\": 1}").await);
}
