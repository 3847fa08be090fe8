//! The first look at a handoff, before it takes a place: what is unsigned, wrongly signed or unreadable is refused here,
//! without reading anything else and without disturbing its flight's actor.
//!
//! Its flight reads the rest of a handoff.

use std::sync::Arc;

use holdpoint_admission::intake::Arrived;
use holdpoint_bus::handoffs::Received;
use holdpoint_protocol::{
    artifact::HandedHead,
    facts::Harness,
    ids::{AgentName, role},
    names::answers_turn,
    refusal::RefusalCode,
    subjects::{self, HandedSubject},
};
use holdpoint_runtime::telemetry::ErrorChain;

use crate::senders::{SenderError, Senders};

/// A handoff whose subject and head could be read.
#[derive(Clone)]
pub(super) struct Mail {
    pub(super) received: Arc<Received>,
    pub(super) subject: HandedSubject,
    /// Of an agent's handoff.
    pub(super) head: Option<HandedHead>,
    /// Whose harness its sender's key is for; foreign until the sender is known.
    pub(super) harness: Harness,
}

/// What the first look at a handoff found.
pub(super) enum Seen {
    /// It may be worked on. Without a sender it is a person's act, which its flight looks at more closely.
    By(Option<AgentName>, Mail),
    /// Nothing here says whose key its agent has: older handoffs have to be read.
    Stranger(Mail),
    /// It will not get better.
    Refused(RefusalCode, String),
}

impl Mail {
    /// As the rules of admission see it.
    pub(super) fn arrived(&self, sender: Option<AgentName>) -> Arrived {
        let Self { received, subject, head, .. } = self;
        let head = head.as_ref().filter(|_| answers_turn(&subject.kind));
        Arrived {
            flight: subject.flight.clone(),
            sender,
            answers: head.and_then(|head| head.turn.clone()),
            sequence: received.stored.sequence,
        }
    }
}

/// Looks at a handoff.
pub(super) fn look(senders: &Senders, received: &Arc<Received>) -> Seen {
    let stored = &received.stored;
    let Some(subject) = subjects::parse_handed(&stored.subject) else {
        let what = format!("{} is no handoff's subject, or its partition is not the flight's", stored.subject);
        return Seen::Refused(RefusalCode::BadSubject, what);
    };
    let received = received.clone();
    if subject.role.as_str() == role::OPERATOR {
        let person = senders.person(stored);
        return Seen::By(person, Mail { received: received.clone(), subject, head: None, harness: Harness::Foreign });
    }
    // Before anything is parsed.
    if stored.signature.is_none() {
        return Seen::Refused(RefusalCode::Unsigned, "there is no Hp-Signature".to_owned());
    }
    let head = match HandedHead::decode(&stored.payload, stored.content_type.as_deref()) {
        Ok(head) => head,
        Err(error) => return Seen::Refused(error.refusal(), ErrorChain(&error).to_string()),
    };
    match senders.recognise(&subject.role, stored, &head.agent) {
        Ok(Some(harness)) => {
            let sender = Some(head.agent.clone());
            Seen::By(sender, Mail { received: received.clone(), subject, head: Some(head), harness })
        }
        Ok(None) | Err(SenderError::Unknown(_)) => {
            let harness = Harness::Foreign;
            Seen::Stranger(Mail { received: received.clone(), subject, head: Some(head), harness })
        }
        Err(SenderError::Refused { code, what }) => Seen::Refused(code, what),
    }
}
