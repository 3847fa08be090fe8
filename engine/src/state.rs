//! The state of a flight: the fold of its own journal, and nothing that is decided by it.
//!
//! Each part of it has a file that knows nothing of the whole: `landings`, `steering`, `configured`, `budget`, `family`. `planned` and
//! `flown` look waypoints and workflows up in it.

mod budget;
mod configured;
mod family;
mod flown;
mod landings;
mod planned;
mod steering;
mod waypoints;

use std::{collections::BTreeMap, time::Duration};

use holdpoint_planfile::gates::Workflow;
use holdpoint_protocol::{
    Timestamp,
    facts::{BundleRef, Oid},
    ids::{RoleId, WaypointId, role},
    journal::{Entry, Landed, Submitted},
    plan::Waypoint,
    roles::Roles,
    state::{OpenTurn, Phase, Stacked, WaypointState},
    subjects::Fence,
};

pub use budget::{Budgets, Reservation};
pub use configured::{Configurations, adopted};
use family::Families;
pub(crate) use flown::began;
pub use landings::Landings;
pub use steering::Steering;
pub use waypoints::Waypoints;

/// The state of a flight.
#[derive(Debug, Clone, PartialEq)]
pub struct FlightState {
    /// How it began.
    pub submitted: Submitted,
    /// What landed, in the order of the branch.
    pub landed: Landings,
    /// What people did to the flight as a whole.
    pub steering: Steering,
    /// The workflows that it is flown by.
    pub configured: Configurations,
    /// What is reserved of its budget, and which limits people raised.
    pub budget: Budgets,
    /// What was added to the plan.
    pub(crate) planned: Planned,
    /// Whose children were added.
    pub(crate) families: Families,
    /// How many entries of its own journal are in it.
    read: u32,
}

/// What was added to a plan, and where each waypoint is in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Planned {
    /// In the order in which they were added: they stand behind those that were submitted.
    added: Vec<Waypoint>,
    /// Places in the whole plan, in the order of the waypoints' ids.
    places: Vec<u32>,
}

impl Planned {
    /// Takes waypoints in behind those that were submitted; at first none.
    fn take(&mut self, submitted: &[Waypoint], added: &[Waypoint]) {
        self.added.extend_from_slice(added);
        let ids: Vec<&WaypointId> = submitted.iter().chain(&self.added).map(|waypoint| &waypoint.id).collect();
        let mut places: Vec<u32> = (0..).take(ids.len()).collect();
        places.sort_by_key(|at| ids.get(*at as usize));
        self.places = places;
    }
}

impl FlightState {
    /// A flight as it begins.
    #[must_use]
    pub fn new(submitted: Submitted) -> Self {
        let configured = Configurations::new(&submitted);
        let (landed, steering, budget) = (Landings::default(), Steering::default(), Budgets::default());
        let (planned, families) = (Planned::default(), Families::default());
        let mut flight = Self { submitted, landed, steering, configured, budget, planned, families, read: 1 };
        flight.planned.take(&flight.submitted.plan.waypoints, &[]);
        flight
    }

    /// Takes an entry in, of whichever journal: a flight begins with its submission, and there is none before.
    pub fn fold(flight: &mut Option<Self>, entry: &Entry) {
        match (entry, flight) {
            (Entry::Submitted(submitted), flight @ None) => *flight = Some(Self::new(submitted.as_ref().clone())),
            (entry, Some(flight)) => flight.take(entry),
            _ => {}
        }
    }

    /// How many entries of its own journal are in it, with the submission.
    #[must_use]
    pub fn read(&self) -> u32 {
        self.read
    }

    /// Takes an entry of the flight's own journal in. Others change nothing.
    pub fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Landed(landed) => self.landed.push(landed.as_ref().clone()),
            Entry::Steered(steered) => {
                self.steering.take(steered);
                self.configured.take(steered);
                self.budget.take(steered);
            }
            Entry::Reserved(reserved) => self.budget.reserve(reserved),
            Entry::Added(added) => {
                self.families.take(added);
                self.planned.take(&self.submitted.plan.waypoints, &added.waypoints);
            }
            _ => return,
        }
        self.read = self.read.saturating_add(1);
    }

    /// The roles of agents that take its turns: the built-in ones, those that its workflows name, and advisors where it has them.
    #[must_use]
    pub fn agent_roles(&self) -> Vec<RoleId> {
        let flown = self.configured.flown(self.configured.newest());
        let advisor = (self.submitted.fleet.advisors > 0).then(|| role::id(role::ADVISOR));
        let of_gates =
            flown.into_iter().flat_map(BTreeMap::values).flat_map(Workflow::agent_roles).map(|(role, _)| role);
        Roles::with_all(of_gates.chain(&advisor)).agents()
    }

    /// The commit of the last landing, or the base.
    #[must_use]
    pub fn head(&self) -> &Oid {
        self.landed.last().map_or(&self.submitted.base, |l| &l.commit)
    }

    /// The tree of [`Self::head`].
    #[must_use]
    pub fn head_tree(&self) -> &Oid {
        self.landed.last().map_or(&self.submitted.base_tree, |l| &l.tree)
    }

    /// The tree of a commit that the flight's branch went through.
    #[must_use]
    pub fn tree_of(&self, commit: &Oid) -> Option<&Oid> {
        if commit == &self.submitted.base {
            return Some(&self.submitted.base_tree);
        }
        self.landed.at(commit).map(|l| &l.tree)
    }

    /// How a waypoint landed.
    #[must_use]
    pub fn landing(&self, waypoint: &WaypointId) -> Option<&Landed> {
        self.landed.of(waypoint)
    }

    /// What landed after the commit `since`, up to `head` and with it: both are commits of the flight's branch.
    #[must_use]
    pub fn landed_between(&self, since: &Oid, head: &Oid) -> &[Landed] {
        let after = |commit: &Oid| self.landed.iter().position(|l| &l.commit == commit).map_or(0, |at| at + 1);
        self.landed.get(after(since)..after(head)).unwrap_or_default()
    }

    /// The bundles that bring `commit`, a commit of the flight's branch, in order.
    #[must_use]
    pub fn bundles_up_to(&self, commit: &Oid) -> Vec<BundleRef> {
        let landed = self.landed.chain(commit).into_iter().rev().map(|landed| &landed.bundle);
        std::iter::once(&self.submitted.snapshot).chain(landed).cloned().collect()
    }

    /// The commits that the bundle of the next landing may build on to bring others, too, the widest first.
    #[must_use]
    pub fn wide(&self) -> Vec<Oid> {
        let on = |landed: Option<&Landed>| landed.map_or(&self.submitted.base, |landed| &landed.commit).clone();
        self.landed.wide().map(on).collect()
    }

    /// Whether work stands on the head: on its commit, or on one that stood for it.
    #[must_use]
    pub fn is_on_head(&self, state: &WaypointState) -> bool {
        let stands_for = |stacked: &Stacked| stacked.base_tree == *self.head_tree();
        state.base.as_ref() == Some(self.head()) || state.stacked.as_deref().is_some_and(stands_for)
    }

    /// Whether this landing may follow what is journalled: a person may have ended its work since it was begun, another orchestrator
    /// may have held it, or have landed something.
    #[must_use]
    pub fn may_land(&self, landing: &Landed, state: &WaypointState) -> bool {
        let accepted = state.verified.as_ref().filter(|_| matches!(state.phase, Phase::Accepted { .. }));
        let by_report = accepted.is_some_and(|verified| verified.report == landing.report);
        let same_tree = state.work.as_ref().is_some_and(|work| work.tree == landing.tree);
        let is_next = *self.head() == landing.parent && self.is_on_head(state);
        let is_open = self.steering.cancelled.is_none() && self.landing(&landing.waypoint).is_none();
        by_report && same_tree && is_next && is_open
    }

    /// The landing that the base of an entry stood for, once it is there.
    #[must_use]
    pub fn rooted(&self, stacked: &Stacked) -> Option<&Oid> {
        let since = self.landed.iter().rev().take_while(|landed| landed.commit != stacked.on);
        since.filter(|landed| landed.tree == stacked.base_tree).map(|landed| &landed.commit).next()
    }

    /// The journals that must not move before an entry is appended to this one.
    ///
    /// That accepted work lands is an entry of the flight, and that something else becomes of it one of its waypoint. So that only
    /// one of them can be, both stand on all journals of the flight.
    #[must_use]
    pub fn fence(waypoints: &Waypoints, waypoint: Option<&WaypointId>) -> Fence {
        let Some(waypoint) = waypoint else { return Fence::Flight };
        if waypoints.get(waypoint).is_some_and(WaypointState::lands) { Fence::Flight } else { Fence::Journal }
    }

    /// When the flight's wall budget ends, as far as is known at `now`: pauses do not count.
    #[must_use]
    pub fn wall_end(&self, now: Timestamp) -> Option<Timestamp> {
        let (wall, begun) = (self.submitted.plan.budget.wall?, self.submitted.record.at);
        let raised = Duration::from_millis(self.budget.raised(None).wall_ms);
        Some(self.shifted(begun.after(wall.duration().saturating_add(raised)), begun, now))
    }

    /// When a turn is overdue, as far as is known at `now`.
    #[must_use]
    pub fn deadline_of(&self, open: &OpenTurn, now: Timestamp) -> Timestamp {
        self.shifted(open.deadline, open.opened_at, now)
    }

    /// A deadline that was set at `since`, later by what the flight has been paused since then.
    #[must_use]
    pub fn shifted(&self, deadline: Timestamp, since: Timestamp, now: Timestamp) -> Timestamp {
        deadline.after(self.steering.paused_between(since, now))
    }
}
