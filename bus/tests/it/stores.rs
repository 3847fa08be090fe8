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
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/broker.sh");
    let mut command = Command::new("sh");
    command.arg(script).arg("--config").arg(cluster.dir.path().join(configuration));
    command.env("NATS_PROGRAM", &cluster.binary).env("NATS_STORE", cluster.dir.path().join("store-0"));
    command
}

/// The configuration of the first server without the cluster, for the same store: `alone.conf`.
fn write_alone(cluster: &Cluster) {
    let text = fs::read_to_string(cluster.dir.path().join("0.conf")).unwrap();
    let (before, rest) = text.split_once("cluster {").unwrap();
    let (_, after) = rest.split_once("\n}\n").unwrap();
    fs::write(cluster.dir.path().join("alone.conf"), format!("{before}{after}")).unwrap();
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
