//! Watching what a tree uses up where no kernel limit does it: memory without control groups, and disk space.
//!
//! The outer stage looks between its other work, for a small part of the time. A program can go over for as long as that
//! takes; what is promised is that it is ended then.

mod disk;
mod held;
mod memory;

use std::time::{Duration, Instant};

use super::group::Made;
use super::tree;
use crate::layout::{Kind, Layout};
use crate::wire::{Budget, Excess};
use disk::Disk;
use held::Held;

/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Looks may cost a fifth of the time: on a machine with very many processes they become rarer.
const COST: u32 = 5;

/// What is watched in one run.
pub(super) struct Watch<'a> {
    groups: &'a Made,
    /// The limit, where no group keeps it.
    memory_bytes: Option<u64>,
    disk: Option<Disk>,
    held_on_disk: u64,
    next: Instant,
}

impl<'a> Watch<'a> {
    /// Begins to watch; before the program starts.
    pub(super) fn new(groups: &'a Made, budget: &Budget, layout: &Layout) -> Self {
        let roots = layout.grants.iter().filter(|grant| grant.kind == Kind::Write).map(|grant| grant.real().to_owned());
        let (memory_group, _) = groups.versions();
        Self {
            groups,
            memory_bytes: budget.memory_bytes.filter(|_| memory_group.is_none()),
            disk: budget.disk_bytes.map(|bytes| Disk::new(roots.collect(), bytes)),
            held_on_disk: 0,
            next: Instant::now() + PAUSE,
        }
    }

    /// How long until the next look.
    pub(super) fn pause(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time to. What the tree has too much of, if it has.
    pub(super) fn look(&mut self) -> Option<Excess> {
        let start = Instant::now();
        if start < self.next {
            return None;
        }
        let found = self.find();
        self.next = Instant::now() + PAUSE.max(start.elapsed() * COST);
        found
    }

    fn find(&mut self) -> Option<Excess> {
        if self.groups.ran_out_of_memory() {
            return Some(Excess::Memory);
        }
        if self.memory_bytes.is_some() || self.disk.as_ref().is_some_and(Disk::begins_a_sweep) {
            let tree = tree::descendants();
            let held = Held::by(&tree);
            let on_disk = self.disk.as_ref().map_or(0, |disk| held.on(disk.devices()));
            let in_memory = held.all().saturating_sub(on_disk);
            if self.memory_bytes.is_some_and(|limit| memory::exceeds(&tree, in_memory, limit)) {
                return Some(Excess::Memory);
            }
            self.held_on_disk = on_disk;
        }
        self.disk.as_mut()?.exceeds(self.held_on_disk).then_some(Excess::Disk)
    }

    /// What can be said only afterwards, because the program was ended by it.
    pub(super) fn at_end(&self) -> Option<Excess> {
        self.groups.ran_out_of_memory().then_some(Excess::Memory)
    }
}
