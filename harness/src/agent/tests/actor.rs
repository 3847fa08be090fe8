//! A worker that follows a script.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use holdpoint_protocol::{
    Digest,
    artifact::{BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, Metered},
    facts::{BlobRef, BundleRef},
    plan::TurnBudget,
};
use tokio::sync::{Notify, mpsc};

use crate::agent::{Final, Job, PlanHandoff, StopReason, WorkError, Worker};

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Finish,
    FailOnce,
    PanicOnce,
    PanicInPlanOnce,
    WaitForStopOnce,
    LeaveFilesOnce,
    HangOnce,
    WaitForGo,
}

/// What a worker did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Began { agent: &'static str, delivery: u32 },
    Stopped(StopReason),
    Dropped,
}

/// See the module.
pub(super) struct Actor {
    name: &'static str,
    script: Script,
    played: AtomicBool,
    events: mpsc::UnboundedSender<Event>,
    go: Arc<Notify>,
}

impl Actor {
    pub(super) fn new(
        name: &'static str,
        script: Script,
        events: mpsc::UnboundedSender<Event>,
        go: Arc<Notify>,
    ) -> Self {
        Self { name, script, played: AtomicBool::new(false), events, go }
    }
}

/// Reports when a worker that never ends is dropped.
struct Hanging(mpsc::UnboundedSender<Event>);

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Dropped);
    }
}

impl Worker for Actor {
    fn plan(&self, job: &Job) -> PlanHandoff {
        assert!(
            self.script != Script::PanicInPlanOnce || self.played.swap(true, Ordering::SeqCst),
            "as the script says"
        );
        let plan = BuildPlan::new(
            job.origin(),
            BuildPlanBody {
                turn: job.turn.turn_id.clone(),
                delivery: job.delivery,
                agent: job.agent.clone(),
                declared: false,
                file_targets: Vec::new(),
                validation: Vec::new(),
                coverage: Vec::new(),
                budget: TurnBudget::default(),
            },
        );
        PlanHandoff::Build(plan)
    }

    async fn work(&self, job: Arc<Job>) -> Result<Final, WorkError> {
        let _ = self.events.send(Event::Began { agent: self.name, delivery: job.delivery });
        let script = if self.played.swap(true, Ordering::SeqCst) { Script::Finish } else { self.script };
        match script {
            Script::Finish | Script::PanicInPlanOnce => {}
            Script::FailOnce => return Err(WorkError::new("get a blob", "no such blob")),
            Script::PanicOnce => panic!("as the script says"),
            Script::WaitForStopOnce | Script::LeaveFilesOnce => {
                let reason = job.stop.stopped().await;
                let _ = self.events.send(Event::Stopped(reason));
            }
            Script::HangOnce => {
                let _hanging = Hanging(self.events.clone());
                std::future::pending::<()>().await;
            }
            Script::WaitForGo => {
                job.note("waiting for a word");
                self.go.notified().await;
            }
        }
        Ok(Final::Build(BuildArtifact::new(
            job.origin(),
            BuildArtifactBody {
                turn: job.turn.turn_id.clone(),
                delivery: job.delivery,
                agent: job.agent.clone(),
                status: BuildStatus::Ok,
                failure: None,
                commit: None,
                tree: None,
                bundle: (script == Script::LeaveFilesOnce).then(|| {
                    let blob = BlobRef { role: job.role.clone(), digest: Digest::of(b"files"), bytes: 5 };
                    BundleRef { blob, tip: "a".repeat(40).parse().expect("an object id"), index: None }
                }),
                touched: Vec::new(),
                diff: holdpoint_protocol::facts::DiffSummary::default(),
                left_out: Vec::new(),
                document: None,
                ledger: Vec::new(),
                claims: Vec::new(),
                completion_claim: None,
                markers_ignored: Vec::new(),
                last_words: None,
                metered: Metered::default(),
            },
        )))
    }
}
