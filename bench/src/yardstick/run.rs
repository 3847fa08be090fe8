//! The near side: a broker of its own, the first message of each waypoint, the wait for the last one.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, pull},
    stream,
};
use futures::StreamExt as _;
use holdpoint_bus::broker::{Broker, BrokerSpec};
use holdpoint_sandbox::service::Lifetime;
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

use super::{Connections, DRIVER, PEER, STREAM, Step, YardstickSpec, parse, peer};
use crate::{
    BenchError, Host,
    error::Doing as _,
    fleet::{self, Member},
    peer::PeerSpec,
    stats::Sample,
    usage::Process,
};

/// How long one waypoint may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// As the product's brokers have it.
const MAX_MEMORY_BYTES: u64 = 64 << 20;
const MAX_FILE_BYTES: u64 = 20 << 30;

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

/// Both sides, running. Dropping it kills its processes.
pub(crate) struct Yardstick {
    broker: Broker,
    peer: Vec<Member>,
    shared: Arc<Shared>,
    follower: JoinHandle<()>,
}

struct Shared {
    jetstream: jetstream::Context,
    steps: Vec<Step>,
    waiting: Waiting,
    begun: AtomicUsize,
}

impl Yardstick {
    /// Starts a broker with one open account below `dir`, and the far side.
    pub(crate) async fn start(
        host: &Host,
        dir: &Path,
        sync_always: bool,
        steps: Vec<Step>,
        connections: Connections,
    ) -> Result<Self, BenchError> {
        let spec = BrokerSpec {
            binary: host.server()?,
            dir: dir.join("broker"),
            authority: String::new(),
            port: 0,
            sync_always,
            max_memory_bytes: MAX_MEMORY_BYTES,
            max_file_bytes: MAX_FILE_BYTES,
            lifetime: Lifetime::Bound,
        };
        let broker = Broker::start(spec).await.map_err(BenchError::Broker)?;
        set_up(&broker.url()).await?;
        let spec = PeerSpec::Yardstick(YardstickSpec { url: broker.url(), steps: steps.clone(), connections });
        let peer = vec![Member::start_peer("yardstick", dir, &spec)?];
        let (jetstream, messages) = peer::messages(&broker.url(), DRIVER).await?;
        let waiting = Waiting::default();
        let follower = tokio::spawn(follow(messages, waiting.clone()));
        let shared = Arc::new(Shared { jetstream, steps, waiting, begun: AtomicUsize::new(0) });
        Ok(Self { broker, peer, shared, follower })
    }

    /// Every process that takes part.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let broker = Process { name: "broker".to_owned(), pid: self.broker.pid() };
        [Process::own("driver"), broker].into_iter().chain(self.peer.iter().map(Member::process)).collect()
    }

    /// So many waypoints, so many at once.
    pub(crate) async fn fly(&mut self, waypoints: usize, concurrency: usize) -> Result<Sample, BenchError> {
        let shared = self.shared.clone();
        fleet::during(&mut self.peer, async move {
            let left = Arc::new(AtomicUsize::new(waypoints));
            let mut loops = JoinSet::new();
            let begin = Instant::now();
            for _ in 0..concurrency {
                loops.spawn(closed_loop(shared.clone(), left.clone()));
            }
            let mut each = Vec::with_capacity(waypoints);
            while let Some(ended) = loops.join_next().await {
                each.extend(ended.doing("drive the yardstick")??);
            }
            Ok(Sample::new(each, begin.elapsed()))
        })
        .await
    }

    /// Ends everything.
    pub(crate) async fn stop(mut self) -> Result<(), BenchError> {
        self.follower.abort();
        for member in self.peer {
            member.kill().await?;
        }
        self.broker.kill().await.map_err(BenchError::Broker)
    }
}

async fn set_up(url: &str) -> Result<(), BenchError> {
    const ACTION: &str = "set up the stream of the yardstick";
    let client = async_nats::connect(url).await.doing(ACTION)?;
    let jetstream = jetstream::new(client);
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec!["y.>".to_owned()],
        storage: stream::StorageType::File,
        ..stream::Config::default()
    };
    let stream = jetstream.create_stream(config).await.doing(ACTION)?;
    for consumer in [PEER, DRIVER] {
        let config = pull::Config {
            durable_name: Some(consumer.to_owned()),
            filter_subject: format!("y.{consumer}.>"),
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: 10_000,
            ..pull::Config::default()
        };
        stream.create_consumer(config).await.doing(ACTION)?;
    }
    Ok(())
}

async fn closed_loop(shared: Arc<Shared>, left: Arc<AtomicUsize>) -> Result<Vec<Duration>, BenchError> {
    let mut each = Vec::new();
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        let waypoint = shared.begun.fetch_add(1, Ordering::Relaxed).to_string();
        let (ended, end) = oneshot::channel();
        shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(waypoint.clone(), ended);
        let begin = Instant::now();
        let published = peer::publish(&shared.jetstream, &shared.steps, 0, &waypoint).await;
        published.doing("publish a message of the yardstick")?;
        let what = || "the last message of the yardstick".to_owned();
        let in_time = tokio::time::timeout(PATIENCE, end).await;
        let in_time = in_time.map_err(|_| BenchError::timed_out(what(), PATIENCE))?;
        in_time.doing("wait for the last message of the yardstick")?;
        each.push(begin.elapsed());
    }
    Ok(each)
}

/// Notifies each loop of the last message of its waypoint.
async fn follow(mut messages: pull::Stream, waiting: Waiting) {
    while let Some(Ok(message)) = messages.next().await {
        if let Some((_, waypoint)) = parse(&message.subject) {
            let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(waypoint);
            // The loop may have given up.
            waiter.map(|waiter| waiter.send(()));
        }
        tokio::spawn(async move { message.double_ack().await });
    }
}
