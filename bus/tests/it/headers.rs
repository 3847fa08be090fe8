//! Blocks of headers that no client of ours would send, from an agent with a valid key: the broker stores and gives out whatever is in
//! them, and no reader may end by it. See `vendor/async-nats/README.md`.

use std::{collections::BTreeMap, time::Duration};

use data_encoding::BASE64URL_NOPAD;
use holdpoint_bus::{
    Bus,
    archivist::Archivist,
    auth::Credentials,
    blobs::{self, BlobError},
    handoffs::HandoffQueue,
    past,
};
use holdpoint_protocol::{
    Digest,
    ids::{RoleId, role},
    journal::Sequence,
    streams, subjects,
};
use nkeys::KeyPair;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream},
    net::TcpStream,
    time::Instant,
};

use crate::support::{SOON, TestBroker, all, flight, waypoint};

/// Each is the headers of a message, with the status line that the server's own messages have.
const BLOCKS: [&[u8]; 12] = [
    b"NATS/1.0\r\nHp-X: a\rb\r\n\r\n",
    b"NATS/1.0\r\nHp-X: a\r\n and\rmore\r\n\r\n",
    b"NATS/1.0\r\nno colon\r\n\r\n",
    b"NATS/1.0\r\nHp X\x01: bad name\r\n\r\n",
    b"NATS/1.0\r\n: no name\r\n\r\n",
    b"NATS/1.0\r\nHp-X: \xff\xfe\r\n\r\n",
    b"NATS/1.0 404 No Messages\r\n\r\n",
    b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
    b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
    b"NATS/1.0 x y\r\nNats-Sequence: 9\r\n\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"\r\n\r\nNATS/1.0\r\nHp-X: 1\r\n\r\n",
];

/// Between two looks for something that the broker may not have stored yet.
const PAUSE: Duration = Duration::from_millis(10);

/// A connection that writes what it likes.
struct Socket(BufStream<TcpStream>);

impl Socket {
    async fn connect(broker: &TestBroker, credentials: &Credentials) -> Self {
        let address = broker.local.broker.url().replace("nats://", "");
        let mut stream = BufStream::new(TcpStream::connect(address).await.unwrap());
        let mut hello = String::new();
        stream.read_line(&mut hello).await.unwrap();
        let info: serde_json::Value = serde_json::from_str(hello.trim().trim_start_matches("INFO ")).unwrap();
        let text = credentials.to_text();
        let seed = text.lines().find(|line| line.starts_with("SU")).unwrap();
        let signature = KeyPair::from_seed(seed).unwrap().sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap();
        let connect = serde_json::json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "jwt": credentials.jwt(), "sig": BASE64URL_NOPAD.encode(&signature),
        });
        stream.write_all(format!("CONNECT {connect}\r\n").as_bytes()).await.unwrap();
        Self(stream)
    }

    async fn publish(&mut self, subject: &str, headers: &[u8], payload: &[u8]) {
        let (head, all) = (headers.len(), headers.len() + payload.len());
        self.0.write_all(format!("HPUB {subject} {head} {all}\r\n").as_bytes()).await.unwrap();
        self.0.write_all(&[headers, payload, b"\r\n"].concat()).await.unwrap();
    }

    /// Waits until the broker has read everything.
    async fn flush(&mut self) {
        self.0.write_all(b"PING\r\n").await.unwrap();
        self.0.flush().await.unwrap();
        let mut line = String::new();
        while line.trim() != "PONG" {
            assert!(!line.starts_with("-ERR"), "{line}");
            line.clear();
            assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "the broker ended the connection");
        }
    }
}

#[tokio::test]
async fn a_handoff_with_any_headers_is_read_by_every_reader_of_its_stream() {
    let broker = TestBroker::start().await;
    let (builder, id) = (role::id(role::BUILDER), flight("f"));
    let mut queue = HandoffQueue::open(&broker.orchestrator, &builder, subjects::partition(&id)).await.unwrap();
    let mut socket = Socket::connect(&broker, &broker.mint(role::BUILDER, "b1", &streams::fleet_pool())).await;
    let subject = subjects::handoff(&builder, &id, &waypoint("w"), "build_plan");
    let sent: Vec<Vec<u8>> = (0..=BLOCKS.len()).map(|n| n.to_string().into_bytes()).collect();
    for (payload, block) in sent.iter().zip(BLOCKS.iter().chain([&&b"NATS/1.0\r\nHp-Schema: s\r\n\r\n"[..]])) {
        socket.publish(&subject, block, payload).await;
    }
    socket.flush().await;

    for payload in &sent {
        let received = queue.next(SOON).await.unwrap().unwrap_or_else(|| panic!("{payload:?} does not come"));
        assert_eq!(&received.stored.payload, payload);
        received.ack().await.unwrap();
    }
    let replay = past::of_flight(&broker.orchestrator, &builder, &id, Sequence(0)).await.unwrap();
    let read: Vec<_> = all(replay).await.unwrap();
    assert_eq!(read.iter().map(|stored| &stored.payload[..]).collect::<Vec<_>>(), sent);
    assert!(read.iter().all(|stored| stored.subject == subject), "{read:?}");
    assert_eq!(read.last().unwrap().schema.as_deref(), Some("s"));
    let heads = past::heads_of_kind(&broker.orchestrator, &builder, &id, &waypoint("w"), "build_plan").await.unwrap();
    assert_eq!(all(heads).await.unwrap().len(), sent.len());
    let archivist = Archivist::open(&broker.bus(role::ARCHIVIST, "archivist-1").await).await.unwrap();
    let (mut places, mut payloads) = (BTreeMap::new(), Vec::new());
    archivist.each_payload(&mut places, |payload| payloads.push(payload.to_vec())).await.unwrap();
    assert_eq!(payloads, sent);
}

/// Why a blob cannot be read once its chunk is stored: that the broker has read a message says nothing of its stream.
async fn once_stored(reader: &Bus, digest: Digest, owners: &[RoleId]) -> BlobError {
    let deadline = Instant::now() + SOON;
    loop {
        match blobs::get(reader, digest, owners, 1 << 20).await.unwrap_err() {
            BlobError::NotFound { .. } if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            told => return told,
        }
    }
}

#[tokio::test]
async fn a_chunk_with_any_headers_is_refused_and_its_reader_goes_on() {
    let broker = TestBroker::start().await;
    let builder = role::id(role::BUILDER);
    let reader = broker.bus(role::VERIFIER, "v1").await;
    let owners = std::slice::from_ref(&builder);
    let sound = blobs::put(&broker.bus(role::BUILDER, "b1").await, &builder, "sound".into()).await.unwrap();
    let mut socket = Socket::connect(&broker, &broker.mint(role::BUILDER, "b2", &streams::fleet_pool())).await;
    for (n, block) in BLOCKS.into_iter().enumerate() {
        let digest = Digest::of(n.to_string().as_bytes());
        socket.publish(&subjects::blob_chunk(&builder, &digest, 0), block, n.to_string().as_bytes()).await;
        socket.flush().await;
        let told = once_stored(&reader, digest, owners).await;
        assert!(matches!(told, BlobError::Corrupt { .. }), "{n}: {told:?}");
        assert_eq!(blobs::get(&reader, sound, owners, 1 << 20).await.unwrap(), "sound");
    }
}
