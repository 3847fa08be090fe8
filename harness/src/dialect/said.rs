//! What an agent said in one run of its program.

use std::fmt;

use holdpoint_engine::budget::price::Price;
use holdpoint_protocol::artifact::{SESSION_BYTES_MAX, TokenUsage};
use holdpoint_text::shown;
use serde::{Deserialize, Serialize};

use super::failure;

/// The longest error that is kept, in bytes.
const ERROR_BYTES_MAX: usize = 2 << 10;
/// The longest line about a tool call, in bytes.
const DOING_BYTES_MAX: usize = 200;
/// So many refusals in a row that only a person can change are no accident: a token that ran out is replaced after one.
const REPEATS_MAX: u32 = 3;
/// The most names of refused tools that are kept.
const DENIED_MAX: usize = 16;
/// The longest of them, in bytes.
const TOOL_BYTES_MAX: usize = 128;

/// What an agent said in one run of its program. Everything is the program's own word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The agent's words: its messages, one paragraph after another; the whole standard output of a plain program.
    pub text: Vec<u8>,
    /// Where in the text its last message begins.
    pub(super) last: usize,
    /// The session that can be gone on with. Safe as an argument.
    pub session: Option<String>,
    /// Tokens of this run; `None`: the program did not say.
    pub usage: Option<AgentUsage>,
    /// Tokens of the whole session, where the program counts those.
    pub session_usage: Option<AgentUsage>,
    /// Cost of this run in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// Whether that is an estimate from a price ([`Said::priced`]).
    pub estimated: bool,
    /// Cost of the whole session, where the program counts that.
    pub session_cost_micro_usd: Option<u64>,
    /// Tool calls, those of sub-agents too; `None`: the program does not tell.
    pub tool_calls: Option<u64>,
    /// The last tool call as one short line.
    pub doing: Option<String>,
    /// The provider of the program's model refuses, by its word ([`Said::refusal`]).
    pub refused: Option<ProviderRefusal>,
    /// What the program says of a request that it tries again, as one short line.
    pub trying: Option<String>,
    /// How many requests it tried again since its model said or did something.
    pub(super) repeats: u32,
    /// The model said or did something.
    pub(super) answered: bool,
    /// The conversation no longer fits into the model's context.
    pub context_full: bool,
    /// What the program reports as its failure.
    pub error: Option<String>,
    /// Tools that the program did not let the agent use.
    pub permission: Vec<String>,
    /// Whether the program said that its run is over, well or not. Always true of a plain one.
    pub finished: bool,
    /// Its program speaks in no events.
    pub(super) is_plain: bool,
    /// Lines that are too long, or that broke off.
    pub unread: u32,
}

/// Tokens, each kind counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUsage {
    /// Read by the model, without those from a cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Put into the provider's cache.
    pub cache_write: u64,
}

impl From<AgentUsage> for TokenUsage {
    fn from(AgentUsage { input, output, cache_read, cache_write }: AgentUsage) -> Self {
        Self { input, output, cache_read, cache_write }
    }
}

impl From<TokenUsage> for AgentUsage {
    fn from(TokenUsage { input, output, cache_read, cache_write }: TokenUsage) -> Self {
        Self { input, output, cache_read, cache_write }
    }
}

/// What a provider says when it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRefusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// The HTTP status, where the program names it.
    pub status: Option<u16>,
    /// When it will take requests again, in seconds since 1970, where the program says so.
    pub until: Option<i64>,
}

/// Whether a refusal passes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// For the time being: too many requests, overload.
    Passing,
    /// Until a person does something: there is no login, or it is not taken.
    Login,
    /// Until a person does something, or for hours: no credit, a quota that is used up.
    Lasting,
    /// The program failed before its model said anything, and does not say why in words that are known.
    Unexplained,
}

impl RefusalKind {
    /// What both say together: a refusal that lasts is not undone by one that would pass.
    pub(super) fn or_that(self, before: Self) -> Self {
        if matches!(before, Self::Login | Self::Lasting) { before } else { self }
    }
}

/// A conversation to go on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// The session's id.
    pub session: String,
    /// What the session had used up by then, where the program counts whole sessions.
    pub used: Option<AgentUsage>,
    /// What it had cost by then, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
}

/// Whether it is the id of a session, which becomes an argument of a command line: short, plain, and no option.
pub(crate) fn is_session(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let first = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && id.len() <= SESSION_BYTES_MAX && id.bytes().all(plain)
}

impl Said {
    /// The agent's last message; the whole text of a plain program.
    #[must_use]
    pub fn answer(&self) -> &[u8] {
        self.text.get(self.last..).unwrap_or_default()
    }

    /// Why the provider refuses, as far as that is why the run failed. A run that failed before its model said or did anything was
    /// refused, whatever the words are; `went_on` says that it went on with a conversation, which it may not have found.
    #[must_use]
    pub fn refusal(&self, went_on: bool) -> Option<ProviderRefusal> {
        let unexplained = || ProviderRefusal { kind: RefusalKind::Unexplained, status: None, until: None };
        let silent = self.used_nothing() && !self.context_full && !went_on;
        self.refused.or_else(|| silent.then(unexplained))
    }

    /// Whether the program only repeats what is refused until a person does something.
    #[must_use]
    pub fn only_repeats(&self) -> bool {
        let lasts = |refusal: ProviderRefusal| {
            matches!(refusal.kind, RefusalKind::Login | RefusalKind::Lasting) && refusal.until.is_none()
        };
        self.repeats >= REPEATS_MAX && self.refused.is_some_and(lasts)
    }

    /// Why the run failed, by the program's own word.
    #[must_use]
    pub fn why(&self) -> &str {
        self.error.as_deref().or(self.trying.as_deref()).unwrap_or_default()
    }

    /// With what the program printed on standard error, as far as no event says why its run failed. Of a plain program all output counts.
    #[must_use]
    pub fn and_printed(mut self, stderr: &[u8]) -> Self {
        let (is_plain, is_silent) = (self.is_plain, self.text.is_empty() && self.tool_calls.is_none());
        if self.error.is_none() && (is_plain || is_silent && !self.finished) {
            failure::ended_with(stderr, &mut self);
            if is_plain && self.refused.is_none() {
                let text = std::mem::take(&mut self.text);
                failure::ended_with(&text, &mut self);
                self.text = text;
            }
        }
        self
    }

    /// Whether nothing was used up: the run failed before its model said or did anything.
    #[must_use]
    pub fn used_nothing(&self) -> bool {
        let silent = !self.answered && !self.is_plain && self.usage.is_none_or(|usage| usage.total() == 0);
        let failed = self.finished && self.error.is_some() || self.refused.is_some();
        failed && silent
    }

    /// The model said or did something: what failed before was tried again.
    pub(super) fn answers(&mut self) {
        (self.answered, self.refused, self.repeats) = (true, None, 0);
    }

    /// With the cost of its tokens by this price, where the program names none.
    #[must_use]
    pub fn priced(mut self, price: Option<Price>) -> Self {
        let cost = self.cost(price);
        self.estimated = self.cost_micro_usd.is_none() && cost.is_some();
        self.cost_micro_usd = cost;
        self
    }

    /// The cost that the program names, or that of its tokens by this price, in millionths of a US dollar.
    #[must_use]
    pub fn cost(&self, price: Option<Price>) -> Option<u64> {
        self.cost_micro_usd.or_else(|| Some(price?.of(&self.usage?.into())))
    }

    /// How to go on in this conversation.
    #[must_use]
    pub fn continuation(&self) -> Option<Continuation> {
        let (used, cost_micro_usd) = (self.session_usage, self.session_cost_micro_usd);
        Some(Continuation { session: self.session.clone()?, used, cost_micro_usd })
    }

    /// Keeps a session's id if it is one: letters, digits, `-`, `_` and `.`, and no option.
    pub(super) fn set_session(&mut self, id: &str) {
        if is_session(id) {
            self.session = Some(id.to_owned());
        }
    }

    pub(super) fn set_error(&mut self, text: &str) {
        self.error = Some(bounded(&shown::lines(text), ERROR_BYTES_MAX)).filter(|text| !text.is_empty());
    }

    /// The program tries a request again, for this reason.
    pub(super) fn tries_again(&mut self, why: &str) {
        self.repeats = self.repeats.saturating_add(1);
        self.trying = Some(bounded(&shown::line(why), DOING_BYTES_MAX));
    }

    pub(super) fn call(&mut self, tool: &str, detail: &str) {
        let calls = self.tool_calls.get_or_insert(0);
        *calls = calls.saturating_add(1);
        self.does(tool, detail);
    }

    /// More is known of the last tool call.
    pub(super) fn does(&mut self, tool: &str, detail: &str) {
        self.doing = Some(bounded(&shown::line(format!("{tool} {detail}").trim_end()), DOING_BYTES_MAX));
    }

    pub(super) fn deny(&mut self, tool: &str) {
        let tool = bounded(&shown::line(tool), TOOL_BYTES_MAX);
        if self.permission.len() < DENIED_MAX && !self.permission.contains(&tool) {
            self.permission.push(tool);
        }
    }
}

impl AgentUsage {
    /// All tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self { input, output, cache_read, cache_write } = *self;
        [input, output, cache_read, cache_write].into_iter().fold(0, u64::saturating_add)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What is more here than there.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write: of(self.cache_write, other.cache_write),
        }
    }
}

impl fmt::Display for AgentUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, output, cache_read, cache_write } = self;
        write!(f, "{input} in, {output} out, {cache_read} read from and {cache_write} put into the cache")
    }
}

fn bounded(text: &str, max: usize) -> String {
    text.get(..text.floor_char_boundary(max)).unwrap_or_default().trim_end().to_owned()
}
