//! The settings of exchanges, with the source's names and defaults (RETRY-8).

use std::time::Duration;

/// The most format retries that a project may ask for.
pub const RETRIES_MAX: u64 = 10;
/// The most fresh starts of a program that is stuck or was killed (RETRY-3).
pub const FRESH_STARTS_MAX: u32 = 2;
/// After how long without output a program is stuck that streams what it does.
pub const STUCK_AFTER: Duration = Duration::from_secs(300);

/// How often a failed exchange is tried again, when, and what is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeSettings {
    /// `max_json_retries`: format retries of one exchange, 0 to [`RETRIES_MAX`].
    pub max_json_retries: u32,
    /// `json_retry_delay`: the pause before the first retry.
    pub json_retry_delay: Duration,
    /// `use_exponential_backoff`: whether each pause is twice the one before.
    pub use_exponential_backoff: bool,
    /// `max_backoff_delay`: the longest pause.
    pub max_backoff_delay: Duration,
    /// `enable_partial_recovery`: whether the fields of an object that was cut off are kept (RETRY-6).
    pub enable_partial_recovery: bool,
    /// `retry_prompt_reduction`: whether each retry's prompt is shorter than the last (RETRY-5).
    pub retry_prompt_reduction: bool,
    /// `strict_schema_validation`: whether `data` has to hold every required field, of its type. If not, only what is there
    /// is looked at.
    pub strict_schema_validation: bool,
    /// `log_all_handoffs`: whether each exchange is a line of the agent's log.
    pub log_all_handoffs: bool,
    /// `save_failed_handoffs`: whether what failed is stored whole. Where is not configured: it is a blob of the role, which
    /// its record names.
    pub save_failed_handoffs: bool,
    /// `stuck_after`: after how long without output a program is stuck.
    pub stuck_after: StuckAfter,
    /// `quit_too_quickly_below`: a program that ends well sooner than this and changed nothing quit too quickly (RETRY-1b).
    pub quit_too_quickly_below: Option<Duration>,
}

/// When a program is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StuckAfter {
    /// After [`STUCK_AFTER`] if its output is a stream of what it does. One that prints its result at its end, and may say
    /// nothing for as long as it works, never is.
    Usual,
    /// After this time without output, whatever it prints.
    After(Duration),
    /// Never; its wall time holds.
    Never,
}

impl StuckAfter {
    /// The time without output, of a program that `streams` or does not.
    #[must_use]
    pub fn limit(self, streams: bool) -> Option<Duration> {
        match self {
            Self::Usual => streams.then_some(STUCK_AFTER),
            Self::After(limit) => Some(limit),
            Self::Never => None,
        }
    }
}

impl Default for ExchangeSettings {
    fn default() -> Self {
        Self {
            max_json_retries: 5,
            json_retry_delay: Duration::from_secs(1),
            use_exponential_backoff: true,
            max_backoff_delay: Duration::from_secs(30),
            enable_partial_recovery: false,
            retry_prompt_reduction: true,
            strict_schema_validation: true,
            log_all_handoffs: true,
            save_failed_handoffs: true,
            stuck_after: StuckAfter::Usual,
            quit_too_quickly_below: None,
        }
    }
}

impl ExchangeSettings {
    /// The pause before a retry, the first of which is 1. `chance` is a random number from 0 to 1: up to a quarter is added,
    /// so that programs which failed together do not ask together. Never longer than `max_backoff_delay`.
    #[must_use]
    pub fn delay(&self, retry: u32, chance: f64) -> Duration {
        let doubled = if self.use_exponential_backoff { retry.saturating_sub(1).min(16) } else { 0 };
        let pause = self.json_retry_delay.saturating_mul(1 << doubled).min(self.max_backoff_delay);
        let jitter = pause.mul_f64(0.25 * if chance.is_nan() { 0.0 } else { chance.clamp(0.0, 1.0) });
        (pause + jitter).min(self.max_backoff_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_one_second_to_thirty_and_jitter_adds_a_quarter_at_most() {
        let settings = ExchangeSettings::default();
        let seconds: Vec<u64> = (1..=7).map(|retry| settings.delay(retry, 0.0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(settings.delay(3, 1.0), Duration::from_secs(5));
        assert_eq!(settings.delay(9, 1.0), Duration::from_secs(30));
        assert_eq!(settings.delay(2, f64::NAN), Duration::from_secs(2));
        let even = ExchangeSettings { use_exponential_backoff: false, ..settings };
        assert_eq!(even.delay(5, 0.0), Duration::from_secs(1));
    }

    #[test]
    fn a_program_that_does_not_stream_is_stuck_only_where_a_project_says_when() {
        assert_eq!(StuckAfter::Usual.limit(true), Some(Duration::from_secs(300)));
        assert_eq!(StuckAfter::Usual.limit(false), None);
        assert_eq!(StuckAfter::After(Duration::from_secs(9)).limit(false), Some(Duration::from_secs(9)));
        assert_eq!(StuckAfter::Never.limit(true), None);
    }
}
