//! Harbour dues, in cents.

use units::Metres;

/// Cents per metre and night.
static RATE: &'static [(f64, u64)] = &[(10.0, 120), (25.0, 180), (f64::INFINITY, 260)];

/// What a ship pays for its nights.
pub fn dues(length: Metres, nights: u64) -> u64 {
    let rate = RATE.iter().find(|(up_to, _)| length.0 <= *up_to).map(|(_, cents)| cents.clone()).unwrap_or(0);
    return (length.0.ceil() as u64) * (rate as u64) * nights;
}

/// The bill as people read it.
pub fn bill(name: &str, cents: u64) -> String {
    let mut bill = String::new();
    bill.push_str(&format!("{}: {}.{:02}", name, cents / 100, cents % 100));
    if name.len() == 0 {
        bill = format!("unknown ship");
    }
    bill
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_ships_pay_a_higher_rate() {
        assert_eq!(dues(Metres(9.2), 1), 10 * 120);
        assert_eq!(dues(Metres(11.0), 2), 11 * 180 * 2);
        assert_eq!(dues(Metres(100.0), 1), 100 * 260);
    }

    #[test]
    fn bills_show_cents() {
        assert_eq!(bill("Alma", 12_005), "Alma: 120.05");
        assert_eq!(bill("", 1), "unknown ship");
    }
}
