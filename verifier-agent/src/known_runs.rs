//! Runs of checks that are known: a run that was made on a tree is that tree's, whatever the tree is to a turn. The tree of a landing
//! was verified a moment before, so the base of the next waypoint need not run.
//!
//! [`Key`] says what a run follows from. [`KnownRuns`] keeps runs by their keys, of a process or of a turn; [`TurnRuns`] is what a turn
//! may take.

mod key;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use holdpoint_protocol::facts::Verdict;
use holdpoint_sandbox::PropertyReport;

pub(crate) use key::{Around, Key};

use crate::{
    evidence::Evidence,
    runs::{Ran, Takes},
};

/// Runs that are kept, the most recently used ones: those of a few waypoints with a dozen checks, each on a few trees.
const RUNS_MAX: usize = 256;
/// Bytes of their evidence: each report stores what it names. The names of tests that are read from it take about as much again.
const EVIDENCE_BYTES_MAX: usize = 64 << 20;

/// A run, and what a report on it has to have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownRun {
    pub(crate) ran: Ran,
    pub(crate) evidence: Evidence,
    /// What the sandbox enforced.
    pub(crate) properties: Vec<PropertyReport>,
}

impl KnownRun {
    /// Both runs as one, if they agree: it has the names of tests that both have.
    fn with(mut self, earlier: Option<Self>) -> Option<Self> {
        let earlier = earlier.filter(|earlier| earlier.ran.run.verdict == self.ran.run.verdict)?;
        (self.ran.read, _) = self.ran.read.steadied(&earlier.ran.read);
        self.ran.is_steady = true;
        Some(self)
    }
}

/// Runs by their keys. `None`: one came to no verdict, or runs do not agree, so that none of them is taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KnownRuns(VecDeque<(Key, Option<KnownRun>)>);

impl KnownRuns {
    /// What is known of a key; the outer `None`: nothing.
    fn get(&mut self, key: Key) -> Option<&Option<KnownRun>> {
        let at = self.0.iter().position(|(known, _)| *known == key)?;
        let found = self.0.remove(at)?;
        self.0.push_back(found);
        self.0.back().map(|(_, run)| run)
    }

    /// Adds what one more run says.
    fn put(&mut self, key: Key, run: Option<KnownRun>) {
        let run = match self.0.iter().position(|(known, _)| *known == key).and_then(|at| self.0.remove(at)) {
            Some((_, earlier)) => run.and_then(|run| run.with(earlier)),
            None => run,
        };
        self.0.push_back((key, run));
        while self.0.len() > RUNS_MAX || self.bytes() > EVIDENCE_BYTES_MAX {
            self.0.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.0.iter().filter_map(|(_, run)| run.as_ref()).map(|run| run.evidence.bytes.len()).sum()
    }

    /// Adds those of a turn whose report is made.
    pub(crate) fn extend(&mut self, of_turn: &Self) {
        of_turn.0.iter().for_each(|(key, run)| self.put(*key, run.clone()));
    }
}

/// What one turn may take: runs of earlier reports, and its own.
pub(crate) struct TurnRuns<'a> {
    pub(crate) earlier: &'a Mutex<KnownRuns>,
    pub(crate) own: KnownRuns,
    /// Nothing is taken.
    pub(crate) fresh: bool,
}

impl TurnRuns<'_> {
    /// A run that may stand in the place of a new one.
    pub(crate) fn take(&mut self, key: Key, takes: Takes) -> Option<KnownRun> {
        if self.fresh {
            return None;
        }
        let known = self.own.get(key).cloned().or_else(|| self.earlier(key)).flatten();
        known.filter(|known| match takes {
            Takes::Any => true,
            Takes::Green => known.ran.run.verdict == Verdict::Pass,
            Takes::Nothing => false,
        })
    }

    /// Keeps a run that was made. One that came to no verdict may have met a busy machine, and what may still run after one has to be
    /// doubted each time: `settled` says that it is neither.
    pub(crate) fn keep(&mut self, key: Key, run: KnownRun, settled: bool) {
        if self.own.get(key).is_none()
            && let Some(earlier) = self.earlier(key)
        {
            self.own.put(key, earlier);
        }
        self.own.put(key, Some(run).filter(|_| settled));
    }

    fn earlier(&self, key: Key) -> Option<Option<KnownRun>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

#[cfg(test)]
mod tests;
