//! What happened in each case so far, shared by all who take part.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::ids::WaypointId;

use super::case::{Case, Fault};

/// The cases of one fleet.
#[derive(Debug)]
pub(super) struct Book(Mutex<BTreeMap<WaypointId, Page>>);

#[derive(Debug)]
struct Page {
    case: Case,
    runs: usize,
    handoffs: usize,
    reports: usize,
    acts: usize,
    was_right: bool,
}

impl Book {
    /// A book of these cases, in which nothing has happened yet.
    pub(super) fn new(cases: &[Case]) -> Self {
        let page =
            |case: &Case| Page { case: case.clone(), runs: 0, handoffs: 0, reports: 0, acts: 0, was_right: false };
        Self(Mutex::new(cases.iter().map(|case| (case.waypoint(), page(case))).collect()))
    }

    /// A program is run: what it does wrong, if anything, and a number that its case and run have alone.
    pub(super) fn run(&self, waypoint: &WaypointId) -> (Option<Fault>, u64) {
        self.with(waypoint, |page| {
            let run = page.runs;
            page.runs += 1;
            let fault = page.case.in_run(run);
            page.was_right = fault.is_none();
            (fault, page.case.seed.wrapping_mul(31).wrapping_add(run as u64))
        })
    }

    /// An agent hands off: what it does before that.
    pub(super) fn hands_off(&self, waypoint: &WaypointId) -> Option<(Fault, u64)> {
        self.with(waypoint, |page| {
            page.handoffs += 1;
            Some((*page.case.agent.get(page.handoffs - 1)?, page.case.seed))
        })
    }

    /// A verifier reports: what it does before that.
    pub(super) fn reports(&self, waypoint: &WaypointId) -> Option<(Fault, u64)> {
        self.with(waypoint, |page| {
            page.reports += 1;
            Some((*page.case.verifier.get(page.reports - 1)?, page.case.seed))
        })
    }

    /// A person acts: what that one does before the approval.
    pub(super) fn acts(&self, waypoint: &WaypointId) -> Option<(Fault, u64)> {
        self.with(waypoint, |page| {
            page.acts += 1;
            Some((*page.case.person.get(page.acts - 1)?, page.case.seed))
        })
    }

    /// Whether the program was right the last time it was run.
    pub(super) fn was_right(&self, waypoint: &WaypointId) -> bool {
        self.with(waypoint, |page| page.was_right)
    }

    fn with<T>(&self, waypoint: &WaypointId, of: impl FnOnce(&mut Page) -> T) -> T {
        let mut pages: MutexGuard<'_, _> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of(pages.get_mut(waypoint).unwrap())
    }
}
