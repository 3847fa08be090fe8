//! The completion of a gate's turn in an output: a JSON object that begins a line, or is in a `json` code block
//! (GATE-21).
//!
//! The last one counts: programs say what they are about to do before they say what came of it. What other code blocks
//! quote says nothing.

use holdpoint_protocol::state::Outcome;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{
    PrintedResult,
    object::Object,
    visible::{Fence, fence},
};

/// The most that a completion may be long, in bytes: several times what a handoff takes.
const OBJECT_BYTES_MAX: usize = 256 << 10;
/// How much of an object that is not whole is looked at.
const LOOKED_AT: usize = 1 << 10;
/// The name under which a program may put it.
const NAME: &str = "completion";

/// What was meant as a completion and is not whole.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the completion is not one whole JSON object of at most {} KiB: {why}", OBJECT_BYTES_MAX >> 10)]
pub(crate) struct BadCompletion {
    /// It was right as far as it goes.
    pub(crate) cut_off: bool,
    why: String,
}

/// The last completion on standard output.
pub(crate) fn completion(stdout: &[u8]) -> Option<Result<Map<String, Value>, BadCompletion>> {
    let meant = |head: &str| ["\"outcome\"", "\"completion\""].iter().any(|key| head.contains(key));
    match last(stdout, of, meant)? {
        // Its fields were not looked at where it came broken and was repaired.
        PrintedResult::Whole(map) => Some(Ok(of(map.clone()).unwrap_or(map))),
        PrintedResult::Broken { cut_off, details, .. } => Some(Err(BadCompletion { cut_off, why: details })),
    }
}

/// The last JSON object on standard output, whatever it is: what a program prints that was asked for nothing else.
#[must_use]
pub fn reply(stdout: &[u8]) -> Option<PrintedResult> {
    last(stdout, Some, |_| true)
}

/// The last object that `select` takes, or that is broken and was `meant` as one by its first line.
fn last(
    stdout: &[u8],
    select: impl Fn(Map<String, Value>) -> Option<Map<String, Value>>,
    meant: impl Fn(&str) -> bool,
) -> Option<PrintedResult> {
    let text = String::from_utf8_lossy(stdout);
    let (mut found, mut open, mut at) = (None::<Object<'_>>, None::<Open>, 0);
    while let Some(line) = text.get(at..).and_then(|rest| rest.split_inclusive('\n').next()) {
        let next = at + line.len();
        match (open, fence(line)) {
            (Some(block), Some((closing, true))) if block.fence.closes_with(closing) => open = None,
            (None, Some((opening, _))) => open = Some(Open { fence: opening, is_json: is_json(line) }),
            (Some(Open { is_json: false, .. }), _) => {}
            _ if line.trim_start().starts_with('{') => {
                let (object, end) = object(&text, at, &select, &meant).unwrap_or((None, next));
                found = object.or(found);
                at = end.max(next);
                continue;
            }
            _ => {}
        }
        at = next;
    }
    // Only the one that counts is looked at closely: there may be as many as lines.
    found.map(Object::into_printed)
}

/// A code block that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    fence: Fence,
    is_json: bool,
}

fn is_json(line: &str) -> bool {
    line.trim().trim_start_matches(['`', '~']).trim().eq_ignore_ascii_case("json")
}

/// What the object that begins at `at` is, and where it ends.
fn object<'a>(
    text: &'a str,
    at: usize,
    select: impl Fn(Map<String, Value>) -> Option<Map<String, Value>>,
    meant: impl Fn(&str) -> bool,
) -> Option<(Option<Object<'a>>, usize)> {
    let rest = text.get(at..)?;
    let window = rest.get(..rest.floor_char_boundary(OBJECT_BYTES_MAX))?;
    let mut values = serde_json::Deserializer::from_str(window).into_iter::<Value>();
    if let Some(Ok(Value::Object(map))) = values.next() {
        return Some((select(map).map(Object::Whole), at + values.byte_offset()));
    }
    let head = rest.get(..rest.floor_char_boundary(LOOKED_AT))?.lines().next()?;
    meant(head).then_some((Some(Object::Broken(rest)), at))
}

/// A completion is named so, or has the fields that only a completion has.
fn of(mut map: Map<String, Value>) -> Option<Map<String, Value>> {
    if let Some(Value::Object(inner)) = map.remove(NAME) {
        return Some(inner);
    }
    let named = map.get("type").and_then(Value::as_str) == Some(NAME);
    let outcome = map.get("outcome");
    let stands = outcome.is_some_and(|outcome| Outcome::deserialize(outcome).is_ok());
    let shaped = map.contains_key("summary") && (outcome.is_some() || map.contains_key("blockers"));
    (named || stands || shaped).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(stdout: &str) -> Option<String> {
        let found = completion(stdout.as_bytes())?;
        Some(found.map_or_else(|_| "broken".to_owned(), |map| map["summary"].as_str().unwrap().to_owned()))
    }

    #[test]
    fn the_last_completion_counts_wherever_a_program_may_put_it() {
        let table = [
            ("nothing\n", None),
            ("{\"outcome\": \"complete\", \"summary\": \"a\"}", Some("a")),
            (
                "first\n{\"outcome\": \"blocked\",\n \"summary\": \"a\"}\nthen\n{\"completion\": {\"summary\": \"b\"}}\n",
                Some("b"),
            ),
            ("done:\n```json\n{\n  \"summary\": \"a\", \"blockers\": []\n}\n```\n", Some("a")),
            ("```\n{\"outcome\": \"complete\", \"summary\": \"quoted\"}\n```\n", None),
            ("````diff\n```json\n{\"outcome\": \"complete\", \"summary\": \"quoted\"}\n```\n````\n", None),
            ("say {\"outcome\": \"complete\", \"summary\": \"inline\"}\n", None),
            ("{\"summary\": \"of something else\"}\n", None),
            ("{\"outcome\": \"complete\", \"summary\": \n", Some("broken")),
            ("{\"outcome\": \"complete\", \"summary\": \"a\"}\n{\"outcome\": \"blo", Some("broken")),
            ("{\"type\": \"completion\", \"summary\": \"a\"}", Some("a")),
        ];
        for (stdout, expected) in table {
            assert_eq!(summary(stdout).as_deref(), expected, "{stdout}");
        }
    }
}
