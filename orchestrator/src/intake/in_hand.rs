//! Handoffs that were given to the router and are not settled: they get heartbeats, so that they are not delivered again
//! while they wait in a mailbox or are worked on.
//!
//! Bounded twice: by what an intake has in hand, and by time. One that is in hand for so long that something must be
//! wrong here comes again, perhaps to another orchestrator.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use holdpoint_bus::handoffs::Received;
use holdpoint_runtime::supervise::TaskFailed;

/// How long a handoff gets heartbeats: longer than any examination or weighing takes.
const HELD_MAX: Duration = Duration::from_secs(30 * 60);
/// Heartbeats in the time after which a handoff is delivered again: one may get lost.
const BEATS_PER_ACK_WAIT: u32 = 3;

/// A handoff in hand. The code that settles it drops it.
#[derive(Debug)]
pub(super) struct InHand<T>(Arc<Mutex<Vec<Since<T>>>>);

/// One that is in hand since then.
type Since<T> = (Instant, Weak<T>);

impl<T> Clone for InHand<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> InHand<T> {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    /// One is in hand from now on.
    pub(super) fn add(&self, one: &Arc<T>, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, one)| one.strong_count() > 0);
        all.push((now, Arc::downgrade(one)));
    }

    /// Those that nobody has settled, and that are not in hand for too long.
    fn held(&self, now: Instant) -> Vec<Arc<T>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(since, one)| one.strong_count() > 0 && now.saturating_duration_since(*since) < HELD_MAX);
        all.iter().filter_map(|(_, one)| one.upgrade()).collect()
    }
}

impl InHand<Received> {
    /// Sends heartbeats until it is aborted.
    pub(super) async fn beat(self, ack_wait: Duration) -> TaskFailed {
        loop {
            tokio::time::sleep(ack_wait / BEATS_PER_ACK_WAIT).await;
            for received in self.held(Instant::now()) {
                // One that is lost costs a second delivery, which is recognised.
                let _ = received.progress().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use holdpoint_bus::{
        Outgoing,
        broker::{LocalBroker, LocalSpec, ServerBinary},
        handoffs::{self, HandoffQueue, ShowJwt},
        topology::{self, TopologySettings},
    };
    use holdpoint_protocol::{ids::role, roles::Roles, streams, subjects};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    /// After so long a handoff is delivered again.
    const ACK_WAIT: Duration = Duration::from_millis(500);

    #[test]
    fn what_is_settled_or_in_hand_for_too_long_gets_no_heartbeat() {
        let (in_hand, start) = (InHand::new(), Instant::now());
        let (settled, stuck, fresh) = (Arc::new("settled"), Arc::new("stuck"), Arc::new("fresh"));
        in_hand.add(&settled, start);
        in_hand.add(&stuck, start);
        in_hand.add(&fresh, start + HELD_MAX / 2);
        drop(settled);
        assert_eq!(in_hand.held(start + HELD_MAX / 2), [stuck, fresh.clone()]);
        assert_eq!(in_hand.held(start + HELD_MAX), [fresh]);
    }

    /// A broker, and the queue of an orchestrator in which these handoffs wait in order.
    async fn queue(handoffs: [&'static str; 2]) -> ((LocalBroker, tempfile::TempDir), HandoffQueue) {
        let dir = tempfile::TempDir::new().unwrap();
        let hint = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nats-server");
        let binary = ServerBinary::find(&[hint]).await.unwrap();
        let spec = LocalSpec::bound(binary, dir.path().to_owned());
        let local = LocalBroker::start(spec).await.unwrap();
        let orchestrator = local.connect(&local.orchestrator).await.unwrap();
        let settings = TopologySettings { handoff_ack_wait: ACK_WAIT, ..TopologySettings::default() };
        topology::ensure(&orchestrator, &settings, &Roles::built_in()).await.unwrap();

        let (role, flight) = (role::id(role::BUILDER), "f".parse().unwrap());
        let creds = local.authority.mint_agent(&role, &"b1".parse().unwrap(), &streams::fleet_pool(), None).unwrap();
        let agent = local.connect(&creds).await.unwrap();
        for waypoint in handoffs {
            let outgoing = Outgoing {
                payload: waypoint.into(),
                content_type: "application/json",
                schema: "any/1.0".to_owned(),
                message_id: waypoint.to_owned(),
                traceparent: None,
            };
            let subject = subjects::handoff(&role, &flight, &waypoint.parse().unwrap(), "build_artifact");
            handoffs::publish(&agent, &subject, &outgoing, ShowJwt::No).await.unwrap();
        }
        let queue = HandoffQueue::open(&orchestrator, &role, subjects::partition(&flight)).await.unwrap();
        ((local, dir), queue)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_handoff_that_waits_is_not_delivered_again() {
        let (_broker, mut queue) = queue(["waits", "returns"]).await;
        let waits = Arc::new(queue.next(PATIENCE).await.unwrap().unwrap());
        let returns = queue.next(PATIENCE).await.unwrap().unwrap();
        let in_hand = InHand::new();
        in_hand.add(&waits, Instant::now());
        let beating = tokio::spawn(in_hand.beat(ACK_WAIT));
        // It comes later than what nobody settles.
        returns.nak(4 * ACK_WAIT).await.unwrap();
        let next = queue.next(PATIENCE).await.unwrap().unwrap();
        assert_eq!((&*next.stored.payload, next.delivery), (&b"returns"[..], 2));
        waits.ack().await.unwrap();
        beating.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_heartbeat_brings_nothing_back_that_was_put_off() {
        let (_broker, mut queue) = queue(["put-off", "paces"]).await;
        let put_off = Arc::new(queue.next(PATIENCE).await.unwrap().unwrap());
        let paces = queue.next(PATIENCE).await.unwrap().unwrap();
        let in_hand = InHand::new();
        // It was put off by code that has not let go of it yet.
        in_hand.add(&put_off, Instant::now());
        let beating = tokio::spawn(in_hand.beat(ACK_WAIT));
        put_off.nak(2 * PATIENCE).await.unwrap();
        // Meanwhile there are heartbeats.
        paces.nak(2 * ACK_WAIT).await.unwrap();
        let paces = queue.next(PATIENCE).await.unwrap().unwrap();
        assert_eq!((&*paces.stored.payload, paces.delivery), (&b"paces"[..], 2));
        beating.abort();
        paces.nak(4 * ACK_WAIT).await.unwrap();
        let next = queue.next(PATIENCE).await.unwrap().unwrap();
        assert_eq!((&*next.stored.payload, next.delivery), (&b"paces"[..], 3), "the other one comes in two minutes");
    }
}
