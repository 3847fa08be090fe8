//! Looking at handed-off work itself: its parent, its tree, its diff, its broken path rules (FLY-8, FLY-10a).
//!
//! Nothing a builder says about its work is taken for granted; a foreign builder's harness is not trusted.

use holdpoint_bus::blobs::BlobError;
use holdpoint_engine::{
    impact,
    waypoint::{BuildOutcome, BundledCommit, failure},
};
use holdpoint_planfile::checkpoints;
use holdpoint_protocol::{
    artifact::{BuildArtifact, BuildStatus, Clarified, Failure, WorkInProgress},
    checkpoint::GateDemands,
    facts::{BundleRef, Harness, Oid, PathChange},
    ids::FlightId,
    reason::ReasonCode,
};
use holdpoint_runtime::{
    mirror::{MirrorError, from_wire, path_changes, to_wire},
    path_rules::{self, JudgeError, RuleTexts},
    telemetry::ErrorChain,
};
use holdpoint_workspace::{CommitMeta, Mirror};

use crate::{
    landing::{self, LandingError},
    shell::Shell,
};

/// What the work is held against.
#[derive(Debug, Clone)]
pub(crate) struct Against {
    pub(crate) flight: FlightId,
    /// The waypoint's base and its tree.
    pub(crate) base: Oid,
    pub(crate) base_tree: Oid,
    /// What brings the base.
    pub(crate) bundles: Vec<BundleRef>,
    pub(crate) rules: RuleTexts,
    /// What the gate demands of its agents' work.
    pub(crate) demands: GateDemands,
    /// Before how many removed files a person is asked, and what was answered.
    pub(crate) impact: Option<(u32, Vec<Clarified>)>,
    /// How the commit is written that verifiers get; `None`: the work is for no verifier.
    pub(crate) stated: Option<Stated>,
}

/// How the commit of work is written that verifiers get.
#[derive(Debug, Clone)]
pub(crate) struct Stated {
    pub(crate) meta: CommitMeta,
    /// Whose harness the sender's key is for. Our own hands off this very commit and nothing besides.
    pub(crate) harness: Harness,
}

/// Why work could not be looked at. The handoff is given back and comes again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExamineError {
    /// The bundle that the artifact names is not there. Its sender stores it first, so it was lost, or never there.
    #[error("the bundle of the work is not stored")]
    NotStored(#[source] MirrorError),
    /// A blob is missing or wrong, or the disk is full.
    #[error("cannot fetch the work")]
    Mirror(#[source] MirrorError),
    /// Git failed for a reason that is not the work's.
    #[error("cannot read the work")]
    Work(#[source] JudgeError),
    /// The commit for verifiers could not be made or stored.
    #[error("cannot state the work for verifiers")]
    State(#[source] LandingError),
}

/// Fetches and examines the work of a build artifact.
pub(crate) async fn examine(
    shell: &Shell,
    against: &Against,
    artifact: &BuildArtifact,
) -> Result<BuildOutcome, ExamineError> {
    let _at = holdpoint_faults::at(holdpoint_faults::Step::Examine);
    if artifact.status == BuildStatus::Failed {
        return Ok(BuildOutcome::Failed(failure(artifact), left(shell, against, artifact).await?));
    }
    let looked_at = match (&artifact.commit, &artifact.bundle) {
        (None, _) => LookedAt::unchanged(),
        (Some(_), None) => LookedAt::from(invalid("a commit without a bundle that brings it".to_owned())),
        (Some(commit), Some(bundle)) => look_at(shell, against, (commit, bundle), against.stated.as_ref()).await?,
    };
    let changes = &looked_at.changes;
    let wrong = unasked(against, changes).or_else(|| unready(against, artifact, changes));
    Ok(match (&looked_at.outcome, wrong) {
        (BuildOutcome::Work { .. }, Some(why)) => invalid(why),
        _ => looked_at.outcome,
    })
}

/// Which question its maker should have asked first (FLY-21).
fn unasked(against: &Against, changes: &[PathChange]) -> Option<String> {
    let (most, answered) = against.impact.as_ref()?;
    let question = impact::question(Some(*most), changes, answered)?;
    let [agrees, _] = impact::OPTIONS;
    Some(format!("hand off a clarification_request first that asks, with the option `{agrees}`: {question}"))
}

/// Which checkpoints of its gate the work does not meet, by what git says of it and by its document.
fn unready(against: &Against, artifact: &BuildArtifact, changes: &[PathChange]) -> Option<String> {
    if against.demands.is_empty() {
        return None;
    }
    let document = artifact.document.as_deref().cloned().unwrap_or_default();
    let touched: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
    let validation = checkpoints::validate_document(&against.demands, &document, &touched);
    let why = || checkpoints::in_one_line(&against.demands, &validation.checkpoints);
    (!validation.handoff_ready).then(|| format!("checkpoints of the gate are not met: {}", why()))
}

/// What came of looking at a commit.
struct LookedAt {
    outcome: BuildOutcome,
    /// What it changes.
    changes: Vec<PathChange>,
}

impl LookedAt {
    fn unchanged() -> Self {
        Self::from(BuildOutcome::Work { commit: None, violations: Vec::new() })
    }
}

impl From<BuildOutcome> for LookedAt {
    fn from(outcome: BuildOutcome) -> Self {
        Self { outcome, changes: Vec::new() }
    }
}

/// The files that a failed turn left, where they were handed over and can be used.
async fn left(
    shell: &Shell,
    against: &Against,
    artifact: &BuildArtifact,
) -> Result<Option<BundledCommit>, ExamineError> {
    let (Some(commit), Some(bundle)) = (&artifact.commit, &artifact.bundle) else { return Ok(None) };
    let work = WorkInProgress { commit: commit.clone(), bundle: bundle.clone() };
    in_progress(shell, against, &work).await
}

/// Fetches work in progress and looks at it: one commit on the base, or `None` for anything else. A question or a failure is
/// not refused for what came with it.
pub(crate) async fn in_progress(
    shell: &Shell,
    against: &Against,
    work: &WorkInProgress,
) -> Result<Option<BundledCommit>, ExamineError> {
    match look_at(shell, against, (&work.commit, &work.bundle), None).await?.outcome {
        BuildOutcome::Work { commit, .. } => Ok(commit),
        BuildOutcome::Failed(failure, _) => {
            if shell.may_log("work in progress") {
                tracing::info!(flight = %against.flight, why = failure.detail, "work in progress is left out");
            }
            Ok(None)
        }
    }
}

/// Fetches a commit and examines it.
pub(crate) async fn examine_commit(
    shell: &Shell,
    against: &Against,
    commit: &Oid,
    bundle: &BundleRef,
) -> Result<BuildOutcome, ExamineError> {
    Ok(look_at(shell, against, (commit, bundle), against.stated.as_ref()).await?.outcome)
}

async fn look_at(
    shell: &Shell,
    against: &Against,
    (commit, bundle): (&Oid, &BundleRef),
    stated: Option<&Stated>,
) -> Result<LookedAt, ExamineError> {
    if &bundle.tip != commit {
        return Ok(invalid(format!("the bundle brings {}, not the commit {commit}", bundle.tip)).into());
    }
    let mut bundles = against.bundles.clone();
    bundles.push(bundle.clone());
    let mirror = match shell.mirrors.ensure(&shell.bus, &against.flight, &bundles).await {
        Ok(mirror) => mirror,
        Err(error) if error.is_refusal() || is_none_of(&error, bundle) => {
            return Ok(invalid(format!("the bundle is refused: {}", ErrorChain(&error))).into());
        }
        Err(error) if is_missing(&error, bundle) => return Err(ExamineError::NotStored(error)),
        Err(error) => return Err(ExamineError::Mirror(error)),
    };
    let looked_at = match outcome(&mirror, against, commit, bundle).await {
        Err(JudgeError::Git(error)) if error.is_refusal() => return Ok(invalid(ErrorChain(&error).to_string()).into()),
        other => other.map_err(ExamineError::Work)?,
    };
    match (looked_at, stated) {
        (LookedAt { outcome: BuildOutcome::Work { commit: Some(work), violations }, changes }, Some(stated)) => {
            let work = state(shell, &mirror, against, work, stated).await.map_err(ExamineError::State)?;
            Ok(LookedAt { outcome: BuildOutcome::Work { commit: Some(work), violations }, changes })
        }
        (looked_at, _) => Ok(looked_at),
    }
}

/// The work as one commit that says nothing but its tree, in a bundle that brings nothing besides: no verifier fetches a word of its
/// maker (FLY-18).
async fn state(
    shell: &Shell,
    mirror: &Mirror,
    against: &Against,
    work: BundledCommit,
    Stated { meta, harness }: &Stated,
) -> Result<BundledCommit, LandingError> {
    let (base, tree) = (from_wire(&against.base), from_wire(&work.tree));
    let commit = mirror.commit_on(&base, &tree, meta).await.map_err(LandingError::Git)?;
    if !harness.is_foreign() && to_wire(&commit) == work.commit {
        return Ok(work);
    }
    let bundle = landing::pack(mirror, &against.base, &commit).await?;
    landing::store(shell, bundle, &commit, &tree).await
}

/// Whether what is stored under the bundle's name is something else. Blobs are written once, so waiting does not help;
/// a bundle that is not there may still come.
pub(crate) fn is_none_of(error: &MirrorError, bundle: &BundleRef) -> bool {
    let MirrorError::Blob { source, .. } = error else { return false };
    match source {
        BlobError::Corrupt { digest, .. } | BlobError::TooLarge { digest, .. } => *digest == bundle.blob.digest,
        BlobError::NotFound { .. } | BlobError::NoRoom { .. } | BlobError::Broker { .. } | BlobError::Io { .. } => {
            false
        }
    }
}

/// Whether it is the bundle that is not there.
pub(crate) fn is_missing(error: &MirrorError, bundle: &BundleRef) -> bool {
    let MirrorError::Blob { source: BlobError::NotFound { digest, .. }, .. } = error else { return false };
    *digest == bundle.blob.digest
}

async fn outcome(mirror: &Mirror, against: &Against, commit: &Oid, bundle: &BundleRef) -> Result<LookedAt, JudgeError> {
    let (base, base_tree) = (from_wire(&against.base), from_wire(&against.base_tree));
    let judged = mirror.commit(&from_wire(commit)).await?;
    if judged.parents.as_slice() != [base] {
        return Ok(invalid(format!("the commit must have exactly one parent, the base {}", against.base)).into());
    }
    let tree = judged.tree;
    if tree == base_tree {
        return Ok(LookedAt::unchanged());
    }
    mirror.check_filters(&base_tree, &tree).await?;
    let judged = path_rules::judge(mirror, &base_tree, &tree, &against.rules).await?;
    let changes = path_changes(&judged.changes);
    let violations = judged.judgement.violations;
    let commit = BundledCommit { commit: commit.clone(), tree: to_wire(&tree), bundle: bundle.clone() };
    Ok(LookedAt { outcome: BuildOutcome::Work { commit: Some(commit), violations }, changes })
}

fn invalid(detail: String) -> BuildOutcome {
    BuildOutcome::Failed(Failure { reason: ReasonCode::HandoffInvalid, detail }, None)
}
