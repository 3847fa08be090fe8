//! Questions of agents' programs: what makes one, in each way to ask.
//!
//! Pure. A question goes to a person, into a journal and into the next prompt, so its parts are bounded. One that breaks
//! the bounds is refused and not cut: half a question gets a wrong answer.

use std::collections::BTreeSet;

use holdpoint_protocol::{artifact::Confidence, reason::BlockReason};
use holdpoint_text::shown;

/// The longest question, in bytes.
pub const QUESTION_BYTES_MAX: usize = 2 << 10;
/// The longest context of a question, in bytes.
pub const CONTEXT_BYTES_MAX: usize = 8 << 10;
/// The most options of a question.
pub const OPTIONS_MAX: usize = 16;
/// The longest option, in bytes.
pub const OPTION_BYTES_MAX: usize = 512;

/// A question that keeps to the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidQuestion {
    /// The question.
    pub question: String,
    /// What depends on the answer.
    pub decision_context: String,
    /// How sure the asker is; low where it does not say.
    pub confidence: Confidence,
    /// The answers it can work with.
    pub options: Vec<String>,
    /// What kind of obstacle is in the asker's way.
    pub block_reason: BlockReason,
}

/// Why something that was meant as a question is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// The object or element does not come to its end, or is no JSON.
    #[error("it is not one whole JSON object or element")]
    NotWhole,
    /// A part has another type than it must have.
    #[error("its `{part}` has to be {wanted}")]
    Type {
        /// The part.
        part: &'static str,
        /// What it has to be.
        wanted: &'static str,
    },
    /// It asks nothing.
    #[error("it has no text")]
    Empty,
    /// A part is too long.
    #[error("its {part} has {bytes} bytes, and at most {max} are taken")]
    TooLong {
        /// The part.
        part: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A part has too many items.
    #[error("its {part} has {count} items, and at most {max} are taken")]
    TooMany {
        /// The part.
        part: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// There are too many options.
    #[error("it has {count} options, and at most {OPTIONS_MAX} are taken")]
    TooManyOptions {
        /// How many there are.
        count: usize,
    },
    /// An option is empty.
    #[error("one of its options is empty")]
    EmptyOption,
    /// An option is there twice.
    #[error("the option {option:?} is there twice")]
    SameOption {
        /// The option.
        option: String,
    },
}

impl ValidQuestion {
    /// The question, if it keeps to the bounds. Space around its parts and what moves a terminal's cursor is dropped.
    ///
    /// # Errors
    /// [`BadQuestion`] with the first part that is wrong.
    pub fn checked(self) -> Result<Self, BadQuestion> {
        let question = printable(&self.question);
        let decision_context = printable(&self.decision_context);
        if question.is_empty() {
            return Err(BadQuestion::Empty);
        }
        fits("question", &question, QUESTION_BYTES_MAX)?;
        fits("context", &decision_context, CONTEXT_BYTES_MAX)?;
        if self.options.len() > OPTIONS_MAX {
            return Err(BadQuestion::TooManyOptions { count: self.options.len() });
        }
        let options: Vec<String> = self.options.iter().map(|option| printable(option)).collect();
        let mut seen = BTreeSet::new();
        for option in &options {
            if option.is_empty() {
                return Err(BadQuestion::EmptyOption);
            }
            fits("option", option, OPTION_BYTES_MAX)?;
            if !seen.insert(option) {
                return Err(BadQuestion::SameOption { option: option.clone() });
            }
        }
        Ok(Self { question, decision_context, options, ..self })
    }
}

/// The text of a call for help, if it keeps to the bounds of a question.
///
/// # Errors
/// [`BadQuestion::Empty`], [`BadQuestion::TooLong`].
pub fn help_text(text: &str) -> Result<String, BadQuestion> {
    let text = printable(text);
    if text.is_empty() {
        return Err(BadQuestion::Empty);
    }
    fits("text", &text, QUESTION_BYTES_MAX)?;
    Ok(text)
}

/// A confidence as a word.
#[must_use]
pub fn confidence_word(word: &str) -> Option<Confidence> {
    match word {
        "low" => Some(Confidence::Low),
        "medium" => Some(Confidence::Medium),
        "high" => Some(Confidence::High),
        _ => None,
    }
}

/// A confidence as a share of 1.
#[must_use]
pub fn confidence_share(share: f64) -> Option<Confidence> {
    const MEDIUM_FROM: f64 = 0.5;
    const HIGH_FROM: f64 = 0.8;
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    Some(if share >= HIGH_FROM {
        Confidence::High
    } else if share >= MEDIUM_FROM {
        Confidence::Medium
    } else {
        Confidence::Low
    })
}

fn fits(part: &'static str, text: &str, max: usize) -> Result<(), BadQuestion> {
    if text.len() <= max { Ok(()) } else { Err(BadQuestion::TooLong { part, bytes: text.len(), max }) }
}

fn printable(text: &str) -> String {
    shown::lines(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str, context: &str, options: &[&str]) -> Result<ValidQuestion, BadQuestion> {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let (question, decision_context) = (question.to_owned(), context.to_owned());
        ValidQuestion {
            question,
            decision_context,
            confidence: Confidence::Low,
            options,
            block_reason: BlockReason::default(),
        }
        .checked()
    }

    #[test]
    fn a_question_within_the_bounds_is_taken_without_what_moves_a_cursor() {
        let options: Vec<String> = (0..OPTIONS_MAX).map(|n| format!("{n}")).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let taken = asked(" Which\x1b[2J? \n", &"c".repeat(CONTEXT_BYTES_MAX), &options).unwrap();
        assert_eq!((taken.question.as_str(), taken.options.len()), ("Which\\u{1b}[2J?", OPTIONS_MAX));
        assert!(asked(&"q".repeat(QUESTION_BYTES_MAX), "", &[&"o".repeat(OPTION_BYTES_MAX)]).is_ok());
    }

    #[test]
    fn a_question_over_a_bound_is_refused_and_not_cut() {
        let too_many = vec!["x"; OPTIONS_MAX + 1];
        let long = |length: usize| "x".repeat(length + 1);
        let cases: [(Result<ValidQuestion, BadQuestion>, &str); 7] = [
            (asked(" \n", "", &[]), "no text"),
            (asked(&long(QUESTION_BYTES_MAX), "", &[]), "its question has 2049 bytes"),
            (asked("q", &long(CONTEXT_BYTES_MAX), &[]), "its context has"),
            (asked("q", "", &too_many), "17 options"),
            (asked("q", "", &["a", " "]), "empty"),
            (asked("q", "", &[&long(OPTION_BYTES_MAX)]), "its option has"),
            (asked("q", "", &["a", "b", "a "]), "\"a\" is there twice"),
        ];
        for (refused, why) in cases {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn a_share_of_one_is_a_confidence() {
        for (share, confidence) in [
            (0.0, Some(Confidence::Low)),
            (0.5, Some(Confidence::Medium)),
            (0.8, Some(Confidence::High)),
            (1.0, Some(Confidence::High)),
            (1.1, None),
            (-0.1, None),
            (f64::NAN, None),
        ] {
            assert_eq!(confidence_share(share), confidence, "{share}");
        }
    }
}
