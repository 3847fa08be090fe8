//! What was asked and answered in a turn while this agent has it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use holdpoint_protocol::{
    Digest,
    api::{GivenAnswer, Going},
    artifact::Clarified,
};

/// Questions and answers of one delivery of a turn.
#[derive(Debug, Default)]
pub struct TurnTalk(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    /// All answers of the turn, oldest first.
    answers: Vec<GivenAnswer>,
    questions_left: Option<u32>,
    waits: Option<Digest>,
}

impl TurnTalk {
    /// Takes in what an orchestrator said to who had `known` answers.
    pub(super) fn heard(&self, known: u32, going: &Going) {
        let mut said = self.lock();
        said.questions_left = going.questions_left;
        // Two may have asked at once: what came since is known.
        let since = said.answers.len().saturating_sub(usize::try_from(known).unwrap_or(usize::MAX));
        said.answers.extend(going.answers.iter().skip(since).cloned());
    }

    /// How many answers are known.
    pub(super) fn known(&self) -> u32 {
        u32::try_from(self.lock().answers.len()).unwrap_or(u32::MAX)
    }

    /// All answers that are known.
    pub(super) fn answers(&self) -> Vec<Clarified> {
        self.lock().answers.iter().map(|given| given.answer.clone()).collect()
    }

    /// The answer to the question of these words: in one turn they are one question.
    #[must_use]
    pub fn answer(&self, words: &Digest) -> Option<Clarified> {
        self.lock().answers.iter().find(|given| given.words == *words).map(|given| given.answer.clone())
    }

    /// Whether another question may wait, as far as is known.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.lock().questions_left != Some(0)
    }

    /// This question waits in the turn.
    pub fn waits(&self, words: Digest) {
        self.lock().waits = Some(words);
    }

    /// Whether this question waited in the turn, and no answer to it is known.
    #[must_use]
    pub fn waited(&self, words: &Digest) -> bool {
        let waits = self.lock().waits;
        waits.as_ref() == Some(words) && self.answer(words).is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn going(texts: &[&str], questions_left: u32) -> Going {
        let given = |text: &&str| GivenAnswer {
            words: Digest::of(text.split(':').next().unwrap().as_bytes()),
            answer: Clarified {
                question: "which?".to_owned(),
                option: Some((*text).to_owned()),
                text: None,
                rationale: None,
                constraints: Vec::new(),
                by: "policy".to_owned(),
            },
        };
        Going { answers: texts.iter().map(given).collect(), questions_left: Some(questions_left) }
    }

    #[test]
    fn answers_are_known_once_and_by_the_words_of_their_question() {
        let talk = TurnTalk::default();
        let words = |text: &str| Digest::of(text.as_bytes());
        assert!(talk.may_ask());
        talk.waits(words("a"));
        assert!(talk.waited(&words("a")) && !talk.waited(&words("b")));
        talk.heard(0, &going(&["b:1"], 1));
        // Asked at the same time, answered a little later.
        talk.heard(0, &going(&["b:1", "a:1"], 0));
        assert_eq!((talk.known(), talk.answers().len(), talk.may_ask()), (2, 2, false));
        let options = ["a", "b", "c"].map(|text| talk.answer(&words(text)).and_then(|answer| answer.option));
        assert_eq!(options.map(Option::unwrap_or_default), ["a:1", "b:1", ""].map(str::to_owned));
        assert!(!talk.waited(&words("a")), "it was answered");
    }
}
