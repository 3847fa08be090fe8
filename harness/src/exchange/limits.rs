//! How long to wait for a model's provider that refuses, and what is said of one that is not waited for. Pure.

use std::time::Duration;

use holdpoint_protocol::{Timestamp, artifact::Failure, reason::ReasonCode};

use crate::dialect::{ProviderRefusal, RefusalKind};

/// Waits of one exchange: more is a provider that is away.
const WAITS_MAX: u32 = 20;
/// Waits where the program does not say that its provider refuses: one that cannot work is not started over and over.
const WAITS_UNEXPLAINED: u32 = 1;
/// The first pause, and the longest where the provider does not say when it will be back.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// The pause before the next try, after so many; `None`: another try changes nothing.
#[must_use]
pub fn pause(waited: u32, refusal: ProviderRefusal, now: Timestamp) -> Option<Duration> {
    let until = until(refusal).filter(|until| now < *until || refusal.kind != RefusalKind::Lasting);
    let most = match refusal.kind {
        RefusalKind::Passing => WAITS_MAX,
        RefusalKind::Lasting if until.is_some() => WAITS_MAX,
        RefusalKind::Unexplained => WAITS_UNEXPLAINED,
        RefusalKind::Lasting | RefusalKind::Login => 0,
    };
    if waited >= most {
        return None;
    }
    let doubled = FIRST.saturating_mul(1 << waited.min(8)).min(LONGEST);
    Some(until.map_or(doubled, |until| until.since(now).max(FIRST)))
}

/// The failure of a turn whose program's provider refuses for longer than the turn waits. No attempt can change it, so it is none. `login`
/// is what its person does for a login.
#[must_use]
pub fn refused(refusal: ProviderRefusal, said: &str, login: Option<&str>) -> Failure {
    let why = said.lines().next().unwrap_or_default();
    let when = until(refusal).map(|until| format!(", until {until}")).unwrap_or_default();
    let (what, todo) = match refusal.kind {
        RefusalKind::Passing => ("provider refuses", "wait until it takes requests again"),
        RefusalKind::Login => ("provider refuses the login", login.unwrap_or("log in, or replace the key")),
        RefusalKind::Lasting => ("provider refuses", "add credit or wait, as these words say"),
        RefusalKind::Unexplained => ("provider answered nothing", "run the program by hand to see why"),
    };
    let detail = format!("the model's {what} ({why}){when}: {todo}");
    Failure { reason: ReasonCode::NotExecutable, detail }
}

fn until(refusal: ProviderRefusal) -> Option<Timestamp> {
    refusal.until.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: RefusalKind, until: Option<i64>) -> ProviderRefusal {
        ProviderRefusal { kind, status: None, until }
    }

    #[test]
    fn pauses_grow_to_a_minute_or_are_as_long_as_the_provider_says_and_end() {
        let now = Timestamp::from_millis(1_000_000);
        let passing = |until| of(RefusalKind::Passing, until);
        let seconds: Vec<_> = (0..6).map(|waited| pause(waited, passing(None), now).unwrap().as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 60, 60]);
        assert_eq!(pause(0, passing(Some(1_090)), now), Some(Duration::from_secs(90)));
        assert_eq!(pause(0, passing(Some(900)), now), Some(FIRST), "a clock that is behind");
        assert_eq!(pause(WAITS_MAX, passing(Some(1_090)), now), None);
    }

    #[test]
    fn a_refusal_that_lasts_is_waited_for_only_until_a_time_that_it_names() {
        let now = Timestamp::from_millis(1_000_000);
        assert_eq!(pause(0, of(RefusalKind::Lasting, None), now), None);
        assert_eq!(pause(0, of(RefusalKind::Lasting, Some(900)), now), None);
        assert_eq!(pause(0, of(RefusalKind::Lasting, Some(1_090)), now), Some(Duration::from_secs(90)));
        let unexplained: Vec<_> = (0..2).map(|waited| pause(waited, of(RefusalKind::Unexplained, None), now)).collect();
        assert_eq!(unexplained, [Some(FIRST), None]);
    }

    #[test]
    fn a_refusal_says_why_until_when_and_what_to_do() {
        let failure =
            refused(of(RefusalKind::Lasting, Some(1_800_000_000)), "You've hit your session limit\nmore", None);
        assert_eq!(failure.reason, ReasonCode::NotExecutable);
        for part in ["(You've hit your session limit), until 2027-01-15T08:00:00", "add credit or wait"] {
            assert!(failure.detail.contains(part), "{}", failure.detail);
        }
        let login = refused(of(RefusalKind::Login, None), "invalid api key (401)", Some("set A_KEY"));
        assert_eq!(login.detail, "the model's provider refuses the login (invalid api key (401)): set A_KEY");
    }
}
