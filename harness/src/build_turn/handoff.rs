//! Handoffs of a turn, from what came of it.

use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, ClarificationRequest, CommandRun,
        Conversation, Failure, HelpRequest, LedgerSource, Metered, WorkInProgress,
    },
    checkpoint::GateDocument,
    facts::{BlobRef, BundleRef, DiffSummary, LeftOut, PathChange},
    turn::BuildRequest,
};

use super::{
    answer::WorkClaims,
    capture::{CapturedWork, Ready},
    outcome::BuildTurnOutcome,
    workbench::Built,
};
use crate::{
    agent::{Final, Job},
    ask::{self, Ask},
};
use holdpoint_runtime::mirror::to_wire;

/// Bytes of touched paths in a handoff, well below the largest message. The summary counts all of them, and a judge
/// looks at the trees.
const TOUCHED_BYTES_MAX: usize = 128 << 10;
/// What a changed path takes besides its name: status and modes.
const CHANGE_BYTES: usize = 100;

/// The plan that the harness writes for a program that makes none (FLY-15).
pub(super) fn plan(job: &Job, request: &BuildRequest) -> BuildPlan {
    let checks = request.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    BuildPlan::new(
        job.origin(),
        BuildPlanBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            declared: false,
            file_targets: request.scope.clone(),
            validation: checks.map(|check| check.command.clone()).collect(),
            coverage: request.criteria.iter().map(|criterion| criterion.id.clone()).collect(),
            budget: request.budget.clone(),
        },
    )
}

/// The final handoff. `output` is the digest of the whole output, `bundle` that of the bundle, where there is one.
pub(super) fn final_handoff(
    job: &Job,
    built: Built,
    (output, bundle): (Digest, Option<Digest>),
    conversation: Option<Conversation>,
) -> Final {
    let ran = CommandRun {
        source: LedgerSource::Harness,
        command: built.command,
        exit_code: built.exit_code,
        duration: built.metered.wall,
        evidence: Some(output),
    };
    let work = match built.outcome {
        BuildTurnOutcome::Ready(ready) => Work::ready(job, *ready, bundle),
        BuildTurnOutcome::Failed(failure, work, left_out) => Work {
            failure: Some(failure),
            left_out,
            document: built.unready,
            bundle: work.zip(bundle).map(|(work, digest)| stored(job, &work, digest)),
            ..Work::default()
        },
        BuildTurnOutcome::Clarify(question, work) => {
            return asked(job, (Ask::Question(question), built.metered), work, (output, bundle), conversation);
        }
        BuildTurnOutcome::Help(call, work) => {
            return asked(job, (Ask::Help(call), built.metered), work, (output, bundle), conversation);
        }
    };
    let unchanged = work.failure.is_none() && work.bundle.is_none();
    let mut ledger = vec![ran];
    ledger.extend(work.said.ledger.iter().cloned());
    Final::Build(BuildArtifact::new(
        job.origin(),
        BuildArtifactBody {
            ledger,
            last_words: built.last_words.filter(|_| unchanged),
            markers_ignored: built.markers_ignored,
            metered: built.metered,
            ..work.into_body(job)
        },
    ))
}

/// The final handoff of work that no program of ours ran for. `bundle` is the digest of the bundle, where there is one.
pub(super) fn by_hand(job: &Job, ready: Ready, bundle: Option<Digest>) -> Final {
    Final::Build(BuildArtifact::new(job.origin(), Work::ready(job, ready, bundle).into_body(job)))
}

#[derive(Default)]
struct Work {
    failure: Option<Failure>,
    tree: Option<holdpoint_protocol::facts::Oid>,
    bundle: Option<BundleRef>,
    touched: Vec<PathChange>,
    diff: DiffSummary,
    left_out: Vec<LeftOut>,
    said: WorkClaims,
    document: Option<Box<GateDocument>>,
}

impl Work {
    /// What is said of it, with nothing that was run and nothing that was used up.
    fn into_body(self, job: &Job) -> BuildArtifactBody {
        BuildArtifactBody {
            turn: job.turn.turn_id.clone(),
            delivery: job.delivery,
            agent: job.agent.clone(),
            status: if self.failure.is_some() { BuildStatus::Failed } else { BuildStatus::Ok },
            failure: self.failure,
            commit: self.bundle.as_ref().map(|bundle| bundle.tip.clone()),
            tree: self.tree,
            bundle: self.bundle,
            touched: bounded(self.touched),
            diff: self.diff,
            left_out: self.left_out,
            document: self.document,
            ledger: Vec::new(),
            claims: self.said.claims,
            last_words: None,
            completion_claim: self.said.completion,
            markers_ignored: Vec::new(),
            metered: Metered::default(),
        }
    }

    fn ready(job: &Job, ready: Ready, digest: Option<Digest>) -> Self {
        let bundle = ready.work.zip(digest).map(|(work, digest)| stored(job, &work, digest));
        let Ready { tree, touched, diff, left_out, said, document, .. } = ready;
        Self { failure: None, tree: Some(to_wire(&tree)), bundle, touched, diff, left_out, said, document }
    }
}

/// The commit of a work whose bundle is stored under this digest.
fn stored(job: &Job, (commit, bundle): &CapturedWork, digest: Digest) -> BundleRef {
    let blob = BlobRef { role: job.role.clone(), digest, bytes: bundle.bytes };
    BundleRef { blob, tip: to_wire(commit), index: None }
}

/// What was asked, with what there was then.
fn asked(
    job: &Job,
    (ask, metered): (Ask, Metered),
    work: Option<CapturedWork>,
    (output, bundle): (Digest, Option<Digest>),
    conversation: Option<Conversation>,
) -> Final {
    let work = work.zip(bundle).map(|(work, digest)| {
        let bundle = stored(job, &work, digest);
        WorkInProgress { commit: bundle.tip.clone(), bundle }
    });
    match ask::handoff(job, ask, work, (output, Some(metered))) {
        Final::Clarify(asked) => Final::Clarify(ClarificationRequest { conversation, ..asked }),
        Final::Help(call) => Final::Help(HelpRequest { conversation, ..call }),
        other => other,
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
