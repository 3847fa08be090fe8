//! What the flight's own journal says of its budget: what is reserved, and which limits people raised.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Timestamp,
    artifact::{ActCode, Budget, Verb},
    budget::{Amounts, Limits, Raise},
    ids::WaypointId,
    journal::{Cause, Record, Reserved, Steered},
    version,
    view::FlightStatus,
};

use super::{FlightState, Waypoints, flight_status};
use crate::{
    budget::{self, Need},
    waypoint::Refusal,
};

/// Raises of one flight's limits, at most: each is in the flight's journal for ever.
pub const RAISES_MAX: usize = 1_000;

/// Reservations and raises of a flight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budgets {
    raises: Vec<Raise>,
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

    /// As the decider of an entry knew them: so many raises, and of reservations the one that was used; without one,
    /// those that say that the budget is used up.
    #[must_use]
    pub(crate) fn as_of(&self, raises: u32, used: Option<u32>) -> Self {
        let mut known = self.clone();
        known.raises.truncate(usize::try_from(raises).unwrap_or(usize::MAX));
        for reserved in known.reserved.values_mut() {
            reserved.retain(|one| used.map_or_else(|| one.allowance.is_used_up(), |used| one.number == used));
        }
        known
    }
}

/// Reserves what the next turn of a waypoint may use up of the flight's budget.
#[must_use]
pub fn reserve(
    flight: &FlightState,
    waypoints: &Waypoints,
    waypoint: &WaypointId,
    need: &Need,
    now: Timestamp,
) -> Reserved {
    let (allowance, adds) = budget::share(flight, waypoints, waypoint, need);
    // What is used up reserves nothing.
    let adds = if allowance.is_used_up() { Amounts::default() } else { adds };
    Reserved {
        schema_version: version::CURRENT,
        waypoint: waypoint.clone(),
        step: need.step,
        allowance,
        adds,
        record: Record::at(now),
    }
}

/// Takes a raise of limits: the entry that journals it.
///
/// # Errors
/// [`Refusal::Act`]: what is wrong with it.
pub fn raise(
    flight: &FlightState,
    waypoints: &Waypoints,
    act: &Budget,
    cause: &Cause,
    now: Timestamp,
) -> Result<Steered, Refusal> {
    let id = &flight.submitted.flight;
    let refuse = |code, message: String, hint: &str| Err(Refusal::act(code, message, hint));
    let plan = &flight.submitted.plan;
    if let Some((who, _)) = &flight.steering.cancelled {
        return refuse(ActCode::Over, format!("flight {id} was cancelled by {who}"), "submit the plan again");
    }
    if flight_status(flight, waypoints) == FlightStatus::Accepted {
        return refuse(ActCode::Over, format!("flight {id} is accepted"), "there is nothing left to do");
    }
    let Raise { waypoint, add } = &act.raise;
    let limited = match waypoint {
        None => Limits { wall_ms: plan.budget.wall.map(|wall| wall.0), ..budget::of_flight(&plan.budget) },
        Some(waypoint) => match flight.planned(waypoint) {
            Some(planned) => budget::of_turn(&planned.budget).min(planned.budget.total),
            None => {
                let message = format!("there is no waypoint {waypoint} in flight {id}");
                return refuse(ActCode::NothingOpen, message, "`holdpoint status` lists them");
            }
        },
    };
    if add.is_zero() {
        return refuse(ActCode::Invalid, "nothing is raised".to_owned(), "say by how much, such as `--cost-usd +5`");
    }
    if limited.to_list().into_iter().zip(add.to_list()).any(|(limit, add)| limit.is_none() && add > 0) {
        let what = waypoint.as_ref().map_or_else(|| format!("flight {id}"), |waypoint| format!("waypoint {waypoint}"));
        let message = format!("the plan does not limit that for {what}: there is nothing to raise");
        return refuse(ActCode::Invalid, message, "`holdpoint cost` shows what is limited");
    }
    if flight.budget.raises.len() >= RAISES_MAX {
        let message = format!("the limits of a flight can be raised {RAISES_MAX} times");
        return refuse(ActCode::Invalid, message, "raise them by more at once in the next flight");
    }
    Ok(Steered {
        schema_version: version::CURRENT,
        verb: Verb::Budget,
        by: act.agent.clone(),
        workflows: Vec::new(),
        raised: Some(act.raise.clone()),
        record: Record { cause: Some(cause.clone()), ..Record::at(now) },
    })
}
