//! Keys that are added, revoked and rotated while the broker runs: as `holdpoint keys` does it, and a reload of the server.

use std::{path::Path, sync::atomic::Ordering, time::Duration};

use futures::FutureExt as _;
use holdpoint_bus::{
    Bus, ConnectArgs, ConnectError,
    auth::{CredentialRequest, Credentials, CredentialsDestination, KeyFolder, SYSTEM_CREDS},
    blobs,
    broker::{Broker, BrokerSpec},
    topology,
};
use holdpoint_protocol::{
    Digest,
    facts::Harness,
    ids::{RoleId, role},
    roles::Roles,
    streams, subjects,
};
use holdpoint_sandbox::service::Lifetime;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::support::{Raw, SOON, server};

/// A folder of keys, and a broker whose configuration includes what is in it.
struct Keys {
    dir: TempDir,
    folder: KeyFolder,
    broker: Broker,
}

impl Keys {
    async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let mut folder = KeyFolder::open_or_create(&dir.path().join("keys")).unwrap();
        folder.ensure(&[(role::id(role::BUILDER), 2), (role::id(role::ORCHESTRATOR), 1)]).unwrap();
        let spec = BrokerSpec {
            binary: server().await,
            dir: dir.path().join("broker"),
            authority: "include ../keys/broker/accounts.conf\n".to_owned(),
            port: 0,
            sync_always: false,
            max_memory_bytes: 1 << 20,
            max_file_bytes: topology::DISK_BYTES,
            lifetime: Lifetime::Bound,
        };
        let broker = Broker::start(spec).await.unwrap();
        Self { dir, folder, broker }
    }

    fn creds(&self, role: &str, name: &str) -> Credentials {
        Credentials::load(&self.dir.path().join(format!("keys/{role}/{name}.creds"))).unwrap()
    }

    async fn connect(&self, credentials: &Credentials) -> Result<Bus, ConnectError> {
        Bus::connect(ConnectArgs::new(self.broker.url(), credentials.clone())).await
    }

    fn add(&mut self, role: &str, name: &str) -> Credentials {
        let order = CredentialRequest {
            role: role.parse().unwrap(),
            name: name.parse().unwrap(),
            pool: streams::fleet_pool(),
            harness: Harness::Foreign,
            lifetime: None,
        };
        self.folder.add(order, CredentialsDestination::Folder).unwrap().1
    }

    /// The server reads its configuration again. It takes as long as it takes: what follows is waited for.
    fn reload(&self) {
        kill(Pid::from_raw(i32::try_from(self.broker.pid()).unwrap()), Signal::SIGHUP).unwrap();
    }

    /// Waits until the broker has ended this connection for good.
    async fn gone(&self, bus: &Bus) {
        let ended = tokio::time::timeout(SOON, bus.gone()).await;
        assert!(ended.is_ok(), "still there: {}", log(self.dir.path()));
    }

    /// Waits until these credentials are let in, or are not.
    async fn until(&self, credentials: &Credentials, let_in: bool) {
        let deadline = Instant::now() + SOON;
        loop {
            match self.connect(credentials).await {
                Ok(_) if let_in => return,
                Err(ConnectError::NotAuthorized { .. }) if !let_in => return,
                other => assert!(Instant::now() < deadline, "{}: {other:?}", log(self.dir.path())),
            }
        }
    }
}

fn log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("broker/nats.log")).unwrap_or_default()
}

async fn works(bus: &Bus) {
    blobs::put(bus, &role::id(role::BUILDER), "bytes".into()).await.unwrap();
}

#[tokio::test]
async fn agents_and_orchestrators_are_added_without_touching_the_broker() {
    let mut keys = Keys::start().await;
    let before = std::fs::read(keys.dir.path().join("keys/broker/accounts.conf")).unwrap();
    for role in [role::BUILDER, role::VERIFIER, role::REPAIR, role::ORCHESTRATOR, role::OPERATOR] {
        let credentials = keys.add(role, &format!("late-{role}"));
        keys.connect(&credentials).await.unwrap();
    }
    assert_eq!(std::fs::read(keys.dir.path().join("keys/broker/accounts.conf")).unwrap(), before);
}

#[tokio::test]
async fn revoked_credentials_are_cut_off_by_a_reload_and_nobody_else_is() {
    let mut keys = Keys::start().await;
    let orchestrator = keys.connect(&keys.creds(role::ORCHESTRATOR, "orchestrator-1")).await.unwrap();
    topology::ensure(&orchestrator, &topology::TopologySettings::default(), &Roles::built_in()).await.unwrap();
    let (one, two) = (keys.creds(role::BUILDER, "builder-1"), keys.creds(role::BUILDER, "builder-2"));
    let (cut, kept) = (keys.connect(&one).await.unwrap(), keys.connect(&two).await.unwrap());
    let lost = kept.gone();
    keys.folder.revoke("builder-1").unwrap();
    works(&cut).await;
    keys.reload();
    keys.gone(&cut).await;
    keys.until(&one, false).await;
    works(&kept).await;
    assert!(lost.now_or_never().is_none());
    // Its successor has the name and another key.
    let successor = keys.add(role::BUILDER, "builder-1");
    works(&keys.connect(&successor).await.unwrap()).await;

    // The user that looks after connections, by its key.
    let system = Credentials::load(&keys.dir.path().join("keys/orchestrator").join(SYSTEM_CREDS)).unwrap();
    let watching = keys.connect(&system).await.unwrap();
    keys.folder.revoke(system.public_key()).unwrap();
    keys.reload();
    keys.gone(&watching).await;
    keys.until(&system, false).await;

    // An orchestrator as well.
    let late = keys.add(role::ORCHESTRATOR, "orchestrator-2");
    let second = keys.connect(&late).await.unwrap();
    keys.folder.revoke(late.public_key()).unwrap();
    keys.reload();
    keys.gone(&second).await;
    assert!(orchestrator.is_connected());
    topology::ensure(&orchestrator, &topology::TopologySettings::default(), &Roles::built_in()).await.unwrap();
}

#[tokio::test]
async fn credentials_with_an_end_are_cut_off_at_it() {
    let mut keys = Keys::start().await;
    let order = CredentialRequest {
        role: role::id(role::BUILDER),
        name: "short".parse().unwrap(),
        pool: streams::fleet_pool(),
        harness: Harness::Foreign,
        lifetime: Some(Duration::from_secs(8)),
    };
    let (_, credentials) = keys.folder.add(order, CredentialsDestination::Nowhere).unwrap();
    let bus = keys.connect(&credentials).await.unwrap();
    keys.gone(&bus).await;
    keys.until(&credentials, false).await;
}

#[tokio::test]
async fn a_role_gets_a_new_signing_key_while_its_agents_work() {
    let mut keys = Keys::start().await;
    let orchestrator = keys.connect(&keys.creds(role::ORCHESTRATOR, "orchestrator-1")).await.unwrap();
    topology::ensure(&orchestrator, &topology::TopologySettings::default(), &Roles::built_in()).await.unwrap();
    for (role, name) in [(role::BUILDER, "builder-1"), (role::ORCHESTRATOR, "orchestrator-1")] {
        let id: RoleId = role::id(role);
        let old = keys.creds(role, name);
        let working = keys.connect(&old).await.unwrap();
        keys.folder.rotate(&id).unwrap();
        let new = keys.creds(role, name);
        keys.until(&new, false).await;
        keys.reload();
        keys.until(&new, true).await;
        // Both count, and nobody was disturbed.
        keys.connect(&old).await.unwrap();
        assert!(working.is_connected());
        let restarted = keys.connect(&new).await.unwrap();

        keys.folder.drop_old(&id, false).unwrap();
        keys.reload();
        keys.gone(&working).await;
        keys.until(&old, false).await;
        assert!(restarted.is_connected());
        keys.connect(&new).await.unwrap();
    }
}

#[tokio::test]
async fn a_role_that_is_added_while_agents_work_has_what_is_its_own_and_disturbs_nobody() {
    let mut keys = Keys::start().await;
    let settings = topology::TopologySettings::default();
    let orchestrator = keys.connect(&keys.creds(role::ORCHESTRATOR, "orchestrator-1")).await.unwrap();
    topology::ensure(&orchestrator, &settings, &keys.folder.authority().fleet_roles()).await.unwrap();
    let working = Raw::connect(&keys.broker.url(), &keys.creds(role::BUILDER, "builder-1")).await;

    let (architect, backend): (RoleId, RoleId) = ("architect".parse().unwrap(), "backend".parse().unwrap());
    keys.folder.add_role(&architect, false).unwrap();
    keys.folder.add_role(&backend, true).unwrap();
    let (ann, bob) = (keys.add("architect", "ann"), keys.add("backend", "bob"));
    keys.reload();
    keys.until(&ann, true).await;
    for role in [&architect, &backend] {
        topology::ensure_role(&orchestrator, role, &settings).await.unwrap();
    }
    let own = subjects::blob_chunk(&role::id(role::BUILDER), &Digest::of(b"work"), 0);
    assert!(working.ask(&own, "work").await.contains("\"seq\":"));
    assert_eq!(working.0.statistics().connects.load(Ordering::Relaxed), 1, "nobody else's permissions changed");

    let (url, digest) = (keys.broker.url(), Digest::of(b"x"));
    let (ann, bob) = (Raw::connect(&url, &ann).await, Raw::connect(&url, &bob).await);
    let (flight, waypoint) = ("f".parse().unwrap(), "w".parse().unwrap());
    let handoff = |role: &RoleId| subjects::handoff(role, &flight, &waypoint, "completion");
    let chunk = |role: &RoleId| subjects::blob_chunk(role, &digest, 0);
    let pull = |role: &str| format!("$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.{role}_high_fleet");
    let get = |role: &RoleId| subjects::direct_get(streams::BLOB_GETS, &chunk(role));
    for (raw, own, other) in [(&ann, &architect, &backend), (&bob, &backend, &architect)] {
        assert!(raw.ask(&handoff(own), "{}").await.contains("\"seq\":"));
        assert!(raw.ask(&chunk(own), "x").await.contains("\"seq\":"));
        assert_eq!(raw.ask(&pull(own.as_str()), r#"{"batch":1,"no_wait":true}"#).await, "404", "no turn is there");
        for foreign in [handoff(other), chunk(other), pull(other.as_str()), handoff(&role::id(role::BUILDER))] {
            assert!(raw.refused(&foreign, "{}").await, "{own} {foreign}");
        }
    }
    assert_eq!(ann.ask(&get(&backend), "").await, "x");
    assert_eq!(bob.ask(&get(&architect), "").await, "x");
    let evidence = get(&role::id(role::VERIFIER));
    assert_eq!(ann.ask(&evidence, "").await, "404", "there is none, and it may look");
    assert!(bob.refused(&evidence, "").await, "who makes work does not see how it is judged");
}

#[tokio::test]
async fn keys_are_made_for_roles_that_the_fleet_has_only() {
    let mut keys = Keys::start().await;
    let order = CredentialRequest {
        role: "architect".parse().unwrap(),
        name: "ann".parse().unwrap(),
        pool: streams::fleet_pool(),
        harness: Harness::Foreign,
        lifetime: None,
    };
    let refused = keys.folder.add(order.clone(), CredentialsDestination::Nowhere).unwrap_err().to_string();
    assert_eq!(
        refused,
        "there is no role architect: the roles are builder, verifier, repair, orchestrator, operator, archivist, migrator"
    );
    keys.folder.add_role(&order.role, false).unwrap();
    keys.folder.add(order, CredentialsDestination::Nowhere).unwrap();
    let refused = keys.folder.add_role(&"Builder".parse().unwrap(), false).unwrap_err();
    assert!(
        std::error::Error::source(&refused).unwrap().to_string().contains("`Builder` and `builder`"),
        "{refused:?}"
    );
}
