//! Handoffs of a turn, from what came of it.

use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildPlan, BuildStatus, ClarificationRequest, CommandRun, Failure, HelpRequest, LedgerSource,
        Origin,
    },
    facts::{BlobRef, BundleRef, DiffSummary, PathChange},
    turn::BuildRequest,
};

use super::{
    answer::Said,
    bench::{Built, Outcome, Ready},
};
use crate::{
    agent::{Final, Job},
    backend::markers::{HelpCall, Question, TEXT_BYTES_MAX, cut},
    mirror::to_wire,
};

/// Bytes of touched paths in a handoff, well below the largest message. The summary counts all of them, and whoever
/// judges looks at the trees.
const TOUCHED_BYTES_MAX: usize = 128 << 10;
/// What a changed path takes besides its name: status and modes.
const CHANGE_BYTES: usize = 100;

/// The plan that the harness writes for a program that makes none (FLY-15).
pub(super) fn plan(job: &Job, request: &BuildRequest) -> BuildPlan {
    let checks = request.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    BuildPlan::new(
        job.origin(),
        job.turn.turn_id.clone(),
        job.delivery,
        job.agent.clone(),
        false,
        request.scope.clone(),
        checks.map(|check| check.command.clone()).collect(),
        request.criteria.iter().map(|criterion| criterion.id.clone()).collect(),
        request.budget.clone(),
    )
}

/// The final handoff. `output` is the digest of the whole output, `bundle` that of the bundle, where there is one.
pub(super) fn final_handoff(job: &Job, built: Built, output: Digest, bundle: Option<Digest>) -> Final {
    let ran = CommandRun {
        source: LedgerSource::Harness,
        command: built.command,
        exit_code: built.exit_code,
        duration: built.metered.wall,
        evidence: Some(output),
    };
    let work = match built.outcome {
        Outcome::Ready(ready) => Work::ready(job, *ready, bundle),
        Outcome::Failed(failure) => Work { failure: Some(failure), ..Work::default() },
        Outcome::Clarify(question) => return Final::Clarify(clarification(job, question, output)),
        Outcome::Help(call) => return Final::Help(help(job, call, output)),
    };
    let mut ledger = vec![ran];
    ledger.extend(work.said.ledger);
    Final::Build(BuildArtifact::new(
        job.origin(),
        job.turn.turn_id.clone(),
        job.delivery,
        job.agent.clone(),
        if work.failure.is_some() { BuildStatus::Failed } else { BuildStatus::Ok },
        work.failure,
        work.bundle.as_ref().map(|bundle| bundle.tip.clone()),
        work.tree,
        work.bundle,
        bounded(work.touched),
        work.diff,
        ledger,
        work.said.claims,
        work.said.completion,
        built.metered,
    ))
}

#[derive(Default)]
struct Work {
    failure: Option<Failure>,
    tree: Option<holdpoint_protocol::facts::Oid>,
    bundle: Option<BundleRef>,
    touched: Vec<PathChange>,
    diff: DiffSummary,
    said: Said,
}

impl Work {
    fn ready(job: &Job, ready: Ready, digest: Option<Digest>) -> Self {
        let bundle = ready.work.zip(digest).map(|((commit, bundle), digest)| BundleRef {
            blob: BlobRef { role: job.role.clone(), digest, bytes: bundle.bytes },
            tip: to_wire(&commit),
            index: None,
        });
        let Ready { tree, touched, diff, said, .. } = ready;
        Self { failure: None, tree: Some(to_wire(&tree)), bundle, touched, diff, said }
    }
}

fn bounded(touched: Vec<PathChange>) -> Vec<PathChange> {
    let mut bytes = 0;
    let fits = |change: &PathChange| {
        bytes += change.path.len() + CHANGE_BYTES;
        bytes <= TOUCHED_BYTES_MAX
    };
    touched.into_iter().take_while(fits).collect()
}

fn clarification(job: &Job, question: Question, output: Digest) -> ClarificationRequest {
    ClarificationRequest::new(
        origin_with(job, output),
        job.turn.turn_id.clone(),
        job.delivery,
        job.agent.clone(),
        question.question,
        question.decision_context,
        question.confidence,
        question.options,
    )
}

fn help(job: &Job, call: HelpCall, output: Digest) -> HelpRequest {
    // A longer context goes as its beginning, in words: it is there to be read.
    let context = call.context.map(|context| {
        let text = context.to_string();
        if text.len() <= TEXT_BYTES_MAX { context } else { cut(&text).into() }
    });
    HelpRequest::new(
        origin_with(job, output),
        job.turn.turn_id.clone(),
        job.delivery,
        job.agent.clone(),
        call.raw_line,
        context,
    )
}

/// Questions and calls have no ledger: the output they stand in is named here.
fn origin_with(job: &Job, output: Digest) -> Origin {
    let mut origin = job.origin();
    origin.source_refs.push(output.to_string());
    origin
}
