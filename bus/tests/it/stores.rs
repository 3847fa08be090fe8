//! A broker does not start on a store that was written the other way: alone or in a cluster. Both lose every stream.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use holdpoint_bus::journal::Journal;
use holdpoint_protocol::{journal::Sequence, subjects::JournalKey};

use crate::{
    cluster::{Cluster, SERVERS, append_surely, read_surely},
    support::{flight, waypoint},
};

/// Starts the first server as its image does.
fn start(cluster: &mut Cluster, configuration: &str) {
    let server = started(cluster, configuration).stderr(Stdio::null()).spawn().unwrap();
    cluster.servers[0] = Some(server);
}

/// Why the first server did not start.
fn refused(cluster: &Cluster, configuration: &str) -> String {
    let ended = started(cluster, configuration).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    String::from_utf8(ended.stderr).unwrap()
}

fn started(cluster: &Cluster, configuration: &str) -> Command {
    let mut command = script(cluster);
    command.arg("--config").arg(cluster.dir.path().join(configuration));
    command
}

fn script(cluster: &Cluster) -> Command {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/broker.sh");
    let mut command = Command::new("sh");
    command.arg(script);
    command.env("NATS_PROGRAM", &cluster.binary).env("NATS_STORE", cluster.dir.path().join("store-0"));
    command
}

/// The configuration of the first server without the cluster, for the same store: `alone.conf`.
fn write_alone(cluster: &Cluster) {
    cluster.write_alone("alone.conf", "store-0");
}

fn key() -> JournalKey {
    JournalKey::waypoint(&flight("f"), &waypoint("w"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_brokers_store_joins_no_cluster_and_keeps_what_it_has() {
    let mut cluster = Cluster::prepared().await;
    write_alone(&cluster);
    start(&mut cluster, "alone.conf");
    append_surely(&Journal::new(&cluster.connect_with(1).await), &key(), Sequence(0), "first").await;
    cluster.kill(0);

    let why = refused(&cluster, "0.conf");
    assert!(why.contains("streams of a single broker") && why.contains("Start the fleet as before"), "{why}");
    start(&mut cluster, "alone.conf");
    assert_eq!(read_surely(&Journal::new(&cluster.connect_with(1).await), &key()).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_brokers_store_that_was_empty_in_a_cluster_before_joins_none() {
    let mut cluster = Cluster::prepared().await;
    write_alone(&cluster);
    start(&mut cluster, "0.conf");
    (1..SERVERS).for_each(|n| cluster.start_server(n));
    cluster.has_leader().await;
    (0..SERVERS).for_each(|n| cluster.kill(n));
    start(&mut cluster, "alone.conf");
    append_surely(&Journal::new(&cluster.connect_with(1).await), &key(), Sequence(0), "first").await;
    cluster.kill(0);

    let why = refused(&cluster, "0.conf");
    assert!(why.contains("streams of a single broker"), "{why}");
    start(&mut cluster, "alone.conf");
    assert_eq!(read_surely(&Journal::new(&cluster.connect_with(1).await), &key()).await.len(), 1);
}

/// A store with one stream that says this of itself.
fn store(cluster: &Cluster, said: &str) {
    let stream = cluster.dir.path().join("store-0/jetstream/A/streams/S");
    fs::create_dir_all(&stream).unwrap();
    fs::write(stream.join("meta.inf"), said).unwrap();
}

#[tokio::test]
async fn every_way_to_name_a_cluster_is_seen() {
    let mut cluster = Cluster::prepared().await;
    cluster.binary = "true".into();
    store(&cluster, r#"{"name":"S","num_replicas":1,"x":0}"#);
    let conf = |text: &str| {
        let path = cluster.dir.path().join("a.conf");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let starts = |arguments: &[&str]| script(&cluster).args(arguments).output().unwrap().status.success();
    for text in ["cluster {\n}\n", "cluster: {}", "cluster{}", "port: 1\n  cluster = {}", "cluster"] {
        let path = conf(text);
        let [short, long] = ["-c", "--config"].map(|option| format!("{option}={path}"));
        for named in [vec!["-c", &path], vec!["-js", "--config", &path], vec![&short], vec![&long]] {
            assert!(!starts(&named), "{text:?} by {named:?}");
        }
    }
    assert!(!starts(&["--cluster", "nats://127.0.0.1:0"]));
    for text in ["port: 1\n# cluster {\n", "cluster_advertise: x"] {
        assert!(starts(&["-c", &conf(text)]), "{text:?}");
    }
    assert!(starts(&[]));
}

#[tokio::test]
async fn a_broker_does_not_start_on_a_store_that_it_cannot_tell() {
    let cluster = Cluster::prepared().await;
    write_alone(&cluster);
    for said in ["", "\u{1}\u{2}"] {
        store(&cluster, said);
        for configuration in ["0.conf", "alone.conf"] {
            let why = refused(&cluster, configuration);
            assert!(why.contains("meta.inf is damaged or encrypted"), "{why}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clusters_store_is_not_started_alone_and_is_whole_in_the_cluster_afterwards() {
    let mut cluster = Cluster::prepared().await;
    write_alone(&cluster);
    (0..SERVERS).for_each(|n| cluster.start_server(n));
    append_surely(&Journal::new(&cluster.connect().await), &key(), Sequence(0), "first").await;
    (0..SERVERS).for_each(|n| cluster.kill(n));

    let why = refused(&cluster, "alone.conf");
    assert!(why.contains("belongs to a cluster") && why.contains("with all brokers"), "{why}");
    start(&mut cluster, "0.conf");
    (1..SERVERS).for_each(|n| cluster.start_server(n));
    cluster.connect().await;
    cluster.caught_up().await;
    assert_eq!(read_surely(&Journal::new(&cluster.connect().await), &key()).await.len(), 1);
}
