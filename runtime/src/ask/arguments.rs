//! What can be typed behind `holdpoint-ask`. Pure.

use std::time::Duration;

use super::message::{PATIENCE_DEFAULT, Wanted};
use crate::backend::question::confidence_word;

/// What `--help` prints.
pub const USAGE: &str = "\
Asks the people behind this turn. For agents' programs, inside their turn.

Usage: holdpoint-ask question TEXT [--option TEXT]... [--confidence low|medium|high] [--context TEXT] [--patience TIME]
       holdpoint-ask help TEXT

--option      an answer that you can work with; may be repeated
--confidence  how sure you are of your own best guess (default: low)
--context     what depends on the answer
--patience    how long to wait for an answer, such as 60s (the default) or 5m; 0s: not at all

An answer that comes in time is printed on standard output, and your program goes on. Otherwise the question becomes
the turn's result: holdpoint-ask exits with 75, and your program should end. What it left in its files is kept, and the
next turn has the answer. A call for help is the turn's result at once.

Exit codes: 0 answered, 75 the question became the turn's result, 2 it cannot be asked so, 3 nobody listens.
";

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// Print the usage.
    Usage,
    /// Ask this.
    Ask(Wanted),
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Typed, String> {
    let mut arguments = arguments.into_iter();
    match arguments.next().as_deref() {
        None => Err("nothing is asked".to_owned()),
        Some("--help" | "-h") => Ok(Typed::Usage),
        Some("question") => question(arguments).map(Typed::Ask),
        Some("help") => help(arguments).map(Typed::Ask),
        Some("context") => Err("context is not served in this version; read the files of the clone".to_owned()),
        Some(other) => Err(format!("{other:?} is neither `question` nor `help`")),
    }
}

fn question(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let (mut texts, mut options, mut confidence, mut context) = (Vec::new(), Vec::new(), None, String::new());
    let mut waits = PATIENCE_DEFAULT;
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (argument.clone(), None),
        };
        let mut value = || inline.clone().or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--option" => options.push(value()?),
            "--context" => context = value()?,
            "--patience" => waits = patience(&value()?)?.as_secs(),
            "--confidence" => {
                let word = value()?;
                let unknown = || format!("{word:?} is no confidence: low, medium or high");
                confidence = Some(confidence_word(&word).ok_or_else(unknown)?);
            }
            "--" => texts.extend(arguments.by_ref()),
            other if other.starts_with("--") => return Err(format!("{other} is no option of `question`")),
            _ => texts.push(argument),
        }
    }
    Ok(Wanted::Question { text: one("question", texts)?, options, confidence, context, patience: waits })
}

fn help(arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let texts: Vec<String> = arguments.skip_while(|argument| argument == "--").collect();
    Ok(Wanted::Help { text: one("help", texts)? })
}

fn one(of: &str, texts: Vec<String>) -> Result<String, String> {
    match <[String; 1]>::try_from(texts) {
        Ok([text]) => Ok(text),
        Err(texts) => Err(format!("`{of}` takes one text, and {} were given: put it in quotes", texts.len())),
    }
}

/// A time such as `60s`, `5m`, `1h` or `60`.
fn patience(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no time: write 60s, 5m or 1h");
    let (digits, seconds) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) if text.ends_with('m') => (digits, 60),
        Some(digits) if text.ends_with('h') => (digits, 3600),
        Some(digits) => (digits, 1),
        None => (text, 1),
    };
    let count: u32 = digits.parse().map_err(|_| bad())?;
    Ok(Duration::from_secs(u64::from(count) * seconds))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::artifact::Confidence;

    use super::*;

    fn typed(arguments: &[&str]) -> Result<Typed, String> {
        read(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn a_question_has_options_confidence_and_context() {
        let wanted = Wanted::Question {
            text: "Which?".to_owned(),
            options: vec!["a=1".to_owned(), "b".to_owned()],
            confidence: Some(Confidence::Medium),
            context: "why".to_owned(),
            patience: PATIENCE_DEFAULT,
        };
        let line = ["question", "--option=a=1", "Which?", "--option", "b", "--confidence", "medium", "--context=why"];
        assert_eq!(typed(&line), Ok(Typed::Ask(wanted)));
        let plain = |patience| {
            let (text, context) = ("--odd?".to_owned(), String::new());
            Ok(Typed::Ask(Wanted::Question { text, options: vec![], confidence: None, context, patience }))
        };
        assert_eq!(typed(&["question", "--patience", "5m", "--", "--odd?"]), plain(300));
        assert_eq!(typed(&["question", "--patience=0s", "--", "--odd?"]), plain(0));
        assert_eq!(typed(&["help", "stuck"]), Ok(Typed::Ask(Wanted::Help { text: "stuck".to_owned() })));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (arguments, why) in [
            (&[][..], "nothing"),
            (&["ask"], "neither"),
            (&["question"], "0 were given"),
            (&["question", "a", "b"], "2 were given"),
            (&["question", "a", "--option"], "needs a value"),
            (&["question", "a", "--options", "b"], "no option"),
            (&["question", "a", "--confidence", "sure"], "no confidence"),
            (&["question", "a", "--patience", "soon"], "no time"),
            (&["question", "a", "--patience", "ß"], "no time"),
            (&["context", "file", "x"], "not served"),
        ] {
            let refused = typed(arguments).unwrap_err();
            assert!(refused.contains(why), "{arguments:?}: {refused}");
        }
    }
}
