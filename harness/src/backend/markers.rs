//! What an agent's output says to the harness: markers, answer envelopes, questions, calls for help.
//!
//! Pure. It finds and does not judge: whether a turn is ready is [`crate::build_turn`]'s matter, and whether the work is
//! done nobody's here (FLY-I5). Everything inside a code fence is quoted text and says nothing.
//!
//! Markers are XML-like elements on standard output, with a closing tag and, where it helps, `name="value"` attributes:
//!
//! ```text
//! <execution-stage>what it is doing</execution-stage>
//! <validation command="cargo test" exit="0">what came out</validation>
//! <acceptance-criterion id="unit">why it is met</acceptance-criterion>
//! <clarification-request options="a|b" confidence="low" context="what depends on it">a question</clarification-request>
//! <waypoint-complete>the waypoint's id, then anything it wants to add</waypoint-complete>
//! ```

mod completion;
mod element;
mod object;
mod visible;

pub use completion::reply;
pub(crate) use completion::{BadCompletion, completion};
pub(crate) use element::first_word;
use holdpoint_core::shown;
use holdpoint_protocol::artifact::HelpRequest;
pub(crate) use object::sure;
use serde_json::{Map, Value};
use visible::Visible;
pub(crate) use visible::closing as closing_fence;

use super::question::{BadQuestion, Question};

/// The most of any one text that is taken over, in bytes: more is prose that nobody reads.
pub const TEXT_BYTES_MAX: usize = 2 << 10;
/// The most markers that are taken over of one kind: all of them fit into a handoff several times over.
pub const MARKERS_MAX: usize = 32;

/// The most that the context of a call for help may be long, in bytes: it goes to a person.
const CONTEXT_BYTES_MAX: usize = 16 << 10;

/// The lines that call for help (RETRY-10).
const HELP: [&str; 2] = [">>>HELP<<<", "CLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST"];

/// A question, or why it is none.
pub type Asked = Result<Question, BadQuestion>;

/// Everything found in an output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The markers, without those in code fences.
    pub markers: Markers,
    /// The last answer envelope.
    pub envelope: Option<Printed>,
    /// The first question; one as an object comes before one as an element.
    pub question: Option<Asked>,
    /// The first call for help, of either stream.
    pub help: Option<HelpCall>,
}

/// The markers of an output (FLY-25).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// `<execution-stage>`: what it says.
    pub stages: Vec<String>,
    /// `<validation>`.
    pub validations: Vec<Validation>,
    /// `<acceptance-criterion>`.
    pub claims: Vec<Claim>,
    /// `<waypoint-complete>`: each one's whole text; the first word is the waypoint's id.
    pub completions: Vec<Completion>,
    /// Whether a `<waypoint-complete>` was begun and not ended.
    pub unfinished: bool,
}

/// A completion that the program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The whole text.
    pub text: String,
    /// What its attribute `confidence` says, as printed.
    pub confidence: Option<String>,
}

impl Markers {
    /// Whether the program used any marker.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// A validation that the program says it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// The command; the marker's text where it names none.
    pub command: String,
    /// The exit code it names.
    pub exit_code: Option<i32>,
}

/// A criterion that the program says it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The criterion's id as printed: the attribute `id`, or the first word.
    pub id: String,
    /// The rest.
    pub text: String,
}

/// An object that a program printed as its result (RETRY-1), before anything is held against it.
#[derive(Debug, Clone, PartialEq)]
pub enum Printed {
    /// A whole one.
    Whole(Map<String, Value>),
    /// One that is not.
    Broken {
        /// It was right as far as it goes.
        cut_off: bool,
        /// What is wrong with it.
        details: String,
        /// Its beginning.
        start: String,
    },
}

/// A call for help (RETRY-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpCall {
    /// The line, as printed but for the space around it.
    pub raw_line: String,
    /// The JSON object on the line after it.
    pub context: Option<Value>,
}

/// Reads a whole output. Calls for help count on both streams, everything else on standard output.
#[must_use]
pub fn read(stdout: &[u8], stderr: &[u8]) -> Found {
    let mut out = Scanner::default();
    out.push(stdout);
    let mut err = Scanner::default();
    err.push(stderr);
    let mut found = out.finish();
    found.help = found.help.or_else(|| err.finish().help);
    found
}

/// Reads one stream piece by piece; how it is cut makes no difference.
#[derive(Debug, Default)]
pub struct Scanner {
    line: Vec<u8>,
    visible: Visible,
    help: Option<HelpCall>,
    /// The last line called for help, so this one may be its context.
    after_help: bool,
}

impl Scanner {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// The first call for help so far.
    #[must_use]
    pub fn help(&self) -> Option<&HelpCall> {
        self.help.as_ref()
    }

    /// Says what was found, the last line included.
    #[must_use]
    pub fn finish(mut self) -> Found {
        if !self.line.is_empty() {
            self.end_line();
        }
        let text = self.visible.into_text();
        let (envelope, question) = object::read(&text);
        let (markers, asked) = element::read(&text);
        let question = question.or(asked);
        Found { markers, envelope, question, help: self.help }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let was_after_help = std::mem::take(&mut self.after_help);
        if !self.visible.push(&line) {
            return;
        }
        let trimmed = line.trim();
        if let (true, Some(help)) = (was_after_help, &mut self.help) {
            help.context = context(trimmed);
        }
        if self.help.is_none() && HELP.contains(&trimmed) {
            self.help = Some(HelpCall { raw_line: trimmed.to_owned(), context: None });
            self.after_help = true;
        }
    }
}

/// The JSON object on the line after a call for help. One that is too large or too deep for a handoff is left out: the
/// call itself is never lost.
fn context(line: &str) -> Option<Value> {
    if line.len() > CONTEXT_BYTES_MAX {
        return None;
    }
    serde_json::from_str(line).ok().filter(|value: &Value| value.is_object() && HelpRequest::can_carry(value))
}

/// At most [`TEXT_BYTES_MAX`] bytes of a text, cut between characters, and nothing that moves a terminal's cursor.
#[must_use]
pub(crate) fn cut(text: &str) -> String {
    let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default();
    let shown = shown::lines(text);
    shown.get(..shown.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
