//! How a number of spans of time are spread.

use holdpoint_protocol::time::Millis;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// Spans of time, summed up: how many, their median, the 90th percentile, the longest, and all together. Percentiles are
/// nearest ranks: each is a span that was there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    spans: Vec<u64>,
}

impl Spread {
    /// Adds a span.
    pub fn add(&mut self, span: Millis) {
        let at = self.spans.partition_point(|known| *known <= span.0);
        self.spans.insert(at, span.0);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// The span below or at which so many percent of all are; `None` if there are none.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Millis> {
        let rank = (self.spans.len() * percent).div_ceil(100).max(1);
        self.spans.get(rank - 1).copied().map(Millis)
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> Option<Millis> {
        self.spans.last().copied().map(Millis)
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> Millis {
        Millis(self.spans.iter().fold(0, |sum: u64, span| sum.saturating_add(*span)))
    }
}

impl Serialize for Spread {
    /// In seconds, with a fraction.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = |span: Option<Millis>| span.map(|span| span.duration().as_secs_f64());
        let mut fields = serializer.serialize_struct("Spread", 5)?;
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("median_s", &seconds(self.percentile(50)))?;
        fields.serialize_field("p90_s", &seconds(self.percentile(90)))?;
        fields.serialize_field("max_s", &seconds(self.max()))?;
        fields.serialize_field("total_s", &self.total().duration().as_secs_f64())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_spans_that_were_there() {
        let mut spread = Spread::default();
        assert_eq!((spread.percentile(50), spread.max()), (None, None));
        for ms in [9, 1, 7, 3, 5, 2, 8, 4, 10, 6] {
            spread.add(Millis(ms));
        }
        let found = [50, 90, 100, 1].map(|percent| spread.percentile(percent).unwrap().0);
        assert_eq!(found, [5, 9, 10, 1]);
        assert_eq!((spread.count(), spread.total()), (10, Millis(55)));
    }
}
