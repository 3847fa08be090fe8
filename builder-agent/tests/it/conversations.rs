//! A conversation that goes on: on another machine, in the same place, by the same role alone.

use std::{fs, sync::Arc};

use holdpoint_bus::blobs;
use holdpoint_harness::{
    agent::{Final, Job, Worker},
    build_turn::BuildWorker,
};
use holdpoint_protocol::{
    artifact::{BuildStatus, ClarificationRequest, Conversation},
    ids::role,
    streams,
};
use holdpoint_runtime::config::{Dialect, ProgramConfig, presets::PresetName};

use crate::broker::Fleet;

/// The most bytes of a transcript here.
const READ_MAX: u64 = 1 << 20;

/// A stand-in of Claude Code: it keeps a conversation by the folder it was in, asks a question, and goes on in the conversation with
/// the answer.
fn stand_in(program: &mut ProgramConfig) {
    let kept = "$CLAUDE_CONFIG_DIR/projects/at";
    let say = |text: &str| {
        format!(r#"printf '%s\n' '{{"type":"result","session_id":"s-1","is_error":false,"result":"{text}"}}'"#)
    };
    program.preset = Some(PresetName::Claude);
    program.dialect = Dialect::Claude;
    program.command = Some(format!(
        "mkdir -p {kept}; printf '{{\"cwd\": \"%s\"}}\\n' \"$(pwd)\" > {kept}/s-1.jsonl; {}; \
         holdpoint-ask question 'Which?' --option a --patience 0s",
        say("begun")
    ));
    let known = format!("grep -qF '\"'\"$(pwd)\"'\"' {kept}/{{session}}.jsonl");
    program.resume = Some(format!("{known} && echo went-on >> a.txt && {}", say("gone on")));
}

async fn asks(worker: &BuildWorker, job: Arc<Job>) -> ClarificationRequest {
    match Box::pin(worker.work(job)).await.unwrap() {
        Final::Clarify(asked) => asked,
        other => panic!("no question: {other:?}"),
    }
}

#[tokio::test]
async fn an_agent_on_another_machine_goes_on_in_the_conversation_in_which_it_was_asked() {
    let fleet = Fleet::new().await;
    let one = fleet.worker_at("one", stand_in).await;
    let (job, _stopper) = fleet.job(|_| {});
    let talk = asks(&one, job).await.conversation.expect("the conversation goes along");
    assert_eq!((talk.session.as_str(), talk.path.as_str()), ("s-1", "at/s-1.jsonl"));
    drop(one);
    fs::rename(fleet.shop.path("one"), fleet.shop.path("lost")).unwrap();

    let two = fleet.worker_at("two", stand_in).await;
    let (job, _stopper) = fleet.job(|request| request.conversation = Some(talk.clone()));
    let Final::Build(built) = two.work(job).await.unwrap() else { panic!("no work") };
    assert_eq!((built.status, built.failure), (BuildStatus::Ok, None));
    assert_eq!(built.touched.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert!(built.ledger[0].command.contains("went-on"), "{:?}", built.ledger);

    let verifier = role::id(role::VERIFIER);
    let minted = fleet.local.authority.mint_agent(&verifier, &"v1".parse().unwrap(), &streams::fleet_pool(), None);
    let verifier = fleet.local.connect(&minted.unwrap()).await.unwrap();
    let builder = role::id(role::BUILDER);
    let digest = talk.transcript.digest;
    assert!(blobs::get(&verifier, digest, &[builder], READ_MAX).await.is_err(), "it is among no blobs of the builder");
}

#[tokio::test]
async fn a_conversation_that_is_lost_another_roles_or_malformed_is_not_gone_on_with() {
    let fleet = Fleet::new().await;
    let one = fleet.worker_at("one", stand_in).await;
    let (job, _stopper) = fleet.job(|_| {});
    let talk = asks(&one, job).await.conversation.unwrap();
    let change = |change: fn(&mut Conversation)| {
        let mut changed = talk.clone();
        change(&mut changed);
        changed
    };
    let cases = [
        change(|talk| talk.transcript.digest = holdpoint_protocol::Digest::of(b"lost")),
        change(|talk| talk.transcript.role = role::id(role::REPAIR)),
        change(|talk| talk.session = "--dangerous".to_owned()),
        change(|talk| talk.path = "../../s-1.jsonl".to_owned()),
    ];
    for (n, talk) in cases.into_iter().enumerate() {
        let two = fleet.worker_at(&format!("two-{n}"), stand_in).await;
        let (job, _stopper) = fleet.job(|request| request.conversation = Some(talk));
        asks(&two, job).await;
    }
}
