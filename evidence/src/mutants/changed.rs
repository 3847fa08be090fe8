//! Which lines of a text are not those of another: a line-by-line difference.

use std::collections::HashMap;

/// Pairs of lines that are compared to find the longest common part. A rewritten file with more is compared line by line
/// without their order.
const CELLS_MAX: usize = 8 << 20;

/// For each line of `after`, whether it is changed or new.
pub(super) fn lines(before: &str, after: &str) -> Vec<bool> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same_head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let room = old.len().min(new.len()) - same_head;
    let same_tail = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(old, new)| old == new).count();
    let middle_old = &old[same_head..old.len() - same_tail];
    let middle_new = &new[same_head..new.len() - same_tail];
    let mut changed = vec![false; same_head];
    if middle_old.len().saturating_mul(middle_new.len()) <= CELLS_MAX {
        changed.extend(in_order(middle_old, middle_new));
    } else {
        changed.extend(in_any_order(middle_old, middle_new));
    }
    changed.resize(new.len(), false);
    changed
}

/// The deleted text that a new one most likely was: the one that has the most lines of it, and half of them at least.
pub(super) fn origin<'a>(gone: &[&'a str], text: &str) -> Option<&'a str> {
    let new: Vec<&str> = text.lines().collect();
    let shared = |old: &str| {
        let old: Vec<&str> = old.lines().collect();
        in_any_order(&old, &new).iter().filter(|changed| !**changed).count()
    };
    let best = gone.iter().map(|old| (shared(old), *old)).max_by_key(|(shared, _)| *shared)?;
    (best.0 * 2 >= new.len()).then_some(best.1)
}

/// The lines of `new` that are not in the longest common part.
fn in_order(old: &[&str], new: &[&str]) -> Vec<bool> {
    let width = new.len() + 1;
    // Lengths of the longest common parts of what is left from each pair on.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let mut changed = vec![true; new.len()];
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            changed[j] = false;
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    changed
}

/// The lines of `new` that `old` has not, or not as often.
fn in_any_order(old: &[&str], new: &[&str]) -> Vec<bool> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in old {
        *left.entry(line).or_default() += 1;
    }
    let mut changed = Vec::with_capacity(new.len());
    for line in new {
        match left.get_mut(line).filter(|times| **times > 0) {
            Some(times) => {
                *times -= 1;
                changed.push(false);
            }
            None => changed.push(true),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of changed lines, from 1.
    fn changed(before: &str, after: &str) -> Vec<usize> {
        lines(before, after).into_iter().enumerate().filter(|(_, changed)| *changed).map(|(at, _)| at + 1).collect()
    }

    #[test]
    fn changed_and_added_lines_are_found_and_moved_or_deleted_neighbours_are_not() {
        let table: [(&str, &str, &[usize]); 8] = [
            ("", "a\nb\n", &[1, 2]),
            ("a\nb\n", "a\nb\n", &[]),
            ("a\nb\nc\n", "a\nx\nc\n", &[2]),
            ("a\nc\n", "a\nb\nc\n", &[2]),
            ("a\nb\nc\n", "a\nc\n", &[]),
            ("a\na\n", "a\na\na\n", &[3]),
            ("a\nb\nc\nd\n", "a\nx\nb\nc\ny\nd\n", &[2, 5]),
            ("a\nb", "a\nb\n", &[]),
        ];
        for (before, after, expected) in table {
            assert_eq!(changed(before, after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_rewritten_file_that_is_too_long_for_an_order_is_compared_all_the_same() {
        let text = |from: usize| (from..from + 4_000).map(|n| format!("{n}\n")).collect::<String>();
        let reversed: String = text(0).lines().rev().map(|line| format!("{line}\n")).collect();
        assert_eq!(changed(&text(0), &reversed), [0; 0]);
        assert_eq!(changed(&reversed, &text(1)), [4_000]);
    }

    #[test]
    fn a_new_file_comes_from_the_deleted_one_that_has_half_of_its_lines() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(origin(&["x\n", "a\nb\nq\n", "c\n"], text), Some("a\nb\nq\n"));
        assert_eq!(origin(&["a\n"], text), None);
        assert_eq!(origin(&[], text), None);
    }
}
