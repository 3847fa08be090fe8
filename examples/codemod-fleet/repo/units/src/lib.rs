//! Lengths, in metres.

/// A length in metres.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

impl Metres {
    /// A length given in feet.
    pub fn from_feet(feet: f64) -> Metres {
        let metres = feet * 0.3048;
        return Metres(metres);
    }

    /// The longer one of two lengths.
    pub fn longer(self, other: Metres) -> Metres {
        if self.0 >= other.0 {
            return self.clone();
        }
        return other.clone();
    }

    /// Whether something of this length can lie at a quay at all.
    pub fn is_mooring_length(&self) -> bool {
        self.0 >= 2.0 && self.0 <= 400.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feet_become_metres() {
        assert_eq!(Metres::from_feet(10.0), Metres(3.048));
    }

    #[test]
    fn the_longer_length_wins() {
        assert_eq!(Metres(3.0).longer(Metres(4.0)), Metres(4.0));
        assert_eq!(Metres(5.0).longer(Metres(4.0)), Metres(5.0));
    }

    #[test]
    fn only_ships_can_moor() {
        assert!(Metres(12.0).is_mooring_length());
        assert!(!Metres(0.5).is_mooring_length());
        assert!(!Metres(500.0).is_mooring_length());
    }
}
