//! Which keys are out, and for how long: longer each time.

use std::{collections::HashMap, time::Duration};

use holdpoint_protocol::Timestamp;

/// How long a key stays out the first time.
pub const OUT_FIRST: Duration = Duration::from_secs(60 * 60);
/// How long at most. After as long a time in which it did nothing wrong, a key is out for the first time again.
pub const OUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Keys that are remembered, far more than a fleet has. Past that those are forgotten that are let in again.
const OUTS_MAX: usize = 4_096;

/// How long a key is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Until when.
    pub until: Timestamp,
    /// For how long.
    pub lasts: Duration,
    /// The how many-th time this is.
    pub times: u32,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Outs(HashMap<String, Term>);

impl Outs {
    pub(super) fn is_out(&self, key: &str, now: Timestamp) -> bool {
        self.0.get(key).is_some_and(|term| is_running(term, now))
    }

    pub(super) fn is_any(&self, now: Timestamp) -> bool {
        self.0.values().any(|term| is_running(term, now))
    }

    pub(super) fn put(&mut self, key: &str, now: Timestamp) -> Term {
        if self.0.len() >= OUTS_MAX {
            self.0.retain(|_, term| is_running(term, now));
        }
        let before = self.0.get(key).filter(|term| now.since(term.until) < OUT_MAX);
        let (lasts, times) =
            before.map_or((OUT_FIRST, 1), |term| ((term.lasts * 2).min(OUT_MAX), term.times.saturating_add(1)));
        let term = Term { until: now.after(lasts), lasts, times };
        self.0.insert(key.to_owned(), term);
        term
    }
}

fn is_running(term: &Term, now: Timestamp) -> bool {
    now < term.until
}
