//! What an orchestrator reports to Prometheus of gates (GATE-24), where that is configured.
//!
//! - `counted`: counters and histograms. An entry is counted by the orchestrator that appended it, once: what all of a fleet
//!   count together is right. An entry of which it is not known whether it was stored is not counted.
//! - `standing`: gauges. Each orchestrator reads all journals and says the same: of several, any one is right.

mod counted;
mod standing;

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

use holdpoint_engine::flight::{FlightState, Waypoints};
use holdpoint_protocol::{
    ids::{RoleId, WaypointId},
    journal::Entry,
    refusal::RefusalCode,
    state::OpenTurn,
    subjects::HandoffSubject,
};
use holdpoint_runtime::metrics::Metrics;

pub(crate) use counted::CutOff;
use counted::{Counted, Gates};
use standing::Board;
pub(crate) use standing::watch_for_ever;

use crate::books::Books;

/// The metrics of this process, or nothing where nobody asked for them; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct GateMetrics(Option<Arc<Inner>>);

struct Inner {
    gates: Gates,
    board: Arc<Board>,
}

impl fmt::Debug for GateMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GateMetrics").field(&self.0.is_some()).finish()
    }
}

impl GateMetrics {
    /// Adds them to what the process serves.
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let (gates, board) = (Gates::register(metrics), Board::register(metrics));
        Self(Some(Arc::new(Inner { gates, board })))
    }

    /// What an entry will count once it is stored. Nothing where nobody asked.
    pub(crate) fn look(
        &self,
        flight: &FlightState,
        waypoints: &Waypoints,
        waypoint: Option<&WaypointId>,
        entry: &Entry,
    ) -> Option<Counted> {
        self.0.as_ref()?;
        Some(Counted::of(flight, waypoints, waypoint, entry))
    }

    /// An entry was stored.
    pub(crate) fn count(&self, counted: Option<Counted>) {
        if let (Some(inner), Some(counted)) = (&self.0, counted) {
            inner.gates.count(counted);
        }
    }

    /// A handoff was refused. One for a turn that is not open lost against another; one of another role was not its sender's
    /// to answer.
    pub(crate) fn refused(&self, books: Option<&Books>, subject: &HandoffSubject, code: RefusalCode) {
        if let (Some(inner), Some(books)) = (&self.0, books) {
            inner.gates.refused(&books.flight, &books.state(&subject.waypoint), subject, code);
        }
    }

    /// An agent said how far its turn is.
    pub(crate) fn status_update(&self, books: Option<&Books>, open: &OpenTurn, subject: &HandoffSubject) {
        if let (Some(inner), Some(books)) = (&self.0, books) {
            inner.gates.status_update(&books.flight, open, subject);
        }
    }

    /// A person's act came too late.
    pub(crate) fn act_late(&self, books: Option<&Books>, waypoint: &WaypointId) {
        if let (Some(inner), Some(books)) = (&self.0, books) {
            inner.gates.act_late(&books.flight, &books.state(waypoint), waypoint);
        }
    }

    /// A key is out.
    pub(crate) fn cut_off(&self, role: &RoleId, why: CutOff) {
        if let Some(inner) = &self.0 {
            inner.gates.cut_off(role, why);
        }
    }

    /// Workflows of a submission or a reload are not sound.
    pub(crate) fn invalid_config(&self) {
        if let Some(inner) = &self.0 {
            inner.gates.invalid_config();
        }
    }

    /// What is kept of where work is, and what is counted; `None` where nobody asked.
    fn inner(&self) -> Option<Arc<Inner>> {
        self.0.clone()
    }

    /// Whether anybody asked.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

/// A lock whose holder panicked is as good as any: what it guards is replaced whole.
fn unpoisoned<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
