//! Gates that are open at the same time, and when they are decided (GATE-29).
//!
//! Pure rules over votes. Which turns are open, and what becomes of them, is `engine::waypoint`.

use std::ops::Range;

use holdpoint_protocol::{
    ids::GateId,
    state::{BranchStanding, OpenFork, Outcome},
    workflow::JoinStrategy,
};

use super::{Duty, Gate, Workflow};

/// A fork of a checked workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// Unique in the workflow, among gates too.
    pub id: GateId,
    /// How many branches have to complete.
    pub strategy: JoinStrategy,
    /// When work enters it at all: a JavaScript predicate.
    pub when: Option<String>,
    /// The places of its branches among the workflow's gates.
    pub(super) places: Range<usize>,
}

/// What work comes to next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop<'a> {
    /// One gate.
    Gate(&'a Gate),
    /// Several at the same time.
    Fork(&'a Fork),
}

impl<'a> Stop<'a> {
    /// Its id.
    #[must_use]
    pub fn id(self) -> &'a GateId {
        match self {
            Self::Gate(gate) => &gate.id,
            Self::Fork(fork) => &fork.id,
        }
    }
}

/// What the votes of a fork come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Votes are missing.
    Open,
    /// Work goes on.
    Pass,
    /// Work goes back.
    Reject,
}

impl Workflow {
    /// The fork with this id.
    #[must_use]
    pub fn fork(&self, id: &GateId) -> Option<&Fork> {
        self.forks.iter().find(|fork| &fork.id == id)
    }

    /// The gates of a fork.
    #[must_use]
    pub fn branches(&self, fork: &Fork) -> &[Gate] {
        self.gates.get(fork.places.clone()).unwrap_or_default()
    }

    /// Where work goes that passes a fork; `None`: that was the workflow's end.
    #[must_use]
    pub fn behind(&self, fork: &Fork) -> Option<Stop<'_>> {
        self.stop_at(fork.places.end)
    }

    /// The fork that this gate is a branch of.
    #[must_use]
    pub fn fork_of(&self, gate: &GateId) -> Option<&Fork> {
        self.forks.iter().find(|fork| self.branches(fork).iter().any(|branch| &branch.id == gate))
    }

    /// Whether a branch of a fork is at this place.
    pub(super) fn is_branch(&self, place: usize) -> bool {
        self.forks.iter().any(|fork| fork.places.contains(&place))
    }

    /// Where work goes back to that these branches of a fork rejected: with `named`, to the earliest gate that one of them
    /// names. `was_entered` says whether work was at an earlier gate.
    #[must_use]
    pub fn rejected_to(&self, fork: &Fork, by: &[&GateId], was_entered: impl Fn(&GateId) -> bool) -> &Gate {
        let named = |gate: &&Gate| by.contains(&&gate.id);
        let targets = self.branches(fork).iter().filter(named).filter_map(|gate| gate.reject_to.as_ref());
        let place = |target: &GateId| self.gates.iter().position(|gate| &gate.id == target);
        let earliest = targets.filter_map(place).min().and_then(|place| self.gates.get(place));
        earliest.unwrap_or_else(|| self.target(fork.places.start, was_entered))
    }

    /// What is at this place among the gates: the fork, where a branch is there.
    pub(super) fn stop_at(&self, place: usize) -> Option<Stop<'_>> {
        let gate = self.gates.get(place)?;
        let fork = self.forks.iter().find(|fork| fork.places.contains(&place));
        Some(fork.map_or(Stop::Gate(gate), Stop::Fork))
    }

    /// The place behind a gate, or behind the fork that it is a branch of.
    pub(super) fn place_behind(&self, place: usize) -> usize {
        self.forks.iter().find(|fork| fork.places.contains(&place)).map_or(place + 1, |fork| fork.places.end)
    }

    /// What the votes come to so far. The verifier's branches are required whatever the strategy is: their rejection decides.
    /// With `all` the fork waits for every branch, so that the next maker learns everything at once.
    #[must_use]
    pub fn join(&self, open: &OpenFork) -> Join {
        let Some(fork) = self.fork(&open.fork) else { return Join::Open };
        let mut tally = Tally::default();
        for branch in &open.branches {
            let judges = self.gate(&branch.gate).is_some_and(|gate| gate.duty == Duty::Judge);
            tally.count(&branch.standing, judges);
        }
        tally.join(fork.strategy)
    }
}

/// The votes of a fork.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    approve: usize,
    reject: usize,
    open: usize,
    /// Verifiers' branches that did not complete yet.
    judges_open: usize,
    judges_reject: usize,
}

impl Tally {
    fn count(&mut self, standing: &BranchStanding, judges: bool) {
        match standing {
            BranchStanding::Skipped => {}
            BranchStanding::Due | BranchStanding::Open(_) => {
                self.open += 1;
                self.judges_open += usize::from(judges);
            }
            BranchStanding::Voted(vote) if vote.outcome == Outcome::NeedsReview => {
                self.reject += 1;
                self.judges_reject += usize::from(judges);
            }
            BranchStanding::Voted(_) => self.approve += 1,
        }
    }

    fn join(self, strategy: JoinStrategy) -> Join {
        let voters = self.approve + self.reject + self.open;
        // So many have to complete.
        let wanted = match strategy {
            JoinStrategy::All => voters,
            JoinStrategy::Any => 1.min(voters),
            JoinStrategy::Majority => voters / 2 + usize::from(voters > 0),
        };
        let is_lost = self.judges_reject > 0 || self.approve + self.open < wanted;
        if is_lost {
            // Nothing is gained by waiting, but with `all` for the blockers of the others.
            let waits = strategy == JoinStrategy::All && self.open > 0;
            return if waits { Join::Open } else { Join::Reject };
        }
        if self.approve >= wanted && self.judges_open == 0 { Join::Pass } else { Join::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(approve: usize, reject: usize, open: usize) -> Tally {
        Tally { approve, reject, open, ..Tally::default() }
    }

    #[test]
    fn votes_are_joined_by_the_strategy() {
        use Join::{Open, Pass, Reject};
        // (approve, reject, open) → all, any, majority.
        let table = [
            ((0, 0, 3), [Open, Open, Open]),
            ((1, 0, 2), [Open, Pass, Open]),
            ((2, 0, 1), [Open, Pass, Pass]),
            ((3, 0, 0), [Pass, Pass, Pass]),
            ((0, 1, 2), [Open, Open, Open]),
            ((1, 1, 1), [Open, Pass, Open]),
            ((2, 1, 0), [Reject, Pass, Pass]),
            ((0, 2, 1), [Open, Open, Reject]),
            ((1, 2, 0), [Reject, Pass, Reject]),
            ((0, 3, 0), [Reject, Reject, Reject]),
            // Of two, more than half is both.
            ((1, 0, 1), [Open, Pass, Open]),
            ((1, 1, 0), [Reject, Pass, Reject]),
            ((0, 1, 1), [Open, Open, Reject]),
        ];
        for ((approve, reject, open), expected) in table {
            let joined = [JoinStrategy::All, JoinStrategy::Any, JoinStrategy::Majority]
                .map(|strategy| tally(approve, reject, open).join(strategy));
            assert_eq!(joined, expected, "{approve} approve, {reject} reject, {open} are open");
        }
    }

    #[test]
    fn a_verifiers_branch_is_required_whatever_the_strategy() {
        let waits = Tally { judges_open: 1, ..tally(2, 0, 1) };
        let rejected = Tally { judges_reject: 1, ..tally(2, 1, 0) };
        for strategy in [JoinStrategy::All, JoinStrategy::Any, JoinStrategy::Majority] {
            assert_eq!(waits.join(strategy), Join::Open);
            assert_eq!(rejected.join(strategy), Join::Reject);
        }
        let others_open = Tally { judges_reject: 1, ..tally(0, 1, 2) };
        assert_eq!(others_open.join(JoinStrategy::Majority), Join::Reject);
        assert_eq!(others_open.join(JoinStrategy::All), Join::Open, "`all` waits for everybody's blockers");
    }
}
