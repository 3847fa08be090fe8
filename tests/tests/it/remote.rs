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
use holdpoint_tests::world::{Finished, RunningProcess, World, eventually, root};
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
    authority: String,
    runtime: tokio::runtime::Runtime,
}

async fn start_broker(world: &World, dir: &str, authority: &str) -> Broker {
    let binary = ServerBinary::find(&[root().join("target/tools/nats-server")]).await.unwrap();
    let spec = BrokerSpec {
        binary,
        dir: world.path(dir),
        authority: authority.to_owned(),
        port: 0,
        sync_always: false,
        max_memory_bytes: 1 << 20,
        max_file_bytes: topology::DISK_BYTES,
        lifetime: Lifetime::Bound,
    };
    Broker::start(spec).await.unwrap()
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
        let broker = runtime.block_on(start_broker(&world, "broker", &authority));
        Self { world, broker, authority, runtime }
    }

    /// From now on the fleet's broker is another one, with an empty store.
    fn change_broker(&mut self) {
        self.broker = self.runtime.block_on(start_broker(&self.world, "another", &self.authority));
    }

    /// What a command says to reach this fleet by a key.
    fn elsewhere(&self, creds: &str) -> Vec<String> {
        let (creds, ca) = (self.world.path(creds), self.world.path("cert.pem"));
        let args = ["--nats", &self.url(), "--creds", creds.to_str().unwrap(), "--tls-ca", ca.to_str().unwrap()];
        args.map(str::to_owned).to_vec()
    }

    /// Runs a command by a key.
    fn command(&self, creds: &str, args: &[&str]) -> Finished {
        let elsewhere = self.elsewhere(creds);
        let args: Vec<&str> = args.iter().copied().chain(elsewhere.iter().map(String::as_str)).collect();
        self.world.holdpoint(&args)
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

#[test]
fn a_bridge_takes_part_in_a_fleet_elsewhere_by_a_key_of_each_of_its_roles() {
    let remote = Remote::start();
    let world = &remote.world;
    for role in [&["supervisor"][..], &["worker", "--builds"]] {
        world.holdpoint(&[&["keys", "role", "add", "--dir", "../keys", "--agents", "1"], role].concat()).expect(0);
    }
    kill(Pid::from_raw(remote.broker.pid().cast_signed()), Signal::SIGHUP).unwrap();
    let _orchestrator = remote.process(&["orchestrator"], "orchestrator", "o");
    let keys = ["supervisor", "worker"].map(|role| format!("../keys/{role}/{role}-1.creds"));
    let elsewhere = remote.elsewhere(OPERATOR);
    let mut command = world.command(&["bridge", "../desk", "--supervisor-creds", &keys[0]]);
    command.args(&elsewhere).env("HOLDPOINT__NATS__TRUST", world.path("keys/trust.json"));
    let alone = world.start_with(command).finish();
    assert!(alone.expect(2).stderr.contains("--worker-creds"), "{alone}");

    let mut command = world.command(&["bridge", "../desk", "--supervisor-creds", &keys[0], "--worker-creds", &keys[1]]);
    command.args(&elsewhere).env("HOLDPOINT__NATS__TRUST", world.path("keys/trust.json"));
    let mut bridge = world.start_with(command);
    bridge.until_said("keeps");
    let desk = |path: &str| world.path("desk").join(path);
    let until_open = |path: &str, gate: &str| {
        let is_open = || fs::read_to_string(desk(path)).ok().filter(|text| text.contains(&format!("gate: {gate}\n")));
        eventually(path, is_open)
    };
    fs::write(desk("tasks/queue/NEW_page.md"), "# A page\n").unwrap();
    until_open("tasks/queue/NEW_page.md", "brainstorm");
    let front = "---\ncheckpoints:\n  - {name: stack_aligned, status: pass}\n---\n";
    let text = format!("{front}# Requirements\n\n## Goal\n\nA page.\n\n## Constraints\n\nNone.\n");
    fs::write(desk("docs/requirements/page_req.md"), text).unwrap();
    fs::rename(desk("tasks/queue/NEW_page.md"), desk("tasks/queue/DOC_page.md")).unwrap();
    until_open("tasks/queue/DOC_page.md", "document");
    let status = remote.command(OPERATOR, &["status", "--json"]).expect(0).json();
    assert_eq!(status.as_array().unwrap().len(), 1, "{status}");
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

const OPERATOR: &str = "keys/operator/operator-1.creds";
const MOVER: &str = "keys/migrator/mover.creds";

#[test]
fn a_fleet_moves_to_another_broker_with_its_flights_and_only_while_it_is_stopped() {
    let mut remote = Remote::start();
    remote.world.program("builder.sh", "date +%N >> b");
    remote.world.holdpoint(&["keys", "add", "migrator", "mover", "--dir", "../keys"]).expect(0);
    let orchestrator = remote.process(&["orchestrator"], "orchestrator", "o");
    let verifier = remote.process(&["agent", "verifier"], "verifier", "v");
    let builder = remote.builder("b");
    let run = remote.command(OPERATOR, &["run", "../plan/plan.yaml", "--repo", ".", "--json"]);
    let before = remote.command(OPERATOR, &["audit", "--all", "--json"]).expect(0).json();
    assert_eq!((&before[0]["flight"], &before[0]["sound"]), (&run.expect(0).json()["flight"], &true.into()));

    let by_operator = remote.command(OPERATOR, &["migrate", "save", "../moved"]);
    assert!(by_operator.expect(2).stderr.contains("holdpoint keys add migrator"), "{by_operator}");
    let early = remote.command(MOVER, &["migrate", "save", "../moved"]);
    assert!(early.expect(2).stderr.contains("an orchestrator of this fleet still runs"), "{early}");
    for process in [builder, verifier, orchestrator] {
        process.signal(Signal::SIGTERM);
        process.finish();
    }
    let saved = remote.command(MOVER, &["migrate", "save", "../moved", "--json"]).expect(0).json();
    let twice = remote.command(MOVER, &["migrate", "save", "../moved"]);
    assert!(twice.expect(2).stderr.contains("is not empty"), "{twice}");

    remote.change_broker();
    let snapshot = remote.world.path("moved/HP_JOURNAL.snapshot");
    let whole = fs::read(&snapshot).unwrap();
    fs::write(&snapshot, &whole[1..]).unwrap();
    let damaged = remote.command(MOVER, &["migrate", "load", "../moved"]);
    assert!(damaged.expect(2).stderr.contains("HP_JOURNAL.snapshot"), "{damaged}");
    fs::write(&snapshot, &whole).unwrap();
    let alone = remote.command(MOVER, &["migrate", "load", "../moved", "--replicas", "3"]);
    assert!(
        alone.expect(2).stderr.contains("this broker is a single server\n hint: load with --replicas 1"),
        "{alone}"
    );
    let loaded = remote.command(MOVER, &["migrate", "load", "../moved", "--json"]);
    assert_eq!(loaded.expect(0).json(), saved);
    let again = remote.command(MOVER, &["migrate", "load", "../moved"]);
    assert!(again.expect(0).stdout.contains("there already"), "{again}");

    // What the orchestrator remembers of the journals is so here as well.
    let orchestrator = remote.process(&["orchestrator"], "orchestrator", "o");
    assert_eq!(remote.command(OPERATOR, &["audit", "--all", "--json"]).expect(0).json(), before);
    assert!(!orchestrator.said().contains("older copy"), "{}", orchestrator.said());
    let _agents = [remote.process(&["agent", "verifier"], "verifier", "v"), remote.builder("b")];
    let next = remote.command(OPERATOR, &["run", "../plan/plan.yaml", "--repo", ".", "--json"]);
    assert_eq!(next.expect(0).json()["status"], "accepted");
    let late = remote.command(MOVER, &["migrate", "load", "../moved"]);
    assert!(late.expect(2).stderr.contains("an orchestrator of this fleet still runs"), "{late}");
    drop(orchestrator);
    let over = remote.command(MOVER, &["migrate", "load", "../moved"]);
    assert!(over.expect(2).stderr.contains("with other messages than the copy"), "{over}");
}
