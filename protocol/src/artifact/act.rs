//! What people do: handoffs of role `operator`, signed with the person's own key.
//!
//! Whether an act is allowed, and what it leads to, is `holdpoint_core::engine`. An answer to a question is
//! [`ClarificationResponse`](super::ClarificationResponse).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Artifact as _, ClarificationResponse, Completion};
use crate::{
    artifact::artifact,
    codec::{self, CodecError, Encoding},
    ids::{AgentName, ArtifactId, GateId},
    state::Outcome,
};

artifact! {
    /// Held work is tried again.
    Retry(RetryBody) = "retry" {
        /// Who asks for it.
        agent: AgentName,
        /// What was looked at, as the inbox names it (`ref`); `None`: what is held by the time it is taken.
        on: Option<String>,
        /// The gate to go on from, the first one only; `None`: the gate in which it is held.
        from: Option<GateId>,
        /// Reworks that are granted on top of the plan's.
        reworks: u32,
        /// Words for the next build turn.
        note: Option<String>,
    }
}

artifact! {
    /// A waypoint, or a whole flight, is ended.
    Cancel(CancelBody) = "cancel" {
        /// Who ends it.
        agent: AgentName,
        /// Why.
        reason: Option<String>,
    }
}

artifact! {
    /// No turn opens and no deadline fires in a flight until it is resumed.
    Pause(PauseBody) = "pause" {
        /// Who pauses it.
        agent: AgentName,
    }
}

artifact! {
    /// A paused flight goes on.
    Resume(ResumeBody) = "resume" {
        /// Who resumes it.
        agent: AgentName,
    }
}

/// An act, by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// A question is answered.
    Answer(Box<ClarificationResponse>),
    /// A gate is completed: a gate for people by a person, any other by an agent of its role.
    Complete(Box<Completion>),
    /// Held work is tried again.
    Retry(Box<Retry>),
    /// A waypoint or a flight is ended.
    Cancel(Box<Cancel>),
    /// A flight pauses.
    Pause(Box<Pause>),
    /// A flight goes on.
    Resume(Box<Resume>),
}

/// The kinds of all acts.
pub const ACT_KINDS: [&str; 6] =
    [ClarificationResponse::KIND, Completion::KIND, Retry::KIND, Cancel::KIND, Pause::KIND, Resume::KIND];

impl Act {
    /// Reads an act of the kind that its subject names; `None` if that is no kind of act.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn decode(kind: &str, payload: &[u8], content_type: Option<&str>) -> Result<Option<Self>, CodecError> {
        let encoding = Encoding::from_content_type(content_type)?;
        Ok(Some(match kind {
            ClarificationResponse::KIND => Self::Answer(codec::decode(payload, encoding)?),
            Completion::KIND => Self::Complete(codec::decode(payload, encoding)?),
            Retry::KIND => Self::Retry(codec::decode(payload, encoding)?),
            Cancel::KIND => Self::Cancel(codec::decode(payload, encoding)?),
            Pause::KIND => Self::Pause(codec::decode(payload, encoding)?),
            Resume::KIND => Self::Resume(codec::decode(payload, encoding)?),
            _ => return Ok(None),
        }))
    }

    /// The word for what it does.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Self::Answer(_) => Verb::Answer,
            Self::Complete(completion) if completion.outcome == Some(Outcome::NeedsReview) => Verb::Reject,
            Self::Complete(_) => Verb::Approve,
            Self::Retry(_) => Verb::Retry,
            Self::Cancel(_) => Verb::Cancel,
            Self::Pause(_) => Verb::Pause,
            Self::Resume(_) => Verb::Resume,
        }
    }

    /// Whose act it says it is.
    #[must_use]
    pub fn agent(&self) -> &AgentName {
        match self {
            Self::Answer(act) => &act.agent,
            Self::Complete(act) => &act.agent,
            Self::Retry(act) => &act.agent,
            Self::Cancel(act) => &act.agent,
            Self::Pause(act) => &act.agent,
            Self::Resume(act) => &act.agent,
        }
    }

    /// Its id.
    #[must_use]
    pub fn artifact_id(&self) -> &ArtifactId {
        match self {
            Self::Answer(act) => &act.artifact_id,
            Self::Complete(act) => &act.artifact_id,
            Self::Retry(act) => &act.artifact_id,
            Self::Cancel(act) => &act.artifact_id,
            Self::Pause(act) => &act.artifact_id,
            Self::Resume(act) => &act.artifact_id,
        }
    }
}

/// What a person can do, as the command line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Answer a question or a call for help.
    Answer,
    /// Complete a gate for people.
    Approve,
    /// Send work back from a gate for people.
    Reject,
    /// Have held work tried again.
    Retry,
    /// End a waypoint or a flight.
    Cancel,
    /// Pause a flight.
    Pause,
    /// Let a paused flight go on.
    Resume,
}

impl Verb {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

/// Why an act changes nothing (contract, "A refused act with `--json`").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActCode {
    /// Another act was taken first, or what was looked at is not open any more.
    AnswerLate,
    /// There is nothing that such an act could be about.
    NothingOpen,
    /// This person may not do it.
    NotAllowed,
    /// Only a person may do it, and the key is not a person's.
    HumanRequired,
    /// The gate cannot send work back.
    RejectNotAllowed,
    /// The waypoint or flight is over.
    Over,
    /// The act itself cannot be taken: an unknown option, a missing note.
    Invalid,
}

impl ActCode {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnswerLate => "answer_late",
            Self::NothingOpen => "nothing_open",
            Self::NotAllowed => "not_allowed",
            Self::HumanRequired => "human_required",
            Self::RejectNotAllowed => "reject_not_allowed",
            Self::Over => "over",
            Self::Invalid => "invalid",
        }
    }
}
