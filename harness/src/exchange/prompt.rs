//! The prompts for a program whose result cannot be used (RETRY-3, RETRY-5). Pure.
//!
//! Each prompt is shorter than the last, and the least of them is the template of what is missing. Templates are in a
//! code fence and are no JSON: a program that echoes them has said nothing.

use std::fmt::Write;

use super::problem::ResultProblem;

/// Bytes of what is wrong that the first retry quotes; each later one quotes half as much.
const DETAILS_BYTES: usize = 2 << 10;

/// What is asked for, whatever is wrong.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// A template of the whole result.
    pub whole: &'a str,
    /// A template of the fields that are missing.
    pub missing: &'a str,
    /// What else ends the turn well, in a sentence; empty: nothing.
    pub instead: &'a str,
    /// Where to look for the task in a conversation that begins with this prompt; empty where it goes on.
    pub context: &'a str,
    /// A result is wanted behind every change, and not only where something is wrong with it.
    pub wants_result: bool,
}

/// The prompt for a program that has to put its files right.
#[must_use]
pub fn for_files(problem: &ResultProblem, ask: &PromptRequest<'_>) -> String {
    let wrong = problem.details.get(..problem.details.floor_char_boundary(DETAILS_BYTES)).unwrap_or_default();
    let mut text =
        format!("Your work is kept, but the files that you left cannot be handed off.\n\nError: {wrong}\n\n");
    if !ask.context.is_empty() {
        let _ = write!(text, "{}\n\n", ask.context);
    }
    text.push_str("Put that right, leave the rest of your work as it is, and then end with exit code 0.\n");
    if ask.wants_result {
        let _ = write!(
            text,
            "\nPrint the whole result again in the end, as one JSON object that begins a line of its own:\n\n{}",
            fenced(ask.whole)
        );
    }
    text
}

/// The prompt for a program whose result is not ready to be handed off.
#[must_use]
pub fn for_checkpoints(feedback: &str, ask: &PromptRequest<'_>) -> String {
    let context = if ask.context.is_empty() { String::new() } else { format!("\n{}\n", ask.context) };
    format!(
        "{feedback}{context}\nPut that right, hand over the result again as you did, and then end with exit code 0.\n"
    )
}

/// The longest prompt.
#[must_use]
pub fn whole(problem: &ResultProblem, ask: &PromptRequest<'_>) -> String {
    at(problem, ask, 1, DETAILS_BYTES)
}

/// The prompt of a retry, from 1, that has fewer than `most` bytes; `None`: only [`least`] may.
#[must_use]
pub fn shorter(problem: &ResultProblem, ask: &PromptRequest<'_>, retry: u32, most: usize) -> Option<String> {
    let room = DETAILS_BYTES >> retry.saturating_sub(1).min(16);
    let fixed = at(problem, ask, retry, 0).len();
    // The words "what is wrong" take some room of their own.
    let details = room.min(most.saturating_sub(fixed + 1).saturating_sub(WRONG.len()));
    let prompt = at(problem, ask, retry, details);
    // No matter what is wrong next, the last prompt has to be shorter.
    (prompt.len() < most && prompt.len() > fenced(ask.whole).len().max(least(problem, ask).len())).then_some(prompt)
}

/// The template of what is missing, and nothing else.
#[must_use]
pub fn least(problem: &ResultProblem, ask: &PromptRequest<'_>) -> String {
    fenced(if problem.kept.is_some() { ask.missing } else { ask.whole })
}

fn fenced(template: &str) -> String {
    format!("```\n{template}\n```\n")
}

const WRONG: &str = "Error: \n\n";

/// A prompt with at most this many bytes of what is wrong. Words around it get fewer with each retry.
fn at(problem: &ResultProblem, ask: &PromptRequest<'_>, retry: u32, details: usize) -> String {
    let mut text = String::new();
    let kept = problem.kept.is_some();
    match retry {
        0 | 1 => {
            text.push_str("Your work is kept, but the result that you printed cannot be used.\n\n");
        }
        2 => text.push_str("The result that you printed cannot be used, again.\n\n"),
        3 => text.push_str("The result cannot be used.\n\n"),
        _ => {}
    }
    let wrong = problem.details.get(..problem.details.floor_char_boundary(details)).unwrap_or_default();
    if !wrong.is_empty() {
        let _ = write!(text, "Error: {wrong}\n\n");
    }
    if retry <= 1 {
        for words in [ask.context, ask.instead].into_iter().filter(|words| !words.is_empty()) {
            let _ = write!(text, "{words}\n\n");
        }
    }
    match retry {
        0 | 1 => text.push_str(if kept {
            "The rest of it was read. Do not begin the work again: print only these fields, as one JSON object that begins a line \
             of its own, then end with exit code 0:\n\n"
        } else {
            "Do not begin the work again: print only the result, as one JSON object that begins a line of its own, then end with \
             exit code 0:\n\n"
        }),
        2 => text.push_str("Print one JSON object that begins a line of its own, and nothing else:\n\n"),
        3 => text.push_str("Print this JSON object only:\n\n"),
        _ => text.push_str("JSON only:\n\n"),
    }
    text.push_str(&least(problem, ask));
    text
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::artifact::ExchangeErrorKind;

    use super::*;

    const ASK: PromptRequest<'_> = PromptRequest {
        whole: "{\"a\": <text>, \"b\": <text>}",
        missing: "{\"b\": <text>}",
        instead: "",
        context: "Look.",
        wants_result: false,
    };

    #[test]
    fn a_program_that_left_unusable_files_is_asked_to_put_them_right_and_for_no_result_unless_it_has_to_print_one() {
        let problem = ResultProblem::of_files("lib/.git is a repository: remove it");
        let prompt = for_files(&problem, &ASK);
        assert!(prompt.contains("Error: lib/.git is a repository: remove it") && prompt.contains("Look."), "{prompt}");
        assert!(prompt.contains("Put that right") && !prompt.contains("JSON"), "{prompt}");
        let prompt = for_files(&problem, &PromptRequest { wants_result: true, ..ASK });
        assert!(prompt.contains(&fenced(ASK.whole)), "{prompt}");
    }

    #[test]
    fn the_first_prompt_says_what_is_wrong_and_the_least_only_what_is_missing() {
        let kept = Some(serde_json::Map::new());
        let problem =
            ResultProblem { kept, ..ResultProblem::new(ExchangeErrorKind::MissingField, "data.b is missing") };
        let first = shorter(&problem, &ASK, 1, usize::MAX).unwrap();
        assert!(first.contains("Error: data.b is missing") && first.contains("Look."), "{first}");
        assert!(first.contains("{\"b\": <text>}") && !first.contains("\"a\""), "{first}");
        assert_eq!(least(&problem, &ASK), "```\n{\"b\": <text>}\n```\n");
    }
}
