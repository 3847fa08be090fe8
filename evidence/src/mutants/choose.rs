//! The order in which lines are broken: by a seed, and spread over files and hunks, so that a few mutants see most of a
//! change.

use holdpoint_protocol::Digest;

use super::site::Site;

/// Lays files, hunks and lines out in turns: one line of each file, each from another hunk, then the next ones.
pub(super) fn spread(seed: &str, files: Vec<Vec<Vec<Site>>>) -> Vec<Site> {
    let mut random = Random::of(seed);
    let mut queues = Vec::new();
    for mut hunks in files {
        for hunk in &mut hunks {
            random.shuffle(hunk);
        }
        random.shuffle(&mut hunks);
        queues.push(in_turns(hunks));
    }
    random.shuffle(&mut queues);
    in_turns(queues)
}

fn in_turns<T>(queues: Vec<Vec<T>>) -> Vec<T> {
    let mut queues: Vec<_> = queues.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(queues.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// Numbers that follow from a seed (SplitMix64): the same work is tried in the same way by every verifier.
struct Random(u64);

impl Random {
    fn of(seed: &str) -> Self {
        let hex = Digest::of(seed.as_bytes()).hex();
        Self(hex.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or_default())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = usize::try_from(self.next() % (at as u64 + 1)).unwrap_or_default();
            items.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(path: &str, line: usize) -> Site {
        Site { path: path.to_owned(), line, mutants: Vec::new() }
    }

    fn files() -> Vec<Vec<Vec<Site>>> {
        let long = (1..=40).map(|line| site("long", line)).collect();
        vec![vec![long], vec![vec![site("short", 1), site("short", 2)], vec![site("short", 9)]]]
    }

    #[test]
    fn every_line_is_there_once_and_the_first_ones_are_of_every_file_and_hunk() {
        for seed in ["a", "b", "c", "d"] {
            let order = spread(seed, files());
            assert_eq!(order.len(), 43);
            assert_eq!(order.iter().take(6).filter(|site| site.path == "short").count(), 3);
            let lines: Vec<usize> =
                order.iter().filter(|site| site.path == "short").take(2).map(|site| site.line).collect();
            assert!(lines.contains(&9), "{lines:?}");
        }
    }

    #[test]
    fn the_seed_decides_the_order_and_nothing_else_does() {
        assert_eq!(spread("a", files()), spread("a", files()));
        assert_ne!(spread("a", files()), spread("b", files()));
    }
}
