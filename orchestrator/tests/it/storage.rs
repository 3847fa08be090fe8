//! How full the broker is, as people ask an orchestrator: neither they nor agents may ask the broker.

use holdpoint_protocol::{
    ids::role,
    storage::{STORAGE, Storage, StorageQuery, StreamStorage},
    streams,
};

use crate::support::World;

const PLAN: &str = "plan: p\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

fn stream(storage: &Storage, name: &str) -> StreamStorage {
    storage.streams.iter().find(|stream| stream.stream == name).unwrap_or_else(|| panic!("{name}: {storage:?}")).clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_learn_how_full_the_broker_is_stream_by_stream() {
    let world = World::of_a_fleet().await;
    let before: Storage = world.call(STORAGE, &StorageQuery::default()).await.unwrap();
    assert!(!before.version.is_empty() && before.bytes_max > 0, "{before:?}");
    world.submit(PLAN).await;
    let after: Storage = world.call(STORAGE, &StorageQuery::default()).await.unwrap();
    let journal = |storage| stream(storage, streams::JOURNAL);
    assert!(journal(&after).messages > journal(&before).messages, "{after:?}");
    assert_eq!(
        (journal(&after).bytes_max, journal(&after).messages_max),
        (None, None),
        "journals have what others leave"
    );
    assert_eq!(after.bytes, after.streams.iter().map(|stream| stream.bytes).sum::<u64>());
    for bounded in [streams::blob(&role::id(role::BUILDER)), streams::handoff(&role::id(role::VERIFIER))] {
        let bounded = stream(&after, &bounded);
        assert!(bounded.bytes_max.is_some_and(|most| most < after.bytes_max) && bounded.messages_max.is_some());
    }
    let query = StorageQuery { stream: Some(streams::JOURNAL.to_owned()) };
    let one: Storage = world.call(STORAGE, &query).await.unwrap();
    assert_eq!((one.streams.len(), one.bytes), (1, journal(&one).bytes));
}
