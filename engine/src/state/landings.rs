//! What landed, in the order of the branch, and where each waypoint is in it.

use std::{collections::BTreeMap, ops::Deref};

use holdpoint_protocol::{facts::Oid, ids::WaypointId, journal::Landed};

/// So many landings are brought by one bundle as well as by their own, so many of those by one of theirs, and so on: the
/// bundles that bring the branch's head are few, however long the branch is, and each landing is in few of them.
const RADIX: usize = 16;

/// Landings in order. Found by waypoint without looking at all of them, because that is asked for every waypoint of a
/// plan again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Landings {
    all: Vec<Landed>,
    of: BTreeMap<WaypointId, usize>,
    by_commit: BTreeMap<Oid, usize>,
}

impl Landings {
    /// The next landing. A waypoint lands once; the first counts.
    pub fn push(&mut self, landed: Landed) {
        self.of.entry(landed.waypoint.clone()).or_insert(self.all.len());
        self.by_commit.entry(landed.commit.clone()).or_insert(self.all.len());
        self.all.push(landed);
    }

    /// How a waypoint landed.
    #[must_use]
    pub fn of(&self, waypoint: &WaypointId) -> Option<&Landed> {
        self.all.get(*self.of.get(waypoint)?)
    }

    /// The landing that made a commit.
    #[must_use]
    pub fn at(&self, commit: &Oid) -> Option<&Landed> {
        self.all.get(*self.by_commit.get(commit)?)
    }

    /// The landings whose bundles bring a commit, newest first: each builds on the next one, and the last on the base. It
    /// has an end whatever they say: none is followed to a later one.
    #[must_use]
    pub fn chain(&self, commit: &Oid) -> Vec<&Landed> {
        let mut chain = Vec::new();
        let mut next = self.by_commit.get(commit).copied();
        while let Some((at, landed)) = next.and_then(|at| Some((at, self.all.get(at)?))) {
            chain.push(landed);
            let on = landed.bundle_on.as_ref().unwrap_or(&landed.parent);
            next = self.by_commit.get(on).copied().filter(|below| *below < at);
        }
        chain
    }

    /// What the bundle of the next landing may build on to bring others, too, the widest first; `None` is the base. Every
    /// sixteenth may bring the fifteen before it, every 256th one 255, and so on.
    pub fn wide(&self) -> impl Iterator<Item = Option<&Landed>> {
        let number = self.all.len() + 1;
        let spans = std::iter::successors(Some(RADIX), |span| span.checked_mul(RADIX));
        let spans: Vec<usize> = spans.take_while(|span| number.is_multiple_of(*span)).collect();
        spans.into_iter().rev().map(move |span| (number - span).checked_sub(1).and_then(|at| self.all.get(at)))
    }
}

impl Deref for Landings {
    type Target = [Landed];

    fn deref(&self) -> &[Landed] {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Landings {
    type Item = &'a Landed;
    type IntoIter = std::slice::Iter<'a, Landed>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}
