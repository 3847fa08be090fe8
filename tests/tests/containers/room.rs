//! A broker whose disk was full stores again once there is room.

use std::{process, time::Duration};

use async_nats::{Client, Request, jetstream};
use holdpoint_tests::world::{World, eventually};
use tokio::time::Instant;

use crate::engine::{Engine, LABEL, TAG, docker, free_port, logs, until_healthy};

/// As `deploy/config/nats.conf`, for anybody.
const CONFIG: &str = "listen: \"0.0.0.0:4222\"\nhttp: \"127.0.0.1:8222\"\nmax_payload: 8MB\n\
                      jetstream {\n  store_dir: \"/data\"\n  max_file_store: 1GB\n  sync_interval: always\n}\n";
/// How long the broker may take to store something, or to be started again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one message may take.
const ANSWER: Duration = Duration::from_secs(3);

/// Whether a megabyte is stored.
async fn is_stored(client: &Client) -> bool {
    let request = Request::new().payload(vec![7; 1 << 20].into()).timeout(Some(ANSWER));
    let answer = client.send_request("a", request).await;
    answer.is_ok_and(|answer| !String::from_utf8_lossy(&answer.payload).contains("\"error\""))
}

async fn connect(url: &str) -> Client {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(client) = async_nats::connect(url).await {
            let config = jetstream::stream::Config {
                name: "A".to_owned(),
                subjects: vec!["a".to_owned()],
                ..Default::default()
            };
            if jetstream::new(client.clone()).get_or_create_stream(config).await.is_ok() {
                return client;
            }
        }
        assert!(Instant::now() < deadline, "no broker at {url}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_found_no_room_is_started_again_once_there_is_some() {
    let Some(_engine) = Engine::take() else { return };
    let world = World::new(&[]);
    world.write("nats.conf", CONFIG);
    let (label, image) = (format!("{LABEL}={}", process::id()), format!("holdpoint/broker:{TAG}"));
    let config = format!("{}:/etc/nats/nats.conf:ro", world.path("nats.conf").display());
    let port = free_port();
    let published = format!("127.0.0.1:{port}:4222");
    // Its data go with each start, as this test needs no more than a disk that is full.
    let disk = "/data:size=48m,uid=10001,mode=0700";
    let run = [
        "run",
        "-d",
        "--label",
        &label,
        "--restart",
        "unless-stopped",
        "--tmpfs",
        disk,
        "-v",
        &config,
        "-p",
        &published,
    ];
    let container = docker(&[&run[..], &[&image]].concat());
    until_healthy(&container);
    let url = format!("nats://127.0.0.1:{port}");
    let client = connect(&url).await;
    assert!(is_stored(&client).await, "{}", logs(&container));

    let fill = "/bin/busybox dd if=/dev/zero of=/data/ballast bs=64k 2> /dev/null; exit 0";
    docker(&["exec", &container, "/bin/busybox", "sh", "-c", fill]);
    assert!(!is_stored(&client).await, "there is no room");
    let is_healthy = ["inspect", "--format", "{{.State.Health.Status}} {{.RestartCount}}", &container];
    eventually("that it is not well", || (docker(&is_healthy) == "unhealthy 0").then_some(()));
    docker(&["exec", &container, "/bin/busybox", "rm", "/data/ballast"]);
    let restarts = ["inspect", "--format", "{{.RestartCount}}", &container];
    eventually("that it is started again", || (docker(&restarts) != "0").then_some(()));
    assert!(is_stored(&connect(&url).await).await, "{}", logs(&container));
    docker(&["rm", "-f", "-v", &container]);
}
