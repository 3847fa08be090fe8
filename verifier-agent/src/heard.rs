//! What a report says of the runs that an observer heard, or should have.

use holdpoint_evidence::runners::{Observed, Runner};
use holdpoint_protocol::{artifact::CriterionReport, reason::CriterionReason};

use crate::{criterion::NAMES_SHOWN, runs::Ran};

/// What a reason means that an observer gave, with what it heard. `None`: it did not give it.
pub(crate) fn explained(reason: CriterionReason, ran: &Ran) -> Option<String> {
    let text = match reason {
        CriterionReason::ReportMismatch => {
            "it ended with exit code 0, but what the observer heard of its test runner is not what it reports, or code \
             under test has replaced parts of its test library"
        }
        CriterionReason::NoEndMark => {
            "it ended with exit code 0, but its test runner did not come to its end: the code under test ended it, or had \
             it leave tests out"
        }
        _ => return None,
    };
    let heard = ran.read.observed.as_ref().map(Observed::lines).unwrap_or_default();
    let more = if heard.len() > NAMES_SHOWN { "; …" } else { "" };
    let shown: Vec<&str> = heard.iter().map(String::as_str).take(NAMES_SHOWN).collect();
    Some(format!("{text} ({}{more})", shown.join("; ")))
}

/// Notes in a strict report that no observer heard a runner that showed itself and that one can hear.
pub(crate) fn note_silence(ran: &Ran, report: &mut CriterionReport) {
    let counts = ran.read.counts.as_ref();
    let heard =
        [Runner::Pytest, Runner::Unittest, Runner::CargoTest, Runner::Nextest, Runner::GoTest, Runner::NodeTest];
    let shown = counts.is_some_and(|counts| heard.iter().any(|runner| counts.by_runner.contains_key(runner)));
    if shown && ran.read.observed.as_ref().is_none_or(|heard| heard.armed() == 0) {
        let note = "no observer heard its test runner: what it printed is all there is";
        report.note = Some(report.note.take().map_or_else(|| note.to_owned(), |before| format!("{before}; {note}")));
    }
}
