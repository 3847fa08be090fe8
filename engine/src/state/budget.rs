//! What the flight's own journal says of its budget: what is reserved, and which limits people raised.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    budget::{Amounts, Limits, Raise},
    ids::WaypointId,
    journal::{Reserved, Steered},
    plan::FlightBudget,
};

use crate::budget::{self, Need};

/// Reservations and raises of a flight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budgets {
    pub(crate) raises: Vec<Raise>,
    /// Of each waypoint, oldest first.
    reserved: BTreeMap<WaypointId, Vec<Reservation>>,
    count: u32,
}

/// A reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Its number in the flight's journal, from 1.
    pub number: u32,
    /// How many entries the waypoint's journal had.
    pub step: u32,
    /// What the turn may use up; nothing of something that is limited: the budget is used up.
    pub allowance: Limits,
    /// What the waypoint then takes up of the budget beyond what it did.
    pub adds: Amounts,
}

impl Budgets {
    /// Takes an entry in.
    pub fn reserve(&mut self, reserved: &Reserved) {
        self.count = self.count.saturating_add(1);
        let Reserved { step, allowance, adds, .. } = *reserved;
        let of_it = self.reserved.entry(reserved.waypoint.clone()).or_default();
        of_it.push(Reservation { number: self.count, step, allowance, adds });
    }

    /// Takes an act of a person in.
    pub(super) fn take(&mut self, steered: &Steered) {
        self.raises.extend(steered.raised.clone());
    }

    /// How many raises there were.
    #[must_use]
    pub fn raises(&self) -> u32 {
        u32::try_from(self.raises.len()).unwrap_or(u32::MAX)
    }

    /// By how much the limits of a waypoint, or of the flight, were raised.
    #[must_use]
    pub fn raised(&self, waypoint: Option<&WaypointId>) -> Amounts {
        let of_it = self.raises.iter().filter(|raise| raise.waypoint.as_ref() == waypoint);
        of_it.map(|raise| raise.add).fold(Amounts::default(), Amounts::plus)
    }

    /// The limits of the flight as they were raised.
    #[must_use]
    pub fn limits(&self, planned: &FlightBudget) -> Limits {
        budget::of_flight(planned).plus(self.raised(None))
    }

    /// Waypoints for which something was reserved.
    pub(crate) fn reserved_for(&self) -> impl Iterator<Item = &WaypointId> {
        self.reserved.keys()
    }

    fn for_step(&self, waypoint: &WaypointId, step: u32) -> impl DoubleEndedIterator<Item = &Reservation> {
        self.reserved.get(waypoint).into_iter().flatten().filter(move |reserved| reserved.step == step)
    }

    /// What is reserved for the next entry of a waypoint that has so many, and for later ones, of which the asker has
    /// not read yet: of those for one entry at most one is used.
    #[must_use]
    pub fn waiting(&self, waypoint: &WaypointId, step: u32) -> Amounts {
        let mut steps: BTreeMap<u32, Amounts> = BTreeMap::new();
        for reserved in self.reserved.get(waypoint).into_iter().flatten().filter(|reserved| reserved.step >= step) {
            let most = steps.entry(reserved.step).or_default();
            *most = most.max(reserved.adds);
        }
        steps.into_values().fold(Amounts::default(), Amounts::plus)
    }

    /// The newest reservation that covers what a turn needs.
    #[must_use]
    pub fn usable(&self, waypoint: &WaypointId, need: &Need) -> Option<&Reservation> {
        let covers = |reserved: &&Reservation| {
            let adds = budget::adds(need, reserved.allowance);
            reserved.allowance.is_used_up() || adds.beyond(reserved.adds).is_zero()
        };
        self.for_step(waypoint, need.step).rev().find(covers)
    }
}
