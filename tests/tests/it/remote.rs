//! A fleet as operators run it: keys from `holdpoint keys`, a broker with TLS that includes them, and processes that are
//! started one by one.

use std::{fs, process::Command};

use holdpoint_bus::{
    Bus, ConnectArgs,
    auth::Credentials,
    broker::{Broker, BrokerSpec, ServerBinary},
    topology,
};
use holdpoint_sandbox::service::Lifetime;
use holdpoint_tests::world::{RunningProcess, World, eventually, root};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rcgen::{CertificateParams, KeyPair};

const PLAN: &str = "plan: p\nwaypoints:\n  \
    - {id: one, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e b', red_first: true}]}\n  \
    - {id: two, title: t, goal: g, depends_on: [one], criteria: [{id: c, statement: s, check: 'test -e b'}]}\n";

/// The keys, the broker, and what its clients have to know.
struct Remote {
    world: World,
    broker: Broker,
    runtime: tokio::runtime::Runtime,
}

impl Remote {
    fn start() -> Self {
        let world = World::new(&[("a", "1\n")]);
        world.plan(PLAN);
        let init = ["keys", "init", "--dir", "../keys", "--builders", "2", "--verifiers", "1", "--repairs", "0"];
        world.holdpoint(&init).expect(0);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        world.write("cert.pem", &certificate.pem());
        world.write("key.pem", &key.serialize_pem());
        let (cert, key) = (world.path("cert.pem"), world.path("key.pem"));
        let authority =
            format!("include ../keys/broker/accounts.conf\ntls {{\n  cert_file: {cert:?}\n  key_file: {key:?}\n}}\n");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dir = world.path("broker");
        let broker = runtime.block_on(async {
            let binary = ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap();
            let (max_memory_bytes, max_file_bytes) = (1 << 20, topology::DISK_BYTES);
            let spec = BrokerSpec {
                binary,
                dir,
                authority,
                port: 0,
                sync_always: false,
                max_memory_bytes,
                max_file_bytes,
                lifetime: Lifetime::Bound,
            };
            Broker::start(spec).await.unwrap()
        });
        Self { world, broker, runtime }
    }

    fn url(&self) -> String {
        self.broker.url().replace("nats://", "tls://")
    }

    /// A process of the fleet, which takes its credentials where all of its role do. `place` is its state folder.
    fn process(&self, args: &[&str], role: &str, place: &str) -> RunningProcess {
        self.process_with(args, role, place, &[])
    }

    fn process_with(&self, args: &[&str], role: &str, place: &str, env: &[(&str, &str)]) -> RunningProcess {
        let keys = self.world.path("keys");
        let mut all = args.to_vec();
        let dir = keys.join(role).display().to_string();
        all.extend(["--creds-dir", &dir]);
        let mut command: Command = self.world.command(&all);
        command.env("HOLDPOINT__NATS__URL", self.url()).env("HOLDPOINT__NATS__TRUST", keys.join("trust.json"));
        command.env("HOLDPOINT__NATS__TLS__CA", self.world.path("cert.pem"));
        for section in ["AGENT", "ORCHESTRATOR"] {
            command.env(format!("HOLDPOINT__{section}__STATE_DIR"), self.world.path(place));
        }
        command.env("HOLDPOINT__AGENTS__BUILDER__COMMAND", self.world.path("plan/builder.sh"));
        command.envs(env.iter().copied());
        self.world.start_with(command)
    }

    fn builder(&self, place: &str) -> RunningProcess {
        self.process(&["agent", "builder"], "builder", place)
    }
}

#[test]
fn a_fleet_with_keys_of_its_own_flies_what_an_operator_submits_over_tls() {
    let remote = Remote::start();
    let world = &remote.world;
    world.program("builder.sh", "date +%N >> b");
    let _orchestrator = remote.process(&["orchestrator"], "orchestrator", "o");
    let _verifier = remote.process(&["agent", "verifier"], "verifier", "v");
    let mut builders = [remote.builder("b1"), remote.builder("b2")];
    for (number, builder) in builders.iter_mut().enumerate() {
        builder.until_said("took free credentials");
        eventually("the builder to be ready", || builder.said().contains("ready").then_some(()));
        assert!(builder.said().contains("builder-"), "{number}: {}", builder.said());
    }
    // Both files are taken: one more builder has none.
    let third = remote.builder("b3").finish();
    assert!(third.expect(3).stderr.contains("holdpoint keys add"), "{third}");

    let (url, creds) = (remote.url(), world.path("keys/operator/operator-1.creds").display().to_string());
    let ca = world.path("cert.pem").display().to_string();
    let elsewhere = ["--nats", &url, "--creds", &creds, "--tls-ca", &ca];
    let flown = world.holdpoint(&world.run_args(&elsewhere));
    assert_eq!(flown.expect(0).json()["status"], "accepted");
    assert_eq!(world.git(&["ls-tree", "--name-only", flown.json()["branch"].as_str().unwrap()]), "a\nb\n");
    archived_by_its_own_key_only(world, &elsewhere, flown.json()["flight"].as_str().unwrap());
    // Without the authority's certificate nobody talks to that broker.
    let blind = world.holdpoint(&world.run_args(&elsewhere[..4]));
    assert!(blind.expect(3).stderr.contains("--tls-ca"), "{blind}");

    // A builder's credentials are taken back: its process ends, and another has the work to itself.
    let [first, mut second] = builders;
    let name = if first.said().contains("builder-1") { "builder-1" } else { "builder-2" };
    world.holdpoint(&["keys", "revoke", name, "--dir", "../keys"]).expect(0);
    kill(Pid::from_raw(remote.broker.pid().cast_signed()), Signal::SIGHUP).unwrap();
    let ended = first.finish();
    assert!(ended.expect(3).stderr.contains("does not accept the credentials"), "{ended}");
    assert!(second.is_running());
    world.holdpoint(&world.run_args(&elsewhere)).expect(0);
    // The next agent takes the credentials that were added for it.
    world.holdpoint(&["keys", "add", "builder", "builder-9", "--dir", "../keys"]).expect(0);
    let mut next = remote.builder("b4");
    next.until_said("builder-9");
    assert!(fs::metadata(world.path("keys/builder/builder-9.creds")).is_ok());
    drop(next);
    remote.runtime.shutdown_background();
}

/// The flight leaves for a folder here, by a key that is made for that; the operator's does not do.
fn archived_by_its_own_key_only(world: &World, elsewhere: &[&str], flight: &str) {
    let archive = |elsewhere: &[&str]| {
        let mut args = vec!["archive", flight, "--to", "../archive", "--grace", "1s", "--json"];
        args.extend(elsewhere);
        world.holdpoint(&args)
    };
    let refused = archive(elsewhere);
    assert!(refused.expect(2).stderr.contains("holdpoint keys add archivist"), "{refused}");
    let made = world.holdpoint(&["keys", "add", "archivist", "keeper", "--dir", "../keys"]);
    let key = made.expect(0).stdout.trim().to_owned();
    assert!(!made.stderr.contains("accounts.conf"), "the broker knows archivists: {made}");
    let by_key: Vec<&str> = elsewhere.iter().map(|arg| if arg.ends_with(".creds") { &key } else { *arg }).collect();
    let archived = archive(&by_key);
    assert_eq!(archived.expect(0).json()["archived"][0]["flight"], flight);
    let file = world.path(&format!("archive/{flight}.export.jsonl.gz"));
    world.holdpoint(&["audit", file.to_str().unwrap(), "--trust", "../keys/trust.json"]).expect(0);
    let mut status = vec!["status", flight];
    status.extend(elsewhere);
    let gone = world.holdpoint(&status);
    assert!(gone.expect(2).stderr.contains("was archived on"), "{gone}");
}

#[test]
fn a_key_with_too_many_connections_is_named_with_its_bound_and_setting_and_others_are_let_in() {
    let remote = Remote::start();
    let world = &remote.world;
    let mut without = remote.process(&["orchestrator"], "orchestrator", "o1");
    without.until_said("orchestrator.system_creds is not set");
    let system = world.path("keys/orchestrator/system/connections.creds").display().to_string();
    let env = [
        ("HOLDPOINT__ORCHESTRATOR__SYSTEM_CREDS", system.as_str()),
        ("HOLDPOINT__ORCHESTRATOR__CONNECTIONS_PER_KEY", "4"),
    ];
    let mut orchestrator = remote.process_with(&["orchestrator"], "orchestrator", "o2", &env);
    let flood = Credentials::load(&world.path("keys/builder/builder-1.creds")).unwrap();
    let mut args = ConnectArgs::new(remote.url(), flood.clone());
    args.tls.ca = Some(world.path("cert.pem"));
    let _held: Vec<Bus> = remote.runtime.block_on(async {
        let mut held = Vec::new();
        for _ in 0..20 {
            held.push(Bus::connect(args.clone()).await.unwrap());
        }
        held
    });
    orchestrator.until_said("more connections than it may have");
    let said = orchestrator.said();
    let line = said.lines().find(|line| line.contains("more connections than it may have")).unwrap();
    for word in [flood.public_key(), "bound=4", "orchestrator.connections_per_key", "ended="] {
        assert!(line.contains(word), "{word}: {line}");
    }
    assert!(!said.contains("system_creds is not set"), "{said}");
    let (url, creds) = (remote.url(), world.path("keys/operator/operator-1.creds").display().to_string());
    let ca = world.path("cert.pem").display().to_string();
    world.holdpoint(&["inbox", "--nats", &url, "--creds", &creds, "--tls-ca", &ca]).expect(0);
}
