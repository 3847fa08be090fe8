//! What is known of a flight that is not over: its fold, or what was kept of it when there was no room for more folds.

use holdpoint_engine::flight::{self, flight_status};
use holdpoint_protocol::{
    Timestamp,
    api::FlightLine,
    ids::{AgentName, FlightId, PoolId},
    journal::Sequence,
    view::FlightStatus,
};
use holdpoint_runtime::clock;

use crate::{books::Books, quota::Counted};

/// See the module.
pub(crate) enum OpenFlight {
    Folded(Box<Books>),
    Outlined(Box<Outline>),
}

/// What is kept of a flight without its fold.
pub(crate) struct Outline {
    line: FlightLine,
    by: Option<AgentName>,
    pool: PoolId,
    waypoints: usize,
    begun: Sequence,
    rests_until: Option<Timestamp>,
    waits_for_people: bool,
}

impl Outline {
    /// What is kept of it.
    pub(super) fn of(books: &Books) -> Self {
        let submitted = &books.flight.submitted;
        Self {
            line: books.line(),
            by: submitted.by.clone(),
            pool: submitted.fleet.pool.clone(),
            waypoints: books.flight.planned_count(),
            begun: books.begun(),
            rests_until: rests_until(books),
            waits_for_people: books.waits_for_people(),
        }
    }
}

fn rests_until(books: &Books) -> Option<Timestamp> {
    flight::rests_until(&books.flight, &books.waypoints, clock::now())
}

impl OpenFlight {
    pub(crate) fn id(&self) -> &FlightId {
        match self {
            Self::Folded(books) => books.id(),
            Self::Outlined(outline) => &outline.line.flight,
        }
    }

    /// Where its submission is.
    pub(crate) fn begun(&self) -> Sequence {
        match self {
            Self::Folded(books) => books.begun(),
            Self::Outlined(outline) => outline.begun,
        }
    }

    /// The pool of its agents.
    pub(crate) fn pool(&self) -> &PoolId {
        match self {
            Self::Folded(books) => &books.flight.submitted.fleet.pool,
            Self::Outlined(outline) => &outline.pool,
        }
    }

    /// What counts of it while it is open.
    pub(crate) fn counted(&self) -> Counted<'_> {
        match self {
            Self::Folded(books) => books.counted(),
            Self::Outlined(outline) => {
                let Outline { line, by, waypoints, begun, .. } = outline.as_ref();
                Counted { flight: &line.flight, by: by.as_ref(), waypoints: *waypoints, begun: *begun }
            }
        }
    }

    /// Until when nothing is to be done for it; `None` if something is now, or no deadline is known.
    pub(crate) fn rests_until(&self) -> Option<Timestamp> {
        match self {
            Self::Folded(books) => rests_until(books),
            Self::Outlined(outline) => outline.rests_until,
        }
    }

    /// Whether something waits for people.
    pub(super) fn waits_for_people(&self) -> bool {
        match self {
            Self::Folded(books) => books.waits_for_people(),
            Self::Outlined(outline) => outline.waits_for_people,
        }
    }

    /// How it stands, in one line.
    pub(super) fn line(&self) -> FlightLine {
        match self {
            Self::Folded(books) => books.line(),
            Self::Outlined(outline) => outline.line.clone(),
        }
    }

    /// Its fold, where that was kept.
    pub(crate) fn into_books(self) -> Option<Box<Books>> {
        match self {
            Self::Folded(books) => Some(books),
            Self::Outlined(_) => None,
        }
    }
}

impl Books {
    /// How the flight stands.
    pub(crate) fn status(&self) -> FlightStatus {
        flight_status(&self.flight, &self.waypoints)
    }

    /// Whether nothing and nobody can move the flight on.
    pub(crate) fn is_over(&self) -> bool {
        self.status().is_over()
    }

    /// Whether something waits for people.
    pub(crate) fn waits_for_people(&self) -> bool {
        !flight::waits(&self.flight, &self.waypoints).is_empty()
    }

    /// How the flight stands, in one line.
    pub(crate) fn line(&self) -> FlightLine {
        FlightLine {
            flight: self.id().clone(),
            plan: self.flight.submitted.plan.plan.clone(),
            submitted_at: self.flight.submitted.record.at,
            status: self.status(),
            paused: self.flight.steering.is_paused(),
        }
    }
}
