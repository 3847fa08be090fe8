//! What an agent's output says to the harness: markers, answer envelopes, questions, calls for help.
//!
//! Pure. It finds and does not judge: [`crate::build_turn`] decides whether a turn is ready, and nobody here whether
//! the work is done (FLY-I5). Everything inside a code fence is quoted text and says nothing.
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
mod contract;
mod element;
mod help;
mod object;
mod reconcile;
mod visible;

pub use completion::reply;
pub(crate) use completion::{BadCompletion, completion};
pub use contract::Contract;
pub(crate) use element::{COMPLETE, first_word};
use help::Calls;
pub use help::{HelpCall, IGNORED_MAX};
use holdpoint_protocol::{
    artifact::{IgnoredBecause, IgnoredMarker},
    ids::WaypointId,
};
use holdpoint_text::shown;
pub(crate) use object::sure;
pub(crate) use reconcile::reconcile;
use serde_json::{Map, Value};
pub(crate) use visible::closing as closing_fence;
use visible::{At, Fences, Visible};

use super::question::{BadQuestion, ValidQuestion};

/// The most of any one text that is taken over, in bytes: more is prose that nobody reads.
pub const TEXT_BYTES_MAX: usize = 2 << 10;
/// The most markers that are taken over of one kind: all of them fit into a handoff several times over.
pub const MARKERS_MAX: usize = 32;

/// A question, or why it is none.
pub type PrintedQuestion = Result<ValidQuestion, BadQuestion>;

/// Everything found in an output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The markers, without those in code fences.
    pub markers: Markers,
    /// The last answer envelope.
    pub envelope: Option<PrintedResult>,
    /// The first question; one as an object comes before one as an element.
    pub question: Option<PrintedQuestion>,
    /// The first call for help, of either stream, or of the final object.
    pub help: Option<HelpCall>,
    /// Markers and calls for help that say nothing where they are.
    pub ignored: Vec<IgnoredMarker>,
}

impl Found {
    /// The markers that say nothing: in a fence, in an echo, or of another waypoint than this (FLY-25).
    #[must_use]
    pub fn said_nothing(self, waypoint: &WaypointId) -> Vec<IgnoredMarker> {
        let Self { markers, mut ignored, .. } = self;
        let others = markers.completions.iter().filter(|said| first_word(&said.text).0 != waypoint.as_str());
        ignored.extend(others.map(|said| help::ignored(COMPLETE, IgnoredBecause::OtherWaypoint, &said.text)));
        ignored.truncate(IGNORED_MAX);
        ignored
    }
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
    /// The first words behind each `<waypoint-complete>` that was begun and not ended.
    pub unfinished: Vec<String>,
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
    /// The completions of this waypoint.
    pub fn completions_of(&self, waypoint: &WaypointId) -> impl Iterator<Item = &Completion> {
        self.completions.iter().filter(move |said| first_word(&said.text).0 == waypoint.as_str())
    }

    /// Whether a completion of this waypoint was begun and not ended.
    #[must_use]
    pub fn is_unfinished(&self, waypoint: &WaypointId) -> bool {
        self.unfinished.iter().any(|word| word == waypoint.as_str())
    }

    /// Whether the program speaks the language of turns. `<validation>` is a word of others too, and prose names an element
    /// without closing it.
    #[must_use]
    pub fn speak_of(&self, waypoint: &WaypointId) -> bool {
        let whole = !(self.stages.is_empty() && self.claims.is_empty() && self.completions.is_empty());
        whole || self.is_unfinished(waypoint)
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
pub enum PrintedResult {
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

/// Reads a whole output of a program that got `prompt`. Calls for help count on both streams, everything else on
/// standard output, where it names the contract. The final object's words on help are held against the calls.
#[must_use]
pub fn read(stdout: &[u8], stderr: &[u8], prompt: &str, contract: Contract<'_>) -> Found {
    let mut out = Scanner::of(prompt);
    out.push(stdout);
    let mut err = Scanner::of(prompt);
    err.push(stderr);
    let (mut found, of_err) = (out.finish(contract), err.finish(contract));
    found.help = reconcile(found.help.or(of_err.help), found.envelope.as_ref());
    found.ignored.extend(of_err.ignored.into_iter().filter(|ignored| ignored.marker == help::NAME));
    found.ignored.truncate(IGNORED_MAX);
    found
}

/// Reads one stream piece by piece; how it is cut makes no difference.
#[derive(Debug, Default)]
pub struct Scanner {
    line: Vec<u8>,
    said: Lines,
}

/// The lines of a stream.
#[derive(Debug, Default)]
struct Lines {
    fences: Fences,
    visible: Visible,
    calls: Calls,
}

impl Scanner {
    /// Reads what a program prints that got `prompt`: anything that it repeats of that says nothing.
    #[must_use]
    pub fn of(prompt: &str) -> Self {
        Self { said: Lines { calls: Calls::of(prompt), ..Lines::default() }, ..Self::default() }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { line, said } = self;
        lines_of(line, bytes, |line| said.take(line));
    }

    /// Says what was found, the last line included.
    #[must_use]
    pub fn finish(self, contract: Contract<'_>) -> Found {
        let Self { mut line, mut said } = self;
        last_line(&mut line, |line| said.take(line));
        let Lines { visible, calls, .. } = said;
        let text = visible.into_text();
        let (envelope, question) = object::read(&text, contract);
        let (markers, asked) = element::read(&text);
        let question = question.or(asked);
        let (help, ignored) = calls.finish();
        Found { markers, envelope, question, help, ignored }
    }
}

impl Lines {
    fn take(&mut self, line: &str) {
        let at = self.fences.push(line);
        if at == At::Opens {
            self.visible.part();
        }
        if self.calls.line(line, at) {
            self.visible.push(line);
        }
    }
}

/// Finds calls for help in one stream while it is printed; keeps nothing else of it.
#[derive(Debug)]
pub struct Listening {
    line: Vec<u8>,
    fences: Fences,
    calls: Calls,
}

impl Listening {
    /// Listens to what a program prints that got `prompt`.
    #[must_use]
    pub fn of(prompt: &str) -> Self {
        Self { line: Vec::new(), fences: Fences::default(), calls: Calls::of(prompt) }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { line, fences, calls } = self;
        lines_of(line, bytes, |line| {
            calls.line(line, fences.push(line));
        });
    }

    /// Takes what was printed last as a whole line.
    pub fn end(&mut self) {
        let Self { line, fences, calls } = self;
        last_line(line, |line| {
            calls.line(line, fences.push(line));
        });
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> &[HelpCall] {
        self.calls.calls()
    }

    /// Whether the last line called for help: the next one may be its context.
    #[must_use]
    pub fn awaits_context(&self) -> bool {
        self.calls.awaits_context()
    }
}

/// Gives each line that the next bytes end, with its end; keeps the rest in `open`.
fn lines_of(open: &mut Vec<u8>, bytes: &[u8], mut each: impl FnMut(&str)) {
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        open.extend_from_slice(piece);
        if piece.ends_with(b"\n") {
            each(&String::from_utf8_lossy(open));
            open.clear();
        }
    }
}

/// Gives what is there as the last line.
fn last_line(open: &mut Vec<u8>, mut each: impl FnMut(&str)) {
    if !open.is_empty() {
        each(&String::from_utf8_lossy(open));
        open.clear();
    }
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
