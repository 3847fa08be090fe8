//! Copies of acts. Anybody who may act can publish another person's act again as it was signed, at a time when it would mean
//! something else. The copy that was stored first is the act.

use std::collections::HashMap;

use holdpoint_bus::{Bus, journal::ReadError, past};
use holdpoint_protocol::{
    Digest,
    ids::{FlightId, role},
    journal::{Cause, Sequence},
};

/// Where the bytes of each act on a flight were stored first, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct FirstCopies {
    first: HashMap<Digest, Sequence>,
    read: Sequence,
}

impl FirstCopies {
    /// Where these bytes were stored first.
    pub(super) async fn of(&mut self, bus: &Bus, flight: &FlightId, act: &Cause) -> Result<Sequence, ReadError> {
        if self.read < act.sequence {
            let mut acts = past::of_flight(bus, &role::id(role::OPERATOR), flight, self.read).await?.frugal();
            while let Some(stored) = acts.next().await? {
                self.first.entry(Digest::of(&stored.payload)).or_insert(stored.sequence);
                self.read = stored.sequence;
            }
        }
        Ok(self.first.get(&act.digest).copied().unwrap_or(act.sequence))
    }
}
