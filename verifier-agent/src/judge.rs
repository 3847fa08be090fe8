//! Criteria without a check: what the judge is asked, and how its answer is read.
//!
//! Pure. The judge sees the criterion, what the checks showed and the tree itself; never a word of the builder's. It
//! cannot speak about criteria that have a check. Text of others reaches it by the rule of [`shown`]: what a person who
//! looks over a model's shoulder could not see is written out in the values, not only in the JSON around them.

use std::{borrow::Cow, time::Duration};

use holdpoint_core::shown;
use holdpoint_protocol::{
    artifact::{Clarified, CriterionReport},
    facts::{Oid, Verdict},
    plan::Criterion,
    reason::CriterionReason,
    workflow::GateBrief,
};
use holdpoint_runtime::{
    ask::Ask,
    backend::markers::{self, Found},
};
use holdpoint_sandbox::Ended;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long a judge may take: a model that reads a whole tree needs minutes.
pub(crate) const JUDGE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Exit codes by which a shell says that a program cannot be executed, or is not there.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// What a judge gets on standard input, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Question<'a> {
    criterion: Asked<'a>,
    /// The tree that is its current directory.
    tree: &'a Oid,
    evidence: Vec<Shown<'a>>,
    /// Questions of a judge of this waypoint that were answered, oldest first.
    clarifications: Vec<Clarified>,
    /// BDD specs of the waypoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<Value>,
    /// What its gate is for and what it says; no other gate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Value>,
}

/// What a judge learns of a waypoint beside its tree and what was shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// Questions that were answered.
    pub(crate) clarifications: &'a [Clarified],
    /// BDD specs of the waypoint.
    pub(crate) tests: &'a [Value],
    /// What the gate says.
    pub(crate) gate: &'a GateBrief,
}

#[derive(Debug, Serialize)]
struct Asked<'a> {
    id: &'a str,
    statement: Cow<'a, str>,
}

/// What a check showed.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    id: &'a str,
    verdict: Verdict,
    reason: Option<CriterionReason>,
    command: Option<Cow<'a, str>>,
    exit_code: Option<i32>,
    output_tail: Cow<'a, str>,
    evidence: Vec<String>,
}

impl<'a> Question<'a> {
    /// The question about a criterion, with what was shown and answered so far.
    pub(crate) fn new(
        criterion: &'a Criterion,
        tree: &'a Oid,
        reports: impl Iterator<Item = &'a CriterionReport>,
        about: About<'_>,
    ) -> Self {
        let evidence = reports.map(|report| Shown {
            id: report.result.id.as_str(),
            verdict: report.result.verdict,
            reason: report.result.reason,
            command: report.command.as_deref().map(shown::lines),
            exit_code: report.exit_code,
            output_tail: shown::lines(&report.output_tail),
            evidence: report.result.evidence.iter().map(ToString::to_string).collect(),
        });
        let asked = Asked { id: criterion.id.as_str(), statement: shown::lines(&criterion.statement) };
        Self {
            criterion: asked,
            tree,
            evidence: evidence.collect(),
            clarifications: about.clarifications.iter().map(readable).collect(),
            tests: about.tests.iter().map(all_seen).collect(),
            gate: (!about.gate.is_empty()).then(|| {
                let said = serde_json::to_value(about.gate).expect("it has only strings");
                all_seen(&said)
            }),
        }
    }

    /// The bytes for standard input.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("it has only strings and numbers")
    }
}

/// A free value whose words can all be seen.
fn all_seen(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown::lines(text).into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(all_seen).collect()),
        Value::Object(fields) => {
            let seen = fields.iter().map(|(key, value)| (shown::line(key).into_owned(), all_seen(value)));
            Value::Object(seen.collect())
        }
        plain => plain.clone(),
    }
}

/// An answered question whose words can all be seen.
fn readable(clarified: &Clarified) -> Clarified {
    let Clarified { question, option, text, rationale, constraints, by } = clarified;
    let seen = |text: &String| shown::lines(text).into_owned();
    Clarified {
        question: seen(question),
        option: option.as_ref().map(seen),
        text: text.as_ref().map(seen),
        rationale: rationale.as_ref().map(seen),
        constraints: constraints.iter().map(seen).collect(),
        by: shown::line(by).into_owned(),
    }
}

/// What a judge prints (contract, "`command` backend").
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    verdict: Verdict,
    evidence: Vec<String>,
    doubts: Vec<String>,
}

/// What a judge's run comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<CriterionReason>,
    /// One sentence for people.
    pub(crate) note: Option<String>,
    pub(crate) doubts: Vec<String>,
}

impl Judged {
    fn inconclusive(reason: Option<CriterionReason>, note: impl Into<String>) -> Self {
        Self { verdict: Verdict::Inconclusive, reason, note: Some(note.into()), doubts: Vec::new() }
    }

    /// There is no judge.
    pub(crate) fn nobody() -> Self {
        Self::inconclusive(Some(CriterionReason::NoJudge), "it has no check, and there is no judge")
    }
}

/// What came of a judge's run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// A verdict, or why there is none.
    Judged(Judged),
    /// It asks instead, and the turn ends with that.
    Asks(Ask),
}

/// Reads how a judge ended and what it printed: a call for help, exactly one verdict object, or a question. Nothing else
/// settles anything.
pub(crate) fn read(ended: Ended, stdout: &[u8], stderr: &[u8]) -> Came {
    let Found { help, question, .. } = markers::read(stdout, stderr);
    if let Some(call) = help {
        return Came::Asks(Ask::Help(call));
    }
    // A verdict may quote what looks like a question.
    let asks = matches!(ended, Ended::Exited(_)) && serde_json::from_slice::<Answer>(stdout).is_err();
    match question.filter(|_| asks) {
        Some(Ok(question)) => Came::Asks(Ask::Question(question)),
        Some(Err(bad)) => {
            Came::Judged(Judged::inconclusive(None, format!("the judge's question cannot be asked: {bad}")))
        }
        None => Came::Judged(verdict(ended, stdout)),
    }
}

fn verdict(ended: Ended, stdout: &[u8]) -> Judged {
    let reason = match ended {
        Ended::Exited(0) => return read_answer(stdout),
        Ended::Exited(code @ (CANNOT_EXECUTE | NOT_FOUND)) => {
            let note = format!("the judge is not there or cannot be executed (exit {code})");
            return Judged::inconclusive(Some(CriterionReason::NotExecutable), note);
        }
        Ended::Exited(code) => {
            return Judged::inconclusive(Some(CriterionReason::ExitCode), format!("the judge ended with exit {code}"));
        }
        Ended::Signalled(_) => CriterionReason::Signal,
        Ended::TimedOut => CriterionReason::Timeout,
        Ended::OutputLimit | Ended::MemoryLimit | Ended::DiskLimit => CriterionReason::Limit,
    };
    Judged::inconclusive(Some(reason), format!("the judge gave no verdict: {}", crate::evidence::ending(ended)))
}

fn read_answer(stdout: &[u8]) -> Judged {
    let answer: Answer = match serde_json::from_slice(stdout) {
        Ok(answer) => answer,
        Err(error) => return Judged::inconclusive(None, format!("the judge printed no verdict object: {error}")),
    };
    let shows = |texts: Vec<String>| texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>();
    let doubts = shows(answer.doubts);
    let evidence = shows(answer.evidence);
    if answer.verdict == Verdict::Pass && evidence.is_empty() {
        let judged = Judged::inconclusive(
            Some(CriterionReason::JudgeWithoutEvidence),
            "the judge said pass and named no evidence",
        );
        return Judged { doubts, ..judged };
    }
    let word = answer.verdict.as_str();
    let because = if evidence.is_empty() { String::new() } else { format!(": {}", evidence.join("; ")) };
    Judged { verdict: answer.verdict, reason: None, note: Some(format!("the judge said {word}{because}")), doubts }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        facts::CriterionResult,
        workflow::{ByOutcome, GateContext},
    };

    use super::*;

    fn answered(text: &str) -> Judged {
        verdict(Ended::Exited(0), text.as_bytes())
    }

    #[test]
    fn a_judge_asks_instead_of_judging_and_a_verdict_that_quotes_a_question_is_one() {
        let came = |code, stdout: &str, stderr: &str| read(Ended::Exited(code), stdout.as_bytes(), stderr.as_bytes());
        let question = r#"{"question": "Which policy?", "options": ["a", "b"]}"#;
        for code in [0, 75] {
            assert!(matches!(came(code, question, ""), Came::Asks(Ask::Question(asked)) if asked.options.len() == 2));
        }
        let object = r#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
        assert!(matches!(came(0, object, ">>>HELP<<<\n"), Came::Asks(Ask::Help(_))));
        let quotes =
            r#"{"verdict": "fail", "evidence": ["<clarification-request>q</clarification-request>"], "doubts": []}"#;
        assert!(matches!(came(0, quotes, ""), Came::Judged(judged) if judged.verdict == Verdict::Fail));
        let malformed = r#"{"question": "", "options": []}"#;
        assert!(
            matches!(came(0, malformed, ""), Came::Judged(judged) if judged.note.as_ref().unwrap().contains("no text"))
        );
    }

    #[test]
    fn a_judge_reads_nothing_that_cannot_be_seen_or_that_moves_a_cursor() {
        const HOSTILE: &str = "pass\u{202e}it\u{200b}\u{1b}[2J\u{e0041}\r!\nnext";
        const SEEN: &str = "pass\\u{202e}it\\u{200b}\\u{1b}[2J\\u{e0041}\\r!\nnext";
        let hostile = || HOSTILE.to_owned();
        let criterion = Criterion { id: "read".parse().unwrap(), statement: hostile(), check: None };
        let (verdict, reason) = (Verdict::Fail, Some(CriterionReason::ExitCode));
        let report = CriterionReport {
            result: CriterionResult { id: "unit".parse().unwrap(), verdict, reason, evidence: Vec::new() },
            command: Some(hostile()),
            exit_code: Some(1),
            output_tail: hostile(),
            note: None,
        };
        let clarified = Clarified {
            question: hostile(),
            option: Some(hostile()),
            text: Some(hostile()),
            rationale: Some(hostile()),
            constraints: vec![hostile()],
            by: "p\u{202e}\n".to_owned(),
        };
        let (tree, answers) = ("a".repeat(40).parse().unwrap(), [clarified]);
        let specs = [serde_json::json!({"given": hostile(), "then": {"body_contains": [hostile()]}})];
        let context = GateContext {
            expectations: vec![hostile()],
            tips: vec![hostile()],
            outcome_help: ByOutcome { complete: Some(hostile()), ..ByOutcome::default() },
        };
        let gate = GateBrief { description: Some(hostile()), role_description: Some(hostile()), context };
        let about = About { clarifications: &answers, tests: &specs, gate: &gate };
        let bytes = Question::new(&criterion, &tree, std::iter::once(&report), about).to_bytes();
        let asked: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let (evidence, clarified) = (&asked["evidence"][0], &asked["clarifications"][0]);
        let texts = [
            &asked["criterion"]["statement"],
            &evidence["command"],
            &evidence["output_tail"],
            &clarified["question"],
            &clarified["option"],
            &clarified["text"],
            &clarified["rationale"],
            &clarified["constraints"][0],
            &asked["tests"][0]["given"],
            &asked["tests"][0]["then"]["body_contains"][0],
            &asked["gate"]["description"],
            &asked["gate"]["role_description"],
            &asked["gate"]["expectations"][0],
            &asked["gate"]["tips"][0],
            &asked["gate"]["outcome_help"]["complete"],
        ];
        assert!(texts.iter().all(|text| **text == SEEN), "{asked:#}");
        assert_eq!(clarified["by"], "p\\u{202e}\\n");
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().find_map(shown::first_hidden), None, "{text}");
    }

    #[test]
    fn verdict_with_evidence_counts() {
        let judged =
            answered("{\"verdict\": \"pass\", \"evidence\": [\"src/retry.rs:10\"], \"doubts\": [\"names\"]}\n");
        assert_eq!((judged.verdict, judged.reason), (Verdict::Pass, None));
        assert_eq!(judged.doubts, ["names"]);
        let failed = answered(r#"{"verdict": "fail", "evidence": [], "doubts": []}"#);
        assert_eq!((failed.verdict, failed.reason), (Verdict::Fail, None));
    }

    #[test]
    fn pass_without_evidence_settles_nothing() {
        for evidence in ["[]", "[\"\", \"  \"]"] {
            let judged = answered(&format!(r#"{{"verdict": "pass", "evidence": {evidence}, "doubts": []}}"#));
            assert_eq!(judged.reason, Some(CriterionReason::JudgeWithoutEvidence));
            assert_eq!(judged.verdict, Verdict::Inconclusive);
        }
    }

    #[test]
    fn anything_but_one_verdict_object_settles_nothing() {
        let object = r#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
        for text in [
            "",
            "pass",
            "{\"verdict\": \"pass\"}",
            r#"{"verdict": "Pass", "evidence": ["x"], "doubts": []}"#,
            r#"{"verdict": "pass", "evidence": "x", "doubts": []}"#,
            &format!("I think: {object}"),
            &format!("{object}{object}"),
        ] {
            assert_eq!(answered(text).verdict, Verdict::Inconclusive, "{text}");
        }
    }

    #[test]
    fn judge_that_did_not_end_well_settles_nothing_whatever_it_printed() {
        let object = br#"{"verdict": "pass", "evidence": ["x"], "doubts": []}"#;
        for (ended, reason) in [
            (Ended::Exited(1), CriterionReason::ExitCode),
            (Ended::Exited(126), CriterionReason::NotExecutable),
            (Ended::Exited(127), CriterionReason::NotExecutable),
            (Ended::Signalled(9), CriterionReason::Signal),
            (Ended::TimedOut, CriterionReason::Timeout),
            (Ended::OutputLimit, CriterionReason::Limit),
            (Ended::MemoryLimit, CriterionReason::Limit),
            (Ended::DiskLimit, CriterionReason::Limit),
        ] {
            let judged = verdict(ended, object);
            assert_eq!((judged.verdict, judged.reason), (Verdict::Inconclusive, Some(reason)));
        }
    }
}
