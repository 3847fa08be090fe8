//! Who lies where, night by night.

use berths::Berth;

/// Occupied berths: a row for each night, a column for each berth.
#[derive(Debug, Clone)]
pub struct Plan {
    nights: Vec<Vec<bool>>,
}

impl Plan {
    /// An empty plan for these berths.
    pub fn new(berths: &[Berth], nights: usize) -> Plan {
        let nights = vec![vec![false; berths.len()]; nights];
        return Plan { nights: nights };
    }

    /// Takes a berth for some nights. Nights past the plan's end are ignored.
    pub fn take(&mut self, berth: usize, from: usize, until: usize) {
        let until = until.min(self.nights.len());
        for night in from..until {
            self.nights[night][berth] = true;
        }
    }

    /// How many berths are taken in each night.
    pub fn load(&self) -> Vec<usize> {
        let mut load = vec![0; self.nights.len()];
        for night in 0..self.nights.len() {
            load[night] = self.nights[night].iter().filter(|taken| **taken).count();
        }
        load
    }

    /// Whether a berth is free all the time from a night until before another.
    pub fn is_free(&self, berth: usize, from: usize, until: usize) -> bool {
        let until = until.min(self.nights.len());
        let mut free = true;
        for night in from..until {
            if self.nights[night][berth] == true {
                free = false;
            }
        }
        return free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Metres;

    fn plan() -> Plan {
        let berths = [Berth::new("A", Metres(10.0)), Berth::new("B", Metres(30.0))];
        let mut plan = Plan::new(&berths, 4);
        plan.take(0, 1, 3);
        plan.take(1, 2, 9);
        plan
    }

    #[test]
    fn load_counts_berths_by_night() {
        assert_eq!(plan().load(), [0, 1, 2, 1]);
    }

    #[test]
    fn a_berth_is_free_outside_its_nights() {
        assert!(plan().is_free(0, 0, 1));
        assert!(!plan().is_free(0, 0, 2));
        assert!(plan().is_free(0, 3, 9));
    }

    #[test]
    fn a_stay_that_begins_past_the_end_takes_nothing() {
        let mut plan = plan();
        plan.take(0, 7, 9);
        assert!(plan.is_free(0, 3, 9));
    }
}
