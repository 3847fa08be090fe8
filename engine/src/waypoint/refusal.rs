//! Why an input is refused: what its sender did, and what happened instead.

use holdpoint_protocol::{
    api::ActRefused,
    artifact::ActCode,
    ids::{AgentName, RoleId, TurnId},
    refusal::RefusalCode,
};

use super::{Input, Oversize};
use crate::completion::{self, Lesson};

/// Why a handoff or an act is refused. It changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No turn is open, or another one.
    #[error("turn {turn} is not open: it was answered, superseded or cancelled")]
    NotOpen {
        /// The turn it named.
        turn: TurnId,
    },
    /// The turn belongs to another role.
    #[error("turn {turn} belongs to role {expected}, not to {found}")]
    WrongRole {
        /// The turn.
        turn: TurnId,
        /// Whose it is.
        expected: RoleId,
        /// Who answered.
        found: RoleId,
    },
    /// Not what the turn wants.
    #[error("turn {turn} wants {wanted}")]
    WrongKind {
        /// The turn.
        turn: TurnId,
        /// What it wants.
        wanted: &'static str,
    },
    /// The handoff is about something else than what was asked.
    #[error("the handoff on turn {turn} does not fit its request: {what}")]
    Mismatch {
        /// The turn.
        turn: TurnId,
        /// Where it differs.
        what: String,
    },
    /// A completion that says too little, or what its gate does not take.
    #[error("the completion of turn {turn} cannot be taken: {lesson}")]
    Completion {
        /// The turn.
        turn: TurnId,
        /// What is wrong, and how it goes.
        lesson: Box<Lesson>,
    },
    /// The maker of the work completes a gate that looks at it.
    #[error("{agent} made the work that turn {turn} is about: another agent has to complete the gate")]
    OwnWork {
        /// The turn.
        turn: TurnId,
        /// Who.
        agent: AgentName,
    },
    /// One agent votes once in a fork.
    #[error("{agent} voted in this fork already: another agent has to answer turn {turn}")]
    Voted {
        /// The turn.
        turn: TurnId,
        /// Who.
        agent: AgentName,
    },
    /// The org chart binds the role to agents whom it names (GATE-2).
    #[error(
        "turn {turn} is for those agents of role {role} whom the flight's org chart names, and {agent} is none of them: add it to \
         the role's `agents` in org.yaml, then `holdpoint org reload`"
    )]
    NotListed {
        /// The turn.
        turn: TurnId,
        /// Whose it is.
        role: RoleId,
        /// Who answered.
        agent: AgentName,
    },
    /// The entry that follows from it is larger than a message may be; the waypoint is held.
    #[error("what follows from the handoff on turn {turn} has {} bytes, and a message may have {}: the waypoint waits for a person", size.bytes, size.most)]
    TooLarge {
        /// The turn.
        turn: TurnId,
        /// The entry's size.
        size: Oversize,
    },
    /// A person's act cannot be taken.
    #[error("{}", .0.message)]
    Act(Box<ActRefused>),
}

impl Refusal {
    /// The code that an agent gets.
    #[must_use]
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::NotOpen { .. } | Self::Act(_) => RefusalCode::TurnNotOpen,
            Self::WrongRole { .. } => RefusalCode::WrongRole,
            Self::WrongKind { .. } => RefusalCode::WrongKind,
            Self::TooLarge { .. } => RefusalCode::TooLarge,
            Self::Mismatch { .. } => RefusalCode::RequestMismatch,
            // There is nothing that an agent could correct.
            Self::Completion { lesson, .. } if lesson.code == completion::Code::HumanRequired => RefusalCode::WrongRole,
            Self::Completion { .. } => RefusalCode::CompletionInvalid,
            Self::OwnWork { .. } => RefusalCode::OwnWork,
            Self::Voted { .. } => RefusalCode::AlreadyVoted,
            Self::NotListed { .. } => RefusalCode::NotListed,
        }
    }

    /// What is wrong with a completion, for programs (GATE-22).
    #[must_use]
    pub fn details(&self) -> Option<serde_json::Value> {
        match self {
            Self::Completion { lesson, .. } => Some(lesson.to_json()),
            _ => None,
        }
    }

    /// A refusal of a person's act.
    #[must_use]
    pub fn act(code: ActCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let details = serde_json::Value::Null;
        Self::Act(Box::new(ActRefused { code, message: message.into(), hint: hint.into(), details }))
    }
}

impl Input {
    /// What its sender hears where the entry that follows is too large; `None`: nobody sent it.
    #[must_use]
    pub fn too_large(&self, size: Oversize) -> Option<Refusal> {
        let turn = match self {
            Self::Built(handoff) => &handoff.turn,
            Self::Reported(handoff) => &handoff.turn,
            Self::Fulfilled(handoff) => &handoff.turn,
            Self::Advised(handoff) => &handoff.turn,
            Self::Asked(handoff) => &handoff.turn,
            _ => {
                let Oversize { bytes, most } = size;
                let message = format!("what follows from it has {bytes} bytes, and a message may have {most}");
                let hint = "say it shorter, or raise the broker's max_payload to 8 MiB";
                return self.act().map(|_| Refusal::act(ActCode::Invalid, message, hint));
            }
        };
        Some(Refusal::TooLarge { turn: turn.clone(), size })
    }
}
