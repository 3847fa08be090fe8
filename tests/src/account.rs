//! What a world's broker holds of its flights: every journal entry, and the reports that decisions name.
//!
//! Read with the orchestrator's own credentials, after the flight. Whether it is sound is `checker`'s matter.

use std::{collections::BTreeMap, path::PathBuf};

use holdpoint_bus::{
    Bus, ConnectArgs, Stored,
    auth::{Authority, Credentials, TrustRoots},
    broker::{LocalBroker, LocalSpec, ServerBinary},
    handoffs,
    journal::Journal,
};
use holdpoint_protocol::{
    Digest,
    artifact::VerificationReport,
    codec::{self, Encoding},
    ids::role,
    journal::{Entry, Sequence},
    streams,
    subjects::{self, JournalKey},
};
use holdpoint_sandbox::service::Lifetime;
use serde::de::DeserializeOwned;

use crate::world::{World, root};

/// All that is looked at.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Every entry of every journal, in the order of the stream.
    pub lines: Vec<Line>,
    /// The reports that entries answer, by `STREAM/SEQUENCE`.
    pub reports: BTreeMap<String, Report>,
}

/// One entry.
#[derive(Debug, Clone)]
pub struct Line {
    /// The journal it stands in.
    pub journal: JournalKey,
    /// Its place in the stream.
    pub sequence: Sequence,
    /// The digest of its payload.
    pub digest: Digest,
    /// An orchestrator signed it.
    pub signed: bool,
    /// What it says.
    pub entry: Entry,
}

/// One verification report.
#[derive(Debug, Clone)]
pub struct Report {
    /// The digest of its payload.
    pub digest: Digest,
    /// What it says.
    pub report: VerificationReport,
}

impl Account {
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
        self.lines.iter().filter(|line| matches!(line.entry, Entry::Landed(_))).count()
    }

    /// Reads what a broker holds, with an orchestrator's credentials.
    ///
    /// # Panics
    /// It cannot be read.
    pub async fn read(bus: &Bus, roots: &TrustRoots) -> Self {
        let journal = Journal::new(bus);
        let filter = format!("{}.journal.>", subjects::ROOT);
        let mut stored = journal.replay(&filter).await.unwrap();
        let mut account = Account::default();
        while let Some(stored) = stored.next().await.unwrap() {
            let line = line(&stored, roots);
            let cause = line.entry.record().cause.clone();
            if let Some(cause) = cause.filter(|cause| cause.stream == streams::handoff(&role::id(role::VERIFIER))) {
                let handoff = handoffs::get(bus, &cause.stream, cause.sequence).await.unwrap();
                if let Some(handoff) = handoff {
                    let report = Report { digest: Digest::of(&handoff.payload), report: decode(&handoff) };
                    account.reports.insert(cause.reference(), report);
                }
            }
            account.lines.push(line);
        }
        account
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

impl Account {
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

async fn read(world: &World) -> Account {
    let dir = world.state_folder().unwrap();
    let keys = dir.join("keys");
    if world.broker().is_some() {
        let authority = Authority::load(&keys).unwrap().unwrap();
        let credentials = Credentials::load(&keys.join("orchestrator.creds")).unwrap();
        let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("broker.json")).unwrap()).unwrap();
        let url = kept["url"].as_str().unwrap().to_owned();
        let bus = Bus::connect(ConnectArgs::new(url, credentials)).await.unwrap();
        return Account::read(&bus, authority.trust_roots()).await;
    }
    let binary = ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap();
    let spec = LocalSpec { binary, dir, port: 0, sync_always: false, lifetime: Lifetime::Bound };
    let mut local = LocalBroker::start(spec).await.unwrap();
    let bus = local.connect(&local.orchestrator).await.unwrap();
    let account = Account::read(&bus, local.authority.trust_roots()).await;
    bus.close().await;
    local.broker.stop().await.unwrap();
    account
}

fn line(stored: &Stored, roots: &TrustRoots) -> Line {
    Line {
        journal: subjects::parse_journal(&stored.subject).unwrap(),
        sequence: stored.sequence,
        digest: Digest::of(&stored.payload),
        signed: stored.is_orchestrators(roots),
        entry: Entry::decode(&stored.subject, &stored.payload, stored.content_type.as_deref()).unwrap(),
    }
}

fn decode<T: DeserializeOwned>(stored: &Stored) -> T {
    let encoding = Encoding::from_content_type(stored.content_type.as_deref()).unwrap();
    codec::decode(&stored.payload, encoding).unwrap()
}
