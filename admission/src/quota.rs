//! How much one operator may have open: flights, and the waypoints of these together.
//!
//! A flight counts with all waypoints of its plan, from the moment its submission is worked on until it is over. One whose
//! journal names no operator counts for nobody. Who submitted what has been shown before: this module believes what it is
//! given.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use holdpoint_protocol::{
    ids::{AgentName, FlightId},
    journal::Sequence,
};

/// What one operator may have open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Flights.
    pub flights: usize,
    /// Waypoints of all of them.
    pub waypoints: usize,
}

/// What an operator has open, or asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    flights: usize,
    waypoints: usize,
}

/// A flight that counts.
#[derive(Debug, Clone)]
struct Counted {
    by: AgentName,
    waypoints: usize,
    /// Where its submission is; `None` while that is worked on.
    begun: Option<Sequence>,
}

/// Which flights are open, and whose they are.
#[derive(Debug, Default)]
pub struct Ledger {
    flights: HashMap<FlightId, Counted>,
    loads: BTreeMap<AgentName, Load>,
}

/// Which bound a submission would go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaBound {
    /// [`Quota::flights`]
    Flights,
    /// [`Quota::waypoints`]
    Waypoints,
}

impl QuotaBound {
    /// The setting that has it.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Flights => "orchestrator.open_flights",
            Self::Waypoints => "orchestrator.open_waypoints",
        }
    }
}

impl fmt::Display for QuotaBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flights => "flights",
            Self::Waypoints => "waypoints",
        })
    }
}

/// A submission that goes over a bound. The text names the bound, the counts and the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{by} has {open} {bound} open and would have {wanted} more; one operator may have {most} ({setting}): wait until a \
     flight is over, end one with `holdpoint cancel`, or have the setting raised",
    setting = .bound.setting()
)]
pub struct QuotaExcess {
    /// Whose they are.
    pub by: AgentName,
    /// The bound.
    pub bound: QuotaBound,
    /// What is open.
    pub open: usize,
    /// What was to be opened.
    pub wanted: usize,
    /// What may be open.
    pub most: usize,
}

impl Ledger {
    /// Counts a flight whose submission is worked on, if there is room for it; whether it was not counted before. One that
    /// is counted already, a repeated submission, takes no further room.
    ///
    /// # Errors
    /// [`QuotaExcess`]: the operator has as much open as it may.
    pub fn reserve(
        &mut self,
        flight: &FlightId,
        by: &AgentName,
        waypoints: usize,
        quota: Quota,
    ) -> Result<bool, QuotaExcess> {
        if self.flights.contains_key(flight) {
            return Ok(false);
        }
        let load = self.loads.get(by).copied().unwrap_or_default();
        within(by, (QuotaBound::Flights, load.flights), 1, quota.flights)?;
        self.has_room(by, waypoints, quota)?;
        self.count(flight.clone(), Counted { by: by.clone(), waypoints, begun: None });
        Ok(true)
    }

    /// Whether there is room for so many more waypoints of an operator.
    ///
    /// # Errors
    /// [`QuotaExcess`]: the operator has as much open as it may.
    pub fn has_room(&self, by: &AgentName, waypoints: usize, quota: Quota) -> Result<(), QuotaExcess> {
        let load = self.loads.get(by).copied().unwrap_or_default();
        within(by, (QuotaBound::Waypoints, load.waypoints), waypoints, quota.waypoints)
    }

    /// Whether an operator would have at most half of what it may have open, with so many more waypoints in a flight more.
    #[must_use]
    pub fn has_plenty(&self, by: &AgentName, waypoints: usize, quota: Quota) -> bool {
        let load = self.loads.get(by).copied().unwrap_or_default();
        load.flights < quota.flights / 2 && load.waypoints.saturating_add(waypoints) <= quota.waypoints / 2
    }

    /// The submission that a flight was counted for came to nothing. One that was begun meanwhile still counts.
    pub fn release(&mut self, flight: &FlightId) {
        if self.flights.get(flight).is_some_and(|counted| counted.begun.is_none()) {
            self.over(flight);
        }
    }

    /// A flight is open: submitted at this place in the journals, by this operator.
    pub fn opened(&mut self, flight: &FlightId, by: Option<&AgentName>, waypoints: usize, begun: Sequence) {
        self.over(flight);
        if let Some(by) = by {
            self.count(flight.clone(), Counted { by: by.clone(), waypoints, begun: Some(begun) });
        }
    }

    /// A flight is over.
    pub fn over(&mut self, flight: &FlightId) {
        let Some(counted) = self.flights.remove(flight) else { return };
        if let Some(load) = self.loads.get_mut(&counted.by) {
            load.flights -= 1;
            load.waypoints -= counted.waypoints;
            if load.flights == 0 {
                self.loads.remove(&counted.by);
            }
        }
    }

    /// The flights of an operator that were begun, and where.
    #[must_use]
    pub fn begun_by(&self, by: &AgentName) -> Vec<(FlightId, Sequence)> {
        let of = self.flights.iter().filter(|(_, counted)| counted.by == *by);
        of.filter_map(|(flight, counted)| Some((flight.clone(), counted.begun?))).collect()
    }

    fn count(&mut self, flight: FlightId, counted: Counted) {
        let load = self.loads.entry(counted.by.clone()).or_default();
        load.flights += 1;
        load.waypoints += counted.waypoints;
        self.flights.insert(flight, counted);
    }
}

fn within(by: &AgentName, (bound, open): (QuotaBound, usize), wanted: usize, most: usize) -> Result<(), QuotaExcess> {
    if open.saturating_add(wanted) > most {
        return Err(QuotaExcess { by: by.clone(), bound, open, wanted, most });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
