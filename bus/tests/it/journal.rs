//! Appending and reading journals, and the traps of the server under them.

use async_nats::{HeaderMap, jetstream};
use holdpoint_bus::journal::{Append, AppendError};
use holdpoint_protocol::{
    codec::PAYLOAD_MAX,
    ids::role,
    journal::{EntryKind, Sequence},
    plan::Priority,
    streams,
    subjects::{self, Fence, JournalKey},
};

use crate::support::{TestBroker, all, append, flight, outgoing, read, waypoint};

#[tokio::test]
async fn an_entry_comes_back_as_sent_and_signed_by_an_orchestrator() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    assert_eq!(journal.last(&key).await.unwrap(), None);
    assert_eq!(read(&journal, &key).await.unwrap(), []);

    let first = append(&journal, &key, &EntryKind::Decided, Sequence(0), "one").await.unwrap();
    let second = append(&journal, &key, &EntryKind::Decided, first, "two").await.unwrap();
    // Entries of other journals are none of this one's, whatever their ids begin with.
    let other = JournalKey::waypoint(&flight("f"), &waypoint("w2"));
    append(&journal, &other, &EntryKind::Decided, Sequence(0), "three").await.unwrap();

    let read = read(&journal, &key).await.unwrap();
    assert_eq!(read.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [first, second]);
    let last = journal.last(&key).await.unwrap().unwrap();
    assert_eq!(Some(&last), read.last());
    assert_eq!((last.message_id.as_deref(), last.payload.as_ref()), (Some("two"), br#"{"id":"two"}"#.as_slice()));
    assert_eq!((last.schema.as_deref(), last.content_type.as_deref()), (Some("decided/1.0"), Some("application/json")));
    assert!(last.traceparent.is_some());
    assert!(last.is_orchestrators(&broker.roots()));

    let mut tampered = last.clone();
    tampered.payload = "{}".into();
    assert!(!tampered.is_orchestrators(&broker.roots()));
    let mut moved = last;
    moved.subject = other.entry(&EntryKind::Decided);
    assert!(!moved.is_orchestrators(&broker.roots()));
}

#[tokio::test]
async fn an_append_on_an_old_sequence_is_a_conflict_whatever_the_kind() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let turn = EntryKind::Turn { role: role::id(role::BUILDER), priority: Priority::High, pool: streams::fleet_pool() };
    let first = append(&journal, &key, &turn, Sequence(0), "one").await.unwrap();
    for expected in [Sequence(0), Sequence(first.0 + 1)] {
        let error = append(&journal, &key, &EntryKind::Decided, expected, "two").await.unwrap_err();
        assert!(matches!(error, AppendError::Conflict { .. }), "{error:?}");
    }
    append(&journal, &key, &EntryKind::Decided, first, "two").await.unwrap();
}

#[tokio::test]
async fn of_orchestrators_that_race_exactly_one_wins_each_round() {
    let broker = TestBroker::start().await;
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let mut expected = Sequence(0);
    for round in 0..20 {
        let racers = (0..8).map(|racer| {
            let (journal, key) = (broker.journal(), key.clone());
            tokio::spawn(async move {
                append(&journal, &key, &EntryKind::Decided, expected, &format!("r{round}-{racer}")).await
            })
        });
        let mut won = Vec::new();
        for racer in racers.collect::<Vec<_>>() {
            match racer.await.unwrap() {
                Ok(sequence) => won.push(sequence),
                Err(error) => assert!(matches!(error, AppendError::Conflict { .. }), "{error:?}"),
            }
        }
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        expected = won[0];
    }
    assert_eq!(read(&broker.journal(), &key).await.unwrap().len(), 20);
}

#[tokio::test]
async fn a_retried_append_finds_itself_although_the_sequence_is_checked_before_the_message_id() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    let first = append(&journal, &key, &EntryKind::Decided, Sequence(0), "one").await.unwrap();

    // The trap: the server says "wrong sequence", not "duplicate", to the same message sent again.
    let raw = broker.raw(&broker.local.orchestrator).await;
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", "one");
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", key.filter().as_str());
    let answer = raw.ask_with(&key.entry(&EntryKind::Decided), "{}", headers).await;
    assert!(answer.contains("10071"), "{answer}");

    // An acknowledgement that got lost: the same append again is the success it was, also when others came after it.
    assert_eq!(append(&journal, &key, &EntryKind::Decided, Sequence(0), "one").await.unwrap(), first);
    let second = append(&journal, &key, &EntryKind::Decided, first, "two").await.unwrap();
    assert_eq!(append(&journal, &key, &EntryKind::Decided, Sequence(0), "one").await.unwrap(), first);
    assert_eq!(append(&journal, &key, &EntryKind::Decided, first, "two").await.unwrap(), second);
    assert_eq!(read(&journal, &key).await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_id_of_another_entry_is_no_success() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let (one, other) = (JournalKey::flight(&flight("f")), JournalKey::flight(&flight("g")));
    append(&journal, &one, &EntryKind::Landed, Sequence(0), "id").await.unwrap();
    let error = append(&journal, &other, &EntryKind::Landed, Sequence(0), "id").await.unwrap_err();
    assert!(matches!(error, AppendError::Refused { .. }), "{error:?}");
    assert_eq!(journal.last(&other).await.unwrap(), None);
}

#[tokio::test]
async fn an_entry_larger_than_a_message_is_never_sent_and_the_journal_goes_on() {
    let broker = TestBroker::start().await;
    let (journal, key) = (broker.journal(), JournalKey::flight(&flight("f")));
    let kind = EntryKind::Decided;
    let large = Append {
        key: &key,
        kind: &kind,
        fence: Fence::Journal,
        expected: Sequence(0),
        entry: outgoing(&" ".repeat(PAYLOAD_MAX), "large"),
    };
    let error = journal.append(large).await.unwrap_err();
    assert!(matches!(error, AppendError::TooLarge { bytes: PAYLOAD_MAX, .. }), "{error:?}");
    assert!(!error.is_race());
    append(&journal, &key, &kind, Sequence(0), "small").await.unwrap();
}

#[tokio::test]
async fn the_server_takes_a_filter_that_does_not_match_so_subject_and_filter_have_one_maker() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let key = JournalKey::waypoint(&flight("f"), &waypoint("w"));
    append(&journal, &key, &EntryKind::Decided, Sequence(0), "one").await.unwrap();

    // Fenced by another journal, which is empty: the server stores it, although this journal has moved.
    let raw = broker.raw(&broker.local.orchestrator).await;
    let other = JournalKey::waypoint(&flight("f"), &waypoint("other"));
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", other.filter().as_str());
    let answer = raw.ask_with(&key.entry(&EntryKind::Decided), "{}", headers).await;
    assert!(answer.contains("\"seq\":2"), "{answer}");

    // An append of ours cannot do that: there is one key, and both come from it.
    let error = append(&journal, &key, &EntryKind::Decided, Sequence(1), "two").await.unwrap_err();
    assert!(matches!(error, AppendError::Conflict { .. }), "{error:?}");
}

#[tokio::test]
async fn an_append_that_the_flight_fences_meets_a_move_of_any_of_its_journals_and_of_no_other() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let (f, g, kind) = (flight("f"), flight("g"), EntryKind::Landed);
    let own = JournalKey::flight(&f);
    let land = async |expected, id: &str| {
        let append = Append { key: &own, kind: &kind, fence: Fence::Flight, expected, entry: outgoing("{}", id) };
        journal.append(append).await
    };
    let first = append(&journal, &own, &EntryKind::Submitted, Sequence(0), "submitted").await.unwrap();
    let waypoint = JournalKey::waypoint(&f, &waypoint("w"));
    let held = append(&journal, &waypoint, &EntryKind::Decided, Sequence(0), "held").await.unwrap();
    let error = land(first, "landed").await.unwrap_err();
    assert!(matches!(error, AppendError::Conflict { .. }), "the waypoint has moved: {error:?}");
    append(&journal, &JournalKey::flight(&g), &EntryKind::Submitted, Sequence(0), "other").await.unwrap();
    let landed = land(held, "landed").await.unwrap();
    assert_eq!(land(held, "landed").await.unwrap(), landed, "an attempt whose acknowledgement was lost");
    assert_eq!(journal.last(&own).await.unwrap().unwrap().sequence, landed);
}

#[tokio::test]
async fn a_replay_gives_all_entries_in_order_and_takes_up_no_consumer_also_where_nobody_ends_it() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let raw = broker.raw(&broker.local.orchestrator).await;
    let context = jetstream::new(raw.0.clone());
    // More than one batch, and other flights in between.
    for n in 0..1300 {
        let (mine, other) = (JournalKey::waypoint(&flight("f"), &waypoint(&format!("w{}", n % 7))), n % 4 == 0);
        let key = if other { JournalKey::flight(&flight("g")) } else { mine };
        context.publish(key.entry(&EntryKind::Decided), n.to_string().into()).await.unwrap();
    }
    let last = context.publish(JournalKey::flight(&flight("f")).entry(&EntryKind::Landed), "end".into()).await.unwrap();
    let end = last.await.unwrap().sequence;

    let replayed = all(journal.replay(&subjects::journal_of_flight(&flight("f"))).await.unwrap()).await.unwrap();
    assert_eq!(replayed.len(), 1300 - 325 + 1);
    assert!(replayed.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
    assert_eq!(replayed.last().unwrap().sequence, Sequence(end));

    let known = replayed[900].sequence;
    let rest = journal.replay_after(&subjects::journal_of_flight(&flight("f")), known).await.unwrap();
    assert_eq!(all(rest).await.unwrap(), replayed[901..]);
    assert_eq!(all(journal.replay("hp.v1.journal.none.>").await.unwrap()).await.unwrap(), []);
    let mut everything = journal.all_after(Sequence(0)).await.unwrap();
    let mut lens = Vec::new();
    loop {
        let batch = everything.next_batch().await.unwrap();
        if batch.is_empty() {
            break;
        }
        lens.push(batch.len());
    }
    assert_eq!(lens, [500, 500, 301], "it holds one answer of the broker at a time");

    let mut begun = Vec::new();
    for _ in 0..20 {
        let mut replay = journal.replay(&subjects::journal_of_flight(&flight("f"))).await.unwrap();
        assert_eq!(replay.next().await.unwrap().as_ref(), replayed.first());
        begun.push(replay);
    }
    let info = context.get_stream("HP_JOURNAL").await.unwrap();
    let durable = 3 * Priority::ALL.len();
    assert_eq!(info.cached_info().state.consumer_count, durable);
}

#[tokio::test]
async fn subjects_alone_are_read_without_payloads_and_leave_no_consumer_behind() {
    let broker = TestBroker::start().await;
    let journal = broker.journal();
    let context = jetstream::new(broker.raw(&broker.local.orchestrator).await.0);
    let key = JournalKey::flight(&flight("f"));
    for n in 0..700 {
        context.publish(key.entry(&EntryKind::Decided), n.to_string().into()).await.unwrap();
    }
    let last = context.publish(key.entry(&EntryKind::Landed), "end".into()).await.unwrap().await.unwrap().sequence;
    let heads = all(journal.replay_subjects(&subjects::journals(), Sequence(1)).await.unwrap()).await.unwrap();
    assert_eq!(heads.iter().map(|head| head.sequence.0).collect::<Vec<_>>(), (2..=last).collect::<Vec<_>>());
    assert!(heads.iter().all(|head| head.payload.is_empty()));
    let mut begun = journal.replay_subjects(&subjects::journals(), Sequence(0)).await.unwrap();
    assert!(begun.next().await.unwrap().is_some());
    begun.close().await;
    let info = context.get_stream("HP_JOURNAL").await.unwrap();
    assert_eq!(info.cached_info().state.consumer_count, 3 * Priority::ALL.len());
}

#[tokio::test]
async fn a_frugal_replay_reads_on_over_entries_that_fill_its_room() {
    let broker = TestBroker::start().await;
    let context = jetstream::new(broker.raw(&broker.local.orchestrator).await.0);
    let key = JournalKey::flight(&flight("f"));
    let lens = [1, PAYLOAD_MAX - (8 << 10), PAYLOAD_MAX - (8 << 10), 10, 700_000, 700_000, 1];
    for len in lens {
        context.publish(key.entry(&EntryKind::Decided), "x".repeat(len).into()).await.unwrap().await.unwrap();
    }
    let replay = broker.journal().replay(&key.filter()).await.unwrap().frugal();
    let read = all(replay).await.unwrap();
    assert_eq!(read.iter().map(|entry| entry.payload.len()).collect::<Vec<_>>(), lens);
}
