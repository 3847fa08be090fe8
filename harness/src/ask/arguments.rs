//! What can be typed behind `holdpoint-ask`. Pure.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::message::{PATIENCE_DEFAULT, RequestKind};
use crate::{backend::question::confidence_word, context::pull::Slice};

/// What `--help` prints.
pub const USAGE: &str = "\
Reaches the people and the harness behind this turn. For agents' programs, inside their turn.

Usage: holdpoint-ask complete [--outcome complete|needs_review|blocked] --summary TEXT [--blocker TEXT]...
                              [--block-reason needs_human_input|external_dependency|scope_change]
                              [--rejection-notes TEXT] [--checkpoint NAME=pass|fail|skip[:WHY]]... [--metadata JSON]
       holdpoint-ask validate [the options of complete]
       holdpoint-ask plan [--target PATH]... [--validate COMMAND]... [--covers CRITERION]...
       holdpoint-ask question TEXT [--option TEXT]... [--confidence low|medium|high] [--context TEXT] [--patience TIME]
       holdpoint-ask help TEXT
       holdpoint-ask task
       holdpoint-ask context [PART]
       holdpoint-ask context file PATH | search TEXT | symbol NAME
       holdpoint-ask status

complete: completes the gate whose turn this is. Prints what was recorded as JSON; a warning goes to standard error.
What is wrong is printed there as JSON, {\"error\": CODE, \"message\": ..., \"example\": ...}: correct the call and send it again.
The last completion counts, whatever you print, if your program then ends with exit code 0.

--outcome          what the turn comes to; without it the workflow's default
--summary          one or two sentences on what you did
--blocker          one thing that has to change, or is in the way; needed for needs_review and blocked; may be repeated
--block-reason     what kind of obstacle is in the way; for blocked only
--rejection-notes  what else the next agent to get the work has to know
--checkpoint       what you say of a checkpoint of the gate that only you can know; may be repeated
--metadata         a JSON object of your own

validate: says whether such a completion would be taken, by the same rules, and records nothing. It needs no summary.

The document of a gate that wants one is the file $HOLDPOINT_DOCUMENT_FILE: write it before you complete the gate.

plan: says what you mean to do in a turn that makes work, for those who look on. It decides nothing; say it again when it changes.

--target    a path that you mean to touch; may be repeated
--validate  a command that you mean to validate with; may be repeated
--covers    the id of a criterion that you mean to meet; may be repeated

question, help: ask the people behind this turn.

--option      an answer that you can work with; may be repeated
--confidence  how sure you are of your own best guess (default: low)
--context     what depends on the answer
--patience    how long to wait for an answer, such as 60s (the default) or 5m; 0s: not at all

An answer that comes in time is printed on standard output, and your program goes on. Otherwise the question becomes
the turn's result: holdpoint-ask exits with 75, and your program should end. What it left in its files is kept, and the
next turn has the answer. A call for help is the turn's result at once.

task: prints the whole turn as JSON. context: lists the parts of it, or prints one: goal, criteria, tests, gate, guidance,
limits, feedback, clarifications, dependencies, map (of the repository), diff. context file, search and symbol look into the
repository as it was when the turn began: a file, the lines that have a text, definitions by a part of their names. status: prints how the turn stands, and what ends it.

Exit codes: 0 done or answered, 75 the question became the turn's result, 2 the call is wrong, 3 nobody listens.
";

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// Print the usage.
    Usage,
    /// Ask this.
    Ask(RequestKind),
    /// Print the turn.
    Task,
    /// Print a part of the turn, or their names.
    Context(Option<String>),
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
        Some("complete") => {
            completion("complete", arguments).map(|completion| Typed::Ask(RequestKind::Complete { completion }))
        }
        Some("validate") => {
            completion("validate", arguments).map(|completion| Typed::Ask(RequestKind::Validate { completion }))
        }
        Some("plan") => plan(arguments).map(Typed::Ask),
        Some("question") => question(arguments).map(Typed::Ask),
        Some("help") => help(arguments).map(Typed::Ask),
        Some("status") => nothing("status", arguments).map(|()| Typed::Ask(RequestKind::Status)),
        Some("task") => nothing("task", arguments).map(|()| Typed::Task),
        Some("context") => context(arguments),
        Some(other) => Err(format!(
            "{other:?} is none of `complete`, `validate`, `plan`, `question`, `help`, `task`, `context` and `status`"
        )),
    }
}

/// A completion, as it was typed: what is wrong with it is the harness's to say.
fn completion(of: &str, mut arguments: impl Iterator<Item = String>) -> Result<Map<String, Value>, String> {
    let (mut completion, mut blockers, mut stated) = (Map::new(), Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let (name, value) = option(&argument, &mut arguments);
        let key = match name.as_str() {
            "--outcome" => "outcome",
            "--summary" => "summary",
            "--block-reason" => "block_reason",
            "--rejection-notes" => "rejectionNotes",
            "--blocker" => {
                blockers.push(Value::from(value?));
                continue;
            }
            "--checkpoint" => {
                stated.push(checkpoint(&value?)?);
                continue;
            }
            "--metadata" => {
                let metadata: Map<String, Value> =
                    serde_json::from_str(&value?).map_err(|error| format!("--metadata is no JSON object: {error}"))?;
                completion.insert("metadata".to_owned(), metadata.into());
                continue;
            }
            other if other.starts_with("--") => return Err(format!("{other} is no option of `{of}`")),
            other => return Err(format!("`{of}` takes options only: put {other:?} behind --summary or --blocker")),
        };
        if completion.insert(key.to_owned(), value?.into()).is_some() {
            return Err(format!("{name} is there twice"));
        }
    }
    if !blockers.is_empty() {
        completion.insert("blockers".to_owned(), blockers.into());
    }
    if !stated.is_empty() {
        completion.insert("checkpoints".to_owned(), stated.into());
    }
    Ok(completion)
}

/// `NAME=STATUS` or `NAME=STATUS:WHY`, as a completion has it.
fn checkpoint(typed: &str) -> Result<Value, String> {
    let (name, rest) = typed
        .split_once('=')
        .ok_or_else(|| format!("--checkpoint {typed:?}: write NAME=pass, NAME=fail:WHY or NAME=skip:WHY"))?;
    let (status, message) = rest.split_once(':').unwrap_or((rest, ""));
    Ok(json!({"name": name, "status": status, "message": message.trim()}))
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<RequestKind, String> {
    let (mut targets, mut validation, mut coverage) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let (name, value) = option(&argument, &mut arguments);
        let items = match name.as_str() {
            "--target" => &mut targets,
            "--validate" => &mut validation,
            "--covers" => &mut coverage,
            other if other.starts_with("--") => return Err(format!("{other} is no option of `plan`")),
            other => {
                return Err(format!(
                    "`plan` takes options only: put {other:?} behind --target, --validate or --covers"
                ));
            }
        };
        items.push(value?);
    }
    if targets.is_empty() && validation.is_empty() && coverage.is_empty() {
        return Err("`plan` says nothing: give it --target, --validate or --covers".to_owned());
    }
    Ok(RequestKind::Plan { targets, validation, coverage })
}

/// An option with its value, which follows `=` or is the next argument.
fn option(argument: &str, rest: &mut impl Iterator<Item = String>) -> (String, Result<String, String>) {
    match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name.to_owned(), Ok(value.to_owned())),
        _ if argument.starts_with("--") => {
            (argument.to_owned(), rest.next().ok_or_else(|| format!("{argument} needs a value")))
        }
        _ => (argument.to_owned(), Ok(argument.to_owned())),
    }
}

fn nothing(of: &str, mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    arguments.next().map_or(Ok(()), |other| Err(format!("`{of}` takes no arguments, and {other:?} was given")))
}

fn context(mut arguments: impl Iterator<Item = String>) -> Result<Typed, String> {
    let part = arguments.next();
    if let Some((named, slice)) = part.as_deref().and_then(|part| Some((part, Slice::of(part)?))) {
        let name = one(&format!("context {named}"), arguments.collect())?;
        return Ok(Typed::Ask(RequestKind::Pull { slice, name }));
    }
    match arguments.next() {
        None => Ok(Typed::Context(part)),
        Some(other) => Err(format!("`context` takes the name of one part, and {other:?} was given as well")),
    }
}

fn question(mut arguments: impl Iterator<Item = String>) -> Result<RequestKind, String> {
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
    Ok(RequestKind::Question { text: one("question", texts)?, options, confidence, context, patience: waits })
}

fn help(arguments: impl Iterator<Item = String>) -> Result<RequestKind, String> {
    let texts: Vec<String> = arguments.skip_while(|argument| argument == "--").collect();
    Ok(RequestKind::Help { text: one("help", texts)? })
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
    use serde_json::json;

    use super::*;

    fn typed(arguments: &[&str]) -> Result<Typed, String> {
        read(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn a_question_has_options_confidence_and_context() {
        let wanted = RequestKind::Question {
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
            Ok(Typed::Ask(RequestKind::Question { text, options: vec![], confidence: None, context, patience }))
        };
        assert_eq!(typed(&["question", "--patience", "5m", "--", "--odd?"]), plain(300));
        assert_eq!(typed(&["question", "--patience=0s", "--", "--odd?"]), plain(0));
        assert_eq!(typed(&["help", "stuck"]), Ok(Typed::Ask(RequestKind::Help { text: "stuck".to_owned() })));
    }

    #[test]
    fn a_completion_is_what_was_typed_however_wrong_it_is() {
        let line = ["complete", "--outcome", "maybe", "--blocker=a=1", "--blocker", "--odd", "--rejection-notes", "n"];
        let Ok(Typed::Ask(RequestKind::Complete { completion })) = typed(&line) else { panic!("a completion") };
        let expected = json!({"outcome": "maybe", "blockers": ["a=1", "--odd"], "rejectionNotes": "n"});
        assert_eq!(Value::from(completion), expected);
        let line = ["complete", "--summary=", "--metadata", r#"{"tokens": 7}"#];
        let Ok(Typed::Ask(RequestKind::Complete { completion })) = typed(&line) else { panic!("a completion") };
        assert_eq!(Value::from(completion), json!({"summary": "", "metadata": {"tokens": 7}}));
        let line = ["validate", "--checkpoint", "done=pass"];
        let Ok(Typed::Ask(RequestKind::Validate { completion })) = typed(&line) else { panic!("a completion") };
        assert_eq!(
            Value::from(completion),
            json!({"checkpoints": [{"name": "done", "status": "pass", "message": ""}]})
        );
        assert_eq!(typed(&["status"]), Ok(Typed::Ask(RequestKind::Status)));
        assert_eq!((typed(&["task"]), typed(&["context"])), (Ok(Typed::Task), Ok(Typed::Context(None))));
        assert_eq!(typed(&["context", "goal"]), Ok(Typed::Context(Some("goal".to_owned()))));
        let pull = RequestKind::Pull { slice: Slice::Search, name: "fn leave".to_owned() };
        assert_eq!(typed(&["context", "search", "fn leave"]), Ok(Typed::Ask(pull)));
    }

    #[test]
    fn a_plan_has_targets_validation_and_coverage() {
        let line =
            ["plan", "--target", "src/a.rs", "--target=src/b.rs", "--validate", "cargo test", "--covers", "unit"];
        let wanted = RequestKind::Plan {
            targets: vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()],
            validation: vec!["cargo test".to_owned()],
            coverage: vec!["unit".to_owned()],
        };
        assert_eq!(typed(&line), Ok(Typed::Ask(wanted)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (arguments, why) in [
            (&[][..], "nothing"),
            (&["ask"], "none of"),
            (&["question"], "0 were given"),
            (&["question", "a", "b"], "2 were given"),
            (&["question", "a", "--option"], "needs a value"),
            (&["question", "a", "--options", "b"], "no option"),
            (&["question", "a", "--confidence", "sure"], "no confidence"),
            (&["question", "a", "--patience", "soon"], "no time"),
            (&["question", "a", "--patience", "ß"], "no time"),
            (&["plan"], "says nothing"),
            (&["plan", "all of it"], "options only"),
            (&["plan", "--covers"], "needs a value"),
            (&["plan", "--goal", "x"], "no option"),
            (&["context", "goal", "x"], "one part"),
            (&["context", "file"], "0 were given"),
            (&["task", "w"], "no arguments"),
            (&["complete", "done"], "options only"),
            (&["complete", "--note", "x"], "no option"),
            (&["complete", "--summary"], "needs a value"),
            (&["complete", "--outcome", "a", "--outcome=b"], "twice"),
            (&["complete", "--metadata", "[1]"], "no JSON object"),
        ] {
            let refused = typed(arguments).unwrap_err();
            assert!(refused.contains(why), "{arguments:?}: {refused}");
        }
    }
}
