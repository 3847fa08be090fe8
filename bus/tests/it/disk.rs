//! A broker whose disk a user with a valid key tries to fill.

use std::error::Error as _;

use async_nats::HeaderMap;
use holdpoint_bus::{
    Bus,
    blobs::{self, BlobError},
    journal::Append,
    topology::{self, TopologyError, TopologySettings},
};
use holdpoint_protocol::{
    Digest,
    ids::role,
    journal::{EntryKind, Sequence},
    roles::Roles,
    streams,
    subjects::{self, Fence, JournalKey},
};

use crate::support::{TestBroker, flight, outgoing, waypoint};

/// A disk that is filled in a moment.
const DISK_BYTES: u64 = 32 << 20;
/// What is stored at a time.
const PIECE_LEN: usize = 200 << 10;

fn settings(disk_bytes: u64) -> TopologySettings {
    TopologySettings { disk_bytes, ..TopologySettings::default() }
}

/// Stores blobs of a role until there is no room; the error of the last one.
async fn fill_blobs(bus: &Bus, role: &'static str) -> BlobError {
    let mut n: u64 = 0;
    loop {
        let mut bytes = vec![0; PIECE_LEN];
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        if let Err(error) = blobs::put(bus, &role::id(role), bytes.into()).await {
            return error;
        }
        n += 1;
        assert!(n * PIECE_LEN as u64 <= DISK_BYTES, "everything is taken");
    }
}

/// Who stores blobs of a role.
async fn storing(broker: &TestBroker, role: &'static str) -> Bus {
    match role {
        role::ORCHESTRATOR => broker.orchestrator.clone(),
        role => broker.bus(role, &format!("{role}-1")).await,
    }
}

/// Stores handoffs of a role until they are refused; how many were not.
async fn fill_handoffs(broker: &TestBroker, role: &'static str) -> u64 {
    let raw = broker.raw_agent(role, "filler").await;
    let subject = subjects::handoff(&role::id(role), &flight("f"), &waypoint("w"), "build_plan");
    let junk = "x".repeat(PIECE_LEN);
    let mut stored = 0;
    loop {
        let answer = raw.ask_with(&subject, &junk, HeaderMap::new()).await;
        if answer.contains("error") {
            assert!(answer.contains("maximum bytes exceeded"), "{answer}");
            return stored;
        }
        stored += 1;
        assert!(stored * PIECE_LEN as u64 <= DISK_BYTES, "everything is taken");
    }
}

#[tokio::test]
async fn keys_that_fill_their_streams_leave_the_journals_room() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
    for name in role::STORING {
        fill_blobs(&storing(&broker, name).await, name).await;
    }

    // One role's handoffs take nothing from another's.
    let stored = fill_handoffs(&broker, role::BUILDER).await;
    for role in [role::VERIFIER, role::REPAIR, role::OPERATOR] {
        assert_eq!(fill_handoffs(&broker, role).await, stored, "{role}");
    }

    let (journal, kind) = (broker.journal(), EntryKind::Decided);
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let (mut last, mut written) = (Sequence(0), 0);
    while written < DISK_BYTES / 11 {
        let mut entry = outgoing(&"x".repeat(PIECE_LEN), &written.to_string());
        entry.schema = "decided/1.0".to_owned();
        last = journal
            .append(Append { key: &key, kind: &kind, fence: Fence::Journal, expected: last, entry })
            .await
            .unwrap();
        written += PIECE_LEN as u64;
    }
}

#[tokio::test]
async fn a_role_that_fills_its_room_for_blobs_leaves_every_other_role_theirs() {
    for filled in role::STORING {
        let broker = TestBroker::with_disk(DISK_BYTES).await;
        topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
        let refused = fill_blobs(&storing(&broker, filled).await, filled).await;
        assert!(matches!(refused, BlobError::NoRoom { .. }), "{refused:?}");
        let why = refused.source().unwrap().to_string();
        let stream = streams::blob(&role::id(filled));
        for part in [stream.as_str(), "% of the broker's disk", "orchestrator.broker_disk"] {
            assert!(why.contains(part), "{part} in {why}");
        }
        for other in role::STORING.into_iter().filter(|other| *other != filled) {
            let (bus, role) = (storing(&broker, other).await, role::id(other));
            let bytes = vec![9; 3 * PIECE_LEN];
            let digest = blobs::put(&bus, &role, bytes.clone().into()).await.unwrap();
            for reader in [&bus, &broker.orchestrator, &broker.bus(role::OPERATOR, "ann").await] {
                let read = blobs::get(reader, digest, std::slice::from_ref(&role), 1 << 20).await.unwrap();
                assert_eq!(read, bytes, "{other} beside {filled}");
            }
        }
    }
}

/// A flood of the smallest chunks or handoffs, until the broker takes no more; how many it took, and what it then said.
async fn flood(broker: &TestBroker, subject: impl Fn(u64) -> String) -> (u64, String) {
    let raw = broker.raw_agent(role::BUILDER, "flooder").await;
    for n in 0.. {
        let answer = raw.ask(&subject(n), "x").await;
        if answer.contains("error") {
            return (n, answer);
        }
    }
    unreachable!("there is an end to every room")
}

#[tokio::test]
async fn messages_are_bounded_as_well_as_bytes_for_the_broker_keeps_each_subject_in_memory() {
    let disk = 4 << 20;
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    topology::ensure(&broker.orchestrator, &settings(disk), &Roles::built_in()).await.unwrap();
    let (builder, verifier) = (role::id(role::BUILDER), role::id(role::VERIFIER));
    let chunk = |n: u64| subjects::blob_chunk(&builder, &Digest::of(&n.to_le_bytes()), 0);
    let (stored, refusal) = flood(&broker, chunk).await;
    assert_eq!(stored, disk / 1_000 * 180 / (4 << 10));
    assert!(refusal.contains("maximum messages exceeded"), "{refusal}");
    let bus = broker.bus(role::BUILDER, "b1").await;
    let refused = blobs::put(&bus, &builder, "another".into()).await.unwrap_err();
    let why = refused.source().unwrap().to_string();
    assert!(why.contains("one message for every 4 KiB of 18 %"), "{why}");
    // A blob that is there is success also when nothing more goes in.
    let there = broker.raw_agent(role::BUILDER, "b2").await.ask(&chunk(0), "x").await;
    assert!(there.contains("maximum messages per subject exceeded"), "{there}");

    let act = |n: u64| subjects::handoff(&builder, &flight(&format!("f{n}")), &waypoint("w"), "build_plan");
    let (stored, refusal) = flood(&broker, act).await;
    assert_eq!(stored, disk / 1_000 * 30 / (1 << 10));
    assert!(refusal.contains("maximum messages exceeded"), "{refusal}");
    let other = broker.bus(role::VERIFIER, "v1").await;
    blobs::put(&other, &verifier, "evidence".into()).await.unwrap();
}

/// Subjects that a stream holds.
async fn subjects_of(broker: &TestBroker, stream: &str) -> Vec<String> {
    let owner = broker.raw(&broker.local.orchestrator).await;
    let info = owner.ask(&format!("$JS.API.STREAM.INFO.{stream}"), r#"{"subjects_filter":">"}"#).await;
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    info["state"]["subjects"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default()
}

#[tokio::test]
async fn what_of_a_subject_is_longer_than_an_id_is_cut_off_and_other_shapes_are_not_stored() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    // A broker that an earlier version set up took subjects of any shape and length.
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
    let builder = role::id(role::BUILDER);
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    let long = "x".repeat(1_300);
    let longest = "x".repeat(64);
    for (sent, stored) in [
        (format!("hp.v1.blob.builder.{long}.{long}"), format!("hp.v1.blob.builder.{longest}.{longest}")),
        (
            format!("hp.v1.handoff.builder.3.{long}.{long}.{long}"),
            format!("hp.v1.handoff.builder.3.{longest}.{longest}.{longest}"),
        ),
    ] {
        let answer = raw.ask(&sent, "x").await;
        assert!(answer.contains("\"seq\":1"), "{answer}");
        let stream = if sent.contains("blob") { streams::blob(&builder) } else { streams::handoff(&builder) };
        assert_eq!(subjects_of(&broker, &stream).await, [stored]);
    }
    for other in [
        "hp.v1.blob.builder.x",
        "hp.v1.blob.builder.x.0.y",
        "hp.v1.handoff.builder.3.f.w",
        "hp.v1.handoff.builder.3.f.w.k.x",
    ] {
        assert!(raw.refused(other, "x").await, "{other}");
    }
    // A handoff that fits is stored as it is.
    let subject =
        subjects::handoff(&builder, &flight(&"f".repeat(64)), &waypoint(&"w".repeat(64)), "verification_report");
    raw.ask(&subject, "x").await;
    assert!(subjects_of(&broker, &streams::handoff(&builder)).await.contains(&subject));
}

#[tokio::test]
async fn streams_of_an_earlier_version_get_the_bound_on_subjects_and_keep_what_they_hold() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
    let owner = broker.raw(&broker.local.orchestrator).await;
    let stream = streams::handoff(&role::id(role::BUILDER));
    let mut config: serde_json::Value = {
        let info = owner.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "").await;
        serde_json::from_str::<serde_json::Value>(&info).unwrap()["config"].clone()
    };
    config["subjects"] = serde_json::json!(["hp.v1.handoff.builder.>"]);
    config.as_object_mut().unwrap().remove("subject_transform");
    let updated = owner.ask(&format!("$JS.API.STREAM.UPDATE.{stream}"), &config.to_string()).await;
    assert!(!updated.contains("error"), "{updated}");
    let raw = broker.raw_agent(role::BUILDER, "b1").await;
    let long = format!("hp.v1.handoff.builder.3.f.w.{}", "x".repeat(1_300));
    raw.ask(&long, "x").await;
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
    raw.ask(&long, "x").await;
    let mut held = subjects_of(&broker, &stream).await;
    held.sort_by_key(String::len);
    assert_eq!(held, [format!("hp.v1.handoff.builder.3.f.w.{}", "x".repeat(64)), long]);
}

#[tokio::test]
async fn a_broker_of_a_version_with_one_stream_for_all_blobs_is_refused_by_its_name_and_keeps_it() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    let owner = broker.raw(&broker.local.orchestrator).await;
    let most = DISK_BYTES / 100 * 70;
    let shared = format!(r#"{{"name":"HP_BLOB","subjects":["hp.v1.blob.>"],"max_bytes":{most},"deny_purge":true}}"#);
    let made = owner.ask("$JS.API.STREAM.CREATE.HP_BLOB", &shared).await;
    assert!(made.contains("\"did_create\":true"), "{made}");
    let digest = Digest::of(b"evidence");
    owner.ask(&subjects::blob_chunk(&role::id(role::VERIFIER), &digest, 0), "evidence").await;
    let error = topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap_err();
    assert!(matches!(error, TopologyError::SharedBlobs { .. }), "{error:?}");
    for part in ["HP_BLOB", "holdpoint export", "empty JetStream folder"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
    assert_eq!(broker.count("HP_BLOB").await, 1);
}

#[tokio::test]
async fn a_broker_with_less_disk_than_configured_is_refused_by_the_name_of_the_setting() {
    let broker = TestBroker::with_disk(DISK_BYTES).await;
    let error =
        topology::ensure(&broker.orchestrator, &settings(2 * DISK_BYTES), &Roles::built_in()).await.unwrap_err();
    assert!(matches!(error, TopologyError::NoDisk { disk_bytes, .. } if disk_bytes == 2 * DISK_BYTES), "{error:?}");
    assert!(error.to_string().contains("orchestrator.broker_disk"), "{error}");
    topology::ensure(&broker.orchestrator, &settings(DISK_BYTES), &Roles::built_in()).await.unwrap();
}

#[tokio::test]
async fn bounds_that_are_set_later_take_nothing_that_is_stored() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let bytes = vec![7; 4 * PIECE_LEN];
    let digest = blobs::put(&builder, &role::id(role::BUILDER), bytes.clone().into()).await.unwrap();
    topology::ensure(&broker.orchestrator, &settings(PIECE_LEN as u64), &Roles::built_in()).await.unwrap();
    let there = blobs::get(&builder, digest, &[role::id(role::BUILDER)], 1 << 20).await.unwrap();
    assert_eq!(there, bytes);
    let refused = blobs::put(&builder, &role::id(role::BUILDER), "another".into()).await.unwrap_err();
    assert!(refused.source().unwrap().to_string().contains("orchestrator.broker_disk"), "{refused:?}");
}
