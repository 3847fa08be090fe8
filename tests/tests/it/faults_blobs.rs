//! Blobs that are missing, or are something else than their name says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use async_nats::{ConnectOptions, HeaderMap};
use holdpoint_bus::blobs::SIZE;
use holdpoint_faults::{ORDER, STOPPED};
use holdpoint_protocol::{
    Digest,
    ids::{RoleId, role},
    subjects,
};
use holdpoint_tests::{
    account::SoakAccount,
    checker,
    world::{RunningProcess, World, eventually},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

const PLAN: &str = r#"
plan: lossy
waypoints:
  - {id: w, goal: g, criteria: [{id: c, check: "grep -q done result"}]}
"#;

/// A flight that is stopped where the order says.
fn stopped_at(order: &str) -> (World, RunningProcess, Pid) {
    let world = World::new(&[("kept", "as it was\n")]);
    world.plan(PLAN);
    world.write(&format!("faults/{ORDER}"), order);
    let builder = world.program("builder.sh", "echo done > result; echo $HOLDPOINT_ATTEMPT > attempt");
    let mut command = world.command(&world.run_args(&["--builder", &builder]));
    command.env("HOLDPOINT__AGENT__ACK_WAIT", "2s").env("HOLDPOINT__ORCHESTRATOR__HANDOFF_ACK_WAIT", "2s");
    let mut running = world.start_with(command);
    let pid = running.until("the step of the order", || {
        fs::read_to_string(world.path(&format!("faults/{STOPPED}"))).ok()?.parse().ok()
    });
    (world, running, Pid::from_raw(pid))
}

/// A process that does nothing until this is dropped.
struct Paused(Pid);

impl Paused {
    fn now(pid: Pid) -> Self {
        kill(pid, Signal::SIGSTOP).unwrap();
        Self(pid)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // It may have been ended.
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// The one path below a folder that ends so.
fn find(dir: &Path, end: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).collect();
    let here = entries.iter().find(|path| path.ends_with(end)).cloned();
    here.or_else(|| entries.iter().filter(|path| !path.is_symlink()).find_map(|path| find(path, end)))
}

/// Changes the broker's files while it is down; the command starts it again.
fn with_the_broker_down(world: &World, running: &RunningProcess, change: impl FnOnce()) {
    let broker = eventually("the broker", || world.broker());
    running.signal(Signal::SIGSTOP);
    broker.kill().unwrap();
    eventually("the end of the broker", || world.broker().is_none().then_some(()));
    change();
    running.signal(Signal::SIGCONT);
}

#[test]
fn a_blob_that_is_gone_is_told_and_the_work_is_taken_when_it_is_back() {
    let (world, mut running, orchestrator) = stopped_at("orchestrator before examine 1");
    // It may not know yet that its handoff is stored: it would build again, and store the blob again.
    let builder = Paused::now(Pid::from_raw(running.child(&["agent", "builder"]).unwrap().pid));
    let blobs = find(&world.state_folder().unwrap(), "HP_BLOB_BUILDER/msgs").unwrap();
    let away = blobs.with_file_name("away");
    with_the_broker_down(&world, &running, || fs::rename(&blobs, &away).unwrap());
    kill(orchestrator, Signal::SIGCONT).unwrap();
    running.until_said("no blob sha256:");
    with_the_broker_down(&world, &running, || {
        fs::remove_dir_all(&blobs).unwrap();
        fs::rename(&away, &blobs).unwrap();
    });
    drop(builder);
    let finished = running.finish();
    assert_eq!(finished.expect(0).waypoint("w")["attempts"], 1, "a lost blob is no attempt: {finished}");
    assert_eq!(checker::findings(&SoakAccount::of(&world)), Vec::<String>::new());
}

#[test]
fn wrong_bytes_under_a_bundles_name_are_refused_and_the_next_attempt_is_another_bundle() {
    // The first upload of a turn is its output, the second the bundle.
    let (world, running, builder) = stopped_at("builder before upload 2");
    let state = world.state_folder().unwrap();
    let bundle = fs::read(find(&state.join("agents"), "own/handoff.bundle").unwrap()).unwrap();
    let credentials = find(&state.join("processes"), "builder-1.creds").unwrap();
    store_wrong_bytes(&state, &credentials, Digest::of(&bundle));
    kill(builder, Signal::SIGCONT).unwrap();
    let finished = running.finish();
    assert_eq!(finished.expect(0).waypoint("w")["attempts"], 2, "{finished}");
    assert!(finished.stderr.contains("handoff_invalid"), "{finished}");
    assert_eq!(checker::findings(&SoakAccount::of(&world)), Vec::<String>::new());
}

/// As a builder whose key was stolen could: first under a name that another one is about to use.
fn store_wrong_bytes(state: &Path, credentials: &Path, digest: Digest) {
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(state.join("broker.json")).unwrap()).unwrap();
    let role: RoleId = role::id(role::BUILDER);
    let mut headers = HeaderMap::new();
    headers.insert(SIZE, "5");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let options = ConnectOptions::with_credentials_file(credentials).await.unwrap();
        let options = options.custom_inbox_prefix("_INBOX.builder-1");
        let client = options.connect(kept["url"].as_str().unwrap()).await.unwrap();
        let subject = subjects::blob_chunk(&role, &digest, 0);
        let answer = client.request_with_headers(subject, headers, "wrong".into()).await.unwrap();
        let answer = String::from_utf8_lossy(&answer.payload).into_owned();
        assert!(answer.contains("\"seq\""), "{answer}");
    });
}
