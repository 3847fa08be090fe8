//! Figures out of many durations.

use std::time::Duration;

/// How long each of many things took, and all of them together.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    sorted: Vec<Duration>,
    wall: Duration,
}

impl Sample {
    /// `wall` is from the beginning of the first to the end of the last.
    pub(crate) fn new(mut each: Vec<Duration>, wall: Duration) -> Self {
        each.sort_unstable();
        Self { sorted: each, wall }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// How many ended a second.
    pub(crate) fn per_second(&self) -> f64 {
        ratio(count(self.len()), self.wall.as_secs_f64())
    }

    /// The smallest duration that at least `percent` of all do not exceed, in milliseconds; 0 of nothing.
    pub(crate) fn percentile_ms(&self, percent: usize) -> f64 {
        self.percentile_us(percent) / 1e3
    }

    /// The same in microseconds.
    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        let rank = (self.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).map_or(0.0, |duration| duration.as_secs_f64() * 1e6)
    }
}

/// A quotient; 0 where there is nothing to divide by, because JSON knows no infinity.
pub(crate) fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 { dividend / divisor } else { 0.0 }
}

/// A number of things, to calculate with.
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

/// The middle one; of an even number the smaller of the two in the middle; 0 of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(millis: impl IntoIterator<Item = u64>) -> Sample {
        Sample::new(millis.into_iter().map(Duration::from_millis).collect(), Duration::from_secs(2))
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred = sample((1..=100).rev());
        assert_eq!((hundred.percentile_ms(50), hundred.percentile_ms(99)), (50.0, 99.0));
        assert_eq!(hundred.percentile_ms(100), 100.0);
        let three = sample([30, 10, 20]);
        assert_eq!((three.percentile_ms(50), three.percentile_ms(99)), (20.0, 30.0));
        assert_eq!(sample([7]).percentile_ms(50), 7.0);
        assert_eq!(sample([]).percentile_ms(50), 0.0);
    }

    #[test]
    fn rates_and_ratios_are_finite() {
        assert_eq!(sample([1, 1, 1]).per_second(), 1.5);
        assert_eq!(ratio(1.0, 0.0), 0.0);
        assert_eq!(ratio(3.0, 2.0), 1.5);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
        assert_eq!(median(vec![]), 0.0);
    }
}
