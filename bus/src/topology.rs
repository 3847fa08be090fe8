//! The streams and durable consumers, as the orchestrators make them. Making them again changes nothing.

pub(crate) mod disk;
mod make;
mod renew;
mod rooms;

use std::time::Duration;

use async_nats::jetstream::{
    self, ErrorCode,
    consumer::{AckPolicy, DeliverPolicy, pull},
    context::{CreateStreamError, CreateStreamErrorKind},
    stream::{Config, ConsumerError, ConsumerErrorKind, DiscardPolicy, StorageType, SubjectTransform},
};
use futures::{future::join_all, join};
use holdpoint_protocol::{
    ids::{FlightId, PoolId, RoleId},
    plan::Priority,
    roles::Roles,
    streams, subjects,
};

use crate::{Bus, blobs::CHUNK_LEN};
use disk::Share;
pub use renew::{ConsumerState, renew_turn_consumer, standing};
pub use rooms::{Room, last, room};

/// In which span a message id is known again. Longer than any retry of ours takes.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// The biggest entry or handoff with its headers: what our brokers take (`protocol::codec::PAYLOAD_MAX`).
const MESSAGE_LEN_MAX: i32 = 8 << 20;
/// The longest token of a subject: an id, or the digits of a digest.
const TOKEN_LEN_MAX: usize = 64;
/// Room for the headers of a chunk.
const CHUNK_HEADERS_LEN_MAX: usize = 8 << 10;
/// How long the consumers of a local flight are kept without an agent that asks: longer than any pause of a running one.
const FLIGHT_CONSUMER_IDLE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a pull of an agent may wait in the broker. A turn that reaches a pull nobody reads is lost for the
/// acknowledgement wait.
const PULL_WAIT_MAX: Duration = Duration::from_secs(1);
/// The broker's disk unless it is configured: what our brokers have.
pub const DISK_BYTES: u64 = 20 << 30;
/// Deliveries that may be out at once per consumer. Far more than there are agents, and bounded.
const ACKS_PENDING_MAX: i64 = 10_000;
/// How often the broker is asked for a consumer without an answer: a fleet has a hundred, and a busy disk makes the last ones late.
const CONSUMER_ASKED_MAX: u32 = 3;

/// What may differ between fleets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologySettings {
    /// Copies of everything in the broker: 1, or 3 in a cluster.
    pub replicas: usize,
    /// How long an orchestrator may be silent on a handoff before it is delivered again: what a crash of one costs.
    /// It sends a heartbeat at a third of this while it looks at the work.
    pub handoff_ack_wait: Duration,
    /// How long an agent may be silent before its turn is delivered again. It sends a heartbeat at a third of this.
    pub turn_ack_wait: Duration,
    /// The disk that the broker has for streams (`max_file_store`), in bytes. The blobs and the handoffs of each role get fixed
    /// shares of it, and the rest is kept for the journals.
    pub disk_bytes: u64,
}

impl Default for TopologySettings {
    fn default() -> Self {
        Self {
            replicas: 1,
            handoff_ack_wait: Duration::from_secs(10),
            turn_ack_wait: Duration::from_secs(30),
            disk_bytes: DISK_BYTES,
        }
    }
}

/// Why the streams are not as they have to be.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// A stream could not be made or changed.
    #[error("cannot set up the stream {name}")]
    Stream {
        /// Its name.
        name: String,
        /// What the client said.
        #[source]
        source: jetstream::context::CreateStreamError,
    },
    /// The broker does not have the disk that a stream's share is of.
    #[error(
        "the broker has no disk for the stream {name}: orchestrator.broker_disk says that it has {disk_bytes} bytes for \
         streams. Set it to the broker's max_file_store, or give the broker more"
    )]
    NoDisk {
        /// The stream.
        name: String,
        /// What is configured.
        disk_bytes: u64,
        /// What the client said.
        #[source]
        source: jetstream::context::CreateStreamError,
    },
    /// The broker was set up by a version whose roles shared one stream of blobs. Its blobs are evidence: they are
    /// neither deleted nor left behind without a word.
    #[error(
        "the broker has the stream {name} of an earlier version, which holds the blobs of all roles. Nothing was changed: go \
         on with that version until its flights are over (its `holdpoint export` keeps them), then start this one on a \
         broker with an empty JetStream folder"
    )]
    SharedBlobs {
        /// Its name.
        name: &'static str,
    },
    /// A stream is not there.
    #[error("cannot find the stream {name}")]
    NoStream {
        /// Its name.
        name: String,
        /// What the client said.
        #[source]
        source: jetstream::context::GetStreamError,
    },
    /// The broker does not report the state of a consumer.
    #[error("cannot tell how the consumer {name} stands")]
    Standing {
        /// Its name.
        name: String,
        /// What the client said.
        #[source]
        source: jetstream::context::ConsumerInfoError,
    },
    /// A consumer could not be made or changed.
    #[error("cannot set up the consumer {name} of the stream {stream}")]
    Consumer {
        /// The stream.
        stream: String,
        /// Its name.
        name: String,
        /// What the client said.
        #[source]
        source: jetstream::stream::ConsumerError,
    },
}

/// Makes all streams of a fleet with these roles, the orchestrators' consumers, and the consumers of agents that serve the
/// whole fleet.
///
/// # Errors
/// [`TopologyError`] names what could not be made.
pub async fn ensure(bus: &Bus, settings: &TopologySettings, roles: &Roles) -> Result<(), TopologyError> {
    // One after another: a broker that makes and shrinks streams at the same time miscounts the disk that it has left.
    for role in roles.storing() {
        ensure_blob_stream(bus, &role, settings).await?;
    }
    let handing = roles.handing();
    for role in &handing {
        ensure_stream(bus, handoff_stream(role, settings), settings).await?;
    }
    ensure_stream(bus, journal_stream(settings), settings).await?;
    // At the same time: they are many, and a command that only looks waits for all of them.
    let (pool, agents) = (streams::fleet_pool(), roles.agents());
    // Boxed: they are large, and the caller of this would carry them.
    let handoffs = Box::pin(all(handing.iter().map(|role| ensure_handoff_consumers(bus, role, settings))));
    let turns = Box::pin(all(agents.iter().map(|role| ensure_turn_consumers(bus, role, &pool, None, settings))));
    let (handoffs, turns) = join!(handoffs, turns);
    handoffs.and(turns)
}

/// Does all of these at the same time, and comes back when each has ended: one that failed leaves no request on its way that would
/// race with the next try.
async fn all<F>(work: impl Iterator<Item = F>) -> Result<(), TopologyError>
where
    F: Future<Output = Result<(), TopologyError>>,
{
    join_all(work).await.into_iter().collect()
}

/// Makes what a fleet that runs needs for one more role of agents.
///
/// # Errors
/// [`TopologyError`] names what could not be made.
pub async fn ensure_role(bus: &Bus, role: &RoleId, settings: &TopologySettings) -> Result<(), TopologyError> {
    ensure_blob_stream(bus, role, settings).await?;
    ensure_stream(bus, handoff_stream(role, settings), settings).await?;
    ensure_handoff_consumers(bus, role, settings).await?;
    ensure_turn_consumers(bus, role, &streams::fleet_pool(), None, settings).await
}

async fn ensure_handoff_consumers(bus: &Bus, role: &RoleId, settings: &TopologySettings) -> Result<(), TopologyError> {
    let stream = streams::handoff(role);
    let consumers = (0..subjects::PARTITIONS).map(|partition| handoff_consumer(role, partition, settings));
    all(consumers.map(|consumer| ensure_consumer(bus, &stream, consumer))).await
}

/// Makes the consumers that the agents of a role and pool pull turns from: of one flight, or of all of the pool.
///
/// Those of one flight go when nobody asked for a while, because a broker holds a bounded number of them; an
/// orchestrator that takes the flight up again recreates them, and turns that were answered before are then delivered
/// again.
///
/// # Errors
/// [`TopologyError`] names what could not be made.
pub async fn ensure_turn_consumers(
    bus: &Bus,
    role: &RoleId,
    pool: &PoolId,
    flight: Option<&FlightId>,
    settings: &TopologySettings,
) -> Result<(), TopologyError> {
    let consumers = Priority::ALL.into_iter().map(|priority| turn_consumer(role, pool, priority, flight, settings));
    all(consumers.map(|consumer| ensure_turn_consumer(bus, consumer))).await
}

async fn ensure_turn_consumer(bus: &Bus, consumer: pull::Config) -> Result<(), TopologyError> {
    let Err(error) = ensure_consumer(bus, streams::JOURNAL, consumer.clone()).await else { return Ok(()) };
    // Where it begins cannot be changed; one that was made again begins later.
    match renew::begun_later(bus, &consumer).await {
        Some(begun) => ensure_consumer(bus, streams::JOURNAL, begun).await,
        None => Err(error),
    }
}

fn turn_consumer(
    role: &RoleId,
    pool: &PoolId,
    priority: Priority,
    flight: Option<&FlightId>,
    settings: &TopologySettings,
) -> pull::Config {
    pull::Config {
        durable_name: Some(streams::turn_consumer(role, pool, priority)),
        filter_subject: subjects::turns(flight, role, priority, pool),
        inactive_threshold: if flight.is_some() { FLIGHT_CONSUMER_IDLE_MAX } else { Duration::ZERO },
        max_batch: 1,
        max_expires: PULL_WAIT_MAX,
        ..durable(settings.turn_ack_wait)
    }
}

fn journal_stream(settings: &TopologySettings) -> Config {
    let name = streams::JOURNAL.to_owned();
    Config { name, subjects: vec![format!("{}.journal.>", subjects::ROOT)], ..kept(settings) }
}

fn handoff_stream(role: &RoleId, settings: &TopologySettings) -> Config {
    let share = Share::of_handoffs(role);
    Config {
        name: streams::handoff(role),
        subjects: vec![subjects::handoffs_stored(role)],
        subject_transform: Some(cut(&subjects::handoffs_stored(role))),
        max_bytes: share.bytes(settings.disk_bytes),
        max_messages: share.messages(settings.disk_bytes),
        ..kept(settings)
    }
}

fn blob_stream(role: &RoleId, settings: &TopologySettings) -> Config {
    let chunk = CHUNK_LEN + CHUNK_HEADERS_LEN_MAX;
    let share = Share::of_blobs(role);
    Config {
        name: streams::blob(role),
        subjects: vec![subjects::blobs_stored(role), subjects::talk_stored(role)],
        subject_transform: Some(cut(&subjects::chunks_stored(role))),
        max_bytes: share.bytes(settings.disk_bytes),
        max_messages: share.messages(settings.disk_bytes),
        max_messages_per_subject: 1,
        discard_new_per_subject: true,
        max_message_size: i32::try_from(chunk).expect("a chunk is far smaller than 2 GiB"),
        ..kept(settings)
    }
}

/// Has a stream cut off what of a token is longer than any id or digest: the broker keeps each subject in memory, and takes
/// lines of 4 KiB. A message that fits is stored under its own subject.
fn cut(stored: &str) -> SubjectTransform {
    let mut tokens: Vec<String> = stored.split('.').map(str::to_owned).collect();
    let wild = tokens.iter_mut().filter(|token| *token == "*");
    wild.zip(1..).for_each(|(token, n)| *token = format!("{{{{left({n},{TOKEN_LEN_MAX})}}}}"));
    SubjectTransform { source: stored.to_owned(), destination: tokens.join(".") }
}

/// What all streams share: on disk, no rollup, no schedules, no message TTL, no batches. A stream that is full takes nothing more.
/// Who may delete messages is a matter of permissions: an archivist, and nobody else.
fn kept(settings: &TopologySettings) -> Config {
    Config {
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        num_replicas: settings.replicas,
        max_message_size: MESSAGE_LEN_MAX,
        duplicate_window: DUPLICATE_WINDOW,
        allow_rollup: false,
        allow_direct: true,
        ..Config::default()
    }
}

fn handoff_consumer(role: &RoleId, partition: u32, settings: &TopologySettings) -> pull::Config {
    pull::Config {
        durable_name: Some(streams::handoff_consumer(partition)),
        filter_subject: subjects::handoffs_in(role, partition),
        ..durable(settings.handoff_ack_wait)
    }
}

/// A consumer from the beginning whose deliveries never run out: attempts are counted in the journal.
fn durable(ack_wait: Duration) -> pull::Config {
    pull::Config {
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait,
        max_deliver: -1,
        max_ack_pending: ACKS_PENDING_MAX,
        // As many as its stream: one that says more than the stream has could not move to a single broker.
        num_replicas: 0,
        ..pull::Config::default()
    }
}

async fn ensure_stream(bus: &Bus, config: Config, settings: &TopologySettings) -> Result<(), TopologyError> {
    let name = config.name.clone();
    let Err(source) = Box::pin(make::stream(bus, &config)).await else { return Ok(()) };
    if is_lack_of_disk(&source) {
        return Err(TopologyError::NoDisk { name, disk_bytes: settings.disk_bytes, source });
    }
    // Boxed: it is rare, and every caller would carry it.
    match Box::pin(ensure_guarded(bus, config)).await {
        Some(done) => done.map_err(|source| TopologyError::Stream { name, source }),
        None => Err(TopologyError::Stream { name, source }),
    }
}

/// The same for a stream of an earlier version, which lets nobody delete messages: the broker takes that back from none. `None`: it
/// is no such stream.
async fn ensure_guarded(bus: &Bus, config: Config) -> Option<Result<(), CreateStreamError>> {
    let there = bus.jetstream().get_stream(&config.name).await.ok()?;
    if !there.cached_info().config.deny_purge {
        return None;
    }
    let guarded = Config { deny_delete: true, deny_purge: true, ..config };
    Some(bus.jetstream().create_or_update_stream(guarded).await.map(drop))
}

async fn ensure_blob_stream(bus: &Bus, role: &RoleId, settings: &TopologySettings) -> Result<(), TopologyError> {
    let Err(error) = ensure_stream(bus, blob_stream(role, settings), settings).await else { return Ok(()) };
    // It has the subjects of all roles, and most of the disk.
    match bus.jetstream().get_stream(streams::BLOB_GETS).await {
        Ok(_) => Err(TopologyError::SharedBlobs { name: streams::BLOB_GETS }),
        Err(_) => Err(error),
    }
}

/// Whether the broker cannot reserve what a stream may take.
fn is_lack_of_disk(error: &CreateStreamError) -> bool {
    let CreateStreamErrorKind::JetStream(error) = error.kind() else { return false };
    // A cluster says of each server why it cannot have a stream, in words only.
    error.error_code() == ErrorCode::STORAGE_RESOURCES_EXCEEDED
        || error.error_code() == ErrorCode::CLUSTER_NO_PEERS && error.to_string().contains("storage")
}

/// Whether the same again may do, and changes nothing where it was done: the broker was late, or lost the files of a consumer to the
/// removal of the one that had its name before.
fn may_do_again(error: &ConsumerError) -> bool {
    match error.kind() {
        ConsumerErrorKind::TimedOut => true,
        ConsumerErrorKind::JetStream(error) => error.error_code() == ErrorCode::CONSUMER_CREATE,
        _ => false,
    }
}

async fn ensure_consumer(bus: &Bus, stream: &str, config: pull::Config) -> Result<(), TopologyError> {
    let name = config.durable_name.clone().unwrap_or_default();
    let handle = bus
        .jetstream()
        .get_stream_no_info(stream)
        .await
        .map_err(|source| TopologyError::NoStream { name: stream.to_owned(), source })?;
    let mut asked = 1;
    loop {
        match handle.create_consumer(config.clone()).await {
            Err(error) if may_do_again(&error) && asked < CONSUMER_ASKED_MAX => asked += 1,
            made => {
                let failed = |source| TopologyError::Consumer { stream: stream.to_owned(), name, source };
                return made.map(drop).map_err(failed);
            }
        }
    }
}
