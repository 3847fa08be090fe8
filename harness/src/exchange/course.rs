//! Whether a failed exchange is tried again, and how: the one place that bounds it (RETRY-3, RETRY-4, RETRY-4a). Pure.
//!
//! Each kind of failure has a bound of its own: format retries, fresh starts, and the same error twice running. So every
//! exchange ends, whatever its program does.

use std::time::Duration;

use holdpoint_planfile::{
    checkpoints::{self, GateValidation},
    exchange::{ExchangeSettings, settings::FRESH_STARTS_MAX},
};
use holdpoint_protocol::{
    Digest,
    artifact::{ExchangeErrorKind, ExchangeStatus},
    checkpoint::{GateDemands, GateDocument},
};

use super::{
    problem::ResultProblem,
    prompt::{self, PromptRequest},
};

/// How far an exchange is.
#[derive(Debug, Clone)]
pub struct ExchangeCourse {
    settings: ExchangeSettings,
    /// Format retries so far.
    retries: u32,
    /// Fresh starts so far.
    fresh: u32,
    /// The last format error.
    last: Option<Digest>,
    /// Bytes of the last retry's prompt.
    prompt_bytes: usize,
    /// The template alone was asked for: nothing shorter is left.
    least: bool,
    /// What the gate demands.
    demands: GateDemands,
    /// What came of asking the program again for the sake of checkpoints.
    unready: Unready,
}

/// What came of asking a program again for the sake of checkpoints (DOC-8).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unready {
    /// How often it was asked.
    pub retries: u32,
    /// Why the last time, in one line.
    pub last_failure: Option<String>,
    /// Its document as it was when nothing more was tried.
    pub document: Option<Box<GateDocument>>,
}

impl Unready {
    /// Says it in a document that is handed off.
    pub(crate) fn say_in(self, document: &mut GateDocument) {
        (document.retry_count, document.last_failure) = (self.retries, self.last_failure);
    }

    /// The document that is not ready, which says it.
    pub(crate) fn into_document(mut self) -> Option<Box<GateDocument>> {
        let mut document = self.document.take()?;
        self.say_in(&mut document);
        Some(document)
    }
}

/// What is done about a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The program is asked again, with this prompt, after a pause.
    Ask {
        /// Its prompt.
        prompt: String,
        /// The pause before.
        delay: Duration,
        /// Whether in the same conversation, where it has one.
        same_conversation: bool,
    },
    /// It is started afresh with its first prompt, after a pause.
    Fresh {
        /// The pause before.
        delay: Duration,
    },
    /// Nothing more is tried in this turn.
    End(ExchangeEnd),
}

/// Why nothing more is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The program ended badly.
    BadEnd,
    /// It was stuck or killed after each fresh start.
    FreshStartsUsedUp,
    /// The retries are used up.
    RetriesUsedUp,
    /// The same error came twice running.
    SameErrorTwice,
    /// The prompts cannot get any shorter.
    NothingShorter,
    /// The retries for checkpoints are used up.
    CheckpointsUnmet,
    /// The turn's time or output is used up.
    TurnUsedUp,
}

impl ExchangeEnd {
    /// What a record says of it.
    #[must_use]
    pub fn status(self) -> ExchangeStatus {
        match self {
            Self::BadEnd | Self::FreshStartsUsedUp | Self::TurnUsedUp => ExchangeStatus::Fatal,
            Self::RetriesUsedUp | Self::SameErrorTwice | Self::NothingShorter | Self::CheckpointsUnmet => {
                ExchangeStatus::Escalated
            }
        }
    }

    /// Why, in words.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::BadEnd => "the program ended badly",
            Self::FreshStartsUsedUp => "it was started afresh twice, and ended in the same way",
            Self::RetriesUsedUp => "all retries are used up",
            Self::SameErrorTwice => "the same error came twice running",
            Self::NothingShorter => "it was asked for no more than what is missing",
            Self::CheckpointsUnmet => "the retries for checkpoints are used up",
            Self::TurnUsedUp => "the turn has no time or output left for another retry",
        }
    }
}

impl ExchangeCourse {
    /// An exchange that has not failed yet.
    #[must_use]
    pub fn new(settings: ExchangeSettings, demands: GateDemands) -> Self {
        let unready = Unready::default();
        Self { settings, retries: 0, fresh: 0, last: None, prompt_bytes: usize::MAX, least: false, demands, unready }
    }

    /// What came of asking the program again for the sake of checkpoints.
    #[must_use]
    pub fn unready(&self) -> Unready {
        self.unready.clone()
    }

    /// Format retries so far.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// What is done about this failure. `can_start` says that a program which ended so may be started afresh; `chance` is a
    /// random number from 0 to 1.
    #[must_use]
    pub fn next(&mut self, problem: &ResultProblem, can_start: bool, ask: &PromptRequest<'_>, chance: f64) -> Next {
        if let Some(document) = &problem.unready {
            return self.validate_again(document, ask);
        }
        match problem.kind {
            ExchangeErrorKind::Stuck | ExchangeErrorKind::Crashed if can_start => self.fresh(chance),
            ExchangeErrorKind::Stuck | ExchangeErrorKind::Crashed => Next::End(ExchangeEnd::BadEnd),
            ExchangeErrorKind::Malformed
            | ExchangeErrorKind::MissingField
            | ExchangeErrorKind::Semantic
            | ExchangeErrorKind::NotReady
            | ExchangeErrorKind::Partial
            | ExchangeErrorKind::ContextWindow => self.retry(problem, ask, chance),
        }
    }

    fn fresh(&mut self, chance: f64) -> Next {
        if self.fresh >= FRESH_STARTS_MAX {
            return Next::End(ExchangeEnd::FreshStartsUsedUp);
        }
        self.fresh += 1;
        Next::Fresh { delay: self.settings.delay(self.fresh, chance) }
    }

    /// The program hears which checkpoints do not hold, in the conversation that it is in and at once (DOC-6).
    fn validate_again(&mut self, document: &GateDocument, ask: &PromptRequest<'_>) -> Next {
        let results = &document.checkpoints;
        let validation = GateValidation::of(&self.demands, results.clone(), self.unready.retries);
        self.unready.last_failure = Some(checkpoints::in_one_line(&self.demands, results));
        if validation.escalate {
            self.unready.document = Some(Box::new(document.clone()));
            return Next::End(ExchangeEnd::CheckpointsUnmet);
        }
        self.unready.retries += 1;
        let tries = (self.unready.retries, self.demands.retries());
        let feedback = checkpoints::feedback(&self.demands, results, tries);
        let prompt = prompt::for_checkpoints(&feedback, ask);
        Next::Ask { prompt, delay: Duration::ZERO, same_conversation: true }
    }

    fn retry(&mut self, problem: &ResultProblem, ask: &PromptRequest<'_>, chance: f64) -> Next {
        let digest = problem.digest();
        if self.last.replace(digest) == Some(digest) {
            return Next::End(ExchangeEnd::SameErrorTwice);
        }
        if self.retries >= self.settings.max_json_retries {
            return Next::End(ExchangeEnd::RetriesUsedUp);
        }
        self.retries += 1;
        let is_full = problem.kind == ExchangeErrorKind::ContextWindow;
        let delay = self.settings.delay(self.retries, chance);
        let same_conversation = !is_full;
        if problem.of_files {
            return Next::Ask { prompt: prompt::for_files(problem, ask), delay, same_conversation };
        }
        if !self.settings.retry_prompt_reduction && !is_full {
            return Next::Ask { prompt: prompt::whole(problem, ask), delay, same_conversation };
        }
        if self.least {
            return Next::End(ExchangeEnd::NothingShorter);
        }
        let is_last = self.retries == self.settings.max_json_retries;
        let longer =
            if is_full || is_last { None } else { prompt::shorter(problem, ask, self.retries, self.prompt_bytes) };
        let prompt = longer.unwrap_or_else(|| {
            self.least = true;
            prompt::least(problem, ask)
        });
        self.prompt_bytes = prompt.len();
        Next::Ask { prompt, delay, same_conversation }
    }
}

#[cfg(test)]
mod tests;
