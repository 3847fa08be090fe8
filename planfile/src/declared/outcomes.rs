//! Reading what is said of each outcome of a turn.

use holdpoint_protocol::{state::Outcome, workflow::ByOutcome};

use crate::yaml::{error::Problems, fields::Fields};

/// The outcomes that anybody can send.
pub(super) const OUTCOMES: [(&str, Outcome); 3] =
    [("complete", Outcome::Complete), ("needs_review", Outcome::NeedsReview), ("blocked", Outcome::Blocked)];

/// A mapping whose keys are outcomes.
pub(super) fn by_outcome<T>(
    fields: &Fields<'_>,
    key: &str,
    problems: &mut Problems,
    read: impl Fn(&Fields<'_>, &str, &mut Problems) -> Option<T>,
) -> ByOutcome<T> {
    let Some(node) = fields.get(key, problems) else { return ByOutcome::default() };
    let words = OUTCOMES.map(|(word, _)| word);
    let Some(outcomes) = Fields::open(node, &format!("`{key}`"), &words, problems) else {
        return ByOutcome::default();
    };
    let [complete, needs_review, blocked] = words.map(|word| read(&outcomes, word, problems));
    ByOutcome { complete, needs_review, blocked }
}
