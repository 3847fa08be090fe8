//! Questions, answers and calls for help (FLY-11, FLY-12, RETRY-10).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{
    Digest, Timestamp,
    artifact::{Metered, TokenUsage, artifact},
    facts::{BlobRef, BundleRef, Oid},
    ids::{AgentName, ArtifactId, TurnId},
    reason::BlockReason,
    words::words,
};

words! {
    /// How sure the asker is of its own best guess.
    Confidence {
        /// A guess.
        Low = "low",
        /// Likely.
        Medium = "medium",
        /// Nearly certain.
        High = "high",
    }
}

artifact! {
    /// A blocking question (FLY-11).
    ClarificationRequest(ClarificationRequestBody) = "clarification_request" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who asks.
        agent: AgentName,
        /// The question.
        question: String,
        /// What depends on the answer.
        decision_context: String,
        /// How sure the asker is of its own best guess.
        confidence: Confidence,
        /// The answers it can work with.
        options: Vec<String>,
        /// What kind of obstacle is in its way (DOC-7); where it does not say, a person's decision.
        #[serde(default)]
        block_reason: BlockReason,
        /// What was there when it asked; the next turn goes on from it.
        #[serde(default)]
        work: Option<WorkInProgress>,
        /// The turn goes on, and its agent waits in it until then; `None`: the question ends the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_until: Option<Timestamp>,
        /// It waited in its turn without an answer, and ends it now.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waited: bool,
        /// What its program used up, by its own word as far as it is not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metered: Option<Metered>,
        /// The program's conversation, kept for the turn that goes on from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<Conversation>,
    }
}

impl ClarificationRequest {
    /// Distinguishes one question of a turn from another: the same words are the same question.
    #[must_use]
    pub fn words(&self) -> Digest {
        let words = (&self.question, &self.decision_context, &self.options);
        Digest::of(&serde_json::to_vec(&words).expect("texts have a JSON form"))
    }
}

artifact! {
    /// The answer to a question (FLY-12).
    ClarificationResponse(ClarificationResponseBody) = "clarification_response" {
        /// Who answers.
        agent: AgentName,
        /// The question; `None`: the one that is open by the time the answer is taken.
        request: Option<ArtifactId>,
        /// The chosen option.
        option: Option<String>,
        /// The answer in words.
        text: Option<String>,
        /// Why.
        rationale: Option<String>,
        /// Constraints that hold for every later turn, the verifier's included.
        updated_constraints: Vec<String>,
    }
}

/// A question that was answered, as later turns of the role that asked get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clarified {
    /// The question, or the call for help.
    pub question: String,
    /// The chosen option.
    pub option: Option<String>,
    /// The answer in words.
    pub text: Option<String>,
    /// Why.
    pub rationale: Option<String>,
    /// Constraints that hold from now on.
    pub constraints: Vec<String>,
    /// Who answered: a person, or `policy` for the plan's `answers`.
    pub by: String,
}

/// Work that is not finished: one commit on the turn's base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkInProgress {
    /// The commit.
    pub commit: Oid,
    /// The thin bundle that brings it.
    pub bundle: BundleRef,
}

/// A conversation of an agent's program, which a program of the same role can go on with on any machine.
///
/// Its transcript is an agent's words: it is stored where the keys of that role alone read, and rides in turns of the role and the
/// waypoint that had it. No state names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    /// The session's id, [`SESSION_BYTES_MAX`] bytes at most.
    pub session: String,
    /// Where the program's folder of conversations has the transcript: a relative path of [`TRANSCRIPT_PATH_BYTES_MAX`] bytes at most.
    pub path: String,
    /// The transcript, [`TRANSCRIPT_BYTES_MAX`] bytes at most.
    pub transcript: BlobRef,
    /// Tokens of the whole session so far, where the program counts those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<TokenUsage>,
    /// What the whole session cost so far in micro-dollars, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
}

/// The longest id of a session, in bytes.
pub const SESSION_BYTES_MAX: usize = 128;
/// The longest path of a transcript, in bytes.
pub const TRANSCRIPT_PATH_BYTES_MAX: usize = 512;
/// The longest transcript that goes along with a turn, in bytes.
pub const TRANSCRIPT_BYTES_MAX: u64 = 8 << 20;

artifact! {
    /// A call for help (RETRY-10).
    HelpRequest(HelpRequestBody) = "help_request" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who calls.
        agent: AgentName,
        /// The line of the output that called.
        raw_line: String,
        /// The JSON context that followed it, of 32 levels at most: it becomes a part of answers to operators.
        #[serde(default, deserialize_with = "shallow")]
        context: Option<Value>,
        /// What was there when it called; the next turn goes on from it.
        #[serde(default)]
        work: Option<WorkInProgress>,
        /// All calls of the run, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        help_events: Vec<HelpEvent>,
        /// The program's final object did not say `requested_help`: what its stream said counts (RETRY-11).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overruled: bool,
        /// It was heard just now, and the turn's result follows. It counts if its agent is never heard of again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        running: bool,
        /// Markers of the run that said nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        markers_ignored: Vec<IgnoredMarker>,
        /// What its program used up, by its own word as far as it is not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metered: Option<Metered>,
        /// The program's conversation, kept for the turn that goes on from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<Conversation>,
    }
}

/// One call for help in what a program printed (RETRY-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelpEvent {
    /// When its harness saw it.
    pub timestamp: Timestamp,
    /// The line, without the space around it.
    pub raw_line: String,
    /// The JSON object that followed it, of 32 levels at most.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "shallow")]
    pub context: Option<Value>,
}

/// A marker, or a call for help, that says nothing where it stands (FLY-25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IgnoredMarker {
    /// The element's name; `help` for a call.
    pub marker: String,
    /// Why it says nothing.
    pub why: IgnoredBecause,
    /// The line it stands in, its beginning.
    pub line: String,
}

words! {
    /// Why a marker says nothing.
    IgnoredBecause {
        /// It stands in a code fence.
        Fence = "fence",
        /// It repeats the program's prompt.
        Echo = "echo",
        /// It names another waypoint.
        OtherWaypoint = "other_waypoint",
    }
}

artifact! {
    /// An agent gives a turn back without an answer, for a reason that is not the work's: it stops, or something failed
    /// on its side. An agent that says so has not died of the turn.
    GivenBack(GivenBackBody) = "given_back" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Who gives it back.
        agent: AgentName,
        /// Why, in one line.
        reason: String,
    }
}

artifact! {
    /// An agent says how far its turn is (GATE-20a). It changes metrics and traces, and never the state of a waypoint.
    StatusUpdate(StatusUpdateBody) = "status_update" {
        /// The turn.
        turn: TurnId,
        /// Which delivery of the turn, from 1.
        delivery: u32,
        /// Whose turn it is.
        agent: AgentName,
        /// How far it is, in one line.
        summary: String,
        /// The part that is done, in percent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
    }
}

/// The deepest nesting of what an agent wrote freely: as deep as a plan's free values.
const CONTEXT_DEPTH_MAX: usize = 32;

impl HelpRequest {
    /// Whether a value is shallow enough to be a context: readers refuse deeper ones.
    #[must_use]
    pub fn can_carry(context: &Value) -> bool {
        fits(context, CONTEXT_DEPTH_MAX)
    }
}

fn fits(value: &Value, levels: usize) -> bool {
    let inside = |value| levels > 0 && fits(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(inside),
        Value::Object(entries) => levels > 0 && entries.values().all(inside),
        _ => true,
    }
}

fn shallow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let context = Option::<Value>::deserialize(deserializer)?;
    if context.as_ref().is_some_and(|context| !HelpRequest::can_carry(context)) {
        return Err(D::Error::custom(format_args!("the context is nested deeper than {CONTEXT_DEPTH_MAX} levels")));
    }
    Ok(context)
}
