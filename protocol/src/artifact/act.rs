//! What people do: handoffs of role `operator`, signed with the person's own key.
//!
//! Whether an act is allowed, and what it leads to, is `holdpoint_engine::waypoint`. An answer to a question is
//! [`ClarificationResponse`](super::ClarificationResponse).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Artifact as _, ClarificationResponse, Completion};
use crate::{
    artifact::artifact,
    budget::Raise,
    checkpoint::GateDocument,
    codec::{self, CodecError, Encoding},
    facts::{BundleRef, Oid, Verdict},
    ids::{AgentName, ArtifactId, CriterionId, GateId},
    state::Outcome,
    words::words,
    workflow::WorkflowSpec,
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

artifact! {
    /// A person takes over an agents' turn that is open (GATE-33).
    Take(TakeBody) = "take" {
        /// Who takes it.
        agent: AgentName,
        /// The turn, as its person saw it; `None`: the one that is open by the time the act is taken.
        on: Option<String>,
    }
}

artifact! {
    /// A person gives a turn back, without work: it is its role's again (GATE-33).
    Release(ReleaseBody) = "release" {
        /// Who gives it back.
        agent: AgentName,
        /// What was looked at, as the inbox names it (`ref`); `None`: the turn that is taken by the time the act is.
        on: Option<String>,
    }
}

artifact! {
    /// What a person came to in a turn that was taken over (GATE-33): work, which is looked at and judged like a builder's;
    /// of a verification, verdicts.
    HandIn(HandInBody) = "hand_in" {
        /// Who made it.
        agent: AgentName,
        /// What was looked at, as the inbox names it (`ref`); `None`: the turn that is taken by the time the act is.
        on: Option<String>,
        /// The commit on the turn's base; `None` when nothing differs from it.
        commit: Option<Oid>,
        /// The thin bundle that brings the commit, among the blobs of role `operator`.
        bundle: Option<BundleRef>,
        /// Of a verification: a verdict on each criterion without a check.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        verdicts: Vec<GivenVerdict>,
    }
}

artifact! {
    /// A flight goes on by these workflows, as its project declares them now (GATE-12).
    Reconfigure(ReconfigureBody) = "reconfigure" {
        /// Who gives them to it.
        agent: AgentName,
        /// The workflows, with what the org chart says of their roles. Those that the flight's plan does not name are left out.
        workflows: Vec<WorkflowSpec>,
        /// The files changed, and nobody gave a command: it takes no guard away, with any key.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        watched: bool,
    }
}

artifact! {
    /// A person raises limits of a flight, or of one of its waypoints (FLY-32).
    Budget(BudgetBody) = "budget" {
        /// Who raises them.
        agent: AgentName,
        /// Which ones, and by how much.
        raise: Raise,
    }
}

artifact! {
    /// A person edited the document of a gate (DOC-9). `source_refs` names the one that was edited, and nothing else.
    Revise(ReviseBody) = "revise" {
        /// Who edited it.
        agent: AgentName,
        /// The gate.
        gate: GateId,
        /// The document as its gate hands it on from now on.
        document: Box<GateDocument>,
    }
}

/// A person's verdict on a criterion without a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenVerdict {
    /// The criterion.
    pub criterion: CriterionId,
    /// `pass` or `fail`.
    pub verdict: Verdict,
    /// What it rests on.
    pub note: String,
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
    /// An agents' turn is taken over.
    Take(Box<Take>),
    /// A turn that was taken over is given back.
    Release(Box<Release>),
    /// Work on a turn that was taken over is handed in.
    HandIn(Box<HandIn>),
    /// A flight goes on by other workflows.
    Reconfigure(Box<Reconfigure>),
    /// Limits are raised.
    Budget(Box<Budget>),
    /// A document is edited.
    Revise(Box<Revise>),
}

/// The kinds of all acts.
pub const ACT_KINDS: [&str; 12] = [
    ClarificationResponse::KIND,
    Completion::KIND,
    Retry::KIND,
    Cancel::KIND,
    Pause::KIND,
    Resume::KIND,
    Take::KIND,
    Release::KIND,
    HandIn::KIND,
    Reconfigure::KIND,
    Budget::KIND,
    Revise::KIND,
];

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
            Take::KIND => Self::Take(codec::decode(payload, encoding)?),
            Release::KIND => Self::Release(codec::decode(payload, encoding)?),
            HandIn::KIND => Self::HandIn(codec::decode(payload, encoding)?),
            Reconfigure::KIND => Self::Reconfigure(codec::decode(payload, encoding)?),
            Budget::KIND => Self::Budget(codec::decode(payload, encoding)?),
            Revise::KIND => Self::Revise(codec::decode(payload, encoding)?),
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
            Self::Take(_) => Verb::Take,
            Self::Release(_) => Verb::Release,
            Self::HandIn(_) => Verb::HandIn,
            Self::Reconfigure(_) => Verb::Reconfigure,
            Self::Budget(_) => Verb::Budget,
            Self::Revise(_) => Verb::Revise,
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
            Self::Take(act) => &act.agent,
            Self::Release(act) => &act.agent,
            Self::HandIn(act) => &act.agent,
            Self::Reconfigure(act) => &act.agent,
            Self::Budget(act) => &act.agent,
            Self::Revise(act) => &act.agent,
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
            Self::Take(act) => &act.artifact_id,
            Self::Release(act) => &act.artifact_id,
            Self::HandIn(act) => &act.artifact_id,
            Self::Reconfigure(act) => &act.artifact_id,
            Self::Budget(act) => &act.artifact_id,
            Self::Revise(act) => &act.artifact_id,
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
    /// Take over an agents' turn.
    Take,
    /// Give a turn back that was taken over.
    Release,
    /// Hand in work on a turn that was taken over.
    HandIn,
    /// Have a flight go on by the workflows as they are declared now.
    Reconfigure,
    /// Raise limits of a flight or a waypoint.
    Budget,
    /// Edit the document of a gate.
    Revise,
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
            Self::Take => "take",
            Self::Release => "release",
            Self::HandIn => "hand-in",
            Self::Reconfigure => "reconfigure",
            Self::Budget => "budget",
            Self::Revise => "revise",
        }
    }
}

words! {
    /// Why an act changes nothing (contract, "A refused act with `--json`").
    ActCode {
        /// Another act was taken first, or what was looked at is not open any more.
        AnswerLate = "answer_late",
        /// There is nothing that such an act could be about.
        NothingOpen = "nothing_open",
        /// This person may not do it.
        NotAllowed = "not_allowed",
        /// Only a person may do it, and the key is not a person's.
        HumanRequired = "human_required",
        /// The gate cannot send work back.
        RejectNotAllowed = "reject_not_allowed",
        /// The waypoint or flight is over.
        Over = "over",
        /// The act itself cannot be taken: an unknown option, a missing note.
        Invalid = "invalid",
    }
}
