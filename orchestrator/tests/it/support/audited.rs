//! The flight as the broker keeps it, held against the rules of an audit.

use holdpoint_bus::{
    Bus,
    auth::{PastSenders, SignedMessage, TrustRoots},
    journal::Journal,
    past,
};
use holdpoint_engine::audit::{Auditor, EntryLine, HandoffLine};
use holdpoint_protocol::{export::Message, headers, journal::Sequence, streams, subjects};

use super::World;

impl World {
    /// Asserts that an audit of the flight finds nothing.
    pub(crate) async fn is_sound(&self) {
        let bus = self.local.connect(&self.local.orchestrator).await.unwrap();
        let roots = self.local.authority.trust_roots();
        let mut auditor = Auditor::new(self.flight.clone());
        // An entry comes after the handoff it answers: entries first, then the handoffs that were there by then.
        let entries = self.entries(&bus, roots).await;
        self.hand_all(&bus, roots, &mut auditor).await;
        entries.iter().for_each(|line| auditor.entry(line));
        let audit = auditor.finish(None, None);
        let findings: Vec<String> = audit.findings.iter().map(ToString::to_string).collect();
        assert_eq!(findings, Vec::<String>::new());
        assert!(audit.counts.entries > 0, "there is something to look at");
    }

    async fn entries(&self, bus: &Bus, roots: &TrustRoots) -> Vec<EntryLine> {
        let mut stored = Journal::new(bus).replay(&subjects::journal_of_flight(&self.flight)).await.unwrap();
        let mut lines = Vec::new();
        while let Some(stored) = stored.next().await.unwrap() {
            let message = stored.exported(streams::JOURNAL);
            lines.push(EntryLine::read(&message, roots.was_orchestrators(signed(&message))).unwrap());
        }
        lines
    }

    async fn hand_all(&self, bus: &Bus, roots: &TrustRoots, auditor: &mut Auditor) {
        let mut senders = PastSenders::new(roots);
        for role in roots.fleet_roles().handing() {
            let mut handoffs = past::of_flight(bus, &role, &self.flight, Sequence(0)).await.unwrap();
            while let Some(stored) = handoffs.next().await.unwrap() {
                let message = stored.exported(&streams::handoff(&role));
                let mut line = HandoffLine::read(&message).unwrap();
                if let Ok((head, _)) = &line.body {
                    line.sender = senders.verify(&role, &head.agent, message.header(headers::JWT), signed(&message));
                }
                auditor.handoff(line);
            }
        }
    }
}

fn signed(message: &Message) -> SignedMessage<'_> {
    SignedMessage {
        subject: &message.subject,
        payload: &message.payload,
        signature: message.header(headers::SIGNATURE),
        at: message.time,
    }
}
