//! "Did you mean": the known word that a mistyped one is closest to.

use strsim::osa_distance;

/// Longer words are not compared: the cost is quadratic, and no known word is near them.
const WORD_CHARS_MAX: usize = 80;

/// Of shorter words every other one is close.
const LETTERS_MIN: usize = 2;

/// The known word closest to `word`, if it is close enough to be meant: a third of its letters may differ, or it may
/// be cut short.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower: String = word.chars().take(WORD_CHARS_MAX + 1).flat_map(char::to_lowercase).collect();
    let letters = lower.chars().count();
    if !(LETTERS_MIN..=WORD_CHARS_MAX).contains(&letters) {
        return None;
    }
    let tolerance = (letters / 3).max(1);
    known
        .into_iter()
        .filter(|candidate| *candidate != word && candidate.len() <= WORD_CHARS_MAX)
        .map(|candidate| {
            let cut_short = letters > LETTERS_MIN && candidate.starts_with(word);
            // Swaps of neighbours, the commonest slip, count once.
            (if cut_short { 1 } else { osa_distance(&lower, &candidate.to_lowercase()) }, candidate)
        })
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
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
