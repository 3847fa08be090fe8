//! Turns on their way from the journal to the agents.

use std::time::Duration;

use futures::FutureExt as _;
use holdpoint_bus::{
    Bus, blobs,
    signals::{self, Signals},
    topology::{self, TopologySettings},
    turns::{Delivery, TurnQueue},
};
use holdpoint_protocol::{
    Digest,
    ids::{PoolId, role},
    journal::EntryKind,
    plan::Priority,
    roles::Roles,
    streams,
    subjects::{self, JournalKey},
};

use crate::support::{SOON, TestBroker, flight, waypoint};

async fn queue(broker: &TestBroker, bus: &Bus, role: &str, pool: &PoolId) -> TurnQueue {
    TurnQueue::open(bus, &role.parse().unwrap(), pool, broker.roots()).await.unwrap()
}

/// Looks without waiting for hints, until something is there.
async fn again(queue: &mut TurnQueue) -> Delivery {
    let looking = async {
        loop {
            if let Some(delivery) = queue.poll().await {
                return delivery;
            }
        }
    };
    tokio::time::timeout(SOON, looking).await.unwrap()
}

#[tokio::test]
async fn turns_come_by_priority_to_their_role_only_and_once() {
    let broker = TestBroker::start().await;
    let (f, fleet) = (flight("f"), streams::fleet_pool());
    for (id, priority) in [("w1", Priority::Low), ("w2", Priority::Medium), ("w3", Priority::Critical)] {
        broker.open_turn(&f, id, role::BUILDER, priority).await;
    }
    broker.open_turn(&f, "w4", role::VERIFIER, Priority::High).await;

    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &fleet).await;
    for id in ["w3", "w2", "w1"] {
        let delivery = queue.next().await;
        let key = subjects::parse_journal(&delivery.stored.subject).unwrap();
        assert_eq!((key.waypoint, delivery.number), (Some(waypoint(id)), 1));
        delivery.heartbeat().await.unwrap();
        delivery.ack().await.unwrap();
    }
    assert!(queue.poll().await.is_none());
}

#[tokio::test]
async fn a_waiting_agent_is_woken_by_a_hint() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    let waiting = tokio::spawn(async move { queue.next().await });
    broker.open_turn(&flight("f"), "w", role::BUILDER, Priority::High).await;
    signals::wake(&broker.orchestrator, &role::id(role::BUILDER), Priority::High).await.unwrap();
    let delivery = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap();
    assert_eq!(delivery.number, 1);
}

#[tokio::test]
async fn a_turn_is_called_out_to_one_agent_of_its_pool_and_hinted_at_to_all_of_its_role() {
    const CALLS: usize = 40;
    let broker = TestBroker::start().await;
    let (builder, fleet, other) =
        (role::id(role::BUILDER), streams::fleet_pool(), streams::flight_pool(&flight("other")));
    let mut agents = Vec::new();
    for (name, pool) in [("b1", &fleet), ("b2", &fleet), ("b3", &other)] {
        let bus = broker.local.connect(&broker.mint(role::BUILDER, name, pool)).await.unwrap();
        let calls = Signals::share(&bus, subjects::wake_one(&builder, pool), subjects::WAKE_GROUP).await.unwrap();
        // Not allowed to it, unless it is its own pool: nothing comes of it.
        let foreign = Signals::listen(&bus, subjects::wake_one(&builder, &other)).await.unwrap();
        let hints = Signals::listen(&bus, subjects::wake(&builder)).await.unwrap();
        // The answer shows that the broker knows of the subscriptions.
        blobs::missing(&bus, &builder, vec![Digest::of(b"nothing")]).await.unwrap();
        agents.push((bus, calls, foreign, hints));
    }
    for _ in 0..CALLS {
        signals::wake_one(&broker.orchestrator, &builder, &fleet, Priority::High).await.unwrap();
    }
    signals::wake_one(&broker.orchestrator, &builder, &other, Priority::Low).await.unwrap();
    signals::wake(&broker.orchestrator, &builder, Priority::High).await.unwrap();
    let mut heard = Vec::new();
    for (_, calls, foreign, hints) in &mut agents {
        // It was sent last, and comes last.
        let hint = tokio::time::timeout(SOON, hints.next()).await.unwrap().unwrap();
        assert_eq!(&*hint.payload, b"high");
        heard.push((count(calls), count(foreign)));
    }
    assert_eq!(heard[0].0 + heard[1].0, CALLS, "each call once");
    assert!(heard[0].0 > 0 && heard[1].0 > 0, "not always the same agent");
    assert_eq!((heard[0].1, heard[1].1), (0, 0), "none of another pool");
    assert_eq!(heard[2], (1, 1));
}

/// How many signals have come.
fn count(signals: &mut Signals) -> usize {
    std::iter::from_fn(|| signals.next().now_or_never().flatten()).count()
}

#[tokio::test]
async fn a_turn_that_is_given_back_or_forgotten_is_delivered_again() {
    let broker = TestBroker::start().await;
    let pool = streams::flight_pool(&flight("Local-1"));
    broker.ensure_pool(role::BUILDER, &pool, Some(&flight("Local-1")), Duration::from_secs(1)).await;
    broker.open_local_turn(&flight("Local-1"), "w", role::BUILDER, Priority::High).await;
    let builder = broker.local.connect(&broker.mint(role::BUILDER, "b1", &pool)).await.unwrap();
    let mut queue = queue(&broker, &builder, role::BUILDER, &pool).await;

    let first = queue.next().await;
    first.nak(Duration::from_millis(10)).await.unwrap();
    let second = again(&mut queue).await;
    assert_eq!((second.number, &second.stored), (2, &first.stored));
    let third = again(&mut queue).await;
    assert_eq!((third.number, &third.stored), (3, &first.stored));
    third.ack().await.unwrap();
}

#[tokio::test]
async fn a_heartbeat_after_the_answer_does_not_bring_a_turn_back_before_its_time() {
    let broker = TestBroker::start().await;
    let pool = streams::flight_pool(&flight("Local-1"));
    broker.ensure_pool(role::BUILDER, &pool, Some(&flight("Local-1")), Duration::from_secs(1)).await;
    for waypoint in ["later", "forgotten"] {
        broker.open_local_turn(&flight("Local-1"), waypoint, role::BUILDER, Priority::High).await;
    }
    let builder = broker.local.connect(&broker.mint(role::BUILDER, "b1", &pool)).await.unwrap();
    let mut queue = queue(&broker, &builder, role::BUILDER, &pool).await;
    let (later, forgotten) = (again(&mut queue).await, again(&mut queue).await);
    later.nak(Duration::from_secs(3_600)).await.unwrap();
    later.heartbeat().await.unwrap();
    forgotten.heartbeat().await.unwrap();
    let next = again(&mut queue).await;
    assert_eq!((next.number, &next.stored), (2, &forgotten.stored));
}

#[tokio::test]
async fn a_turn_that_is_passed_on_is_left_to_the_others_of_its_role() {
    let broker = TestBroker::start().await;
    let (f, fleet) = (flight("f"), streams::fleet_pool());
    let (first, second) = (broker.bus(role::BUILDER, "b1").await, broker.bus(role::BUILDER, "b2").await);
    let mut maker = queue(&broker, &first, role::BUILDER, &fleet).await;
    broker.open_turn(&f, "w1", role::BUILDER, Priority::Medium).await;
    let delivery = again(&mut maker).await;
    delivery.pass_on(Duration::ZERO).await.unwrap();
    maker.after(&delivery);
    for _ in 0..50 {
        assert!(maker.poll().await.is_none(), "it is there, and others look first");
    }
    let mut other = queue(&broker, &second, role::BUILDER, &fleet).await;
    let passed_on = again(&mut other).await;
    assert_eq!(passed_on.number, 2);
    passed_on.ack().await.unwrap();
}

#[tokio::test]
async fn a_pull_of_more_than_one_turn_or_of_a_long_wait_is_refused_and_takes_nothing() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    let greedy = broker.raw_agent(role::BUILDER, "b2").await;
    let consumer = streams::turn_consumer(&role::id(role::BUILDER), &streams::fleet_pool(), Priority::High);
    let pull = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
    for asked in [r#"{"batch":1000000}"#, r#"{"batch":2,"expires":900000000}"#, r#"{"batch":1,"expires":60000000000}"#]
    {
        // It says so at once; what it would take waits for it otherwise.
        assert_eq!(greedy.ask(&pull, asked).await, "409", "{asked}");
    }
    let ids = ["w1", "w2", "w3"];
    for id in ids {
        broker.open_turn(&flight("f"), id, role::BUILDER, Priority::High).await;
    }
    for id in ids {
        let delivery = queue.poll().await.unwrap();
        let key = subjects::parse_journal(&delivery.stored.subject).unwrap();
        assert_eq!((key.waypoint, delivery.number), (Some(waypoint(id)), 1));
    }
}

#[tokio::test]
async fn agents_of_a_flights_pool_get_turns_of_that_flight_only() {
    let broker = TestBroker::start().await;
    let (mine, other) = (flight("Mine"), flight("Other"));
    let pool = streams::flight_pool(&mine);
    broker.ensure_pool(role::BUILDER, &pool, Some(&mine), Duration::from_secs(30)).await;
    broker.open_local_turn(&other, "w", role::BUILDER, Priority::High).await;
    broker.open_turn(&flight("of-the-fleet"), "w", role::BUILDER, Priority::High).await;
    broker.open_local_turn(&mine, "w", role::BUILDER, Priority::Low).await;
    let builder = broker.local.connect(&broker.mint(role::BUILDER, "b1", &pool)).await.unwrap();
    let mut queue = queue(&broker, &builder, role::BUILDER, &pool).await;
    let delivery = queue.poll().await.unwrap();
    assert_eq!(subjects::parse_journal(&delivery.stored.subject).unwrap().flight, mine);
    assert!(queue.poll().await.is_none());
}

#[tokio::test]
async fn agents_of_the_fleet_get_no_turns_of_local_flights() {
    let broker = TestBroker::start().await;
    let (local, of_the_fleet) = (flight("Local-1"), flight("f"));
    for priority in Priority::ALL {
        broker.open_local_turn(&local, priority.as_str(), role::BUILDER, priority).await;
    }
    broker.open_turn(&of_the_fleet, "w", role::BUILDER, Priority::Low).await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut fleets = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    let delivery = fleets.poll().await.unwrap();
    assert_eq!(subjects::parse_journal(&delivery.stored.subject).unwrap().flight, of_the_fleet);
    assert!(fleets.poll().await.is_none());

    // They wait for the flight's own agents, also for those that come later.
    let pool = streams::flight_pool(&local);
    broker.ensure_pool(role::BUILDER, &pool, Some(&local), SOON).await;
    let own = broker.local.connect(&broker.mint(role::BUILDER, "b2", &pool)).await.unwrap();
    let mut queue = queue(&broker, &own, role::BUILDER, &pool).await;
    for priority in Priority::ALL {
        let delivery = queue.poll().await.unwrap();
        let key = JournalKey::waypoint(&local, &waypoint(priority.as_str()));
        assert_eq!((subjects::parse_journal(&delivery.stored.subject), delivery.number), (Some(key), 1));
        delivery.ack().await.unwrap();
    }
}

#[tokio::test]
async fn an_entry_that_no_orchestrator_signed_is_dropped() {
    let broker = TestBroker::start().await;
    let kind = EntryKind::Turn { role: role::id(role::BUILDER), priority: Priority::High, pool: streams::fleet_pool() };
    let subject = JournalKey::waypoint(&flight("f"), &waypoint("bad")).entry(&kind);
    // Even with an orchestrator's credentials at the broker, an entry needs its signature.
    broker.raw(&broker.local.orchestrator).await.ask(&subject, "{}").await;
    broker.open_turn(&flight("f"), "good", role::BUILDER, Priority::High).await;

    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    let delivery = queue.poll().await.unwrap();
    assert_eq!(subjects::parse_journal(&delivery.stored.subject).unwrap().waypoint, Some(waypoint("good")));
    delivery.ack().await.unwrap();
    assert!(queue.poll().await.is_none());
}

/// Takes a turn, and leaves pulls in the broker that have no end, with a reply that every builder hears.
async fn leave_pulls(broker: &TestBroker, count: usize) {
    let attacker = broker.raw_agent(role::BUILDER, "attacker").await;
    let consumer = streams::turn_consumer(&role::id(role::BUILDER), &streams::fleet_pool(), Priority::High);
    let pull = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{consumer}", streams::JOURNAL);
    let request = async_nats::Request::new().payload(r#"{"batch":1}"#.into()).inbox(attacker.0.new_inbox());
    let turn = attacker.0.send_request(pull.clone(), request).await.unwrap();
    // An acknowledgement that asks for the next turn leaves a pull as well.
    attacker.publish_with_reply(&turn.reply.unwrap(), "hp.v1.wake.builder", r#"+NXT {"batch":1}"#).await;
    for _ in 1..count {
        attacker.publish_with_reply(&pull, "hp.v1.wake.builder", r#"{"batch":1}"#).await;
    }
}

async fn stands(broker: &TestBroker) -> topology::ConsumerState {
    let role = role::id(role::BUILDER);
    let stands = topology::standing(&broker.orchestrator, &role, &streams::fleet_pool(), Priority::High).await;
    stands.unwrap().unwrap()
}

/// Makes the consumer again as an orchestrator does that finds pulls in it.
async fn renew(broker: &TestBroker) {
    let (bus, role, pool) = (&broker.orchestrator, role::id(role::BUILDER), streams::fleet_pool());
    let stood = stands(broker).await;
    topology::renew_turn_consumer(bus, &role, &pool, Priority::High, stood, &TopologySettings::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn pulls_that_stay_in_the_broker_take_no_turn_once_their_consumer_is_made_again() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    broker.open_turn(&flight("f"), "old", role::BUILDER, Priority::High).await;
    // The connection that they came with ends, and they do not.
    leave_pulls(&broker, 20).await;
    let all_wait = async { while stands(&broker).await.waiting < 20 {} };
    tokio::time::timeout(SOON, all_wait).await.unwrap();
    assert_eq!(stands(&broker).await.in_hand, 0);

    renew(&broker).await;
    assert_eq!(stands(&broker).await.waiting, 0);
    broker.open_turn(&flight("f"), "new", role::BUILDER, Priority::High).await;
    let delivery = queue.poll().await.unwrap();
    let key = subjects::parse_journal(&delivery.stored.subject).unwrap();
    assert_eq!((key.waypoint, delivery.number), (Some(waypoint("new")), 1), "what is acknowledged does not come again");
    delivery.ack().await.unwrap();
    // An orchestrator that starts finds it as it is.
    topology::ensure(&broker.orchestrator, &TopologySettings::default(), &Roles::built_in()).await.unwrap();
    renew(&broker).await;
    assert!(queue.poll().await.is_none());
}

#[tokio::test]
async fn a_turn_in_hand_comes_again_when_its_consumer_is_made_again_and_is_acknowledged_as_it_was() {
    let broker = TestBroker::start().await;
    let builder = broker.bus(role::BUILDER, "b1").await;
    let mut queue = queue(&broker, &builder, role::BUILDER, &streams::fleet_pool()).await;
    broker.open_turn(&flight("f"), "w", role::BUILDER, Priority::High).await;
    let first = queue.poll().await.unwrap();
    renew(&broker).await;
    let second = queue.poll().await.unwrap();
    assert_eq!(second.stored, first.stored);
    first.ack().await.unwrap();
    assert_eq!(stands(&broker).await.in_hand, 0);
}
