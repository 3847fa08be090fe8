//! Any handoff: what agents publish on their role's subjects.

use serde::Deserialize;

use super::{
    ACT_KINDS, Act, Artifact, BuildArtifact, BuildPlan, ClarificationRequest, CompletionPlan, ExchangeRecord,
    GivenBack, HelpRequest, Metered, StatusUpdate, VerificationPlan, VerificationReport,
};
use crate::{
    codec::{self, CodecError, Encoding},
    facts::{BundleRef, LeftOut, Oid},
    ids::{AgentName, ArtifactId, TurnId},
};

/// What every handoff begins with: enough to know who sent it and for which turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HandedHead {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// The turn it is on; `None`: an act of a person.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Which delivery of the turn, from 1; 0 for an act.
    #[serde(default)]
    pub delivery: u32,
    /// Who sent it.
    pub agent: AgentName,
    /// What it was made from.
    #[serde(default)]
    pub source_refs: Vec<String>,
}

/// A handoff, by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Handed {
    /// A plan of any kind: it says who holds the turn.
    Plan,
    /// A build or repair turn ended.
    Built(Box<BuildArtifact>),
    /// A verifier reports.
    Reported(Box<VerificationReport>),
    /// A question.
    Clarify(Box<ClarificationRequest>),
    /// A call for help.
    Help(Box<HelpRequest>),
    /// What a person does; or the completion of a gate's turn by an agent, which has the same form.
    Act(Act),
    /// The turn is given back: it ends nothing.
    GivenBack,
    /// How far a turn is: it ends nothing.
    Status(Box<StatusUpdate>),
    /// What went wrong between a program and its harness: it ends nothing.
    Exchange(Box<ExchangeRecord>),
}

/// Why bytes are no handoff.
#[derive(Debug, thiserror::Error)]
pub enum HandedError {
    /// Not of this shape, or of another version.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// No agent hands off anything like that.
    #[error("{kind:?} is not a kind of handoff")]
    Kind {
        /// The last token of its subject.
        kind: String,
    },
}

impl HandedHead {
    /// Reads what all kinds begin with.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn decode(payload: &[u8], content_type: Option<&str>) -> Result<Self, CodecError> {
        codec::decode(payload, Encoding::from_content_type(content_type)?)
    }
}

impl Handed {
    /// What its turn's program used up, as far as it says.
    #[must_use]
    pub fn metered(&self) -> Option<&Metered> {
        match self {
            Self::Built(built) => Some(&built.metered),
            Self::Reported(report) => report.metered.as_ref(),
            Self::Clarify(asked) => asked.metered.as_ref(),
            Self::Help(call) => call.metered.as_ref(),
            Self::Act(Act::Complete(completion)) => completion.metered.as_ref(),
            Self::Plan | Self::Act(_) | Self::GivenBack | Self::Status(_) | Self::Exchange(_) => None,
        }
    }

    /// The commit that it brings, finished or not, with the bundle that has it.
    #[must_use]
    pub fn commit(&self) -> Option<(&Oid, &BundleRef)> {
        match self {
            Self::Built(built) => built.commit.as_ref().zip(built.bundle.as_ref()),
            Self::Clarify(asked) => asked.work.as_ref().map(|work| (&work.commit, &work.bundle)),
            Self::Help(call) => call.work.as_ref().map(|work| (&work.commit, &work.bundle)),
            Self::Act(Act::HandIn(work)) => work.commit.as_ref().zip(work.bundle.as_ref()),
            Self::Reported(_) | Self::Plan | Self::Act(_) | Self::GivenBack | Self::Status(_) | Self::Exchange(_) => {
                None
            }
        }
    }

    /// What its clone had besides the work, as its harness says.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        if let Self::Built(built) = self { &built.left_out } else { &[] }
    }

    /// Reads a handoff of the kind that its subject names.
    ///
    /// # Errors
    /// [`HandedError`].
    pub fn decode(kind: &str, payload: &[u8], content_type: Option<&str>) -> Result<Self, HandedError> {
        let encoding = Encoding::from_content_type(content_type)?;
        Ok(match kind {
            BuildPlan::KIND => codec::decode::<BuildPlan>(payload, encoding).map(|_| Self::Plan)?,
            CompletionPlan::KIND => codec::decode::<CompletionPlan>(payload, encoding).map(|_| Self::Plan)?,
            VerificationPlan::KIND => codec::decode::<VerificationPlan>(payload, encoding).map(|_| Self::Plan)?,
            BuildArtifact::KIND => Self::Built(codec::decode(payload, encoding)?),
            VerificationReport::KIND => Self::Reported(codec::decode(payload, encoding)?),
            ClarificationRequest::KIND => Self::Clarify(codec::decode(payload, encoding)?),
            HelpRequest::KIND => Self::Help(codec::decode(payload, encoding)?),
            GivenBack::KIND => codec::decode::<GivenBack>(payload, encoding).map(|_| Self::GivenBack)?,
            StatusUpdate::KIND => Self::Status(codec::decode(payload, encoding)?),
            ExchangeRecord::KIND => Self::Exchange(codec::decode(payload, encoding)?),
            other if ACT_KINDS.contains(&other) => match Act::decode(other, payload, content_type)? {
                Some(act) => Self::Act(act),
                None => return Err(HandedError::Kind { kind: other.to_owned() }),
            },
            other => return Err(HandedError::Kind { kind: other.chars().take(80).collect() }),
        })
    }
}
