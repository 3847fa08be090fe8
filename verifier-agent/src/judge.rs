//! Criteria without a check: what the judge is asked, and how its answer is read.
//!
//! Pure. The judge sees the criterion, what the checks showed and the tree itself; never a word of the builder's. It
//! cannot speak about criteria that have a check. Text of others reaches it by the rule of [`shown`]: what a person who
//! looks over a model's shoulder could not see is written out in the values, not only in the JSON around them.

mod handed;

use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use handed::handed;
use holdpoint_evidence::telling;
use holdpoint_harness::{
    ask::Ask,
    backend::markers::{self, Found, HelpCall},
    dialect::Said,
    exchange::{Expected, ResultProblem, envelope::Before},
};
use holdpoint_protocol::{
    artifact::{Clarified, CriterionReport, ExchangeErrorKind, HelpEvent, PersonVerdict},
    facts::{Oid, Verdict},
    plan::Criterion,
    reason::CriterionReason,
    workflow::GateBrief,
};
use holdpoint_sandbox::Ended;
use holdpoint_text::{lenient, shown};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long a judge may take: a model that reads a whole tree needs minutes.
pub(crate) const JUDGE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

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
    /// What was cut because there was no room for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    cut: BTreeSet<String>,
}

/// That a judge is asked again, because what it printed cannot be used.
#[derive(Debug, Serialize)]
pub(crate) struct Retry {
    /// Which retry, from 1.
    pub(crate) number: u32,
    /// What is wrong, and what to print.
    pub(crate) prompt: String,
}

impl Retry {
    /// The bytes for standard input of a judge that knows the question.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&serde_json::json!({"retry": self})).expect("it has only strings and numbers")
    }
}

/// What a question loses that is too long.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The beginnings of outputs that are longer than this.
    Outputs(usize),
    Tests,
    Gate,
    /// The ends of commands that are longer than this.
    Commands(usize),
    /// All but the last.
    Clarifications,
}

/// What is cut, what a judge can best do without first: each only where those before it were not enough.
const CUTS: &[Cut] = &[
    Cut::Outputs(32 << 10),
    Cut::Outputs(8 << 10),
    Cut::Outputs(2 << 10),
    Cut::Outputs(512),
    Cut::Tests,
    Cut::Gate,
    Cut::Commands(512),
    Cut::Clarifications,
];

/// What ends a judge's turn besides an envelope, in a sentence.
pub(crate) const VERDICT: &str = "Or print the verdict object by itself, and nothing else: it has exactly the keys `verdict`, `evidence` and `doubts`.";

/// What a judge learns of a waypoint besides its tree and what was shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// Questions that were answered.
    pub(crate) clarifications: &'a [Clarified],
    /// BDD specs of the waypoint.
    pub(crate) tests: &'a [Value],
    /// What the gate says.
    pub(crate) gate: &'a GateBrief,
    /// What a person judged in its place.
    pub(crate) judged: &'a [PersonVerdict],
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
            cut: BTreeSet::new(),
        }
    }

    /// The question in at most so many bytes, as far as it can be cut; `cut` names what was (FLY-32). Of outputs the end is kept: the
    /// whole of each is the evidence that it names.
    pub(crate) fn within(mut self, bytes_max: usize) -> Self {
        for step in CUTS {
            if self.to_bytes(None).len() <= bytes_max {
                break;
            }
            self.cut_by(*step);
        }
        self
    }

    fn cut_by(&mut self, step: Cut) {
        match step {
            Cut::Outputs(most) => {
                for shown in self.evidence.iter_mut().filter(|shown| shown.output_tail.len() > most) {
                    let tail = &shown.output_tail;
                    let kept = tail[tail.ceil_char_boundary(tail.len() - most)..].to_owned();
                    self.cut.insert(format!("the beginning of output_tail of {}", shown.id));
                    shown.output_tail = Cow::Owned(kept);
                }
            }
            Cut::Tests if !self.tests.is_empty() => {
                self.tests.clear();
                self.cut.insert("tests".to_owned());
            }
            Cut::Gate if self.gate.take().is_some() => drop(self.cut.insert("gate".to_owned())),
            Cut::Commands(most) => {
                for shown in &mut self.evidence {
                    if let Some(command) = shown.command.as_mut().filter(|command| command.len() > most) {
                        let kept = command[..command.floor_char_boundary(most)].to_owned();
                        self.cut.insert(format!("the end of command of {}", shown.id));
                        *command = Cow::Owned(kept);
                    }
                }
            }
            Cut::Clarifications if self.clarifications.len() > 1 => {
                self.clarifications.drain(..self.clarifications.len() - 1);
                self.cut.insert("all clarifications but the last".to_owned());
            }
            Cut::Tests | Cut::Gate | Cut::Clarifications => {}
        }
    }

    /// The bytes for standard input; of a retry with what was wrong.
    pub(crate) fn to_bytes(&self, retry: Option<Retry>) -> Vec<u8> {
        let mut value = serde_json::to_value(self).expect("it has only strings and numbers");
        if let Some(retry) = retry {
            value["retry"] = serde_json::to_value(retry).expect("it has only strings and numbers");
        }
        serde_json::to_vec_pretty(&value).expect("it has only strings and numbers")
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

    /// What a person said, whose verdict stands in place of a judge's.
    pub(crate) fn by_person(given: &PersonVerdict) -> Self {
        let PersonVerdict { verdict, note, by, .. } = given;
        let note = Some(format!("{by} said {}: {note}", verdict.as_str()));
        Self { verdict: *verdict, reason: None, note, doubts: Vec::new() }
    }

    /// The judge was not run.
    pub(crate) fn not_run(note: String) -> Self {
        Self::inconclusive(None, note)
    }

    /// There is no judge.
    pub(crate) fn nobody() -> Self {
        Self::inconclusive(Some(CriterionReason::NoJudge), "it has no check, and there is no judge")
    }

    /// There is a judge, and its model's provider refuses. No attempt can change that.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::inconclusive(Some(CriterionReason::NoJudge), why)
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

impl Came {
    /// A call for help with all calls of the run, where some were heard in print.
    pub(crate) fn with_events(self, events: Vec<HelpEvent>) -> Self {
        match self {
            Self::Asks(Ask::Help(call)) if !events.is_empty() => Self::Asks(Ask::Help(HelpCall { events, ..call })),
            came => came,
        }
    }
}

/// Reads how a judge ended and what it printed: a call for help, exactly one verdict object, an envelope with one, or a
/// question. Nothing else settles anything: then there is a problem as well.
pub(crate) fn read(
    ended: Ended,
    said: &Said,
    stderr: &[u8],
    expected: &Expected,
    before: Before<'_>,
) -> (Came, Option<ResultProblem>) {
    // Its prompt is JSON, which has no line that calls.
    let Found { help, question, envelope, .. } = markers::read(&said.text, stderr, "", expected.contract(before));
    if let Some(call) = help {
        return (Came::Asks(Ask::Help(call)), None);
    }
    // A verdict may quote what looks like a question.
    let bare = answer_in(said.answer()).is_ok();
    let asks = matches!(ended, Ended::Exited(_)) && !bare;
    match question.filter(|_| asks) {
        Some(Ok(question)) => return (Came::Asks(Ask::Question(question)), None),
        Some(Err(bad)) => {
            let what = format!("the judge's question cannot be asked: {bad}");
            let problem = ResultProblem::new(ExchangeErrorKind::Malformed, what.clone());
            return (Came::Judged(Judged::inconclusive(None, what)), Some(problem));
        }
        None => {}
    }
    if ended != Ended::Exited(0) {
        let judged = verdict(ended, said.answer());
        let kind = if ended == Ended::TimedOut { ExchangeErrorKind::Stuck } else { ExchangeErrorKind::Crashed };
        let problem = ResultProblem::new(kind, judged.note.clone().unwrap_or_default());
        return (Came::Judged(judged), Some(problem));
    }
    let (judged, problem) = handed(said.answer(), envelope, expected, before);
    (Came::Judged(judged), problem)
}

fn verdict(ended: Ended, answer: &[u8]) -> Judged {
    let reason = match ended {
        Ended::Exited(0) => return read_answer(answer),
        Ended::Exited(code) => {
            let not_run = telling::is_not_run(code);
            let reason = if not_run { CriterionReason::NotExecutable } else { CriterionReason::ExitCode };
            return Judged::inconclusive(Some(reason), format!("the judge {}", telling::exited(code)));
        }
        Ended::Signalled(_) => CriterionReason::Signal,
        Ended::TimedOut => CriterionReason::Timeout,
        Ended::OutputLimit | Ended::MemoryLimit | Ended::DiskLimit => CriterionReason::Limit,
    };
    Judged::inconclusive(Some(reason), format!("the judge gave no verdict: {}", crate::evidence::ending(ended)))
}

/// The verdict object that a text is.
fn answer_in(text: &[u8]) -> Result<Answer, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| lenient::value(text).map_or(Err(error), serde_json::from_value))
}

fn read_answer(text: &[u8]) -> Judged {
    let answer = match answer_in(text) {
        Ok(answer) => answer,
        Err(error) => return Judged::inconclusive(None, format!("the judge printed no verdict object: {error}")),
    };
    of_answer(answer)
}

fn of_answer(answer: Answer) -> Judged {
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
mod tests;
