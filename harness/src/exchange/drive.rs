//! The exchange as it is driven: what was tried is stored and counted, and what comes next waits its time.
//!
//! Nothing is decided here: [`super::course`] decides.

use std::time::Duration;

use holdpoint_planfile::exchange::ExchangeSettings;
use holdpoint_protocol::{
    Timestamp,
    artifact::{ExchangeErrorKind, ExchangeStatus},
    live::LiveKind,
};
use holdpoint_runtime::{clock, fresh, metrics};
use serde_json::{Map, Value};

use super::{
    book::{Book, ProgramRun},
    component::Expected,
    course::{ExchangeCourse, ExchangeEnd, Next, Unready},
    envelope::Before,
    limits,
    problem::ResultProblem,
    prompt::PromptRequest,
};
use crate::{ask::Desk, dialect::ProviderRefusal};

/// What a conversation that begins with a retry's prompt gets besides.
const CONTEXT: &str = "What this is about is in the JSON file that `$HOLDPOINT_TURN_FILE` names; the files as they are now are in the \
                       current directory.";

/// One run of a program that ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedRun<'a> {
    /// The command line.
    pub command: &'a str,
    /// Its standard output, or, if that is empty, its standard error.
    pub output: &'a [u8],
    /// All of it, as it is stored.
    pub evidence: &'a [u8],
    /// How long it ran.
    pub duration: Duration,
    /// Bytes it printed.
    pub printed: u64,
    /// Its conversation.
    pub session: Option<&'a str>,
    /// Whether a program that ended so may be started afresh: it was stuck, or killed.
    pub can_start: bool,
}

/// What comes after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// Nothing: it was good, or nothing more is tried because of this.
    Over(Option<ExchangeEnd>),
    /// Another run, at once.
    Again(Again),
}

/// Another run of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Its prompt; `None`: the first one.
    pub prompt: Option<String>,
    /// Whether in the conversation of the last run, where the program has one.
    pub same_conversation: bool,
    /// Which retry, from 1.
    pub retry: u32,
}

/// The exchange of one turn, or of one question to a judge.
pub struct Exchange<'a> {
    desk: &'a dyn Desk,
    expected: &'a Expected,
    /// What else ends the turn well, in a sentence.
    instead: &'a str,
    /// Whether the program goes on in its conversation when it is asked again.
    resumes: bool,
    course: ExchangeCourse,
    book: Book,
    wall: Duration,
    output: u64,
    begun: Timestamp,
    prompt: String,
    asked: bool,
    kept: Option<Map<String, Value>>,
    /// How often it waited for its model's provider.
    waited: u32,
}

impl<'a> Exchange<'a> {
    /// Begins an exchange; all its runs together have this much time and output.
    #[must_use]
    pub fn begin(
        desk: &'a dyn Desk,
        expected: &'a Expected,
        instead: &'a str,
        prompt: &str,
        (wall, output): (Duration, u64),
    ) -> Self {
        Self {
            desk,
            expected,
            instead,
            resumes: false,
            course: ExchangeCourse::new(expected.settings.clone(), expected.demands.clone()),
            book: Book::new(fresh::nonce(), expected.name()),
            wall,
            output,
            begun: clock::now(),
            prompt: prompt.to_owned(),
            asked: false,
            kept: None,
            waited: 0,
        }
    }

    /// The program goes on in its conversation when it is asked again.
    #[must_use]
    pub fn resuming(self, resumes: bool) -> Self {
        Self { resumes, ..self }
    }

    /// What the next run may still use up.
    #[must_use]
    pub fn left(&self) -> (Duration, u64) {
        (self.wall, self.output)
    }

    /// The provider of the program's model refuses: waits, which is no retry. False: another try changes nothing, or the turn has no
    /// time for it.
    pub async fn waits(&mut self, spent: Duration, refusal: ProviderRefusal, said: &str) -> bool {
        let left = self.wall.saturating_sub(spent);
        let Some(pause) = limits::pause(self.waited, refusal, clock::now()).filter(|pause| *pause < left) else {
            return false;
        };
        self.waited += 1;
        tracing::info!(
            event = "provider_refuses",
            component = self.expected.name(),
            ?pause,
            "the provider of the program's model refuses"
        );
        let line = format!("the model's provider refuses ({said}): waiting {} s", pause.as_secs());
        self.desk.live().say(LiveKind::Doing, &line);
        tokio::time::sleep(pause).await;
        self.wall = left.saturating_sub(pause);
        true
    }

    /// What came of asking the program again for the sake of checkpoints.
    #[must_use]
    pub fn unready(&self) -> Unready {
        self.course.unready()
    }

    /// What is known from earlier runs.
    #[must_use]
    pub fn before(&self) -> Before<'_> {
        Before { asked: self.asked, kept: self.kept.as_ref() }
    }

    /// A run ended, with this problem or well. Stores the record of a failure before anything else is tried, and waits
    /// as long as the next try has to.
    pub async fn after(&mut self, tried: &EndedRun<'_>, problem: Option<&ResultProblem>) -> After {
        self.wall = self.wall.saturating_sub(tried.duration);
        self.output = self.output.saturating_sub(tried.printed);
        self.write(tried, problem).await;
        let Some(problem) = problem else {
            self.end(None).await;
            return After::Over(None);
        };
        metrics::exchange_failed(self.expected.name(), problem.kind.as_str());
        let next = self.next(problem, tried.can_start);
        if self.settings().log_all_handoffs {
            tracing::warn!(event = "exchange_failed", component = self.expected.name(), kind = problem.kind.as_str(),
                details = %problem.details, next = ?WordOf(&next), "a program's result cannot be used");
        }
        let (delay, again) = match next {
            Next::End(end) => {
                self.end(Some(end)).await;
                return After::Over(Some(end));
            }
            Next::Fresh { delay } => (delay, Again { prompt: None, same_conversation: false, retry: self.tries() }),
            Next::Ask { prompt, delay, same_conversation } => {
                if !problem.of_files && problem.unready.is_none() {
                    self.asked = true;
                    self.kept.clone_from(&problem.kept);
                }
                self.prompt.clone_from(&prompt);
                (delay, Again { prompt: Some(prompt), same_conversation, retry: self.tries() })
            }
        };
        self.record(None).await;
        tokio::time::sleep(delay).await;
        self.wall = self.wall.saturating_sub(delay);
        self.begun = clock::now();
        After::Again(again)
    }

    /// The program called for help, which ends its exchange.
    pub fn called_for_help(&self) {
        metrics::help(self.expected.name());
        tracing::info!(event = "help_requested", component = self.expected.name(), "a program calls for help");
    }

    fn settings(&self) -> &ExchangeSettings {
        &self.expected.settings
    }

    /// The number of the next try, from 1.
    fn tries(&self) -> u32 {
        u32::try_from(self.book.attempts() + 1).unwrap_or(u32::MAX)
    }

    fn next(&mut self, problem: &ResultProblem, can_start: bool) -> Next {
        let (whole, missing) = (self.expected.template(), self.expected.template_of(&problem.missing));
        let goes_on = self.resumes && problem.kind != ExchangeErrorKind::ContextWindow;
        let context = if goes_on { "" } else { CONTEXT };
        let (instead, wants_result) = (self.instead, self.asked || self.expected.required);
        let ask = PromptRequest { whole: &whole, missing: &missing, instead, context, wants_result };
        let next = self.course.next(problem, can_start, &ask, chance());
        let delay = match &next {
            Next::Ask { delay, .. } | Next::Fresh { delay } => *delay,
            Next::End(_) => return next,
        };
        if delay >= self.wall || self.output == 0 { Next::End(ExchangeEnd::TurnUsedUp) } else { next }
    }

    async fn write(&mut self, tried: &EndedRun<'_>, problem: Option<&ResultProblem>) {
        let keeps = problem.is_some() && self.settings().save_failed_handoffs;
        let stored = if keeps { self.desk.keep(tried.evidence.to_vec()).await } else { None };
        let run =
            ProgramRun { at: self.begun, command: tried.command, prompt: &self.prompt, output: tried.output, stored };
        self.book.write(&run, problem, tried.session);
    }

    async fn end(&self, end: Option<ExchangeEnd>) {
        let status = end.map_or(ExchangeStatus::Recovered, ExchangeEnd::status);
        let failed = self.book.has_failed();
        let result = if failed { status.as_str() } else { "success" };
        metrics::exchange(self.expected.name(), result, self.course.retries());
        if end == Some(ExchangeEnd::SameErrorTwice) {
            metrics::exchange_circular(self.expected.name());
        }
        if self.settings().log_all_handoffs {
            tracing::info!(
                event = "exchange",
                component = self.expected.name(),
                result,
                tries = self.book.attempts(),
                "a program handed over"
            );
        }
        if failed {
            self.record(Some(status)).await;
        }
    }

    async fn record(&self, status: Option<ExchangeStatus>) {
        if let Some(draft) = self.book.draft(status) {
            self.desk.record(draft).await;
        }
    }
}

/// What is done next, in a word for the log.
struct WordOf<'a>(&'a Next);

impl std::fmt::Debug for WordOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Next::Ask { .. } => "it is asked again",
            Next::Fresh { .. } => "it is started afresh",
            Next::End(end) => end.why(),
        })
    }
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    // 53 bits: as many as fit into the number without rounding.
    (fresh::number() >> 11) as f64 / (1_u64 << 53) as f64
}
