//! Who gets a place: admission's rules, carried out. A handoff with a place goes to the router, and takes it up until it
//! is dropped.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_admission::{
    intake::{self, Admission, HandoffPlace},
    rates::RateExcess,
};
use holdpoint_bus::handoffs::Received;
use holdpoint_protocol::{
    artifact::HandedHead, facts::Harness, ids::AgentName, refusal::RefusalCode, subjects::HandedSubject,
};
use tokio::sync::OwnedSemaphorePermit;

use super::reception::Mail;
use crate::{
    flight::Processing,
    refusals,
    router::{self, RouterHandle},
    shell::Shell,
};

/// A handoff in work. It takes up room until it is dropped; then what waits behind it has its turn.
pub(crate) struct Taken {
    received: Arc<Received>,
    /// Where it was published.
    pub(crate) subject: HandedSubject,
    /// What it says of itself, of an agent's handoff: its sender has been verified.
    pub(crate) head: Option<HandedHead>,
    /// Whose harness its sender's key is for.
    pub(crate) harness: Harness,
    /// For its trace, from when it is known which turn it is about.
    pub(crate) processing: Option<Processing>,
    _hold: Hold,
}

impl Deref for Taken {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.received
    }
}

/// The places of one role and partition. Cheap to clone; clones share it.
#[derive(Clone)]
pub(super) struct Desk {
    shell: Shell,
    router: RouterHandle,
    places: Arc<Mutex<intake::IntakeDesk<Mail>>>,
}

/// A handoff that is not worked on, and what its sender hears. It takes up room until that is said.
pub(super) struct Settled {
    pub(super) received: Arc<Received>,
    pub(super) answer: Answer,
    pub(super) _room: OwnedSemaphorePermit,
}

/// What is said of a handoff that is not worked on.
pub(super) enum Answer {
    /// It will not get better.
    Refused(RefusalCode, String),
    /// There is no place for it.
    NotNow,
}

/// A place, and the room in the intake that goes with it.
pub(super) struct Hold {
    desk: Desk,
    kept: Option<(HandoffPlace, OwnedSemaphorePermit)>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some((place, room)) = self.kept.take() else { return };
        let next = self.desk.lock().settled(place);
        if let Some((place, mail)) = next {
            self.desk.pass_on(mail, place, room);
        }
    }
}

impl Desk {
    pub(super) fn new(shell: Shell, router: RouterHandle) -> Self {
        Self { shell, router, places: Arc::default() }
    }

    /// Passes on a handoff by a known sender, or a person's act. One that is not worked on comes back: nobody behind it waits until
    /// it is answered.
    pub(super) fn admit(&self, sender: Option<AgentName>, mail: Mail, room: OwnedSemaphorePermit) -> Option<Settled> {
        // Once, however often it is delivered.
        if let Some(sender) = sender.as_ref().filter(|_| mail.received.delivery == 1)
            && let Err(excess) = self.count(sender, &mail)
        {
            let answer = Answer::Refused(RefusalCode::TooMany, excess.to_string());
            return Some(Settled { received: mail.received, answer, _room: room });
        }
        let arrived = mail.arrived(sender);
        let admission = self.lock().arrives(arrived, mail);
        match admission {
            Admission::Work(place, mail) => {
                self.pass_on(mail, place, room);
                None
            }
            Admission::Kept { superseded: None } | Admission::InHand(_) => None,
            Admission::Kept { superseded: Some(mail) } | Admission::Superseded(mail) => {
                let what = "its sender handed off again on this turn before it could be taken".to_owned();
                Some(Settled {
                    received: mail.received,
                    answer: Answer::Refused(RefusalCode::Superseded, what),
                    _room: room,
                })
            }
            Admission::Full(mail) => Some(Settled { received: mail.received, answer: Answer::NotNow, _room: room }),
        }
    }

    /// Answers a handoff that is not worked on.
    pub(super) async fn answer(&self, Settled { received, answer, _room }: Settled) {
        match answer {
            Answer::Refused(code, what) => self.refuse(&received, code, &what).await,
            Answer::NotNow => self.not_now(&received).await,
        }
    }

    /// Counts a handoff for its sender, who may not hand off for ever, and neither may a person act.
    fn count(&self, sender: &AgentName, mail: &Mail) -> Result<(), RateExcess> {
        let role = &mail.subject.role;
        let mut writers = self.shell.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.wrote(role, sender, mail.received.stored.payload.len());
        drop(writers);
        self.shell.handed.hands(role, sender)
    }

    /// A place for looking up the sender of a handoff, which takes no place of any known sender.
    pub(super) async fn stranger(&self, mail: Mail, room: OwnedSemaphorePermit) -> Option<(Mail, Hold)> {
        let arrived = mail.arrived(None);
        let admission = self.lock().arrives(arrived, mail);
        match admission {
            Admission::Work(place, mail) => Some((mail, Hold { desk: self.clone(), kept: Some((place, room)) })),
            Admission::Full(mail) => {
                self.not_now(&mail.received).await;
                None
            }
            // Without a sender there is nothing to compare it with.
            Admission::Kept { .. } | Admission::Superseded(_) | Admission::InHand(_) => None,
        }
    }

    /// Reports to the sender what is wrong with a handoff that will not get better.
    pub(super) async fn refuse(&self, received: &Received, code: RefusalCode, what: &str) {
        refusals::tell(&self.shell, received, code, what).await;
        // A handoff that is not acknowledged comes again, and is refused again.
        let _ = received.ack().await;
    }

    /// Leaves a handoff to the broker for a while.
    pub(super) async fn not_now(&self, received: &Received) {
        // Unacknowledged either way: it comes again.
        let _ = received.nak(intake::pause(received.delivery)).await;
    }

    /// A router that is gone right now leaves the handoff unacknowledged: it comes again.
    fn pass_on(&self, mail: Mail, place: HandoffPlace, room: OwnedSemaphorePermit) {
        let Mail { received, subject, head, harness } = mail;
        let hold = Hold { desk: self.clone(), kept: Some((place, room)) };
        let taken = Taken { received, subject, head, harness, processing: None, _hold: hold };
        self.router.cast(router::Msg::Handoff(Box::new(taken)));
    }

    fn lock(&self) -> MutexGuard<'_, intake::IntakeDesk<Mail>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Gives the place back and keeps the room.
    pub(super) fn release(mut self) -> Option<OwnedSemaphorePermit> {
        let (place, room) = self.kept.take()?;
        // A stranger's place has nothing waiting behind it.
        drop(self.desk.lock().settled(place));
        Some(room)
    }
}
