//! Work that a person hands in on a turn that was taken over: it is examined like a builder's before the act is taken. It
//! is the person's own act that waits for it, and nobody else's.

use holdpoint_admission::intake::is_hopeless;
use holdpoint_engine::waypoint::BuildOutcome;
use holdpoint_protocol::{
    artifact::{Act, ActCode, Artifact as _, Failure, HandIn},
    facts::{BundleRef, Harness, Oid},
    ids::role,
    reason::ReasonCode,
    state::{Phase, Purpose},
    subjects::HandedSubject,
};
use holdpoint_runtime::{clock, telemetry::ErrorChain};
use ractor::ActorRef;

use super::{
    Msg, State,
    acts::{Untaken, refused},
};
use crate::{
    examine::{self, Against, ExamineError},
    intake::Taken,
};

/// Work that was handed in and examined.
pub(crate) struct HandedIn {
    received: Box<Taken>,
    subject: HandedSubject,
    outcome: Result<BuildOutcome, ExamineError>,
}

/// Work to examine, and what it is held against.
struct Brought {
    against: Against,
    commit: Oid,
    bundle: BundleRef,
}

impl State {
    pub(super) async fn on_act(&mut self, myself: &ActorRef<Msg>, received: Box<Taken>, subject: HandedSubject) {
        match self.brought(&received, &subject).await {
            Ok(Some(brought)) => self.begin_hand_in(myself, received, subject, brought),
            Ok(None) => self.settle_act(myself, received, subject, None).await,
            Err(untaken) => self.acted(myself, received, subject, Err(untaken)).await,
        }
    }

    /// The work that an act brings; `None` where it brings none, or is not its person's to hand in: the engine says so.
    async fn brought(&mut self, received: &Taken, subject: &HandedSubject) -> Result<Option<Brought>, Untaken> {
        let Some(waypoint) = subject.waypoint.as_ref().filter(|_| subject.kind == HandIn::KIND) else {
            return Ok(None);
        };
        match self.fresh_books().await {
            Err(gone) if gone.is_gone() => return Ok(None),
            other => drop(other?),
        }
        let Act::HandIn(handed) = self.read_act(received, subject)? else { return Ok(None) };
        let state = self.books().await?.state(waypoint);
        let is_theirs = matches!(
            &state.phase,
            Phase::InTurn(open) if open.purpose == Purpose::Build && open.taken_by() == Some(&handed.agent)
        );
        let HandIn { commit, bundle, .. } = (*handed).clone();
        let Some(commit) = commit.filter(|_| is_theirs) else { return Ok(None) };
        let Some(bundle) = bundle.filter(|bundle| bundle.blob.role.as_str() == role::OPERATOR) else {
            let what = "it names a commit, and no bundle among the blobs of people that brings it";
            return Err(refused(ActCode::Invalid, what, "`holdpoint hand-in` stores the work before it signs the act"));
        };
        let against = self.against(waypoint, Some((&handed.agent, Harness::Foreign))).await?;
        Ok(Some(Brought { against, commit, bundle }))
    }

    fn begin_hand_in(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandedSubject,
        brought: Brought,
    ) {
        let shell = self.shell.clone();
        self.slow += 1;
        self.tasks.run(myself, "hand-in", async move {
            let Brought { against, commit, bundle } = brought;
            let outcome = examine::examine_commit(&shell, &against, &commit, &bundle).await;
            // An actor that is gone leaves the act unacknowledged: it comes again.
            Msg::HandedIn(Box::new(HandedIn { received, subject, outcome }))
        });
    }

    pub(super) async fn on_handed_in(&mut self, myself: &ActorRef<Msg>, handed: HandedIn) {
        self.slow = self.slow.saturating_sub(1);
        let HandedIn { received, subject, outcome } = handed;
        match outcome {
            Ok(outcome) => self.settle_act(myself, received, subject, Some(outcome)).await,
            Err(error) => {
                let wait = self.shell.blob_wait;
                let hopeless = is_hopeless(received.stored.time, clock::now(), received.delivery, wait);
                let untaken = match error {
                    ExamineError::NotStored(_) if hopeless => {
                        let what =
                            format!("its work was not stored within {} s: {}", wait.as_secs(), ErrorChain(&error));
                        refused(ActCode::Invalid, what, "the turn is still yours: hand it in again")
                    }
                    error => Untaken::NotNow(error.into()),
                };
                self.acted(myself, received, subject, Err(untaken)).await;
            }
        }
    }
}

/// What work came to that an act brings, as it was examined. Work that nobody examined was brought before the turn was its
/// person's.
pub(super) fn outcome_of(handed: &HandIn, examined: Option<BuildOutcome>) -> BuildOutcome {
    let nothing = || BuildOutcome::Work { commit: None, violations: Vec::new() };
    let early = || {
        let detail = "it came before the turn was taken over".to_owned();
        BuildOutcome::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail }, None)
    };
    examined.unwrap_or_else(|| if handed.commit.is_none() { nothing() } else { early() })
}
