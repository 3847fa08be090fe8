//! Fares of a small railway, in cents.

/// What a ride over `stops` stops costs.
pub fn ride(stops: u32) -> u32 {
    100 + 25 * stops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_adds_a_quarter() {
        assert_eq!(ride(4), 200);
    }
}
