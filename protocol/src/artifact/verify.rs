//! What a verifier is asked and what it answers (FLY-9, FLY-10, FLY-10a, FLY-10b).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    artifact::{Clarified, IgnoredMarker, Metered, artifact},
    checkpoint::CheckpointCommand,
    facts::{BundleRef, CriterionResult, DiffSummary, Oid, Verdict, Violation},
    ids::{AgentName, ArtifactId, CriterionId, GateId, TurnId},
    plan::{Attention, Criterion, EnvironmentSpec, EvidenceLevel, Guard},
    reason::CriterionReason,
    time::Millis,
    workflow::GateBrief,
};

/// What a verification is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationPurpose {
    /// Before the first build turn: guards are green on the base, `red_first` checks are red.
    Baseline,
    /// A handed-off tree.
    Handoff,
    /// The merge of an accepted tree with what landed meanwhile.
    Merge,
}

artifact! {
    /// What a verifier is to judge (FLY-9). It holds no word of the builder's (FLY-18).
    VerificationRequest(VerificationRequestBody) = "verification_request" {
        /// What it is for.
        purpose: VerificationPurpose,
        /// The commit the tree stands on.
        base: Oid,
        /// The commit under review; the base itself when nothing changed or for a baseline.
        commit: Oid,
        /// The tree under review.
        tree: Oid,
        /// What brings these objects, in order.
        bundles: Vec<BundleRef>,
        /// The criteria under review.
        criteria: Vec<Criterion>,
        /// Guards, which hold on the base.
        guards: Vec<Guard>,
        /// Commands of checkpoints: of the gates before this one that made the work, and of this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checkpoints: Vec<CheckpointAsked>,
        /// The evidence that is expected, a line for each criterion and guard. Earlier versions did not say so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<EvidenceExpected>,
        /// What the trees' dependencies are set up from.
        #[serde(default, skip_serializing_if = "EnvironmentSpec::is_none")]
        environment: EnvironmentSpec,
        /// The waypoint's scope, for the path rules.
        scope: Vec<String>,
        /// Globs of paths where tests may be added besides, also inside files that exist.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        new_tests: Vec<String>,
        /// Tests that exist and need not stay green as they are on the base, or may go: globs of files, or `file::name`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed_tests: Vec<String>,
        /// Protected globs of plan and waypoint.
        protected: Vec<String>,
        /// The guidance document, a steering file.
        covenant: String,
        /// Questions of a verifier of this waypoint that were answered, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        clarifications: Vec<Clarified>,
        /// BDD specs of the waypoint, for the judge. No check follows from them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tests: Vec<serde_json::Value>,
        /// What the gate says, for the judge (GATE-20). No check follows from it.
        #[serde(default, skip_serializing_if = "GateBrief::is_empty")]
        gate: GateBrief,
        /// Whether the change is read for suspicious code: `off` says that it is not.
        #[serde(default = "Attention::hold", skip_serializing_if = "Attention::is_hold")]
        suspicious: Attention,
        /// Verdicts of a person who took this turn over, on all criteria without a check: they stand in place of a judge's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        judged: Vec<PersonVerdict>,
    }
}

/// A checkpoint that the verifier's run of its command settles, whatever its maker says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointAsked {
    /// The gate.
    pub gate: GateId,
    /// The checkpoint, unique in its gate.
    pub id: CriterionId,
    /// What is run.
    #[serde(flatten)]
    pub command: CheckpointCommand,
}

/// What came of the command of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointReport {
    /// The gate.
    pub gate: GateId,
    /// The verdict, under the checkpoint's name.
    #[serde(flatten)]
    pub report: CriterionReport,
}

/// What has to show a criterion or a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceExpected {
    /// The criterion or guard.
    pub criterion: CriterionId,
    /// Whose word shows it.
    pub by: EvidenceSource,
    /// How hard a check's green is tried.
    #[serde(default, skip_serializing_if = "EvidenceLevel::is_fast")]
    pub level: EvidenceLevel,
}

/// Whose word shows a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// The output and the exit code of its check, run by the verifier's harness.
    Check,
    /// A judge's, or a person's who takes the turn over.
    Judge,
}

/// What a person says of a criterion without a check (GATE-33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonVerdict {
    /// The criterion.
    pub criterion: CriterionId,
    /// `pass` or `fail`.
    pub verdict: Verdict,
    /// What it rests on.
    pub note: String,
    /// Who says so. Never who made the work.
    pub by: AgentName,
}

artifact! {
    /// Criteria → evidence wanted (FLY-10b). Recorded before the tree is checked out.
    VerificationPlan(VerificationPlanBody) = "verification_plan" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who holds it.
        agent: AgentName,
        /// One line a criterion.
        wanted: Vec<EvidenceWanted>,
    }
}

/// What would show a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceWanted {
    /// The criterion or guard.
    pub criterion: CriterionId,
    /// The command whose output is the evidence; `None`: a judge's verdict.
    pub command: Option<String>,
}

artifact! {
    /// Per criterion a verdict with evidence (FLY-10).
    VerificationReport(VerificationReportBody) = "verification_report" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who judged.
        agent: AgentName,
        /// What it was for.
        purpose: VerificationPurpose,
        /// The commit that was judged.
        commit: Oid,
        /// The tree that was judged.
        tree: Oid,
        /// One for each criterion asked, in that order.
        criteria: Vec<CriterionReport>,
        /// One for each guard asked, in that order.
        guards: Vec<CriterionReport>,
        /// One for each command of a checkpoint asked, in that order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checkpoints: Vec<CheckpointReport>,
        /// Broken path rules, from a diff the verifier computed itself.
        violations: Vec<Violation>,
        /// How much changed, from that diff.
        diff: DiffSummary,
        /// What the verifier could not settle.
        doubts: Vec<Doubt>,
        /// What was run.
        receipt: ChecklistReceipt,
        /// The agent judged its own work (FLY-36).
        self_checked: bool,
        /// What its judge's program used up, by its own word as far as it is not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metered: Option<Metered>,
        /// Markers in its judge's output that say nothing where they are (FLY-25).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        markers_ignored: Vec<IgnoredMarker>,
    }
}

impl VerificationReport {
    /// Every verdict: on criteria, on guards and on commands of checkpoints.
    pub fn verdicts(&self) -> impl Iterator<Item = &CriterionReport> {
        self.criteria.iter().chain(&self.guards).chain(self.checkpoints.iter().map(|one| &one.report))
    }
}

/// The verdict on one criterion, with what a person or a repair agent needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionReport {
    /// The verdict and its evidence.
    pub result: CriterionResult,
    /// The command, where there is one.
    pub command: Option<String>,
    /// The exit code of the deciding run.
    pub exit_code: Option<i32>,
    /// The last lines of the deciding run's output.
    pub output_tail: String,
    /// One sentence on what decided, for people.
    pub note: Option<String>,
}

/// Something a verifier could not settle, or that a person should see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// A blocking doubt keeps the waypoint from being accepted.
    pub blocking: bool,
    /// The change has code that can make a verdict say nothing: `policy.suspicious` says what becomes of the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspicious: bool,
    /// What it is.
    pub text: String,
}

impl Doubt {
    /// A doubt that keeps nothing from being accepted.
    #[must_use]
    pub fn note(text: String) -> Self {
        Self { blocking: false, suspicious: false, text }
    }

    /// A doubt that keeps the waypoint from being accepted.
    #[must_use]
    pub fn blocking(text: String) -> Self {
        Self { blocking: true, suspicious: false, text }
    }

    /// A doubt about code that can make a verdict say nothing.
    #[must_use]
    pub fn suspicious(text: String) -> Self {
        Self { blocking: false, suspicious: true, text }
    }
}

/// What the harness ran, and under which rules (FLY-10a). Made by the harness, never by a judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecklistReceipt {
    /// Every run, in order.
    pub checks: Vec<CheckRun>,
    /// What the sandbox enforced, and by what.
    pub properties: Vec<PropertyEnforced>,
    /// True for a harness that is not Holdpoint's. Its sender's word: an orchestrator puts what the sender's key says in its
    /// place before it records or shows the receipt.
    pub foreign: bool,
}

/// On which tree a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeTested {
    /// The tree under review.
    Handoff,
    /// The base.
    Base,
    /// The tree under review with the tests exactly as on the base.
    TestsAsOnBase,
    /// A tree on which the check was green, with tests added that have to fail.
    Canaries,
    /// The base with those tests instead of its own.
    CanariesAlone,
    /// The tree under review with the product exactly as on the base.
    ProductAsOnBase,
    /// The tree under review with one file of the product as on the base.
    FileAsOnBase,
    /// The tree under review with one changed line broken.
    Mutant,
    /// The tree under review once more, watched for the lines that run.
    Watched,
}

/// One run of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRun {
    /// The criterion or guard; `None` for the setup of its tree's environment.
    pub criterion: Option<CriterionId>,
    /// The shell command.
    pub command: String,
    /// Which kind of tree.
    pub tested: TreeTested,
    /// The tree itself.
    pub tree: Oid,
    /// The exit code; `None` when a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Wall time.
    pub duration: Millis,
    /// How long after its verifier took the turn up it began; `None` where it is not known, as of a run that is `known_from` a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Millis>,
    /// The digest of the captured output: also its reference in the blob stream.
    pub output: Digest,
    /// Bytes of the captured output.
    pub output_bytes: u64,
    /// What this run alone says.
    pub verdict: Verdict,
    /// Why it is not a plain pass.
    pub reason: Option<CriterionReason>,
    /// The report that first had this run: nothing was run again for this one. `None`: it was made for this report. Its own name: it was made
    /// for something else in this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_from: Option<ArtifactId>,
}

/// One property of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PropertyEnforced {
    /// Its name.
    pub property: String,
    /// The mechanism; `None`: not enforced, by explicit setting.
    pub mechanism: Option<String>,
}
