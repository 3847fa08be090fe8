//! What a builder or a repair agent hands off (FLY-7, FLY-8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    artifact::{IgnoredMarker, artifact},
    checkpoint::GateDocument,
    facts::{BundleRef, DiffSummary, LeftOut, Oid, PathChange},
    ids::{AgentName, CriterionId, TurnId},
    plan::TurnBudget,
    reason::ReasonCode,
    time::Millis,
};

artifact! {
    /// What a builder means to do (FLY-7). Published before the work; it also says who holds the turn.
    BuildPlan(BuildPlanBody) = "build_plan" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who holds it.
        agent: AgentName,
        /// False: written by the harness for a program that plans nothing itself (FLY-15).
        declared: bool,
        /// Paths it means to touch.
        file_targets: Vec<String>,
        /// The commands it means to validate with.
        validation: Vec<String>,
        /// The criteria it means to meet.
        coverage: Vec<CriterionId>,
        /// What the turn may use up.
        budget: TurnBudget,
    }
}

artifact! {
    /// The result of a build or repair turn (FLY-8). Touched files and diff are computed from git by the harness, and
    /// computed again by the judge.
    BuildArtifact(BuildArtifactBody) = "build_artifact" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who holds it.
        agent: AgentName,
        /// Ready for handoff, or failed.
        status: BuildStatus,
        /// Why it failed; there exactly when it did.
        failure: Option<Failure>,
        /// The commit on the turn's base, of a failed turn with the files that it left: nobody judges them, and the next turn
        /// starts from them. `None` when nothing changed.
        commit: Option<Oid>,
        /// The tree of the commit, or of the base when nothing changed; `None` when the turn failed.
        tree: Option<Oid>,
        /// The thin bundle that brings the commit.
        bundle: Option<BundleRef>,
        /// Touched files, from git.
        touched: Vec<PathChange>,
        /// How much changed, from git.
        diff: DiffSummary,
        /// What the clone had besides: at most [`LEFT_OUT_MAX`](crate::facts::LEFT_OUT_MAX).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<LeftOut>,
        /// The gate's document, with what came of its checkpoints.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<Box<GateDocument>>,
        /// What was run, by whom it is said.
        ledger: Vec<CommandRun>,
        /// Criteria the program says it met; claims only.
        claims: Vec<CoverageClaim>,
        /// The payload of the completion marker, where one was printed. It finalizes nothing (FLY-I5).
        completion_claim: Option<String>,
        /// The last words of a program that changed nothing: they may say why. A claim like the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_words: Option<String>,
        /// Markers and calls for help in its output that said nothing (FLY-25).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        markers_ignored: Vec<IgnoredMarker>,
        /// What was metered.
        metered: Metered,
    }
}

/// Whether a build turn ended with something to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuildStatus {
    /// Ready for handoff. Never "done".
    Ok,
    /// The turn failed; it counts as an attempt.
    Failed,
}

/// Why a build turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// `agent_failed`, `agent_timeout`, `output_limit`, `handoff_invalid` or `unsupported`.
    pub reason: ReasonCode,
    /// For people: what happened, with the last lines of output. Not shown to a verifier (FLY-18).
    pub detail: String,
}

/// Who says that a command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerSource {
    /// The harness ran it.
    Harness,
    /// The agent reports it.
    Agent,
}

/// One line of the command ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// Who says so.
    pub source: LedgerSource,
    /// The command line.
    pub command: String,
    /// Its exit code; `None` when a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// Wall time.
    pub duration: Millis,
    /// The captured output.
    pub evidence: Option<Digest>,
}

/// A criterion that the program says it met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoverageClaim {
    /// The criterion.
    pub criterion: CriterionId,
    /// What it says.
    pub claim: String,
}

/// Tokens by kind; each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Read by the model, without those from a cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Put into the provider's cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// What a turn used up. `None` means unmetered: the program did not report it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metered {
    /// Wall time of the program.
    pub wall: Millis,
    /// Bytes it printed.
    pub output_bytes: u64,
    /// Tokens, of all kinds.
    pub tokens: Option<u64>,
    /// The same by kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Cost in US dollars, as an agent of your own may report it. The harness reports `cost_micro_usd`.
    pub cost_usd: Option<f64>,
    /// Cost in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Whether the cost, or a part of it, is an estimate from prices in the configuration: the program reported its tokens only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Whether a run ended before its program had said all that it used up: the amounts are the least that it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}
