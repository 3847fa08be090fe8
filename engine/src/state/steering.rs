//! Whether people paused a flight or ended it, and when, by the flight's own journal.

use std::time::Duration;

use holdpoint_protocol::{
    Timestamp,
    artifact::Verb,
    ids::AgentName,
    journal::{Cause, Steered},
};

/// How people steered a flight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steering {
    /// From when to when it was paused; the last one may have no end yet.
    pub(crate) pauses: Vec<(Timestamp, Option<Timestamp>)>,
    /// Who ended it, by which act.
    pub cancelled: Option<(AgentName, Cause)>,
}

impl Steering {
    /// Takes an entry in.
    pub fn take(&mut self, steered: &Steered) {
        let at = steered.record.at;
        match (steered.verb, self.pauses.last_mut()) {
            (Verb::Cancel, _) => {
                let cause = steered.record.cause.clone();
                self.cancelled = self.cancelled.take().or_else(|| Some((steered.by.clone(), cause?)));
            }
            (Verb::Resume, Some((_, end @ None))) => *end = Some(at),
            (Verb::Pause, None | Some((_, Some(_)))) => self.pauses.push((at, None)),
            _ => {}
        }
    }

    /// Whether no turn opens and no deadline fires. A cancelled flight is over, and no longer paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.cancelled.is_none() && self.pauses.last().is_some_and(|(_, end)| end.is_none())
    }

    /// How long it was paused between two times.
    #[must_use]
    pub fn paused_between(&self, since: Timestamp, now: Timestamp) -> Duration {
        let within = |(begin, end): &(Timestamp, Option<Timestamp>)| {
            let (begin, end) = ((*begin).max(since), end.unwrap_or(now).min(now));
            if end > begin { end.since(begin) } else { Duration::ZERO }
        };
        self.pauses.iter().map(within).sum()
    }
}
