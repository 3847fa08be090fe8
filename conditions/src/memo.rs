//! What came of conditions before. An engine has no clock and no randomness, so a condition comes to the same wherever it
//! sees the same; what ended by a bound of time or memory is not kept, because a busy machine may have been at fault.

use std::collections::HashMap;

use crate::ConditionAnswer;

/// Answers that are kept. When there are more, all are forgotten: those that are wanted come again.
const KEPT_MAX: usize = 1_024;
/// Bytes of a condition with what it sees that an answer is kept of.
const KEY_LEN_MAX: usize = 16 << 10;

/// Answers by owner, condition and scope.
#[derive(Debug, Default)]
pub(crate) struct Memo(HashMap<String, ConditionAnswer>);

/// What an answer is kept by; `None`: it is too long to be kept.
pub(crate) fn key(owner: &str, condition: &str, scope: &str) -> Option<String> {
    // Neither a name nor JSON has such a character outside of escapes, so the three cannot be taken for others.
    let len = owner.len() + scope.len() + condition.len() + 2;
    (len <= KEY_LEN_MAX).then(|| format!("{owner}\0{scope}\0{condition}"))
}

impl Memo {
    /// What came of it.
    pub(crate) fn get(&self, key: &str) -> Option<ConditionAnswer> {
        self.0.get(key).cloned()
    }

    /// Keeps what came of it, if that is always the same.
    pub(crate) fn keep(&mut self, key: String, answer: &ConditionAnswer) {
        if matches!(answer, ConditionAnswer::Failed(_)) {
            return;
        }
        if self.0.len() >= KEPT_MAX {
            self.0.clear();
        }
        self.0.insert(key, answer.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConditionFailure;

    #[test]
    fn an_answer_is_kept_for_the_same_owner_condition_and_scope_and_a_failure_is_not() {
        let mut memo = Memo::default();
        let of = |condition: &str, tag: &str| key("mine", condition, &format!("[\"{tag}\"]")).unwrap();
        memo.keep(of("a", "x"), &ConditionAnswer::Holds);
        memo.keep(of("b", "x"), &ConditionAnswer::Failed(ConditionFailure::Time));
        assert_eq!(memo.get(&of("a", "x")), Some(ConditionAnswer::Holds));
        assert_eq!((memo.get(&of("a", "y")), memo.get(&of("b", "x"))), (None, None));
        assert_eq!(memo.get(&key("theirs", "a", "[\"x\"]").unwrap()), None);
        assert_eq!(key("mine", &"x".repeat(KEY_LEN_MAX), "{}"), None);
    }

    #[test]
    fn no_more_answers_are_kept_than_there_is_room_for() {
        let mut memo = Memo::default();
        for n in 0..3 * KEPT_MAX {
            memo.keep(n.to_string(), &ConditionAnswer::DoesNotHold);
            assert!(memo.0.len() <= KEPT_MAX && memo.get(&n.to_string()).is_some());
        }
    }
}
