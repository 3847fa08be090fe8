//! What an attacker with an agent's key has the broker say, or has an orchestrator say, to another agent.

use std::{fs, path::Path};

use holdpoint_bus::signals;
use holdpoint_protocol::ids::AgentName;

use super::*;

/// What all processes of the fleet have logged so far.
fn logs(state: &Path) -> String {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let files = below(&state.join("logs")).into_iter().flat_map(|run| below(&run));
    files.map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned()).collect()
}

fn wait_for(state: &Path, what: &str, parts: &[&str]) {
    eventually(what, || {
        let logged = logs(state);
        logged.lines().any(|line| parts.iter().all(|part| line.contains(part))).then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_orchestrator_signed_is_passed_over_by_agents_and_orchestrators_and_counted_in_their_logs() {
    let world = World::new(&[("kept", "as it was\n")]);
    let own = world.program("builder.sh", "true");
    let fleet = up(&world, &["--builder", &own], &[]);
    let state = world.state_folder().unwrap();
    let creds = Credentials::load(&state.join("keys/orchestrator.creds")).unwrap();
    let inside = Bus::connect(ConnectArgs::new(fleet.url.clone(), creds)).await.unwrap();
    let mut there = Signals::listen(&inside, subjects::presence_of(&role::id(role::BUILDER))).await.unwrap();
    let presence = timeout(PATIENCE, there.next()).await.expect("the fleet's own builder").unwrap();
    let victim: AgentName = presence.subject.rsplit('.').next().unwrap().parse().unwrap();

    // A blob of its own, with a signature of its own, sent as the answer to a get where the agent listens.
    let liar = Liar::start(&world, &fleet, role::BUILDER, "liar").await;
    let (refused, words) = (subjects::refused(&liar.role, &victim), "words of a liar");
    let chunk = subjects::blob_chunk(&liar.role, &Digest::of(words.as_bytes()), 0);
    let mut map = HeaderMap::new();
    map.insert(headers::SIZE, words.len().to_string().as_str());
    map.insert(headers::SIGNATURE, liar.creds.signer().sign(&refused, words.as_bytes()).as_str());
    liar.raw.request_with_headers(chunk.clone(), map, words.into()).await.unwrap();
    for _ in 0..4 {
        let get = subjects::direct_get(streams::BLOB_GETS, &chunk);
        liar.raw.publish_with_reply(get, refused.clone(), "".into()).await.unwrap();
    }
    liar.raw.flush().await.unwrap();
    // And a handoff in its name that nobody signed: an orchestrator says so, and whose it is not.
    let subject = subjects::handoff(&liar.role, &"f".parse().unwrap(), &"w".parse().unwrap(), "build_plan");
    let mut map = HeaderMap::new();
    map.insert(headers::MESSAGE_ID, format!("t.1.{victim}.build_plan.1").as_str());
    liar.raw.request_with_headers(subject, map, "{}".into()).await.unwrap();

    let orchestrator = role::id(role::ORCHESTRATOR);
    for _ in 0..4 {
        let evil = subjects::presence(&orchestrator, &"evil".parse().unwrap());
        signals::tell(&inside, evil, "here".into()).await.unwrap();
    }
    let forges = "forges signals";
    wait_for(&state, "the agent's warning", &[forges, refused.as_str(), "count=4"]);
    wait_for(&state, "the refusal", &["in the name of this agent", "unsigned"]);
    wait_for(&state, "the orchestrator's warning", &[forges, ".presence.orchestrator.evil", "count=4"]);
    let logged = logs(&state);
    for unheard in [words, "member=evil", "refuses a handoff of this agent"] {
        assert!(!logged.contains(unheard), "{unheard} in {logged}");
    }
}
