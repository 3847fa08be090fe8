//! What a world's broker holds of its flights: every journal entry, and the reports that decisions name.
//!
//! Read with the orchestrator's own credentials, after the flight. `checker` decides whether it is sound.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::{Authority, Credentials, PastSenders, SignedMessage, TrustRoots},
    broker::{LocalBroker, LocalSpec, ServerBinary},
    journal::{Journal, ReadError},
    past,
};
use holdpoint_engine::audit::{EntryLine, HandoffLine};
use holdpoint_protocol::{
    export::Message,
    headers,
    ids::FlightId,
    journal::{Entry, Sequence},
    streams, subjects,
};

use crate::world::{World, root};

/// How long a broker is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(200);

/// All that is looked at.
#[derive(Debug, Clone, Default)]
pub struct SoakAccount {
    /// Every entry of every journal, in the order of the stream.
    pub lines: Vec<EntryLine>,
    /// Every handoff, by role in the order of its stream.
    pub handoffs: Vec<HandoffLine>,
}

impl SoakAccount {
    /// Reads what a world's broker holds; starts it for that if it does not run.
    ///
    /// # Panics
    /// Nothing was flown in this world, or its broker's store cannot be read.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(read(world))
    }

    /// How many landings there are.
    #[must_use]
    pub fn landings(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.entry, Ok(Entry::Landed(_)))).count()
    }

    /// Reads what a broker holds, with an orchestrator's credentials. A cluster that is choosing a leader is asked again.
    ///
    /// # Panics
    /// It cannot be read.
    pub async fn read(bus: &Bus, roots: &TrustRoots) -> Self {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::try_read(bus, roots).await {
                Err(_) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                read => return read.unwrap(),
            }
        }
    }

    async fn try_read(bus: &Bus, roots: &TrustRoots) -> Result<Self, ReadError> {
        let journal = Journal::new(bus);
        let mut stored = journal.replay(&subjects::journals()).await?;
        let mut account = SoakAccount::default();
        while let Some(stored) = stored.next().await? {
            let message = stored.exported(streams::JOURNAL);
            account.lines.push(EntryLine::read(&message, roots.was_orchestrators(signed(&message))).unwrap());
        }
        let flights: BTreeSet<FlightId> = account.lines.iter().map(|line| line.journal.flight.clone()).collect();
        let mut senders = PastSenders::new(roots);
        for flight in &flights {
            for role in roots.fleet_roles().handing() {
                let mut handoffs = past::of_flight(bus, &role, flight, Sequence(0)).await?;
                while let Some(stored) = handoffs.next().await? {
                    let message = stored.exported(&streams::handoff(&role));
                    let mut line = HandoffLine::read(&message).unwrap();
                    if let Ok((head, _)) = &line.body {
                        line.sender =
                            senders.verify(&role, &head.agent, message.header(headers::JWT), signed(&message));
                    }
                    account.handoffs.push(line);
                }
            }
        }
        Ok(account)
    }
}

/// What one needs to read a fleet's journals: an orchestrator's credentials, and whose signatures count.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The `.creds` file.
    pub creds: PathBuf,
    /// The `trust.json`.
    pub trust: PathBuf,
}

impl SoakAccount {
    /// Reads what the broker at this address holds.
    ///
    /// # Panics
    /// It cannot be reached or read.
    pub async fn at(url: &str, keys: &Keys) -> Self {
        let credentials = Credentials::load(&keys.creds).unwrap();
        let roots: TrustRoots = serde_json::from_slice(&std::fs::read(&keys.trust).unwrap()).unwrap();
        let bus = Bus::connect(ConnectArgs::new(url.to_owned(), credentials)).await.unwrap();
        Self::read(&bus, &roots).await
    }
}

async fn read(world: &World) -> SoakAccount {
    let dir = world.state_folder().unwrap();
    let keys = dir.join("keys");
    if world.broker().is_some() {
        let authority = Authority::load(&keys).unwrap().unwrap();
        let credentials = Credentials::load(&keys.join("orchestrator.creds")).unwrap();
        let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("broker.json")).unwrap()).unwrap();
        let url = kept["url"].as_str().unwrap().to_owned();
        let bus = Bus::connect(ConnectArgs::new(url, credentials)).await.unwrap();
        return SoakAccount::read(&bus, authority.trust_roots()).await;
    }
    let binary = ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap();
    let spec = LocalSpec::bound(binary, dir);
    let mut local = LocalBroker::start(spec).await.unwrap();
    let bus = local.connect(&local.orchestrator).await.unwrap();
    let account = SoakAccount::read(&bus, local.authority.trust_roots()).await;
    bus.close().await;
    local.broker.stop().await.unwrap();
    account
}

fn signed(message: &Message) -> SignedMessage<'_> {
    SignedMessage {
        subject: &message.subject,
        payload: &message.payload,
        signature: message.header(headers::SIGNATURE),
        at: message.time,
    }
}
