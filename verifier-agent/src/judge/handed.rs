//! What a judge that ended well handed over: a verdict object, or an envelope with one; and what is wrong with it (RETRY-2).

use holdpoint_harness::{
    backend::markers::{self, PrintedResult},
    exchange::{
        Expected, ResultProblem,
        envelope::{self, Before, Whole},
    },
};
use holdpoint_protocol::{artifact::ExchangeErrorKind, envelope::EnvelopeStatus, facts::Verdict};
use serde_json::{Map, Value, json};

use super::{Answer, Judged, answer_in, of_answer, read_answer};

/// What a judge that ended well handed over, and what is wrong with it. A judge that was asked again may print the
/// object in a code block, and among other words.
pub(super) fn handed(
    answer: &[u8],
    envelope: Option<PrintedResult>,
    expected: &Expected,
    before: Before<'_>,
) -> (Judged, Option<ResultProblem>) {
    let reply = || if before.asked { markers::reply(answer).map(enveloped) } else { None };
    let Some(printed) = envelope.or_else(reply) else {
        let judged = read_answer(answer);
        let problem = match answer_in(answer) {
            Ok(_) if judged.reason.is_some() => Some(no_evidence()),
            Ok(_) if expected.required => envelope::read(None, expected, before).err(),
            Ok(_) => None,
            Err(error) => Some(no_verdict(answer, &error, expected)),
        };
        return (judged, problem);
    };
    match envelope::read(Some(&printed), expected, before) {
        Ok(Some(Whole { status: EnvelopeStatus::Success, data })) => {
            let judged = of_answer(of_data(&data));
            let problem = judged.reason.is_some().then(no_evidence);
            (judged, problem)
        }
        Ok(_) => (Judged::inconclusive(None, "the judge says that it failed"), None),
        Err(problem) => {
            let note = format!("the judge handed over no verdict: {}", problem.details);
            (Judged::inconclusive(None, note), Some(problem))
        }
    }
}

fn no_evidence() -> ResultProblem {
    ResultProblem::new(
        ExchangeErrorKind::Semantic,
        "`verdict` is `pass`, and `evidence` is empty: name what shows it, or do not say pass",
    )
}

/// A verdict object by itself, as the data of an envelope.
fn enveloped(printed: PrintedResult) -> PrintedResult {
    match printed {
        PrintedResult::Whole(map) if !map.contains_key("component") && !map.contains_key("data") => {
            let whole = json!({"component": "judge", "status": "success", "data": map});
            PrintedResult::Whole(whole.as_object().cloned().unwrap_or_default())
        }
        other => other,
    }
}

/// What is wrong with an answer that is no verdict object.
fn no_verdict(answer: &[u8], error: &serde_json::Error, expected: &Expected) -> ResultProblem {
    let details = format!("it is not one verdict object: {error}");
    let begins = answer.trim_ascii_start().starts_with(b"{");
    match serde_json::from_slice::<Value>(answer) {
        Ok(Value::Object(map)) => {
            let lacks = expected.shape.lacks(&map, &|_| true);
            let missing = lacks.iter().filter(|lack| lack.kind == ExchangeErrorKind::MissingField);
            let missing: Vec<String> = missing.map(|lack| format!("data.{}", lack.field)).collect();
            let kind = if missing.is_empty() { ExchangeErrorKind::Semantic } else { ExchangeErrorKind::MissingField };
            ResultProblem { missing, ..ResultProblem::new(kind, details) }
        }
        Err(error) if error.is_eof() && begins => ResultProblem::new(ExchangeErrorKind::Partial, details),
        Ok(_) | Err(_) => ResultProblem::new(ExchangeErrorKind::Malformed, details),
    }
}

/// The verdict in an envelope's data, which was held against its shape.
fn of_data(data: &Map<String, Value>) -> Answer {
    let texts = |keys: &[&str]| -> Vec<String> {
        let values = keys.iter().filter_map(|key| data.get(*key));
        let items = values.flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        });
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Answer {
        verdict: data
            .get("verdict")
            .and_then(|word| serde_json::from_value(word.clone()).ok())
            .unwrap_or(Verdict::Inconclusive),
        evidence: texts(&["evidence", "findings"]),
        doubts: texts(&["doubts", "issues_found"]),
    }
}
