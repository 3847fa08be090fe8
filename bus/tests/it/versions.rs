//! Servers that are too old, or not there.

use std::os::unix::fs::PermissionsExt;

use holdpoint_bus::{
    Bus, ConnectArgs, ConnectError,
    auth::{Authority, Credentials},
    broker::{BrokerError, ServerBinary},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

use crate::support::server;

fn somebody() -> Credentials {
    Authority::create().mint_operator(&"ann".parse().unwrap())
}

/// Speaks just enough of the protocol to be a server of that version.
async fn server_of_version(version: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let info = format!(
            "INFO {{\"server_id\":\"S\",\"server_name\":\"s\",\"version\":\"{version}\",\"go\":\"\",\"host\":\"127.0.0.1\",\
             \"port\":{port},\"headers\":true,\"max_payload\":1048576,\"proto\":1,\"client_id\":1,\"nonce\":\"abc\"}}\r\n"
        );
        socket.write_all(info.as_bytes()).await.unwrap();
        let (read, mut write) = socket.split();
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line.starts_with("PING") {
                write.write_all(b"PONG\r\n").await.unwrap();
            }
        }
    });
    format!("nats://127.0.0.1:{port}")
}

#[tokio::test]
async fn a_server_below_the_floor_is_refused_by_its_own_word() {
    for old in ["2.9.10", "2.14.3", "1.4.1"] {
        let url = server_of_version(old).await;
        let error = Bus::connect(ConnectArgs::new(url, somebody())).await.unwrap_err();
        let ConnectError::TooOld { found, .. } = &error else { panic!("{error:?}") };
        assert_eq!(found, old);
        assert!(error.to_string().contains("2.14.4"), "{error}");
    }
    let url = server_of_version("2.14.4").await;
    Bus::connect(ConnectArgs::new(url, somebody())).await.unwrap();
}

#[tokio::test]
async fn one_of_several_servers_that_answers_is_enough() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let there = server_of_version("2.15.1").await;
    let url = format!("nats://{free},{there}");
    let bus = Bus::connect(ConnectArgs::new(url, somebody())).await.unwrap();
    assert_eq!(bus.server_version(), "2.15.1");
}

#[tokio::test]
async fn nobody_there_is_told_apart_from_not_let_in() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("nats://{free}");
    let error = Bus::connect(ConnectArgs::new(url, somebody())).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoBroker { .. }), "{error:?}");
}

#[tokio::test]
async fn a_program_is_asked_for_its_version_before_it_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nats-server");
    std::fs::write(&path, "#!/bin/sh\necho 'nats-server: v2.12.1'\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let error = ServerBinary::at(&path).await.unwrap_err();
    assert!(matches!(error, BrokerError::TooOld { .. }), "{error:?}");
    let missing = ServerBinary::at(&dir.path().join("none")).await.unwrap_err();
    assert!(matches!(missing, BrokerError::NotFound { .. }), "{missing:?}");
    // The real one is taken.
    assert_eq!(ServerBinary::at(server().await.path()).await.unwrap(), server().await);
}
