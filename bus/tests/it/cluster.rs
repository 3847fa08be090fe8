//! Three servers that keep three copies: what is acknowledged survives the loss of any of them, and a race has one winner.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use async_nats::{ConnectOptions, jetstream};
use holdpoint_bus::{
    Bus, ConnectArgs, Stored,
    auth::{Authority, Credentials},
    blobs::{self, BlobError},
    connections::Connections,
    journal::{AppendError, Journal},
    topology::{self, TopologySettings},
};
use holdpoint_protocol::{
    Digest,
    ids::role,
    journal::{EntryKind, Sequence},
    roles::Roles,
    streams,
    subjects::JournalKey,
};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::support::{append, flight, outgoing, read, server, waypoint};

/// How long a cluster may take to choose a leader on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before the next attempt.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
/// Entries that are appended around each loss.
const ENTRIES: usize = 16;
/// Servers.
pub(crate) const SERVERS: usize = 3;
/// Disk for the streams of each server, in bytes.
const DISK_BYTES: u64 = 1 << 30;

pub(crate) struct Cluster {
    pub(crate) dir: TempDir,
    pub(crate) binary: PathBuf,
    ports: Vec<u16>,
    pub(crate) servers: Vec<Option<Child>>,
    pub(crate) orchestrator: Credentials,
    pub(crate) authority: Authority,
}

impl Cluster {
    async fn start() -> Self {
        let mut cluster = Self::prepared().await;
        (0..SERVERS).for_each(|n| cluster.start_server(n));
        cluster
    }

    /// One whose servers do not run yet: `<n>.conf` in its folder is the configuration of each.
    pub(crate) async fn prepared() -> Self {
        let dir = TempDir::new().unwrap();
        let mut authority = Authority::create();
        let orchestrator = authority.mint_orchestrator(&"o".parse().unwrap());
        // Held together, so that all are different.
        let held: Vec<TcpListener> = (0..2 * SERVERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let free: Vec<u16> = held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(held);
        let (ports, routes) = free.split_at(SERVERS);
        for (n, (port, route)) in ports.iter().zip(routes).enumerate() {
            let text = configuration(dir.path(), n, *port, *route, routes);
            fs::write(dir.path().join(format!("{n}.conf")), text + &authority.server_config()).unwrap();
        }
        let binary = server().await.path().to_owned();
        let servers = (0..SERVERS).map(|_| None).collect();
        Self { dir, binary, ports: ports.to_vec(), servers, orchestrator, authority }
    }

    /// Writes a configuration of the first server without the cluster, for a store of this name.
    pub(crate) fn write_alone(&self, configuration: &str, store: &str) {
        let text = fs::read_to_string(self.dir.path().join("0.conf")).unwrap();
        let (before, rest) = text.split_once("cluster {").unwrap();
        let (_, after) = rest.split_once("\n}\n").unwrap();
        let text = format!("{before}{after}").replace("store-0", store);
        fs::write(self.dir.path().join(configuration), text).unwrap();
    }

    pub(crate) fn start_server(&mut self, n: usize) {
        self.start_with(n, &format!("{n}.conf"));
    }

    /// Starts a server with a configuration of another name.
    pub(crate) fn start_with(&mut self, n: usize, configuration: &str) {
        let mut command = Command::new(&self.binary);
        command.arg("--config").arg(self.dir.path().join(configuration)).stderr(Stdio::null());
        self.servers[n] = Some(command.spawn().unwrap());
    }

    pub(crate) fn kill(&mut self, n: usize) {
        let mut server = self.servers[n].take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    pub(crate) fn url(&self) -> String {
        self.ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// Waits until every server has all of the journal again.
    pub(crate) async fn caught_up(&self) {
        let options = ConnectOptions::with_credentials(&self.orchestrator.to_text()).unwrap();
        let servers: Vec<String> = self.url().split(',').map(str::to_owned).collect();
        let context = jetstream::new(options.connect(servers).await.unwrap());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let journal = context.get_stream(streams::JOURNAL).await;
            let cluster = journal.ok().and_then(|journal| journal.cached_info().cluster.clone());
            if cluster.is_some_and(|c| c.replicas.len() == SERVERS - 1 && c.replicas.iter().all(|r| r.current)) {
                return;
            }
            assert!(Instant::now() < deadline, "a server does not catch up");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Connects as anybody of this authority to those that run.
    pub(crate) async fn connect_as(&self, credentials: &Credentials) -> Bus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Bus::connect(ConnectArgs::new(self.url(), credentials.clone())).await {
                Ok(bus) => return bus,
                Err(error) => assert!(Instant::now() < deadline, "{error:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the servers chose who leads them.
    pub(crate) async fn has_leader(&self) {
        let options =
            ConnectOptions::with_credentials(&self.orchestrator.to_text()).unwrap().retry_on_initial_connect();
        let servers: Vec<String> = self.url().split(',').map(str::to_owned).collect();
        let context = jetstream::new(options.connect(servers).await.unwrap());
        let deadline = Instant::now() + PATIENCE;
        while context.query_account().await.is_err() {
            assert!(Instant::now() < deadline, "the cluster has no leader");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Connects to all of them, with the streams made.
    pub(crate) async fn connect(&self) -> Bus {
        self.connect_with(SERVERS).await
    }

    /// Connects to those that run, with as many copies of each message.
    pub(crate) async fn connect_with(&self, replicas: usize) -> Bus {
        let url = self.url();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let args = ConnectArgs::new(url.clone(), self.orchestrator.clone());
            if let Ok(bus) = Bus::connect(args).await {
                let settings = TopologySettings { replicas, disk_bytes: DISK_BYTES, ..TopologySettings::default() };
                if topology::ensure(&bus, &settings, &Roles::built_in()).await.is_ok() {
                    return bus;
                }
            }
            assert!(Instant::now() < deadline, "the cluster has no leader");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_a_key_are_seen_and_ended_on_every_server() {
    let cluster = Cluster::start().await;
    let _orchestrator = cluster.connect().await;
    let (role, pool) = (role::id(role::BUILDER), streams::fleet_pool());
    let key = cluster.authority.mint_agent(&role, &"b1".parse().unwrap(), &pool, None).unwrap();
    let mut agents = Vec::new();
    for port in &cluster.ports {
        let args = ConnectArgs::new(format!("nats://127.0.0.1:{port}"), key.clone());
        agents.push(Bus::connect(args).await.unwrap());
    }
    let system = ConnectArgs::new(cluster.url(), cluster.authority.mint_connections());
    let system = Bus::connect(system).await.unwrap();
    let mut connections = Connections::watch(system, &cluster.authority.trust_roots().agents_account).await.unwrap();
    let deadline = Instant::now() + PATIENCE;
    let all = loop {
        let mut all = connections.look().await.unwrap();
        all.retain(|connection| connection.key == key.public_key());
        all.sort();
        if all.len() == SERVERS {
            break all;
        }
        assert!(Instant::now() < deadline, "a server does not say who is connected: {all:?}");
        tokio::time::sleep(PAUSE).await;
    };
    let servers: BTreeSet<&str> = all.iter().map(|connection| connection.server.as_str()).collect();
    assert_eq!(servers.len(), SERVERS);
    let newest = all.last().unwrap();
    assert!(connections.end(newest).await.unwrap() && !connections.end(newest).await.unwrap());
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in self.servers.iter_mut().flatten() {
            // It may have ended by itself.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn configuration(dir: &Path, n: usize, port: u16, route: u16, routes: &[u16]) -> String {
    let others: Vec<String> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    format!(
        "server_name: n{n}\nlisten: \"127.0.0.1:{port}\"\nmax_payload: 8MB\n\
         jetstream {{\n  store_dir: {:?}\n  max_memory_store: 64MB\n  max_file_store: {DISK_BYTES}\n}}\n\
         cluster {{\n  name: hp\n  listen: \"127.0.0.1:{route}\"\n  routes: [{}]\n}}\n",
        dir.join(format!("store-{n}")),
        others.join(", "),
    )
}

/// Appends until it is acknowledged; an entry whose acknowledgement was lost is found again under its id.
pub(crate) async fn append_surely(journal: &Journal, key: &JournalKey, expected: Sequence, id: &str) -> Sequence {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match append(journal, key, &EntryKind::Decided, expected, id).await {
            Ok(sequence) => return sequence,
            Err(error) => assert!(Instant::now() < deadline, "{id}: {error:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads a journal; a cluster that is choosing a leader answers late.
pub(crate) async fn read_surely(journal: &Journal, key: &JournalKey) -> Vec<Stored> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match read(journal, key).await {
            Ok(read) => return read,
            Err(error) => assert!(Instant::now() < deadline, "{error:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_the_loss_of_each_server_in_turn() {
    let mut cluster = Cluster::start().await;
    let bus = cluster.connect().await;
    let journal = Journal::new(&bus);
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let (mut expected, mut acknowledged) = (Sequence(0), Vec::new());
    for victim in 0..SERVERS {
        for n in 0..ENTRIES {
            if n == ENTRIES / 2 {
                cluster.kill(victim);
            }
            let id = format!("{victim}-{n}");
            expected = append_surely(&journal, &key, expected, &id).await;
            acknowledged.push((expected, Digest::of(&outgoing(&format!("{{\"id\":\"{id}\"}}"), &id).payload)));
        }
        cluster.start_server(victim);
        cluster.caught_up().await;
    }
    let read = read_surely(&journal, &key).await;
    let found: Vec<(Sequence, Digest)> = read.iter().map(|e| (e.sequence, Digest::of(&e.payload))).collect();
    assert_eq!(found, acknowledged);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_appends_that_race_in_a_cluster_exactly_one_wins_and_the_others_know_it() {
    let cluster = Cluster::start().await;
    let mut journals = Vec::new();
    for _ in 0..3 {
        journals.push(Journal::new(&cluster.connect().await));
    }
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let mut expected = Sequence(0);
    for round in 0..50 {
        let racers = journals.iter().enumerate().map(|(racer, journal)| {
            let (journal, key) = (journal.clone(), key.clone());
            tokio::spawn(async move {
                let id = format!("r{round}-{racer}");
                loop {
                    match append(&journal, &key, &EntryKind::Decided, expected, &id).await {
                        // Whether it was stored is not known: the same once more shows it.
                        Err(AppendError::Unacknowledged { .. }) => {}
                        known => return known,
                    }
                }
            })
        });
        let mut won = Vec::new();
        for racer in racers.collect::<Vec<_>>() {
            match racer.await.unwrap() {
                Ok(sequence) => won.push(sequence),
                // Also when the server says so in the words it has for an append that is in flight.
                Err(error) => assert!(matches!(error, AppendError::Conflict { .. }), "round {round}: {error:?}"),
            }
        }
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        expected = won[0];
    }
    assert_eq!(read_surely(&journals[0], &key).await.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_too_a_role_that_fills_its_room_is_told_which_and_stops_no_other() {
    let cluster = Cluster::start().await;
    let orchestrator = cluster.connect().await;
    let settings = TopologySettings { replicas: SERVERS, disk_bytes: 4 << 20, ..TopologySettings::default() };
    topology::ensure(&orchestrator, &settings, &Roles::built_in()).await.unwrap();
    let agent = async |name| {
        let (role, pool) = (role::id(name), streams::fleet_pool());
        let key = cluster.authority.mint_agent(&role, &format!("{name}-1").parse().unwrap(), &pool, None).unwrap();
        (Bus::connect(ConnectArgs::new(cluster.url(), key)).await.unwrap(), role)
    };
    let (builder, own) = agent(role::BUILDER).await;
    let mut stored = 0;
    let refused = loop {
        match blobs::put(&builder, &own, format!("blob {stored}").into()).await {
            Ok(_) => stored += 1,
            Err(refused) => break refused,
        }
    };
    let BlobError::NoRoom { source, .. } = refused else { panic!("{refused:?}") };
    assert!(source.to_string().contains("HP_BLOB_BUILDER may hold one message for every 4 KiB of 18 %"), "{source}");
    assert_eq!(stored, (4 << 20) / 1_000 * 180 / (4 << 10));
    // A blob that is there is success also when nothing more goes in.
    let digest = blobs::put(&builder, &own, "blob 0".into()).await.unwrap();
    assert_eq!(blobs::get(&builder, digest, &[own], 1 << 20).await.unwrap(), "blob 0");
    let (verifier, own) = agent(role::VERIFIER).await;
    let digest = blobs::put(&verifier, &own, "evidence".into()).await.unwrap();
    assert_eq!(blobs::get(&orchestrator, digest, &[own], 1 << 20).await.unwrap(), "evidence");
}

/// Of two orchestrators that start at once, each gets the answers that the cluster gave to the other one alone.
#[tokio::test(flavor = "multi_thread")]
async fn two_that_set_up_a_cluster_at_once_both_end_without_an_answer_that_never_comes() {
    let cluster = Cluster::start().await;
    cluster.has_leader().await;
    let (one, other) =
        tokio::join!(cluster.connect_as(&cluster.orchestrator), cluster.connect_as(&cluster.orchestrator));
    let settings = TopologySettings { replicas: SERVERS, disk_bytes: DISK_BYTES, ..TopologySettings::default() };
    let roles = Roles::built_in();
    let (one, other) =
        tokio::join!(topology::ensure(&one, &settings, &roles), topology::ensure(&other, &settings, &roles));
    one.unwrap();
    other.unwrap();
}
