//! What tokens cost where a program reports them without a cost: an estimate from prices in the configuration (FLY-32).
//!
//! Prices are the operator's word. Nothing here knows a model or asks a provider.

use holdpoint_protocol::{artifact::TokenUsage, budget::micro_usd};
use serde::{Deserialize, Serialize};

/// The tokens that a price is for.
const TOKENS: u128 = 1_000_000;
/// The highest price, in US dollars per million tokens.
const USD_MAX: f64 = 1e6;

/// `[agents.<role>.price]`: US dollars per million tokens of a program's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of what the model reads.
    pub input: PerMillion,
    /// Of what it reads from the provider's cache; as `input` unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<PerMillion>,
    /// Of what it writes.
    pub output: PerMillion,
}

/// Millionths of a US dollar per million tokens, written in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct PerMillion(u64);

/// A number that is no price.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a price: write US dollars per million tokens, from 0 to {USD_MAX}")]
pub struct InvalidPrice(f64);

impl Price {
    /// What these tokens cost in millionths of a US dollar, rounded up. What is put into a cache counts as read.
    #[must_use]
    pub fn of(&self, usage: &TokenUsage) -> u64 {
        let TokenUsage { input, output, cache_read, cache_write } = *usage;
        let cached = self.cached_input.unwrap_or(self.input);
        let parts = [(input, self.input), (cache_write, self.input), (cache_read, cached), (output, self.output)];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
        u64::try_from(sum.div_ceil(TOKENS)).unwrap_or(u64::MAX)
    }
}

impl TryFrom<f64> for PerMillion {
    type Error = InvalidPrice;

    fn try_from(usd: f64) -> Result<Self, InvalidPrice> {
        if (0.0..=USD_MAX).contains(&usd) { Ok(Self(micro_usd(usd))) } else { Err(InvalidPrice(usd)) }
    }
}

impl From<PerMillion> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "the highest price has 40 bits")]
    fn from(price: PerMillion) -> f64 {
        price.0 as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(text: &str) -> Result<Price, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn tokens_of_each_kind_have_their_price_and_a_part_of_a_millionth_counts_whole() {
        let usage = TokenUsage { input: 1_000, output: 200, cache_read: 10_000, cache_write: 1 };
        let whole = price(r#"{"input": 1.25, "cached_input": 0.125, "output": 10}"#).unwrap();
        // 1,001 × 1.25 + 10,000 × 0.125 + 200 × 10 = 4,501.25 millionths.
        assert_eq!(whole.of(&usage), 4_502);
        let without_cache = Price { cached_input: None, ..whole };
        assert_eq!(without_cache.of(&usage), 1_252 + 12_500 + 2_000);
        let most = TokenUsage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        assert_eq!(whole.of(&most), u64::MAX);
        assert_eq!(whole.of(&TokenUsage::default()), 0);
    }

    #[test]
    fn what_is_no_price_is_refused_by_its_number_and_a_price_is_written_as_it_was_read() {
        for wrong in ["-1", "1000001", "1e300"] {
            let error = price(&format!(r#"{{"input": {wrong}, "output": 1}}"#)).unwrap_err().to_string();
            assert!(
                error.contains("is not a price: write US dollars per million tokens, from 0 to 1000000"),
                "{error}"
            );
        }
        assert!(price(r#"{"input": 1}"#).is_err(), "what is written is never free by mistake");
        let text = r#"{"input":1.25,"cached_input":0.125,"output":10.0}"#;
        assert_eq!(serde_json::to_string(&price(text).unwrap()).unwrap(), text);
    }
}
