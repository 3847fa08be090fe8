//! When an answer that its author doubts becomes a question by itself (FLY-I7). Pure.

use holdpoint_protocol::{artifact::Confidence, reason::BlockReason};

use crate::backend::question::{CONTEXT_BYTES_MAX, ValidQuestion};

/// What a person can answer to a doubtful answer.
const OPTIONS: [&str; 2] = ["go on with it", "take another way"];

/// Whether an answer of this confidence is to be asked about, where the plan asks below `ask_below`. An answer that does
/// not say how sure it is, and a plan that does not ask, give no question.
#[must_use]
pub fn is_unsure(confidence: Option<Confidence>, ask_below: Option<Confidence>) -> bool {
    match (confidence, ask_below) {
        (Some(confidence), Some(below)) => rank(confidence) < rank(below),
        _ => false,
    }
}

/// The question that a doubtful answer becomes.
#[must_use]
pub fn doubt(confidence: Confidence, said: &str) -> ValidQuestion {
    ValidQuestion {
        question: format!("The confidence in this answer is {confidence}. Is the work on the right way?"),
        decision_context: said.get(..said.floor_char_boundary(CONTEXT_BYTES_MAX)).unwrap_or_default().to_owned(),
        confidence,
        options: OPTIONS.map(str::to_owned).to_vec(),
        block_reason: BlockReason::default(),
    }
}

fn rank(confidence: Confidence) -> u8 {
    match confidence {
        Confidence::Low => 0,
        Confidence::Medium => 1,
        Confidence::High => 2,
    }
}

#[cfg(test)]
mod tests {
    use Confidence::{High, Low, Medium};

    use super::*;

    #[test]
    fn an_answer_is_asked_about_only_below_what_the_plan_says() {
        for (confidence, ask_below, asked) in [
            (Some(Low), Some(Low), false),
            (Some(Low), Some(Medium), true),
            (Some(Low), Some(High), true),
            (Some(Medium), Some(Low), false),
            (Some(Medium), Some(Medium), false),
            (Some(Medium), Some(High), true),
            (Some(High), Some(Low), false),
            (Some(High), Some(Medium), false),
            (Some(High), Some(High), false),
            (None, Some(High), false),
            (Some(Low), None, false),
            (None, None, false),
        ] {
            assert_eq!(is_unsure(confidence, ask_below), asked, "{confidence:?} {ask_below:?}");
        }
    }

    #[test]
    fn the_question_of_a_doubtful_answer_keeps_to_the_bounds() {
        let question = doubt(Low, &"ä".repeat(CONTEXT_BYTES_MAX));
        assert_eq!(question.clone().checked().map(|checked| checked.question), Ok(question.question));
    }
}
