//! How a run ended: read for the rules of `evidence`, and said in its span. Decides nothing about a criterion.

use holdpoint_evidence::checks::{CheckEnd, JudgedRun};
use holdpoint_protocol::{artifact::TreeTested, facts::Verdict};
use holdpoint_runtime::telemetry::{self, fields};
use holdpoint_sandbox::{Ended, RunOutcome};
use regex::Regex;
use tracing::Span;

use super::Left;
use crate::evidence;

/// The signal for a file that grew over the limit.
const SIGXFSZ: i32 = 25;

/// Says in a span what a run came to. On the base, with its product or with a mutant, a check may well be red: there only
/// what settles nothing is a failure.
pub(super) fn tell(span: &Span, tested: TreeTested, outcome: &RunOutcome, read: &JudgedRun) {
    let (verdict, reason) = read.outcome;
    span.record(fields::VERDICT, verdict.as_str());
    if let Some(reason) = reason {
        span.record(fields::REASON, reason.as_str());
    }
    if let Some(code) = exit_code(outcome.ended) {
        span.record(fields::EXIT_CODE, code);
    }
    match verdict {
        Verdict::Fail if matches!(tested, TreeTested::Handoff | TreeTested::TestsAsOnBase) => {
            telemetry::fail(span, "the check is red");
        }
        Verdict::Inconclusive if !matches!(tested, TreeTested::Mutant | TreeTested::Watched) => {
            telemetry::fail(span, "the check settles nothing");
        }
        Verdict::Pass | Verdict::Fail | Verdict::Inconclusive => {}
    }
}

pub(super) fn tested(tree: TreeTested) -> &'static str {
    match tree {
        TreeTested::Handoff => "handoff",
        TreeTested::Base => "base",
        TreeTested::TestsAsOnBase => "tests_as_on_base",
        TreeTested::Canaries => "canaries",
        TreeTested::CanariesAlone => "canaries_alone",
        TreeTested::ProductAsOnBase => "product_as_on_base",
        TreeTested::FileAsOnBase => "file_as_on_base",
        TreeTested::Mutant => "mutant",
        TreeTested::Watched => "watched",
    }
}

/// The exit code, if the program exited by itself.
pub(crate) fn exit_code(ended: Ended) -> Option<i32> {
    if let Ended::Exited(code) = ended { Some(code) } else { None }
}

/// What a run says by itself; `recipe`: its command with the recipes that this stands for.
pub(super) fn read(command: &str, recipe: &str, expect: Option<&Regex>, left: &Left) -> JudgedRun {
    let outcome = &left.outcome;
    let whole = outcome.ended != Ended::OutputLimit;
    let text = left.places.named(evidence::text(outcome));
    let read = JudgedRun::read(command, end_of(outcome.ended), expect, &text, whole).reported(command, &left.reports);
    if whole { read.with_recipe(recipe) } else { read }
}

/// How a program ended, for the rules of `evidence`.
fn end_of(ended: Ended) -> CheckEnd {
    let limit = matches!(ended, Ended::OutputLimit | Ended::MemoryLimit | Ended::DiskLimit | Ended::Signalled(SIGXFSZ));
    let signal = if let Ended::Signalled(signal) = ended { Some(signal) } else { None };
    CheckEnd { exit: exit_code(ended), signal, timed_out: ended == Ended::TimedOut, limit }
}
