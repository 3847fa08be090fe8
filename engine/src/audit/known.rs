//! The flight as the orchestrator knew it that decided.

use std::borrow::Cow;

use holdpoint_protocol::{facts::Oid, state::WaypointState};

use super::differences::Difference;
use crate::state::{FlightState, Landings};

/// The flight with the workflows that the deciding orchestrator knew: it may not have read a reload that stands before the
/// entry.
pub(super) fn configured_as_of<'a>(
    flight: &'a FlightState,
    after: Option<&WaypointState>,
) -> Result<Cow<'a, FlightState>, Difference> {
    let newest = flight.configured.newest();
    let by = after.map_or(newest, |state| state.configured.by);
    if by == newest {
        return Ok(Cow::Borrowed(flight));
    }
    let earlier = flight.configured.as_of(by).ok_or_else(|| {
        let expected = "to be decided by workflows that the flight was given".to_owned();
        (expected, format!("reload {by} had not happened: the last one is {newest}"))
    })?;
    Ok(Cow::Owned(FlightState { configured: earlier, ..flight.clone() }))
}

/// The flight as it was when `head` was its head; `None` if it never was. The orchestrator that decided may not have
/// known of the newest landing yet.
pub(super) fn as_of<'a>(flight: &'a FlightState, head: &Oid) -> Option<Cow<'a, FlightState>> {
    if flight.head() == head {
        return Some(Cow::Borrowed(flight));
    }
    let mut earlier = FlightState { landed: Landings::default(), ..flight.clone() };
    if earlier.head() == head {
        return Some(Cow::Owned(earlier));
    }
    for landed in &flight.landed {
        earlier.landed.push(landed.clone());
        if &landed.commit == head {
            return Some(Cow::Owned(earlier));
        }
    }
    None
}
