#!/bin/sh
# Plays the building agent. Its first attempt works and is badly written; the second one has read why.
set -eu

write() {
    cat > src/lib.rs <<RS
//! Fares of a small railway, in cents.

/// The price of a day ticket.
pub const DAY_TICKET: u32 = 900;

/// What a ride over \`stops\` stops costs, a day ticket at most.
pub fn ride(stops: u32) -> u32 {
$1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_adds_a_quarter() {
        assert_eq!(ride(4), 200);
    }

    #[test]
    fn nobody_pays_more_than_a_day_ticket() {
        assert_eq!(ride(100), DAY_TICKET);
    }
}

#[cfg(test)]
mod day_ticket {
    #[test]
    fn day_ticket() {
        assert_eq!(crate::ride(32), 900);
        assert_eq!(crate::ride(33), 900);
    }
}
RS
}

if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ] && grep -q 'Checkpoint: lint' "$HOLDPOINT_FEEDBACK_FILE"; then
    write '    (100 + 25 * stops).min(DAY_TICKET)'
else
    write '    let fare = 100 + 25 * stops;
    return if fare > DAY_TICKET { DAY_TICKET }
      else { fare };'
fi
echo "A ride costs 900 cents at most."
