//! The versioned artifacts FLY-5 … FLY-13.
//!
//! Every artifact begins with the same six fields (FLY-5); the macro `artifact!` writes them, so that none can be
//! forgotten and no `flatten` is needed on input.

mod act;
mod build;
mod clarify;
mod complete;
mod decision;
mod exchange;
mod guidance;
mod handed;
mod verify;

pub use act::{
    ACT_KINDS, Act, ActCode, Budget, BudgetBody, Cancel, CancelBody, GivenVerdict, HandIn, HandInBody, Pause,
    PauseBody, Reconfigure, ReconfigureBody, Release, ReleaseBody, Resume, ResumeBody, Retry, RetryBody, Revise,
    ReviseBody, Take, TakeBody, Verb,
};
pub use build::{
    BuildArtifact, BuildArtifactBody, BuildPlan, BuildPlanBody, BuildStatus, CommandRun, CoverageClaim, Failure,
    LedgerSource, Metered, TokenUsage,
};
pub use clarify::{
    ClarificationRequest, ClarificationRequestBody, ClarificationResponse, ClarificationResponseBody, Clarified,
    Confidence, Conversation, GivenBack, GivenBackBody, HelpEvent, HelpRequest, HelpRequestBody, IgnoredBecause,
    IgnoredMarker, SESSION_BYTES_MAX, StatusUpdate, StatusUpdateBody, TRANSCRIPT_BYTES_MAX, TRANSCRIPT_PATH_BYTES_MAX,
    WorkInProgress,
};
pub use complete::{Completion, CompletionBody, CompletionPlan, CompletionPlanBody};
pub use decision::{Disposition, OrchestratorDecision, OrchestratorDecisionBody, StatusMutation};
pub use exchange::{
    ExchangeAttempt, ExchangeError, ExchangeErrorKind, ExchangeRecord, ExchangeRecordBody, ExchangeStatus,
};
pub use guidance::{GuidancePacket, GuidancePacketBody};
pub use handed::{Handed, HandedError, HandedHead};
pub use verify::{
    CheckRun, ChecklistReceipt, CheckpointAsked, CheckpointReport, CriterionReport, Doubt, EvidenceExpected,
    EvidenceSource, EvidenceWanted, PersonVerdict, PropertyEnforced, TreeTested, VerificationPlan,
    VerificationPlanBody, VerificationPurpose, VerificationReport, VerificationReportBody, VerificationRequest,
    VerificationRequestBody,
};

use crate::{
    Timestamp,
    ids::{ArtifactId, RoleId, WaypointId},
    version::SchemaVersion,
};

/// What every artifact can say of itself.
pub trait Artifact: serde::Serialize + serde::de::DeserializeOwned {
    /// The kind: the last token of its subject and the name in the schema header.
    const KIND: &'static str;

    /// The version it was written in.
    fn schema_version(&self) -> SchemaVersion;
}

/// The six fields of FLY-5, filled in once by the maker of an artifact.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The artifact's id.
    pub artifact_id: ArtifactId,
    /// The waypoint it belongs to.
    pub waypoint_id: WaypointId,
    /// The role that made it.
    pub produced_by_role: RoleId,
    /// When.
    pub produced_at: Timestamp,
    /// What it was made from: references of artifacts and blobs.
    pub source_refs: Vec<String>,
}

macro_rules! artifact {
    ($(#[$doc:meta])* $name:ident($body:ident) = $kind:literal { $($(#[$fdoc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name {
            /// `MAJOR.MINOR` (FLY-14).
            pub schema_version: $crate::version::SchemaVersion,
            /// Unique over all flights.
            pub artifact_id: $crate::ids::ArtifactId,
            /// The waypoint it belongs to.
            pub waypoint_id: $crate::ids::WaypointId,
            /// The role that made it.
            pub produced_by_role: $crate::ids::RoleId,
            /// When it was made.
            pub produced_at: $crate::Timestamp,
            /// What it was made from: references of artifacts and blobs.
            pub source_refs: Vec<String>,
            $($(#[$fdoc])* pub $field: $type,)*
        }

        impl $crate::artifact::Artifact for $name {
            const KIND: &'static str = $kind;
            fn schema_version(&self) -> $crate::version::SchemaVersion {
                self.schema_version
            }
        }

        #[doc = concat!("What [`", stringify!($name), "`] says beyond the six fields of every artifact.")]
        // Serializable only so that it may carry the attributes of the fields.
        #[derive(Debug, Clone, serde::Serialize)]
        pub struct $body {
            $($(#[$fdoc])* pub $field: $type,)*
        }

        impl $name {
            /// Makes the artifact in the current schema version.
            #[must_use]
            pub fn new(origin: $crate::artifact::Origin, body: $body) -> Self {
                Self {
                    schema_version: $crate::version::CURRENT,
                    artifact_id: origin.artifact_id,
                    waypoint_id: origin.waypoint_id,
                    produced_by_role: origin.produced_by_role,
                    produced_at: origin.produced_at,
                    source_refs: origin.source_refs,
                    $($field: body.$field,)*
                }
            }
        }
    };
}
pub(crate) use artifact;
