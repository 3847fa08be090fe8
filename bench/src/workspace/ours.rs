//! The product's own way: snapshot, broker, mirrors, clone, handoff, checkout.

use std::path::Path;

use holdpoint_bus::{
    Bus, blobs,
    broker::{LocalBroker, LocalSpec},
};
use holdpoint_harness::context::{RepositoryContext, TurnSubject};
use holdpoint_outline::OutlineHelper;
use holdpoint_protocol::{
    facts::{BlobRef, BundleRef},
    ids::{AgentName, FlightId, RoleId, role},
    streams,
};
use holdpoint_runtime::mirror::{MirrorStore, to_wire};
use holdpoint_workspace::{AgentClone, CommitMeta, HANDOFF_REF, InputLimits, Mirror, ObjectId, UserRepo};

use super::{OursMs, Traffic, create, edit, timed};
use crate::{BenchError, Host, error::Doing as _};

/// A broker, and everybody's own connection to it.
pub(super) struct Ours {
    _broker: LocalBroker,
    operator: Bus,
    orchestrator: Bus,
    builder: Bus,
    verifier: Bus,
}

/// One flight: a mirror for everybody who has one.
struct Flight<'a> {
    ours: &'a Ours,
    flight: FlightId,
    dir: &'a Path,
    orchestrator: MirrorStore,
    builder: MirrorStore,
    verifier: MirrorStore,
}

/// What a waypoint's work came to.
struct Work {
    tree: ObjectId,
    bundle: BundleRef,
    clone_ms: f64,
    map_ms: f64,
    handoff_ms: f64,
    checkout_ms: f64,
}

impl Ours {
    /// Starts the broker.
    pub(super) async fn start(host: &Host, dir: &Path) -> Result<Self, BenchError> {
        let spec = LocalSpec::bound(host.server()?, dir.to_owned());
        let broker = Box::pin(LocalBroker::start(spec)).await.map_err(BenchError::Broker)?;
        let name = |text: &str| AgentName::try_new(text).doing("name a process");
        let mint = |role_name: &'static str| {
            let minted =
                broker.authority.mint_agent(&role::id(role_name), &name(role_name)?, &streams::fleet_pool(), None);
            minted.doing("make credentials")
        };
        let operator = broker.authority.mint_operator(&name("operator")?);
        let connect = async |credentials| broker.connect(credentials).await.map_err(BenchError::Broker);
        Ok(Self {
            operator: connect(&operator).await?,
            orchestrator: connect(&broker.orchestrator).await?,
            builder: connect(&mint(role::BUILDER)?).await?,
            verifier: connect(&mint(role::VERIFIER)?).await?,
            _broker: broker,
        })
    }

    /// Bytes that went through the broker so far, counted at everybody's end.
    fn moved(&self) -> u64 {
        [&self.operator, &self.orchestrator, &self.builder, &self.verifier].map(Bus::bytes_moved).iter().sum()
    }

    /// Two waypoints of a new flight.
    pub(super) async fn round(&self, repo: &Path, dir: &Path, files: u32, round: u32) -> Result<OursMs, BenchError> {
        create(dir)?;
        let store = |name: &str| MirrorStore::new(dir.join(name), InputLimits::default());
        let flight = FlightId::try_new(format!("bench-{round}")).doing("name a flight")?;
        let (orchestrator, builder, verifier) = (store("orchestrator"), store("builder"), store("verifier"));
        let flight = Flight { ours: self, flight, dir, orchestrator, builder, verifier };
        let before = self.moved();
        let ((base, mut snapshot), snapshot_ms) = timed(flight.snapshot(repo)).await?;
        let (index, submission_ms) = timed(flight.submitted(&snapshot)).await?;
        snapshot.index = index;
        let mut bundles = vec![snapshot];
        let first = flight.waypoint(&bundles, &base, files, 0).await?;
        let after_first = self.moved();
        let landing = flight.land(&bundles, &base, &first).await?;
        let head = landing.1;
        bundles.push(landing.0);
        let second = flight.waypoint(&bundles, &head, files, 1).await?;
        let traffic = Traffic {
            repository_bytes: bundles.first().map_or(0, |snapshot| snapshot.blob.bytes),
            first_waypoint_bytes: after_first - before,
            second_waypoint_bytes: self.moved() - after_first,
            second_handoff_bytes: second.bundle.blob.bytes,
        };
        let second_ms = second.clone_ms + second.handoff_ms + second.checkout_ms;
        Ok(OursMs::new(
            snapshot_ms,
            [first.clone_ms, first.handoff_ms, first.checkout_ms],
            submission_ms,
            [second_ms, second.map_ms],
            traffic,
        ))
    }
}

impl Flight<'_> {
    /// What `run` and `submit` do: the snapshot, stored.
    async fn snapshot(&self, repo: &Path) -> Result<(ObjectId, BundleRef), BenchError> {
        let user = UserRepo::open(repo).await.doing("open the repository")?;
        let base = user.resolve("HEAD").await.doing("find the base")?;
        let bundle = user.snapshot(&base, &self.dir.join("snapshot.bundle")).await.doing("make the snapshot")?;
        let stored = put(&self.ours.operator, role::OPERATOR, &bundle.path, bundle.bytes, &base).await?;
        Ok((base, stored))
    }

    /// What the orchestrator does with a submission, once a flight: it checks every object, and stores the index.
    async fn submitted(&self, snapshot: &BundleRef) -> Result<Option<BlobRef>, BenchError> {
        const ACTION: &str = "check the snapshot";
        let bundles = std::slice::from_ref(snapshot);
        let mirror = self.orchestrator.ensure(&self.ours.orchestrator, &self.flight, bundles).await.doing(ACTION)?;
        let Some(index) = mirror.snapshot_index().doing(ACTION)? else { return Ok(None) };
        let bytes = std::fs::metadata(&index).doing(ACTION)?.len();
        let stored = put(&self.ours.orchestrator, role::ORCHESTRATOR, &index, bytes, &mirror_tip(snapshot)).await?;
        Ok(Some(stored.blob))
    }

    /// A builder's turn and a verifier's, without a program and without checks.
    async fn waypoint(
        &self,
        bundles: &[BundleRef],
        start: &ObjectId,
        files: u32,
        number: u32,
    ) -> Result<Work, BenchError> {
        let place = |name: &str| self.dir.join(format!("{name}-{number}"));
        let clone_dir = place("clone");
        let ((mirror, clone), clone_ms) = timed(self.clone(bundles, start, &clone_dir)).await?;
        let (_, map_ms) = timed(map(&mirror, start)).await?;
        edit(&clone_dir, files, number)?;
        let ((commit, tree, bundle), handoff_ms) =
            timed(self.handoff(&mirror, &clone, start, &place("handoff.bundle"))).await?;
        let all: Vec<BundleRef> = bundles.iter().chain([&bundle]).cloned().collect();
        let ((), checkout_ms) = timed(self.check_out(&all, &commit, &place("checkout"))).await?;
        Ok(Work { tree, bundle, clone_ms, map_ms, handoff_ms, checkout_ms })
    }

    async fn clone(
        &self,
        bundles: &[BundleRef],
        start: &ObjectId,
        dir: &Path,
    ) -> Result<(Mirror, AgentClone), BenchError> {
        let mirror = self.builder.ensure(&self.ours.builder, &self.flight, bundles).await.doing("fill a mirror")?;
        let clone = mirror.clone_for_agent(start, dir).await.doing("make a clone")?;
        Ok((mirror, clone))
    }

    async fn handoff(
        &self,
        mirror: &Mirror,
        clone: &AgentClone,
        base: &ObjectId,
        out: &Path,
    ) -> Result<(ObjectId, ObjectId, BundleRef), BenchError> {
        const ACTION: &str = "hand off";
        let tree = mirror.capture_clone(clone, base).await.doing(ACTION)?;
        let base_tree = mirror.tree_of(base).await.doing(ACTION)?;
        mirror.diff(&base_tree, &tree).await.doing(ACTION)?;
        mirror.diff_summary(&base_tree, &tree).await.doing(ACTION)?;
        let commit = mirror.commit_on(base, &tree, &meta("work")).await.doing(ACTION)?;
        let bundle = mirror.thin_bundle(base, &commit, HANDOFF_REF, out).await.doing(ACTION)?;
        let stored = put(&self.ours.builder, role::BUILDER, &bundle.path, bundle.bytes, &commit).await?;
        Ok((commit, tree, stored))
    }

    async fn check_out(&self, bundles: &[BundleRef], commit: &ObjectId, dir: &Path) -> Result<(), BenchError> {
        let mirror = self.verifier.ensure(&self.ours.verifier, &self.flight, bundles).await.doing("fill a mirror")?;
        mirror.checkout(commit, dir).await.doing("check out").map(drop)
    }

    /// What the orchestrator does with accepted work.
    async fn land(
        &self,
        bundles: &[BundleRef],
        base: &ObjectId,
        work: &Work,
    ) -> Result<(BundleRef, ObjectId), BenchError> {
        const ACTION: &str = "make a landing";
        let all: Vec<BundleRef> = bundles.iter().chain([&work.bundle]).cloned().collect();
        let mirror = self.orchestrator.ensure(&self.ours.orchestrator, &self.flight, &all).await.doing(ACTION)?;
        let head = mirror.commit_on(base, &work.tree, &meta("landing")).await.doing(ACTION)?;
        let out = self.dir.join("landing.bundle");
        let bundle = mirror.thin_bundle(base, &head, HANDOFF_REF, &out).await.doing(ACTION)?;
        let stored = put(&self.ours.orchestrator, role::ORCHESTRATOR, &bundle.path, bundle.bytes, &head).await?;
        Ok((stored, head))
    }
}

/// What a build turn says of the repository.
async fn map(mirror: &Mirror, start: &ObjectId) -> Result<RepositoryContext, BenchError> {
    let helper = OutlineHelper::own().doing("find the helper that outlines files")?;
    let subject = TurnSubject {
        base: start.clone(),
        start: start.clone(),
        scope: &[],
        covenant: "AGENTS.md",
        sources: &[],
        words: String::new(),
        reason: None,
    };
    RepositoryContext::of(mirror, &subject, Some(&helper)).await.doing("make a map")
}

fn mirror_tip(snapshot: &BundleRef) -> ObjectId {
    holdpoint_runtime::mirror::from_wire(&snapshot.tip)
}

fn meta(message: &str) -> CommitMeta {
    CommitMeta {
        name: "Bench".to_owned(),
        email: "bench@localhost".to_owned(),
        epoch_seconds: 1_700_000_000,
        message: format!("{message}\n"),
    }
}

async fn put(
    bus: &Bus,
    role_name: &'static str,
    file: &Path,
    bytes: u64,
    tip: &ObjectId,
) -> Result<BundleRef, BenchError> {
    let role: RoleId = role::id(role_name);
    let digest = blobs::put_file(bus, &role, file).await.doing("store a blob")?;
    Ok(BundleRef { blob: BlobRef { role, digest, bytes }, tip: to_wire(tip), index: None })
}
