//! "Did you mean": the known word that a mistyped one is closest to.

/// Longer words are not compared: the cost is quadratic, and no known word is near them.
const WORD_CHARS_MAX: usize = 80;

/// Of shorter words every other one is close.
const LETTERS_MIN: usize = 2;

/// The known word closest to `word`, if it is close enough to be meant: a third of its letters may differ, or it may
/// be cut short.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().take(WORD_CHARS_MAX + 1).flat_map(char::to_lowercase).collect();
    if !(LETTERS_MIN..=WORD_CHARS_MAX).contains(&letters.len()) {
        return None;
    }
    let tolerance = (letters.len() / 3).max(1);
    known
        .into_iter()
        .filter(|candidate| *candidate != word && candidate.len() <= WORD_CHARS_MAX)
        .map(|candidate| {
            let cut_short = letters.len() > LETTERS_MIN && candidate.starts_with(word);
            (if cut_short { 1 } else { distance(&letters, candidate) }, candidate)
        })
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance with swaps of neighbours, which are the commonest slip.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let known = ["criteria", "depends_on", "scope", "id"];
        assert_eq!(closest("criterea", known), Some("criteria"));
        assert_eq!(closest("depend_on", known), Some("depends_on"));
        assert_eq!(closest("dependsOn", known), Some("depends_on"));
        assert_eq!(closest("socpe", known), Some("scope"));
        assert_eq!(closest("crit", known), Some("criteria"));
        assert_eq!(closest("banana", known), None);
        assert_eq!(closest("x", known), None);
        assert_eq!(closest("", known), None);
        assert_eq!(closest(&"x".repeat(10_000), known), None);
    }
}
