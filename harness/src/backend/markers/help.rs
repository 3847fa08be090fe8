//! Calls for help, found line by line while a program prints (RETRY-10), and what a line hides.

use holdpoint_engine::handed::HELP_EVENTS_MAX;
use holdpoint_protocol::artifact::{HelpEvent, HelpRequest, IgnoredBecause, IgnoredMarker};
use holdpoint_text::{lenient, shown};
use serde_json::Value;

use super::{element, visible::At};

/// The lines that call for help.
const SIGNALS: [&str; 2] = [">>>HELP<<<", "CLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST"];
/// What a call is named among ignored markers.
pub(super) const NAME: &str = "help";
/// The most that the context of a call for help may be long, in bytes: it goes to a person.
pub(super) const CONTEXT_BYTES_MAX: usize = 16 << 10;
/// The most that all contexts of a run may be long together, in bytes.
const CONTEXTS_BYTES_MAX: usize = 48 << 10;
/// How many ignored markers are kept of a run: what comes later is of the same kind.
pub const IGNORED_MAX: usize = 32;
/// How much is kept of the line of an ignored marker, in bytes.
const LINE_BYTES_MAX: usize = 200;

/// A call for help (RETRY-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpCall {
    /// The line, as printed but for the space around it.
    pub raw_line: String,
    /// The JSON object on the line after it.
    pub context: Option<Value>,
    /// All calls of the run, as they were seen while it ran.
    pub events: Vec<HelpEvent>,
    /// The program's final object did not say that it asked for help.
    pub overruled: bool,
    /// Markers of the run that said nothing.
    pub ignored: Vec<IgnoredMarker>,
}

impl HelpCall {
    /// A call of which only its line is known.
    #[must_use]
    pub fn of_line(raw_line: String) -> Self {
        Self { raw_line, context: None, events: Vec::new(), overruled: false, ignored: Vec::new() }
    }
}

/// Finds calls for help in the lines of one stream.
#[derive(Debug, Default)]
pub(super) struct Calls {
    echo: Echo,
    /// The line before, if it is not blank; else the last that is not.
    before: String,
    calls: Vec<HelpCall>,
    ignored: Vec<IgnoredMarker>,
    contexts: usize,
    /// The last line called for help, so this one may be its context.
    after_call: bool,
}

impl Calls {
    /// Finds calls in what a program prints that got `prompt`.
    pub(super) fn of(prompt: &str) -> Self {
        Self { echo: Echo::of(prompt), ..Self::default() }
    }

    /// Takes a line, and says whether it says anything: it is outside all fences, and does not repeat the prompt's
    /// markers.
    pub(super) fn line(&mut self, line: &str, at: At) -> bool {
        let trimmed = line.trim();
        let was_after_call = std::mem::take(&mut self.after_call);
        let marker = marker(trimmed);
        let is_echo = marker.is_some() && self.echo.has(&self.before, trimmed);
        if !trimmed.is_empty() {
            trimmed.clone_into(&mut self.before);
        }
        let why = match at {
            At::Outside if is_echo => IgnoredBecause::Echo,
            At::Outside => {
                self.says(trimmed, was_after_call);
                return true;
            }
            At::Opens | At::Inside => IgnoredBecause::Fence,
        };
        if let Some(marker) = marker {
            self.ignore(marker, why, trimmed);
        }
        false
    }

    /// Calls so far.
    pub(super) fn calls(&self) -> &[HelpCall] {
        &self.calls
    }

    /// Whether the last line called for help: the next one may be its context.
    pub(super) fn awaits_context(&self) -> bool {
        self.after_call
    }

    /// The first call, and what said nothing.
    pub(super) fn finish(self) -> (Option<HelpCall>, Vec<IgnoredMarker>) {
        (self.calls.into_iter().next(), self.ignored)
    }

    fn says(&mut self, line: &str, was_after_call: bool) {
        if let (true, Some(call)) = (was_after_call, self.calls.last_mut()) {
            call.context = context(line).filter(|_| self.contexts + line.len() <= CONTEXTS_BYTES_MAX);
            self.contexts += call.context.as_ref().map_or(0, |_| line.len());
        }
        if SIGNALS.contains(&line) && self.calls.len() < HELP_EVENTS_MAX {
            self.calls.push(HelpCall::of_line(line.to_owned()));
            self.after_call = true;
        }
    }

    fn ignore(&mut self, marker: &str, why: IgnoredBecause, line: &str) {
        if self.ignored.len() < IGNORED_MAX {
            self.ignored.push(ignored(marker, why, line));
        }
    }
}

/// A marker that says nothing, with the beginning of its line.
pub(crate) fn ignored(marker: &str, why: IgnoredBecause, line: &str) -> IgnoredMarker {
    let start = line.get(..line.floor_char_boundary(LINE_BYTES_MAX)).unwrap_or_default();
    IgnoredMarker { marker: marker.to_owned(), why, line: shown::line(start).into_owned() }
}

/// The lines of a prompt that would be markers if a program repeated them, each with the line before it.
#[derive(Debug, Default)]
struct Echo(Vec<(String, String)>);

impl Echo {
    fn of(prompt: &str) -> Self {
        let lines: Vec<&str> = prompt.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let before = std::iter::once("").chain(lines.iter().copied());
        let pairs = before.zip(&lines).filter(|(_, line)| marker(line).is_some());
        Self(pairs.map(|(before, line)| (before.to_owned(), (*line).to_owned())).collect())
    }

    /// Whether a line follows the same line as in the prompt.
    fn has(&self, before: &str, line: &str) -> bool {
        self.0.iter().any(|(earlier, same)| same == line && earlier == before)
    }
}

/// What a line would be if it said something.
fn marker(line: &str) -> Option<&'static str> {
    if SIGNALS.contains(&line) { Some(NAME) } else { element::named(line) }
}

/// The JSON object on the line after a call for help. One that is too large or too deep for a handoff is left out: the
/// call itself is never lost.
fn context(line: &str) -> Option<Value> {
    if line.len() > CONTEXT_BYTES_MAX {
        return None;
    }
    lenient::value(line.as_bytes()).filter(|value| value.is_object() && HelpRequest::can_carry(value))
}
