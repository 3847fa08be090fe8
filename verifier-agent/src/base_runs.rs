//! Runs on bases, kept for later turns of the same process: a base does not change, and its tests need not run again.

use std::{collections::VecDeque, sync::Mutex};

use holdpoint_core::{checks::JudgedRun, environment::TreeChanges};
use holdpoint_protocol::{
    artifact::CheckRun,
    facts::{Oid, Verdict},
    plan::{Check, EnvironmentSpec},
};

use crate::evidence::Evidence;

/// Runs kept, the most recently used ones: the checks of a few flights. Each keeps at most one output.
const RUNS_MAX: usize = 32;

/// What a base run is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) tree: Oid,
    pub(crate) environment: EnvironmentSpec,
    pub(crate) check: Check,
}

/// A run on a base.
#[derive(Debug, Clone)]
pub(crate) struct BaseRun {
    pub(crate) run: CheckRun,
    pub(crate) read: JudgedRun,
    pub(crate) changed: TreeChanges,
    pub(crate) evidence: Evidence,
    /// Its names of tests are those that another run has as well.
    pub(crate) is_steady: bool,
}

/// The runs of this process.
#[derive(Debug, Default)]
pub(crate) struct BaseRuns(Mutex<VecDeque<(Key, BaseRun)>>);

impl BaseRuns {
    /// The run, if it is known.
    pub(crate) fn get(&self, key: &Key) -> Option<BaseRun> {
        let mut runs = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = runs.iter().position(|(known, _)| known == key)?;
        let found = runs.remove(at)?;
        let run = found.1.clone();
        runs.push_back(found);
        Some(run)
    }

    /// Keeps a run. One that came to no verdict may have met a busy machine, and is not kept.
    pub(crate) fn put(&self, key: Key, run: BaseRun) {
        if run.run.verdict == Verdict::Inconclusive {
            return;
        }
        let mut runs = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        runs.retain(|(known, _)| known != &key);
        runs.push_back((key, run));
        while runs.len() > RUNS_MAX {
            runs.pop_front();
        }
    }
}
