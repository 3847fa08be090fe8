//! Places at the quay.

use units::Metres;

/// A place at the quay.
#[derive(Debug, Clone, PartialEq)]
pub struct Berth {
    pub name: String,
    pub length: Metres,
    pub taken: bool,
}

impl Berth {
    /// A free place.
    pub fn new(name: &str, length: Metres) -> Berth {
        let taken = false;
        Berth { name: name.to_string(), length: length, taken: taken }
    }

    /// Whether a ship of this length can come alongside now.
    pub fn fits(&self, ship: Metres) -> bool {
        if self.taken == true {
            return false;
        }
        self.length >= ship
    }
}

/// The first place that fits, in the order given.
pub fn first_fit<'a>(berths: &'a [Berth], ship: Metres) -> Option<&'a Berth> {
    berths.iter().filter(|berth| berth.fits(ship)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quay() -> Vec<Berth> {
        let mut berths = vec![Berth::new("A", Metres(20.0)), Berth::new("B", Metres(90.0)), Berth::new("C", Metres(90.0))];
        berths[1].taken = true;
        berths
    }

    #[test]
    fn a_taken_berth_fits_nobody() {
        assert!(!quay()[1].fits(Metres(10.0)));
    }

    #[test]
    fn the_first_free_berth_that_is_long_enough_is_found() {
        assert_eq!(first_fit(&quay(), Metres(60.0)).map(|berth| berth.name.as_str()), Some("C"));
        assert_eq!(first_fit(&quay(), Metres(95.0)), None);
    }
}
