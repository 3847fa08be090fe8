//! A refusal of the provider that stands for more turns than the one that met it: every turn of the same agent has the same login.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use holdpoint_protocol::{Timestamp, artifact::Failure};

/// For how long a refusal speaks for turns that were open when it came. A later one is a try of its own: a person may have logged in.
const SPEAKS_FOR: Duration = Duration::from_secs(5 * 60);

/// The last refusal that an agent met.
#[derive(Debug, Default)]
pub(crate) struct StandingRefusal(Mutex<Option<(Timestamp, Failure)>>);

impl StandingRefusal {
    /// The provider refused now.
    pub(crate) fn note(&self, failure: &Failure, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, failure.clone()));
    }

    /// How a turn fails that was opened then, without that its program is run again; `None`: its program is run.
    pub(crate) fn speaks_for(&self, opened: Timestamp, now: Timestamp) -> Option<Failure> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, failure) = noted.as_ref()?;
        (opened < *at && now.since(*at) < SPEAKS_FOR).then(|| failure.clone())
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::reason::ReasonCode;

    use super::*;

    #[test]
    fn a_refusal_speaks_for_turns_that_were_open_when_it_came_and_for_no_later_one() {
        let (refusal, at) = (StandingRefusal::default(), |seconds: i64| Timestamp::from_millis(seconds * 1_000));
        assert_eq!(refusal.speaks_for(at(1), at(1)), None);
        let failure = Failure { reason: ReasonCode::NotExecutable, detail: "no credit".to_owned() };
        refusal.note(&failure, at(100));
        assert_eq!(refusal.speaks_for(at(99), at(101)), Some(failure));
        assert_eq!(refusal.speaks_for(at(100), at(101)), None, "a person had it tried again");
        assert_eq!(refusal.speaks_for(at(99), at(400)), None);
    }
}
