//! Dialects: what an agent's program says, read from what it prints.
//!
//! Coding agents print JSON lines in which the agent's words are escaped strings. A [`DialectReader`] takes the bytes as they come
//! and says what the agent [`Said`]; markers, envelopes, questions, calls for help, failures and metering read that and
//! never the raw stream. In the dialect `plain` the agent's words are the standard output itself.
//!
//! Pure, and bounded whatever a program prints: a line that is too long or breaks off is passed over, and texts are cut. What else is wrong
//! with a line is replaced ([`lenient`]): half a character costs nobody the cost, the question or the call for help next to it.
//! Nothing here judges: whether a session may go on, a pause is made or a turn fails is for others to decide. Metered
//! amounts are the program's own word.

mod acp;
mod claude;
mod codex;
mod failure;
mod gemini;
mod heard;
mod lines;
mod said;
mod words;

use holdpoint_text::lenient;
use serde_json::Value;

pub use heard::DialectListener;
pub use holdpoint_runtime::config::Dialect;
pub use said::{AgentUsage, Continuation, ProviderRefusal, RefusalKind, Said};

pub(crate) use lines::{LINE_BYTES_MAX, Line, Lines};
pub(crate) use said::is_session;

/// Reads one run's standard output piece by piece; how it is cut makes no difference.
#[derive(Debug)]
pub struct DialectReader {
    dialect: Dialect,
    lines: Lines,
    said: Said,
    state: State,
}

/// What a dialect remembers between lines.
#[derive(Debug)]
enum State {
    Plain,
    Claude(claude::State),
    Codex(codex::State),
    Gemini(gemini::State),
    Acp(acp::State),
}

impl DialectReader {
    /// A reader of a run that goes on in this conversation, if in any.
    #[must_use]
    pub fn new(dialect: Dialect, before: Option<&Continuation>) -> Self {
        let state = match dialect {
            Dialect::Plain => State::Plain,
            Dialect::Claude => State::Claude(claude::State::default()),
            Dialect::Codex => State::Codex(codex::State::new(before.and_then(|before| before.used))),
            Dialect::Gemini => State::Gemini(gemini::State::default()),
            Dialect::Acp => State::Acp(acp::State::new(before)),
        };
        let said = Said { finished: dialect.is_plain(), is_plain: dialect.is_plain(), ..Said::default() };
        Self { dialect, lines: Lines::default(), said, state }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.dialect.is_plain() {
            self.said.text.extend_from_slice(bytes);
            return;
        }
        let Self { lines, said, state, .. } = self;
        lines.push(bytes, |line| take(line, said, state));
    }

    /// What was said so far.
    #[must_use]
    pub fn said(&self) -> &Said {
        &self.said
    }

    /// Lets go of the words that were said: nobody needs them any more. A stub says that there were some.
    fn forget(&mut self) {
        self.said.text.clear();
        self.said.text.push(b'\n');
        self.said.last = 0;
    }

    /// What was said, the last line included.
    #[must_use]
    pub fn finish(mut self) -> Said {
        let Self { lines, said, state, .. } = &mut self;
        lines.end(|line| take(line, said, state));
        self.said
    }
}

/// What a whole output says.
#[must_use]
pub fn read(dialect: Dialect, stdout: &[u8], before: Option<&Continuation>) -> Said {
    let mut reader = DialectReader::new(dialect, before);
    reader.push(stdout);
    reader.finish()
}

/// Takes one line of a dialect of JSON lines.
fn take(line: Line<'_>, said: &mut Said, state: &mut State) {
    let Line::Whole(line) = line else {
        said.unread = said.unread.saturating_add(1);
        return;
    };
    let is_event = |value: &Value| value.get("type").is_some_and(Value::is_string);
    match lenient::value(line) {
        Some(event) if is_event(&event) => match state {
            State::Claude(state) => state.take(&event, said),
            State::Codex(state) => state.take(&event, said),
            State::Gemini(state) => state.take(&event, said),
            State::Acp(state) => state.take(&event, said),
            State::Plain => {}
        },
        // An event that broke off is nobody's words.
        None if line.starts_with(b"{\"") => said.unread = said.unread.saturating_add(1),
        // A script around the program may print as well, and says what it says.
        Some(_) | None => words::plain(&mut said.text, line),
    }
}

/// A text of an event.
fn text<'a>(event: &'a Value, path: &str) -> Option<&'a str> {
    event.pointer(path).and_then(Value::as_str)
}

/// A count in an event; 0 where it has none.
fn count(event: &Value, name: &str) -> u64 {
    event.get(name).map_or(0, |value| value.as_u64().or_else(|| value.as_f64().and_then(rounded)).unwrap_or_default())
}

/// Dollars as millionths; `None` for what is no amount.
fn micro_usd(dollars: f64) -> Option<u64> {
    rounded(dollars * 1_000_000.0)
}

/// A number as a count; `None` for what is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn rounded(number: f64) -> Option<u64> {
    let number = number.round();
    (number >= 0.0 && number < u64::MAX as f64).then_some(number as u64)
}

#[cfg(test)]
mod tests;
