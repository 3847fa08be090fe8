//! The debug record of an exchange (RETRY-7). Pure.

use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{ExchangeAttempt, ExchangeError, ExchangeStatus},
    ids::CriterionId,
};
use holdpoint_text::shown;

use super::problem::ResultProblem;

/// Characters of output that a record shows.
const SAMPLE_CHARS: usize = 500;
/// Bytes of a prompt, of a command and of what was wrong that a record shows.
const PROMPT_BYTES: usize = 4 << 10;
const DETAILS_BYTES: usize = 4 << 10;
/// Fields that a record names.
const MISSING_MAX: usize = 100;

/// A record before it has a turn and an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The exchange; unguessable.
    pub exchange: String,
    /// Who should have handed over.
    pub component: String,
    /// The criterion that a judge was asked about.
    pub criterion: Option<CriterionId>,
    /// The program's conversation.
    pub session: Option<String>,
    /// What was wrong first.
    pub original_error: ExchangeError,
    /// What was tried since.
    pub attempts: Vec<ExchangeAttempt>,
    /// How it ended.
    pub final_status: Option<ExchangeStatus>,
}

/// One run of a program, as it is written down.
#[derive(Debug, Clone, Copy)]
pub struct ProgramRun<'a> {
    /// When it began.
    pub at: Timestamp,
    /// The command line.
    pub command: &'a str,
    /// Its prompt.
    pub prompt: &'a str,
    /// What it printed on standard output, or, if that is nothing, on standard error.
    pub output: &'a [u8],
    /// Under which name all of it is stored.
    pub stored: Option<Digest>,
}

/// The record of an exchange while it goes on. Of an exchange that never fails there is none.
#[derive(Debug, Clone)]
pub struct Book {
    exchange: String,
    component: String,
    draft: Option<Draft>,
}

impl Book {
    /// Nothing failed yet. `exchange` has to be unguessable.
    #[must_use]
    pub fn new(exchange: String, component: &str) -> Self {
        Self { exchange, component: component.to_owned(), draft: None }
    }

    /// Whether something failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.draft.is_some()
    }

    /// How many tries there were after the first.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.attempts.len())
    }

    /// Writes a run down; `problem` is what was wrong with it. Of a first run that was right nothing is written.
    pub fn write(&mut self, run: &ProgramRun<'_>, problem: Option<&ResultProblem>, session: Option<&str>) {
        let error = problem.map(|problem| error(problem, run));
        let Some(draft) = &mut self.draft else {
            self.draft = error.map(|original_error| Draft {
                exchange: self.exchange.clone(),
                component: self.component.clone(),
                criterion: None,
                session: session.map(|session| line(session, PROMPT_BYTES)),
                original_error,
                attempts: Vec::new(),
                final_status: None,
            });
            return;
        };
        if let Some(session) = session {
            draft.session = Some(line(session, PROMPT_BYTES));
        }
        let attempt = u32::try_from(draft.attempts.len() + 1).unwrap_or(u32::MAX);
        draft.attempts.push(ExchangeAttempt {
            attempt,
            at: run.at,
            command: text(run.command, PROMPT_BYTES),
            prompt: text(run.prompt, PROMPT_BYTES),
            output_sample: sample(run.output),
            error,
        });
    }

    /// The record as it stands; `None`: nothing failed.
    #[must_use]
    pub fn draft(&self, final_status: Option<ExchangeStatus>) -> Option<Draft> {
        self.draft.clone().map(|draft| Draft { final_status, ..draft })
    }
}

fn error(problem: &ResultProblem, run: &ProgramRun<'_>) -> ExchangeError {
    ExchangeError {
        kind: problem.kind,
        details: text(&problem.details, DETAILS_BYTES),
        missing: problem.missing.iter().take(MISSING_MAX).map(|field| line(field, PROMPT_BYTES)).collect(),
        output_sample: sample(run.output),
        output: run.stored,
    }
}

/// The first characters of an output, with nothing that moves a cursor or cannot be seen.
fn sample(output: &[u8]) -> String {
    // A character has four bytes at most.
    let head = String::from_utf8_lossy(output.get(..output.len().min(4 * SAMPLE_CHARS)).unwrap_or_default());
    let head: String = head.chars().take(SAMPLE_CHARS).collect();
    shown::lines(&head).into_owned()
}

fn text(text: &str, most: usize) -> String {
    let cut = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    shown::lines(cut).into_owned()
}

fn line(text: &str, most: usize) -> String {
    let cut = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    shown::line(cut).into_owned()
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::artifact::ExchangeErrorKind;

    use super::*;

    fn run<'a>(prompt: &'a str, output: &'a [u8]) -> ProgramRun<'a> {
        ProgramRun { at: Timestamp::from_millis(1), command: "agent", prompt, output, stored: Some(Digest::of(output)) }
    }

    #[test]
    fn a_record_has_the_first_error_and_every_try_and_there_is_none_of_what_did_not_fail() {
        let mut book = Book::new("x".to_owned(), "builder");
        book.write(&run("p", b"good"), None, None);
        assert_eq!(book.draft(None), None);
        let problem = ResultProblem::new(ExchangeErrorKind::Malformed, "no JSON");
        book.write(&run("p", "ä\x1b[2J".repeat(400).as_bytes()), Some(&problem), None);
        book.write(&run("again", b"worse"), Some(&problem), Some("s-1"));
        book.write(&run("once more", b"good"), None, Some("s-1"));
        let draft = book.draft(Some(ExchangeStatus::Recovered)).unwrap();
        assert_eq!((draft.original_error.kind, draft.session.as_deref()), (ExchangeErrorKind::Malformed, Some("s-1")));
        assert!(draft.original_error.output_sample.starts_with("ä\\u{1b}[2J") && draft.original_error.output.is_some());
        let tries: Vec<_> = draft.attempts.iter().map(|a| (a.attempt, a.prompt.as_str(), a.error.is_some())).collect();
        assert_eq!(tries, [(1, "again", true), (2, "once more", false)]);
        assert_eq!(draft.final_status, Some(ExchangeStatus::Recovered));
    }

    #[test]
    fn what_programs_write_is_bounded_in_a_record() {
        let mut book = Book::new("x".to_owned(), "builder");
        let long = "\u{202e}".repeat(100_000);
        let missing = vec![long.clone(); 1000];
        let problem = ResultProblem { missing, ..ResultProblem::new(ExchangeErrorKind::MissingField, long.clone()) };
        book.write(&run(&long, long.as_bytes()), Some(&problem), Some(&long));
        book.write(&run(&long, long.as_bytes()), Some(&problem), Some(&long));
        let draft = book.draft(None).unwrap();
        assert_eq!(draft.original_error.missing.len(), MISSING_MAX);
        // Invisible characters are written out, which takes up to four times as much.
        let texts = [&draft.original_error.details, &draft.attempts[0].prompt, &draft.original_error.missing[0]];
        assert!(texts.iter().all(|text| text.len() <= 4 * PROMPT_BYTES), "{}", texts[0].len());
    }
}
