//! Slow work of a flight actor: it runs in a task, and its outcome is cast back.

use holdpoint_bus::journal::AppendError;
use holdpoint_core::engine::{BuildOutcome, Handoff, Input, Merged};
use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildStatus},
    facts::Oid,
    ids::{ArtifactId, WaypointId},
    journal::{Entry, Landed as LandedEntry, Record},
    refusal::RefusalCode,
    state::Phase,
    subjects::HandoffSubject,
    version,
};
use holdpoint_runtime::{
    clock,
    telemetry::{self, ErrorChain, fields},
};
use ractor::ActorRef;

use super::{
    ApplyError, Msg, Place, RETRY_DELAY, State,
    handoff::give_back,
    planned, rules,
    trace::{self, Making},
};
use crate::{
    examine::{self, Against, ExamineError},
    intake::Taken,
    landing::{self, Accepted, LandedTree, Landing, LandingError},
    refusals,
};

/// How much of an error stands in the decision that holds a landing, in characters.
const LANDING_ERROR_LEN_MAX: usize = 300;

/// Whether an accepted commit lands or is merged first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Land,
    Merge,
}

/// A build handoff was examined.
pub(crate) struct Examined {
    received: Box<Taken>,
    subject: HandoffSubject,
    handoff: Handoff<()>,
    /// What its sender says of it.
    status: BuildStatus,
    outcome: Result<BuildOutcome, ExamineError>,
}

/// What is wrong with work that its sender took for good.
fn refused_work(status: BuildStatus, outcome: &BuildOutcome) -> Option<String> {
    match outcome {
        BuildOutcome::Failed(failure) if status == BuildStatus::Ok => Some(failure.detail.clone()),
        BuildOutcome::Failed(_) | BuildOutcome::Stopped(..) | BuildOutcome::Work { .. } => None,
    }
}

/// A landing or merge was made.
pub(crate) struct Landed {
    waypoint: WaypointId,
    making: Making,
    accepted: Accepted,
    outcome: Result<Made, LandingError>,
}

enum Made {
    Landing(Landing),
    Merge(Merged),
}

/// The journal says that a waypoint's work is accepted, and not what it stands on or what brings it.
#[derive(Debug, thiserror::Error)]
#[error("the journal does not say what brings the accepted work")]
struct NothingToLand;

impl State {
    /// Fetches and examines handed-off work.
    pub(super) async fn begin_examine(
        &mut self,
        myself: &ActorRef<Msg>,
        received: Box<Taken>,
        subject: HandoffSubject,
        handoff: Handoff<()>,
        artifact: BuildArtifact,
    ) -> Result<(), ApplyError> {
        if !self.is_current(&subject.waypoint, &handoff.turn).await? {
            // The core says whether it is a repetition or late; the work itself does not matter any more.
            let body = BuildOutcome::Work { commit: None, violations: Vec::new() };
            let late = Input::Built(handoff.with(body));
            self.settle(myself, &received, &subject, late).await;
            return Ok(());
        }
        let shell = self.shell.clone();
        let against = self.against(&subject.waypoint).await?;
        self.slow += 1;
        let status = artifact.status;
        self.tasks.run(myself, "examine", async move {
            let begun = telemetry::now();
            let outcome = examine::examine(&shell, &against, &artifact).await;
            if let Some(processing) = &received.processing {
                processing.did("examine", begun, outcome.is_err().then_some("cannot be examined now"));
            }
            // An actor that is gone leaves the handoff unacknowledged: it comes again.
            Msg::Examined(Box::new(Examined { received, subject, handoff, status, outcome }))
        });
        Ok(())
    }

    pub(super) async fn against(&mut self, waypoint: &WaypointId) -> Result<Against, ApplyError> {
        let books = self.books().await?;
        let planned = planned(books, waypoint)?;
        let base: Oid = books.state(waypoint).base.unwrap_or_else(|| books.flight.head().clone());
        let base_tree = books.flight.tree_of(&base).unwrap_or_else(|| books.flight.head_tree()).clone();
        Ok(Against {
            flight: books.id().clone(),
            bundles: books.flight.bundles_up_to(&base),
            rules: rules(books, &planned),
            base,
            base_tree,
        })
    }

    pub(super) async fn on_examined(&mut self, myself: &ActorRef<Msg>, examined: Examined) {
        self.slow = self.slow.saturating_sub(1);
        let Examined { received, subject, handoff, status, outcome } = examined;
        match outcome {
            Ok(body) => {
                let refused = refused_work(status, &body);
                let told = match &body {
                    BuildOutcome::Failed(_) | BuildOutcome::Stopped(..) => self.told(&subject, &handoff.turn).await,
                    BuildOutcome::Work { .. } => Ok(None),
                };
                let told = match told {
                    Ok(told) => told,
                    Err(error) => {
                        self.handoff_failed(&subject.waypoint, &error);
                        return give_back(&received, &subject).await;
                    }
                };
                let input = Input::Built(Handoff { told, ..handoff.with(body) });
                if self.settle(myself, &received, &subject, input).await
                    && let Some(what) = refused
                {
                    refusals::tell(&self.shell, &received, RefusalCode::WorkRefused, &what).await;
                }
            }
            Err(error @ ExamineError::NotStored(_)) => {
                let what = "cannot fetch the handed-off work";
                self.lacks(&received, &subject, RefusalCode::WorkMissing, what, &error).await;
            }
            // Nothing else that fails is the sender's fault.
            Err(error) => {
                self.handoff_failed(&subject.waypoint, &error);
                give_back(&received, &subject).await;
            }
        }
    }

    /// Starts making a landing commit or a merge. One at a time: each moves the head.
    pub(super) async fn begin_landing(
        &mut self,
        myself: &ActorRef<Msg>,
        waypoint: WaypointId,
        kind: Kind,
    ) -> Result<(), ApplyError> {
        let Some(accepted) = self.accepted(&waypoint).await? else {
            self.landing_failed(myself, waypoint, NothingToLand.to_string()).await;
            return Ok(());
        };
        self.landing = Some(waypoint.clone());
        let shell = self.shell.clone();
        let making = Making::begin(kind, &self.id, &waypoint);
        self.tasks.run(myself, "land", async move {
            let outcome = match kind {
                Kind::Land => landing::land(&shell, &accepted).await.map(Made::Landing),
                Kind::Merge => landing::merge(&shell, &accepted).await.map(Made::Merge),
            };
            Msg::Landed(Box::new(Landed { waypoint, making, accepted, outcome }))
        });
        Ok(())
    }

    async fn accepted(&mut self, waypoint: &WaypointId) -> Result<Option<Accepted>, ApplyError> {
        let books = self.books().await?;
        let planned = planned(books, waypoint)?;
        let state = books.state(waypoint);
        let (Phase::Accepted { at, report: Some(report) }, Some(base), Some(work)) =
            (&state.phase, &state.base, &state.work)
        else {
            return Ok(None);
        };
        let (Some(commit), Some(bundle)) = (&work.commit, &work.bundle) else { return Ok(None) };
        let head = books.flight.head().clone();
        // Each once, and behind what it builds on: what brings the head brings the work's base, too.
        let mut bundles = books.flight.bundles_up_to(&head);
        bundles.push(bundle.clone());
        let since = books.flight.landed_between(work.made_on.as_ref().unwrap_or(base), &head);
        let landed = since.iter().map(|landed| LandedTree {
            waypoint: landed.waypoint.clone(),
            before: books.flight.tree_of(&landed.parent).unwrap_or(&books.flight.submitted.base_tree).clone(),
            after: landed.tree.clone(),
        });
        Ok(Some(Accepted {
            flight: books.id().clone(),
            waypoint: waypoint.clone(),
            title: planned.title.clone(),
            at: *at,
            report: *report,
            maker: (work.role.clone(), work.agent.clone()),
            commit: commit.clone(),
            tree: work.tree.clone(),
            base: base.clone(),
            base_tree: books.flight.tree_of(base).unwrap_or(&books.flight.submitted.base_tree).clone(),
            head_tree: books.flight.head_tree().clone(),
            landed: landed.collect(),
            head,
            wide: books.flight.wide(),
            bundles,
            rules: rules(books, &planned),
        }))
    }

    pub(super) async fn on_landed(&mut self, myself: &ActorRef<Msg>, landed: Landed) {
        self.landing = None;
        let Landed { waypoint, making, accepted, outcome } = landed;
        let decision = self.decision_on(&waypoint);
        let result = match outcome {
            Ok(Made::Landing(landing)) => self.append_landing(&waypoint, &making, &accepted, landing).await,
            // A verification would open: it is merged again once the flight goes on.
            Ok(Made::Merge(_)) if self.is_paused() => Ok(false),
            Ok(Made::Merge(merged)) => {
                let parent = Some(making.context.clone());
                self.apply(&waypoint, Input::HeadMoved(merged), parent).await.map(|_| false)
            }
            Err(error) => {
                making.over(decision.as_ref(), Some("cannot be made now"));
                let error = ErrorChain(&error).to_string();
                return self.landing_failed(myself, waypoint, error).await;
            }
        };
        making.over(decision.as_ref(), result.as_ref().err().map(|_| "cannot be journalled now"));
        match result {
            Ok(landed) => {
                if let Some(books) = self.books.as_ref().filter(|_| landed) {
                    trace::tell_if_over(books, &waypoint);
                }
                self.landing_failures.remove(&waypoint);
                self.troubles.went_well(&Place::Landing(waypoint));
                self.pump(myself).await;
            }
            Err(error) => {
                let error = ErrorChain(&error).to_string();
                self.landing_failed(myself, waypoint, error).await;
            }
        }
    }

    /// What was decided last on a waypoint: why it lands.
    fn decision_on(&self, waypoint: &WaypointId) -> Option<ArtifactId> {
        let books = self.books.as_ref().filter(|_| telemetry::is_recording())?;
        books.state(waypoint).decision.map(|decision| decision.id)
    }

    /// It is still due: it is made again, after a pause. One that fails too often is held, so that others may land.
    async fn landing_failed(&mut self, myself: &ActorRef<Msg>, waypoint: WaypointId, error: String) {
        tracing::warn!({ fields::FLIGHT } = %self.id, { fields::WAYPOINT } = %waypoint, error, "cannot land now; trying again");
        self.troubles.failed(Place::Landing(waypoint.clone()), &format!("cannot land: {error}"), clock::now());
        let failures = self.landing_failures.entry(waypoint.clone()).or_default();
        *failures += 1;
        if *failures >= self.shell.landing_attempts {
            let detail = error.chars().take(LANDING_ERROR_LEN_MAX).collect();
            if let Err(error) = self.apply(&waypoint, Input::LandingFailed(detail), None).await {
                tracing::warn!({ fields::WAYPOINT } = %waypoint, error = %ErrorChain(&error), "cannot hold it now");
            } else {
                self.landing_failures.remove(&waypoint);
            }
        }
        self.set_alarm(myself, RETRY_DELAY);
    }

    /// Appends to the flight's journal, and says whether it did: whoever else moved it makes this landing stale, and what
    /// is due is looked at anew.
    async fn append_landing(
        &mut self,
        waypoint: &WaypointId,
        making: &Making,
        accepted: &Accepted,
        landing: Landing,
    ) -> Result<bool, ApplyError> {
        let shell = self.shell.clone();
        let Landing { commit, bundle_on } = landing;
        let books = self.books().await?;
        // A person may have ended it meanwhile.
        let still = matches!(books.state(waypoint).phase, Phase::Accepted { .. });
        let ended = books.flight.steering.cancelled.is_some();
        if !still || ended || books.flight.head() != &accepted.head || books.flight.landing(waypoint).is_some() {
            return Ok(false);
        }
        let entry = LandedEntry {
            schema_version: version::CURRENT,
            waypoint: waypoint.clone(),
            tree: commit.tree,
            commit: commit.commit,
            parent: accepted.head.clone(),
            bundle: commit.bundle,
            bundle_on,
            report: accepted.report,
            record: Record::at(clock::now()),
        };
        let traceparent = Some(making.context.traceparent());
        match books.append(&shell, None, Entry::Landed(Box::new(entry)), traceparent).await {
            Ok(()) => {
                let trace_id = making.context.trace_id();
                tracing::info!({ fields::FLIGHT } = %accepted.flight, { fields::WAYPOINT } = %waypoint, trace_id, "landed");
                Ok(true)
            }
            Err(AppendError::Conflict { .. } | AppendError::Unacknowledged { .. }) => {
                self.fresh_books().await?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
