//! When a child is restarted: pure bookkeeping, time comes in as an argument.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Which ends of a child are followed by a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    /// All of them.
    Permanent,
    /// Failures.
    Transient,
    /// None.
    Temporary,
}

/// How often a child may be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartBudget {
    /// The most restarts within the window.
    pub max_restarts: u32,
    /// Restarts that are longer ago no longer count.
    pub window: Duration,
}

/// The pause before a restart: doubled with every restart within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub max: Duration,
}

/// The rules for one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSpec {
    /// Its name in logs.
    pub name: &'static str,
    /// Which ends are followed by a restart.
    pub policy: RestartPolicy,
    /// How often.
    pub budget: RestartBudget,
    /// How fast.
    pub backoff: Backoff,
}

impl ChildSpec {
    /// A child that is always there: up to ten restarts in a minute, after 100 ms to 10 s.
    ///
    /// A broker that is away for a moment costs a few restarts; a child that cannot work at all ends its process within
    /// the minute, and then the one that started it sees it.
    #[must_use]
    pub const fn permanent(name: &'static str) -> Self {
        Self {
            name,
            policy: RestartPolicy::Permanent,
            budget: RestartBudget { max_restarts: 10, window: Duration::from_secs(60) },
            backoff: Backoff { first: Duration::from_millis(100), max: Duration::from_secs(10) },
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, in order.
    Normal,
    /// By an error or a panic, or it was killed, or it did not start.
    Failed,
}

/// What follows from a child's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartDecision {
    /// Start it again after this pause.
    Restart {
        /// The pause.
        after: Duration,
    },
    /// It is done.
    Forget,
    /// Its budget is used up: the supervisor itself ends with an error.
    MeltDown,
}

/// The restarts of one child so far.
#[derive(Debug, Clone, Default)]
pub struct Restarts {
    recent: VecDeque<Instant>,
}

impl Restarts {
    /// Decides what follows from the child's end at `now`, and counts a restart.
    pub fn on_exit(&mut self, spec: &ChildSpec, exit: Exit, now: Instant) -> RestartDecision {
        let again = match spec.policy {
            RestartPolicy::Permanent => true,
            RestartPolicy::Transient => exit == Exit::Failed,
            RestartPolicy::Temporary => false,
        };
        if !again {
            return RestartDecision::Forget;
        }
        self.recent.retain(|at| now.saturating_duration_since(*at) < spec.budget.window);
        let count = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if count >= spec.budget.max_restarts {
            return RestartDecision::MeltDown;
        }
        self.recent.push_back(now);
        let pause = spec.backoff.first.saturating_mul(2_u32.saturating_pow(count));
        RestartDecision::Restart { after: pause.min(spec.backoff.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn spec(policy: RestartPolicy) -> ChildSpec {
        ChildSpec {
            policy,
            budget: RestartBudget { max_restarts: 3, window: 10 * SECOND },
            backoff: Backoff { first: SECOND, max: 3 * SECOND },
            ..ChildSpec::permanent("child")
        }
    }

    #[test]
    fn the_policy_says_which_ends_are_followed_by_a_restart() {
        let restart = RestartDecision::Restart { after: SECOND };
        for (policy, exit, expected) in [
            (RestartPolicy::Permanent, Exit::Normal, restart),
            (RestartPolicy::Permanent, Exit::Failed, restart),
            (RestartPolicy::Transient, Exit::Normal, RestartDecision::Forget),
            (RestartPolicy::Transient, Exit::Failed, restart),
            (RestartPolicy::Temporary, Exit::Normal, RestartDecision::Forget),
            (RestartPolicy::Temporary, Exit::Failed, RestartDecision::Forget),
        ] {
            let decision = Restarts::default().on_exit(&spec(policy), exit, Instant::now());
            assert_eq!(decision, expected, "{policy:?} {exit:?}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_then_the_budget_is_used_up() {
        let (spec, start) = (spec(RestartPolicy::Permanent), Instant::now());
        let mut restarts = Restarts::default();
        let decisions = [0, 1, 2, 3].map(|s| restarts.on_exit(&spec, Exit::Failed, start + s * SECOND));
        let [first, second, third] = [1, 2, 3].map(|s| RestartDecision::Restart { after: s * SECOND });
        assert_eq!(decisions, [first, second, third, RestartDecision::MeltDown]);
    }

    #[test]
    fn old_restarts_no_longer_count() {
        let (spec, start) = (spec(RestartPolicy::Permanent), Instant::now());
        let mut restarts = Restarts::default();
        for round in 0..20 {
            let decision = restarts.on_exit(&spec, Exit::Failed, start + round * 10 * SECOND);
            assert_eq!(decision, RestartDecision::Restart { after: SECOND }, "round {round}");
        }
    }
}
