//! Where a question waits for its answer while the turn goes on: with an orchestrator behind it, or with nobody.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;
use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_protocol::{
    Digest,
    api::ProgressAnswer,
    artifact::{ClarificationRequest, Clarified},
    checkpoint::DOCUMENT_BYTES_MAX,
    facts::BlobRef,
};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    handoff::{heard_help, planned, waiting},
    message::DeclaredPlan,
};
use crate::{
    agent::{self, Job, StopReason},
    backend::{markers::HelpCall, question::ValidQuestion},
    exchange::Draft,
    live::Live,
};
use holdpoint_runtime::{clock, telemetry::ErrorChain};

/// How often it is asked whether there is an answer.
const EVERY: Duration = Duration::from_secs(1);

/// What came of waiting for an answer.
#[derive(Debug)]
pub enum Waited {
    /// It came.
    Answered(Box<Clarified>),
    /// Nobody answered: the question is the turn's result.
    InVain,
}

/// An answer on its way.
pub type Waiting<'a> = Pin<Box<dyn Future<Output = Waited> + Send + 'a>>;

/// Something stored on its way; `None`: it is not kept.
pub type Storing<'a> = Pin<Box<dyn Future<Output = Option<Digest>> + Send + 'a>>;
/// A plan on its way; whether it is stored.
pub type Planning<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
/// A record on its way.
pub type Recording<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A document on its way.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Bytes, BlobError>> + Send + 'a>>;

/// The end of a turn on its way, with why.
pub type TurnEnding<'a> = Pin<Box<dyn Future<Output = String> + Send + 'a>>;

/// Who has questions answered, and keeps the records of what went wrong with a program's results.
pub trait Desk: Send + Sync {
    /// The longest that a question may wait.
    fn patience_max(&self) -> Duration;

    /// Asks, and waits for the answer.
    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_>;

    /// Says at once that a program calls for help: whatever becomes of the program and of this process, the call is not lost
    /// (RETRY-11). Without anybody behind the desk nobody hears it.
    fn calls_for_help(&self, _call: HelpCall) -> Recording<'_> {
        Box::pin(std::future::ready(()))
    }

    /// Completes where the turn is over before its program is: its files are kept, and nothing else counts any more. Without
    /// anybody behind the desk it never is.
    fn over(&self) -> TurnEnding<'_> {
        Box::pin(std::future::pending())
    }

    /// Where is said what the program says while it runs. Without anybody behind the desk nobody hears it.
    fn live(&self) -> Live {
        Live::default()
    }

    /// Stores a program's output whole. Without anybody behind the desk it is not kept.
    fn keep(&self, _output: Vec<u8>) -> Storing<'_> {
        Box::pin(std::future::ready(None))
    }

    /// Hands off what a program means to do; whether it is stored. Without anybody behind the desk nobody reads it.
    fn plan<'a>(&'a self, _plan: &'a DeclaredPlan) -> Planning<'a> {
        Box::pin(std::future::ready(false))
    }

    /// Fetches a document that an earlier gate handed over. Without anybody behind the desk there is none.
    fn document<'a>(&'a self, blob: &'a BlobRef) -> Fetching<'a> {
        let missing = BlobError::NotFound { digest: blob.digest, roles: vec![blob.role.clone()] };
        Box::pin(std::future::ready(Err(missing)))
    }

    /// Hands off the record of an exchange, and comes back once it is stored (RETRY-7). Without anybody behind the desk there
    /// is none.
    fn record(&self, _draft: Draft) -> Recording<'_> {
        Box::pin(std::future::ready(()))
    }
}

/// Nobody answers while a turn is open.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Desk for Nobody {
    fn patience_max(&self) -> Duration {
        Duration::MAX
    }

    fn ask(&self, _: ValidQuestion, _: Duration) -> Waiting<'_> {
        Box::pin(std::future::ready(Waited::InVain))
    }
}

/// The desk of a turn: questions are handed off without ending it, and `progress` brings the answers.
#[derive(Debug)]
pub struct TurnDesk<'a> {
    job: &'a Job,
    patience_max: Duration,
}

impl<'a> TurnDesk<'a> {
    /// The desk of this turn.
    #[must_use]
    pub fn new(job: &'a Job, patience_max: Duration) -> Self {
        Self { job, patience_max }
    }

    async fn answer(&self, question: ValidQuestion, patience: Duration) -> Waited {
        let until = Instant::now() + patience;
        let asked = waiting(self.job, question, clock::now().after(patience));
        let words = asked.words();
        // An earlier holder of the turn may have asked the same.
        self.learn(until).await;
        let talk = self.job.talk();
        if let Some(answer) = talk.answer(&words) {
            return Waited::Answered(Box::new(answer));
        }
        if talk.may_ask() && self.publish(&asked, until).await {
            talk.waits(words);
            while !self.learn(until).await {
                if let Some(answer) = talk.answer(&words) {
                    return Waited::Answered(Box::new(answer));
                }
                sleep(EVERY.min(until.saturating_duration_since(Instant::now()))).await;
            }
        }
        talk.answer(&words).map_or(Waited::InVain, |answer| Waited::Answered(Box::new(answer)))
    }

    /// Hands the question off; whether it is stored.
    async fn publish(&self, asked: &ClarificationRequest, until: Instant) -> bool {
        match timeout_at(until, agent::ask_in_turn(self.job, asked)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(error = %ErrorChain(&error), "a question cannot wait in its turn");
                false
            }
            Err(_) => false,
        }
    }

    /// Asks what was answered. Whether the time is up.
    async fn learn(&self, until: Instant) -> bool {
        match timeout_at(until, agent::newest(self.job)).await {
            Ok(Ok(ProgressAnswer::Continue(_) | ProgressAnswer::Stop { .. })) => {}
            Ok(Err(error)) => tracing::debug!(error = %ErrorChain(&error), "no answer on the turn"),
            Err(_) => return true,
        }
        Instant::now() >= until
    }
}

impl Desk for TurnDesk<'_> {
    fn patience_max(&self) -> Duration {
        self.patience_max
    }

    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_> {
        Box::pin(self.answer(question, patience))
    }

    fn calls_for_help(&self, call: HelpCall) -> Recording<'_> {
        Box::pin(async {
            if let Err(error) = agent::hear_help(self.job, &heard_help(self.job, call)).await {
                tracing::warn!(error = %ErrorChain(&error), "a call for help goes with the turn's result only");
            }
        })
    }

    fn over(&self) -> TurnEnding<'_> {
        Box::pin(async {
            match self.job.stop.stopped().await {
                StopReason::Told { reason } => reason,
                // The turn is open still: another agent does it.
                StopReason::ForOthers { .. } | StopReason::Shutdown => std::future::pending().await,
            }
        })
    }

    fn live(&self) -> Live {
        self.job.live().clone()
    }

    fn keep(&self, output: Vec<u8>) -> Storing<'_> {
        Box::pin(async {
            let stored = blobs::put(&self.job.bus, &self.job.role, output.into()).await;
            stored.inspect_err(|error| tracing::warn!(error = %ErrorChain(error), "a failed output is not stored")).ok()
        })
    }

    fn plan<'a>(&'a self, plan: &'a DeclaredPlan) -> Planning<'a> {
        Box::pin(async {
            let Some(plan) = planned(self.job, plan) else { return false };
            let handed = agent::declare_plan(self.job, &plan).await;
            handed.inspect_err(|error| tracing::warn!(error = %ErrorChain(error), "a plan is not stored")).is_ok()
        })
    }

    fn document<'a>(&'a self, blob: &'a BlobRef) -> Fetching<'a> {
        let roles = std::slice::from_ref(&blob.role);
        Box::pin(blobs::get(&self.job.bus, blob.digest, roles, DOCUMENT_BYTES_MAX as u64))
    }

    fn record(&self, draft: Draft) -> Recording<'_> {
        Box::pin(async {
            if let Err(error) = agent::record_exchange(self.job, draft).await {
                tracing::warn!(error = %ErrorChain(&error), "the record of a failed exchange is not stored");
            }
        })
    }
}
