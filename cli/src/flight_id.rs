//! Naming flights.

use holdpoint_protocol::ids::FlightId;
use holdpoint_runtime::fresh;

/// Characters of the plan's name in a flight's id; with the tail it stays far below the longest id.
const NAME_LEN_MAX: usize = 40;

/// A fresh id for a flight of this plan: its name in lower case and eight random digits.
pub(crate) fn fresh(plan: &str) -> FlightId {
    named(plan, &fresh::suffix())
}

fn named(plan: &str, suffix: &str) -> FlightId {
    let name: String = plan.to_ascii_lowercase().chars().take(NAME_LEN_MAX).collect();
    FlightId::try_new(format!("{name}-{suffix}")).expect("a plan's name is an id, and its start with hex digits is one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_is_called_as_its_plan_in_lower_case_with_a_tail() {
        assert_eq!(named("Harden_Client", "0a1b2c3d").as_str(), "harden_client-0a1b2c3d");
        assert_eq!(named(&"A".repeat(64), "0a1b2c3d").as_str(), format!("{}-0a1b2c3d", "a".repeat(40)));
        assert_ne!(fresh("p"), fresh("p"));
    }
}
