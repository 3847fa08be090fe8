//! Making landings and merges of the queue: in tasks, whose outcome is journalled if it is due still.
//!
//! A landing moves the head, a merge stands on the queue: one of each is made at a time.

use std::{collections::BTreeMap, time::Instant};

use holdpoint_engine::{
    flight::{self, Due, QueueContext, QueueWindow},
    waypoint::{self, Input, Merged, MergesAlone},
};
use holdpoint_protocol::{
    facts::Oid,
    ids::{ArtifactId, TurnId, WaypointId},
    journal::{Entry, Landed as LandedEntry, Record},
    state::Phase,
    version,
};
use holdpoint_runtime::{
    clock,
    telemetry::{self, ErrorChain, fields},
};
use ractor::ActorRef;

use super::{
    ApplyError, Msg, Place, RETRY_DELAY, State,
    apply::{Applied, RACES_MAX},
    planned, rules,
    trace::{self, Making},
};
use crate::landing::{self, Accepted, LandedTree, Landing, LandingError, Onto, Stacking};

/// How much of an error stands in the decision that holds a landing, in characters.
const LANDING_ERROR_LEN_MAX: usize = 300;

/// What becomes of accepted work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It lands.
    Land,
    /// It is merged with the head.
    Merge,
    /// It is merged with the queue.
    Stack,
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
    /// It does not fit behind the queue.
    MergesAlone,
}

/// What is being made, and what the queue cannot take.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// The one landing or merge with the head that is being made.
    landing: Option<WaypointId>,
    /// The one merge with the queue that is being made.
    stacking: Option<WaypointId>,
    /// What could not be merged with the queue on this head.
    aside: (Option<Oid>, BTreeMap<WaypointId, MergesAlone>),
    /// How many entries the queue may have now.
    window: QueueWindow,
    /// How often in a row a landing failed.
    failures: BTreeMap<WaypointId, u32>,
}

impl Track {
    /// Whether something is being made.
    pub(super) fn is_busy(&self) -> bool {
        self.landing.is_some() || self.stacking.is_some()
    }

    /// Whether something of this kind is being made.
    pub(super) fn makes(&self, kind: Kind) -> bool {
        self.place(kind).is_some()
    }

    fn place(&self, kind: Kind) -> &Option<WaypointId> {
        if kind == Kind::Stack { &self.stacking } else { &self.landing }
    }

    fn place_mut(&mut self, kind: Kind) -> &mut Option<WaypointId> {
        if kind == Kind::Stack { &mut self.stacking } else { &mut self.landing }
    }

    /// What the queue on this head cannot take. A head that moved has other work on it, and all is tried again.
    fn aside(&mut self, head: &Oid) -> &mut BTreeMap<WaypointId, MergesAlone> {
        if self.aside.0.as_ref() != Some(head) {
            self.aside = (Some(head.clone()), BTreeMap::new());
        }
        &mut self.aside.1
    }
}

/// The journal says that a waypoint's work is accepted, and not what it stands on or what brings it.
#[derive(Debug, thiserror::Error)]
#[error("the journal does not say what brings the accepted work")]
struct NothingToLand;

impl State {
    /// What is due, with what is known here besides the journals.
    pub(super) async fn due_now(&mut self) -> Result<Vec<Due>, ApplyError> {
        let most = self.shell.landing_depth;
        self.books().await?;
        let Self { books: Some(books), track, holders, planned, setbacks, .. } = self else { return Ok(Vec::new()) };
        let is_taken = |waypoint: &WaypointId, turn: &TurnId| {
            holders.of(waypoint, turn).is_some() || planned.contains(waypoint, turn)
        };
        track.window = track.window.after(&books.flight, &books.waypoints, most);
        let depth = track.window.size();
        let aside = &*track.aside(books.flight.head());
        let now = Instant::now();
        let is_put_off = |waypoint: &WaypointId| setbacks.puts_off(&Due::Open(waypoint.clone()), now);
        let context = QueueContext { depth, is_taken: &is_taken, aside, is_put_off: &is_put_off };
        Ok(flight::due_in(&books.flight, &books.waypoints, clock::now(), &context))
    }

    /// Starts making a landing commit or a merge.
    pub(super) async fn begin_landing(
        &mut self,
        myself: &ActorRef<Msg>,
        waypoint: WaypointId,
        kind: Kind,
    ) -> Result<(), ApplyError> {
        let Some(accepted) = self.accepted(&waypoint, kind).await? else {
            self.landing_failed(myself, waypoint, NothingToLand.to_string()).await;
            return Ok(());
        };
        let onto = match kind {
            Kind::Land | Kind::Merge => None,
            Kind::Stack => self.onto(&waypoint).await?,
        };
        *self.track.place_mut(kind) = Some(waypoint.clone());
        let shell = self.shell.clone();
        let making = Making::begin(kind, &self.id, &waypoint);
        self.tasks.run(myself, "land", async move {
            let outcome = match (kind, onto) {
                (Kind::Land, _) => landing::land(&shell, &accepted).await.map(Made::Landing),
                (Kind::Stack, Some(onto)) => landing::stack(&shell, &accepted, &onto).await.map(|made| match made {
                    Stacking::Merged(merged) => Made::Merge(*merged),
                    Stacking::MergesAlone => Made::MergesAlone,
                }),
                (Kind::Merge | Kind::Stack, _) => landing::merge(&shell, &accepted).await.map(Made::Merge),
            };
            Msg::Landed(Box::new(Landed { waypoint, making, accepted, outcome }))
        });
        Ok(())
    }

    /// The end of the queue, behind which this work is merged.
    async fn onto(&mut self, waypoint: &WaypointId) -> Result<Option<Onto>, ApplyError> {
        let books = self.books().await?;
        let Some(tail) = flight::tail(&books.flight, &books.waypoints, waypoint) else { return Ok(None) };
        let bundle = tail.state.work.as_ref().and_then(|work| work.bundle.clone());
        Ok(bundle.map(|bundle| Onto { waypoints: tail.waypoints, tree: tail.tree.clone(), bundle }))
    }

    async fn accepted(&mut self, waypoint: &WaypointId, kind: Kind) -> Result<Option<Accepted>, ApplyError> {
        let books = self.books().await?;
        let planned = planned(books, waypoint)?;
        let state = books.state(waypoint);
        let at = match &state.phase {
            Phase::Accepted { at } => *at,
            Phase::Queued(queued) => queued.since,
            _ => state.stacked.as_ref().map_or_else(clock::now, |stacked| stacked.since),
        };
        let verified = state.work.as_ref().zip(state.base.as_ref()).filter(|_| kind == Kind::Land);
        let Some((work, base)) = verified.or_else(|| waypoint::unmerged(&state)) else { return Ok(None) };
        let (Some(commit), Some(bundle)) = (&work.commit, &work.bundle) else { return Ok(None) };
        let head = books.flight.head().clone();
        // Each once, and behind what it builds on: what brings the head brings the work's base, too.
        let mut bundles = books.flight.bundles_up_to(&head);
        bundles.push(bundle.clone());
        let since: &[LandedEntry] = match kind {
            Kind::Land => &[],
            _ => books.flight.landed_between(work.made_on.as_ref().unwrap_or(base), &head),
        };
        let landed = since.iter().map(|landed| LandedTree {
            waypoint: landed.waypoint.clone(),
            before: books.flight.tree_of(&landed.parent).unwrap_or(&books.flight.submitted.base_tree).clone(),
            after: landed.tree.clone(),
        });
        Ok(Some(Accepted {
            flight: books.id().clone(),
            planned: Box::new(planned.clone()),
            at,
            report: state.verified.as_ref().map(|verified| verified.report),
            maker: (work.role.clone(), work.agent.clone()),
            commit: commit.clone(),
            tree: work.tree.clone(),
            verified_on: state.base.clone().filter(|_| state.stacked.is_some()),
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
        let Landed { waypoint, making, accepted, outcome } = landed;
        *self.track.place_mut(making.kind) = None;
        let decision = self.decision_on(&waypoint);
        let result = match outcome {
            Ok(Made::Landing(landing)) => self.append_landing(&waypoint, &making, &accepted, landing).await,
            // A verification would open: it is merged again once the flight goes on.
            Ok(Made::Merge(_)) if self.is_paused() => Ok(false),
            Ok(Made::Merge(merged)) => self.append_merge(&waypoint, &making, merged).await.map(|()| false),
            Ok(Made::MergesAlone) => {
                self.track.aside(&accepted.head).insert(waypoint.clone(), MergesAlone::Passed);
                Ok(false)
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
                self.track.failures.remove(&waypoint);
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
        let failures = self.track.failures.entry(waypoint.clone()).or_default();
        *failures += 1;
        if *failures >= self.shell.landing_attempts {
            let detail = error.chars().take(LANDING_ERROR_LEN_MAX).collect();
            if let Err(error) = self.apply(&waypoint, Input::LandingFailed(detail), None).await {
                tracing::warn!({ fields::WAYPOINT } = %waypoint, error = %ErrorChain(&error), "cannot hold it now");
            } else {
                self.track.failures.remove(&waypoint);
            }
        }
        self.set_alarm(myself, RETRY_DELAY);
    }

    /// Opens the verification of a merge. One that nothing came of is left out of the queue until the head moved.
    async fn append_merge(&mut self, waypoint: &WaypointId, making: &Making, merged: Merged) -> Result<(), ApplyError> {
        let (head, parent) = (merged.head.clone(), Some(making.context.clone()));
        if merged.behind.is_none() {
            self.apply(waypoint, Input::Integrated(merged), parent).await?;
            return Ok(());
        }
        let books = self.books().await?;
        let planned = planned(books, waypoint)?;
        let workflow = books.flight.workflow_of(&planned, &books.state(waypoint));
        let stacks = workflow.map_or(Ok(()), |workflow| waypoint::stacks(&merged.merge, workflow));
        let aside = match stacks {
            Err(aside) => Some(aside),
            Ok(()) => match self.apply(waypoint, Input::Integrated(merged), parent).await? {
                Applied::Appended => None,
                Applied::Nothing | Applied::Refused(_) => Some(MergesAlone::Passed),
            },
        };
        if let Some(aside) = aside {
            self.track.aside(&head).insert(waypoint.clone(), aside);
        }
        Ok(())
    }

    /// Appends to the flight's journal, and says whether it did: what was decided on its waypoint, or on the flight, makes this landing
    /// stale, and what is due is looked at again.
    async fn append_landing(
        &mut self,
        waypoint: &WaypointId,
        making: &Making,
        accepted: &Accepted,
        landing: Landing,
    ) -> Result<bool, ApplyError> {
        let shell = self.shell.clone();
        let Landing { commit, report, bundle_on } = landing;
        let entry = LandedEntry {
            schema_version: version::CURRENT,
            waypoint: waypoint.clone(),
            tree: commit.tree,
            commit: commit.commit,
            parent: accepted.head.clone(),
            bundle: commit.bundle,
            bundle_on,
            report,
            verified_on: accepted.verified_on.clone(),
            record: Record::at(clock::now()),
        };
        for _ in 0..RACES_MAX {
            let books = self.fresh_books().await?;
            if !books.flight.may_land(&entry, &books.state(waypoint)) {
                tracing::info!({ fields::FLIGHT } = %accepted.flight, { fields::WAYPOINT } = %waypoint, "the landing is not due any more");
                return Ok(false);
            }
            let traceparent = Some(making.context.traceparent());
            match books.append(&shell, None, Entry::Landed(Box::new(entry.clone())), traceparent).await {
                Ok(()) => {
                    let trace_id = making.context.trace_id();
                    tracing::info!({ fields::FLIGHT } = %accepted.flight, { fields::WAYPOINT } = %waypoint, trace_id, "landed");
                    return Ok(true);
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ApplyError::Races)
    }
}
